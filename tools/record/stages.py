"""What objects go through with the real kwok, for the cases in `tests/stages/kwok`.

Each case has a kwok of its own, which gets the case's stages as its configuration. After each step the objects are left
alone until none has changed for a while; then a watch from before the case tells all that happened to them.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from controlplane import program_version, running
from parity_material.servers import Remote

from support.kwokcases import RECORDED, Case, Step, histories, load_cases, told_events

__all__ = ["record"]

_PATHS = {"Pod": "/api/v1/namespaces/default/pods", "Node": "/api/v1/nodes"}
_PATHS["ConfigMap"] = "/api/v1/namespaces/default/configmaps"
_EVENTS = "/api/v1/namespaces/default/events"
#: In seconds; longer than the delays of the cases, but for those that are never to end.
_QUIET = 1.5
_PATIENCE = 60.0


def record(kubeconfig: Path, binaries: Path) -> None:
    """Record all cases."""
    server = _Server(kubeconfig)
    cases = {}
    for case in load_cases():
        cases[case.name] = _played(server, case, kubeconfig, binaries)
    made = {
        "recorded": {"kwok": program_version(binaries / "kwok"), "kube-apiserver": server.version()},
        "cases": cases,
    }
    RECORDED.write_text(_pretty(made) + "\n")


def _pretty(value: Any, indent: int = 0) -> str:
    """JSON in which every look has a line of its own."""
    if indent > 4 or not value or not isinstance(value, (dict, list)):
        return json.dumps(value)
    pad = " " * (indent + 1)
    if isinstance(value, dict):
        parts = [f"{pad}{json.dumps(name)}: {_pretty(each, indent + 1)}" for name, each in value.items()]
        return "{\n" + ",\n".join(parts) + "\n" + pad[1:] + "}"
    return "[\n" + ",\n".join(f"{pad}{_pretty(each, indent + 1)}" for each in value) + "\n" + pad[1:] + "]"


def _played(server: _Server, case: Case, kubeconfig: Path, binaries: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        stages, log = Path(directory) / "stages.yaml", Path(directory) / "kwok.log"
        stages.write_text(yaml.safe_dump_all(case.stages))
        begun = server.revision()
        told = (
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            f"--config={stages}",
            "--cidr=10.0.0.1/24",
        )
        with running(binaries / "kwok", log, f"--kubeconfig={kubeconfig}", "--node-ip=10.9.9.9", *told):
            server.await_kwok(log)
            for step in case.steps:
                server.take(step)
                server.settle(max(_QUIET, step.wait))
            played = {"objects": histories(server.since(begun)), "events": told_events(server.events())}
        server.clear()
        return played


class _Server:
    """The API server that kwok works on."""

    def __init__(self, kubeconfig: Path) -> None:
        self._remote = Remote(kubeconfig)

    def version(self) -> str:
        return str(self._send("GET", "/version")["gitVersion"])

    def revision(self) -> str:
        return str(self._send("GET", _PATHS["Pod"])["metadata"]["resourceVersion"])

    def await_kwok(self, log: Path) -> None:
        """Until kwok watches."""
        for _ in range(int(_PATIENCE * 10)):
            text = log.read_text()
            if "Watch" in text or "watch" in text:
                return
            time.sleep(0.1)
        raise SystemExit(f"kwok does not watch after {_PATIENCE:.0f} seconds:\n{log.read_text()[-2000:]}")

    def take(self, step: Step) -> None:
        path = _PATHS[step.kind]
        if step.verb == "create":
            self._send("POST", path, step.body)
            if "status" in step.body:
                self._send("PATCH", f"{path}/{step.name}/status", {"status": step.body["status"]})
        elif step.verb == "patch":
            self._send("PATCH", f"{path}/{step.name}", step.body)
        elif step.verb == "bind":
            self._send("POST", f"{path}/{step.name}/binding", {"metadata": {"name": step.name}, **step.body})
        else:
            self._send("DELETE", f"{path}/{step.name}")

    def settle(self, quiet: float) -> None:
        """Until nothing has changed for so long."""
        seen, since = self._versions(), time.monotonic()
        until = since + _PATIENCE
        while time.monotonic() - since < quiet and time.monotonic() < until:
            time.sleep(0.1)
            now = self._versions()
            if now != seen:
                seen, since = now, time.monotonic()

    def since(self, revision: str) -> Iterator[tuple[str, Any]]:
        for path in _PATHS.values():
            lines = self._watched(f"{path}?watch=1&timeoutSeconds=1&resourceVersion={revision}")
            for line in lines.splitlines():
                change = json.loads(line)
                if change["object"]["metadata"]["name"] != "kube-root-ca.crt":
                    yield change["type"], change["object"]

    def events(self) -> list[Any]:
        found: list[Any] = self._send("GET", _EVENTS)["items"]
        return found

    def clear(self) -> None:
        """Remove what the case has left behind."""
        for path in (*_PATHS.values(), _EVENTS):
            for obj in self._send("GET", path)["items"]:
                at = f"{path}/{obj['metadata']['name']}"
                self._send("PATCH", at, {"metadata": {"finalizers": None}})
                self._send("DELETE", f"{at}?gracePeriodSeconds=0")

    def _versions(self) -> list[str]:
        return [
            f"{each['metadata']['name']} {each['metadata']['resourceVersion']}"
            for path in _PATHS.values()
            for each in self._send("GET", path)["items"]
        ]

    def _watched(self, path: str) -> bytes:
        return self._remote.send("GET", path, b"", {}).body

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        content = "application/merge-patch+json" if method == "PATCH" else "application/json"
        data = b"" if body is None else json.dumps(body).encode()
        reply = self._remote.send(method, path, data, {"content-type": content})
        if reply.status >= 400 and not (method in ("DELETE", "PATCH") and reply.status == 404):
            raise SystemExit(f"{method} {path}: {reply.body.decode()}")
        return reply.value
