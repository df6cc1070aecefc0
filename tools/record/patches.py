"""What a real API server answers to the patch cases.

A *case* (in `tests/core/patch/cases/<topic>.yaml`) creates an object and sends patches to it, one after the other. Each
answer is written into `<topic>.json` beside it, without what differs from run to run: uid, resourceVersion, generation
and times.
"""

from __future__ import annotations

import json
import urllib.parse
from pathlib import Path
from typing import Any

import yaml
from parity_material.cases import PATCHES
from parity_material.servers import Remote

__all__ = ["record"]

CASES = Path(__file__).parents[2] / "tests" / "core" / "patch" / "cases"
NAMESPACE = "patch-cases"
UNSTABLE = ("uid", "resourceVersion", "creationTimestamp", "generation")

Object = dict[str, Any]


class Server:
    """A Kubernetes API server, spoken to in JSON."""

    def __init__(self, kubeconfig: Path) -> None:
        self._remote = Remote(kubeconfig)
        self._resources: dict[str, dict[str, Object]] = {}

    def send(self, method: str, path: str, body: Any = None, content: str = "application/json") -> Object:
        data = b"" if body is None else json.dumps(body).encode()
        answer: Object = self._remote.send(
            method, path, data, {"content-type": content, "user-agent": "recorder/1"}
        ).value
        return answer

    def path_of(self, api_version: str, kind: str) -> str:
        """Where objects of a kind are."""
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        if kind not in self._resources.get(root, {}):
            listed = self.send("GET", root).get("resources", [])
            self._resources[root] = {each["kind"]: each for each in reversed(listed) if "/" not in each["name"]}
        resource = self._resources[root][kind]
        scope = f"/namespaces/{NAMESPACE}" if resource["namespaced"] else ""
        return f"{root}{scope}/{resource['name']}"


def record(kubeconfig: Path) -> None:
    """Record all topics."""
    server = Server(kubeconfig)
    server.send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for path in sorted(CASES.glob("*.yaml")):
        content = yaml.safe_load(path.read_text())
        for definition in content.get("definitions", []):
            server.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        answers = {case["name"]: _answers(server, case) for case in content["cases"]}
        lines = [f" {json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items()]
        path.with_suffix(".json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _answers(server: Server, case: Object) -> Object:
    """Create the object, send the patches, delete it; the answers to all of it."""
    template = case.get("object") or case["steps"][0]["patch"]
    collection = server.path_of(template["apiVersion"], template["kind"])
    path = f"{collection}/{template['metadata']['name']}"
    _remove(server, path, template)
    answers: Object = {"recorded": True}
    if "object" in case:
        created = server.send("POST", f"{collection}?fieldManager={case.get('creator', 'creator')}", case["object"])
        answers["created"] = _stable(created)
    answers["steps"] = [_stable(_send_step(server, path, step)) for step in case["steps"]]
    _remove(server, path, template)
    return answers


def _remove(server: Server, path: str, template: Object) -> None:
    """Delete an object, doing what controllers would do otherwise."""
    server.send("DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background")
    server.send("PATCH", path, {"metadata": {"finalizers": None}}, PATCHES["merge"])
    if template["kind"] == "Namespace":
        server.send("PUT", f"{path}/finalize", {**template, "spec": {"finalizers": []}})


def _send_step(server: Server, path: str, step: Object) -> Object:
    query = {"fieldManager": step.get("manager", "patcher")}
    if step.get("force"):
        query["force"] = "true"
    if step.get("validation"):
        query["fieldValidation"] = step["validation"]
    at = f"{path}/{step['subresource']}" if "subresource" in step else path
    return server.send("PATCH", f"{at}?{urllib.parse.urlencode(query)}", step["patch"], PATCHES[step["type"]])


def _stable(answer: Object) -> Object:
    """The answer without what differs from run to run; a time only shows that there was one."""
    if answer.get("kind") == "Status":
        return {"error": answer}
    metadata = {key: value for key, value in answer["metadata"].items() if key not in UNSTABLE}
    entries = [{**each, "time": "T"} if "time" in each else each for each in metadata.get("managedFields", [])]
    if entries:
        metadata["managedFields"] = entries
    return {"object": {**answer, "metadata": metadata}}
