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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ghostfleet.api.options import WriteOptions
from ghostfleet.cluster import Cluster, add_nodes
from ghostfleet.core.clock import SECOND, VirtualClock, WallClock
from ghostfleet.server import kubeconfig
from ghostfleet.server.app import App
from ghostfleet.server.auth import Authenticator, new_token
from ghostfleet.server.serve import HttpServer
from ghostfleet.server.tls import make_certificates
from ghostfleet.stages.nodes import NodeShape

JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
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
        self._connection.request(
            method, path, text, {**self._headers, "Content-Type": "application/json", "Accept": accept}
        )
        answer = self._connection.getresponse()
        read = json.loads(answer.read())
        if answer.status >= 400:
            raise SystemExit(f"{method} {path}: {read['message']}")
        return read

    def watch(self, path: str) -> Iterator[Any]:
        """Events as they come, on the connection of this client; it is closed afterwards."""
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        try:
            while line := answer.readline():
                yield json.loads(line)
        finally:
            self._connection.close()


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


def training(name: str, gpus: int, pods: int) -> dict[str, Any]:
    container = {"name": "train", "image": "trainer:1", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    template = {
        "metadata": {"annotations": {"ghostfleet.dev/duration": "1s"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    spec = {"parallelism": pods, "completions": pods, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def wait_for(client: Client, job: str) -> None:
    """Watch until a Job is complete, as `kubectl wait` does."""
    for event in client.watch(f"{JOBS}?watch=1&fieldSelector=metadata.name={job}"):
        conditions = event["object"].get("status", {}).get("conditions", [])
        if any(each["type"] == "Complete" and each["status"] == "True" for each in conditions):
            return


def tour(client: Client) -> None:
    version = client.ask("GET", "/version")["gitVersion"]
    console.print(f"A cluster that is not there, and an API that is: Kubernetes [bold]{version}[/], 32 GPUs.")
    show(client, "kubectl get nodes", "/api/v1/nodes")
    client.ask("POST", JOBS, training("fits", gpus=8, pods=4))
    client.ask("POST", JOBS, training("too-big", gpus=16, pods=1))
    wait_for(client, "fits")
    show(client, "kubectl get jobs", JOBS)
    show(client, "kubectl get pods", PODS)
    waiting = client.ask("GET", f"{PODS}?labelSelector=job-name=too-big")["items"][0]
    console.print("\n[bold]Why does too-big wait?[/] In the default scheduler's words:")
    console.print(waiting["status"]["conditions"][0]["message"], style="yellow", markup=False)


def large_run(nodes: int = 500, jobs: int = 2000) -> None:
    """An hour of a larger fleet, on a virtual clock."""
    cluster = Cluster(seed=7)
    add_nodes(cluster, NodeShape(count=nodes, gpus=8, fake_taint=False))
    resource = cluster.registry.by_key("jobs.batch")
    assert resource is not None
    clock = cluster.clock
    assert isinstance(clock, VirtualClock)
    body = training("x", gpus=4, pods=1)
    body["spec"]["template"]["metadata"]["annotations"]["ghostfleet.dev/duration"] = "exponential(600s)"
    began = WallClock().now()
    for number in range(jobs):
        named = {**body, "metadata": {"name": f"job-{number}"}}
        clock.call_later(
            number * SECOND, cluster.api.create, resource, resource.storage, "default", named, WriteOptions()
        )
    clock.run(clock.now() + 3600 * SECOND)
    took = (WallClock().now() - began) / SECOND
    done = sum(each.get("status", {}).get("succeeded", 0) for each in cluster.store.list("jobs.batch"))
    console.print(
        f"\n[bold]And on a virtual clock:[/] an hour of {nodes} nodes with {nodes * 8:,} GPUs, a Job a second: "
        f"{done:,} of {jobs:,} Jobs done, in {took:.1f} s."
    )


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
        cluster = Cluster(clock)
        add_nodes(cluster, NodeShape(count=4, gpus=8, fake_taint=False))
        app = App(cluster.api, Authenticator(token))
        server = HttpServer(app, tls=(files.certificate, files.key), clock=clock)
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
    large_run()
    console.print("\nNext: [bold].venv/bin/ghostfleet up --detach --nodes 100 --gpus 8[/]; the README has a tour.")


if __name__ == "__main__":
    main()
