"""A real cluster to ask: its API server, spoken to in JSON, and the files that its answers go to.

Every file of recorded answers says under `recorded` which version of which program gave them; each case has a line.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from parity_material.servers import Remote

from support.asgi import Reply

__all__ = ["JSON", "MERGE", "RealCluster", "told_warnings", "write_cases"]

JSON = "application/json"
MERGE = "application/merge-patch+json"
_PATIENCE = 60.0

Object = dict[str, Any]


class RealCluster:
    """An API server behind a kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        self._remote = Remote(kubeconfig)
        self._resources: dict[str, dict[str, Object]] = {}

    def ask(self, method: str, path: str, body: Any = None, content: str = JSON, accept: str = JSON) -> Reply:
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"content-type": content, "user-agent": "recorder/1", "accept": accept}
        return self._remote.send(method, path, data, headers)

    def send(self, method: str, path: str, body: Any = None, content: str = JSON) -> Any:
        """What is answered, whatever its status."""
        return self.ask(method, path, body, content).value

    def must(self, method: str, path: str, body: Any = None, content: str = JSON) -> Any:
        """What is answered, where nothing can go wrong."""
        reply = self.ask(method, path, body, content)
        if reply.status >= 400:
            raise SystemExit(f"{method} {path}: {reply.body.decode()}")
        return reply.value

    def recorded(self) -> dict[str, str]:
        """Which program answers, for the files."""
        return {"kube-apiserver": self.must("GET", "/version")["gitVersion"]}

    def collection(self, api_version: str, kind: str, namespace: str = "default") -> str:
        """Where objects of a kind are."""
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        if kind not in self._resources.get(root, {}):
            listed = self.send("GET", root).get("resources", [])
            self._resources[root] = {each["kind"]: each for each in reversed(listed) if "/" not in each["name"]}
        resource = self._resources[root][kind]
        scope = f"/namespaces/{namespace}" if resource["namespaced"] else ""
        return f"{root}{scope}/{resource['name']}"

    def make_namespace(self, name: str) -> None:
        self.must("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def remove(self, path: str) -> None:
        """Delete an object whose finalizers nobody looks after, and wait until it is gone."""
        self.send("DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background")
        self.send("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
        self._until(path, lambda reply: reply.status == 404)

    def define(self, definition: Object) -> None:
        """Create a definition, or change it, and wait until its objects are served by it."""
        collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        path = f"{collection}/{definition['metadata']['name']}"
        if self.ask("GET", path).status == 404:
            self.must("POST", collection, definition)
        else:
            self.must("PATCH", path, {"spec": definition["spec"]}, MERGE)
        self._until(path, _is_established)
        # A definition is told as established before all requests see it.
        time.sleep(1)

    def _until(self, path: str, done: Any) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not done(self.ask("GET", path)):
            if time.monotonic() > deadline:
                raise SystemExit(f"{path}: nothing has changed for {_PATIENCE:.0f} seconds")
            time.sleep(0.05)


def _is_established(reply: Reply) -> bool:
    conditions = (reply.value.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def told_warnings(reply: Reply) -> list[str]:
    """The texts of an answer's warnings, without code and agent."""
    return [json.loads(each.split(" ", 2)[2]) for each in reply.all("warning")]


def write_cases(path: Path, recorded: dict[str, str], cases: Iterable[Any], **more: Any) -> None:
    head = json.dumps({"recorded": recorded, **more}, ensure_ascii=False)
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    path.write_text(f'{head[:-1]}, "cases": [\n{lines}\n]}}\n')
