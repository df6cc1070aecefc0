"""What `make demo` runs: a cluster, a real HTTP client, and what kubectl would print.

The cluster runs in this process; the client talks to it over TLS with the token of its kubeconfig, as any other would.
"""

from __future__ import annotations

import http.client
import json
import shutil
import ssl
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ghostfleet.cluster import Cluster
from ghostfleet.core.clock import WallClock
from ghostfleet.server import kubeconfig
from ghostfleet.server.app import App
from ghostfleet.server.auth import Authenticator, new_token
from ghostfleet.server.serve import HttpServer
from ghostfleet.server.tls import make_certificates

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
console = Console(highlight=False)


class Client:
    """Just enough of a Kubernetes client to show that there is a real API behind it."""

    def __init__(self, port: int, token: str, authority: Path) -> None:
        context = ssl.create_default_context(cafile=str(authority))
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, context=context)
        self._headers = {"Authorization": f"Bearer {token}", "User-Agent": "demo"}

    def ask(self, method: str, path: str, body: Any = None, accept: str = "application/json") -> Any:
        text = None if body is None else json.dumps(body)
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        self._connection.request(method, path, text, {**self._headers, "Content-Type": kind, "Accept": accept})
        answer = self._connection.getresponse()
        read = json.loads(answer.read())
        if answer.status >= 400:
            raise SystemExit(f"{method} {path}: {read['message']}")
        return read


def show(client: Client, command: str, path: str) -> None:
    """Print a list as kubectl prints it: the server makes the table, clients only set it."""
    answer = client.ask("GET", path, accept=TABLE)
    shown = [index for index, column in enumerate(answer["columnDefinitions"]) if column["priority"] == 0]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for index in shown:
        table.add_column(answer["columnDefinitions"][index]["name"].upper())
    for row in answer["rows"]:
        table.add_row(*(str(row["cells"][index]) for index in shown))
    console.print(f"\n[bold cyan]$ {command}[/]")
    console.print(table)


def node(name: str) -> dict[str, Any]:
    resources = {"cpu": "96", "memory": "2Ti", "pods": "110", "nvidia.com/gpu": "8"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "fake, and ready"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
        "status": {"capacity": resources, "allocatable": resources, "conditions": [ready]},
    }


def trainer(name: str) -> dict[str, Any]:
    container = {"name": "train", "image": "trainer:1", "resources": {"limits": {"nvidia.com/gpu": 8}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "trainer"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


def tour(client: Client) -> None:
    version = client.ask("GET", "/version")["gitVersion"]
    console.print(
        f"A cluster that is not there, and an API that is: Kubernetes [bold]{version}[/], no containers, no GPUs."
    )
    for number in range(4):
        client.ask("POST", "/api/v1/nodes", node(f"gpu-{number}"))
    show(client, "kubectl get nodes", "/api/v1/nodes")

    client.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "lab"}})
    pods = "/api/v1/namespaces/lab/pods"
    for number in range(3):
        client.ask("POST", pods, trainer(f"trainer-{number}"))
    for number in range(2):
        binding = {"target": {"kind": "Node", "name": f"gpu-{number}"}}
        client.ask("POST", f"{pods}/trainer-{number}/binding", binding)
    client.ask("PATCH", f"{pods}/trainer-0/status", {"status": {"phase": "Succeeded"}})
    show(client, "kubectl get pods -n lab", pods)

    refused = trainer("Not_A_Name")
    try:
        client.ask("POST", pods, refused)
    except SystemExit as error:
        console.print("\n[bold cyan]$ kubectl create -f bad.yaml[/]")
        console.print(str(error), style="red", markup=False)


def with_kubectl(config: Path) -> None:
    """The same through a real kubectl, where there is one."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        return
    command = ["get", "pods", "-A", "-o", "wide"]
    done = subprocess.run(
        [kubectl, "--kubeconfig", str(config), *command], capture_output=True, text=True, timeout=30, check=False
    )
    console.print(f"\n[bold cyan]$ kubectl {' '.join(command)}[/]   (the one on your PATH)")
    console.print(done.stdout or done.stderr, end="", soft_wrap=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        clock, token = WallClock(), new_token()
        files = make_certificates(Path(directory), ["127.0.0.1"], clock.now())
        server = HttpServer(
            App(Cluster(clock).api, Authenticator(token)), tls=(files.certificate, files.key), clock=clock
        )
        ready = threading.Event()
        thread = threading.Thread(target=server.run, args=(lambda _: ready.set(),))
        thread.start()
        try:
            ready.wait()
            tour(Client(server.port, token, files.authority))
            config = Path(directory) / "kubeconfig"
            kubeconfig.write(config, kubeconfig.render("demo", server.url, token, files.authority.read_bytes()))
            with_kubectl(config)
        finally:
            server.stop()
            thread.join()
    console.print(
        "\nNext: [bold].venv/bin/ghostfleet up --detach[/] starts a cluster of your own; the README has a tour."
    )


if __name__ == "__main__":
    main()
