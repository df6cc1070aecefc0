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
from realcluster import RealCluster

__all__ = ["record"]

CASES = Path(__file__).parents[2] / "tests" / "core" / "patch" / "cases"
NAMESPACE = "patch-cases"
UNSTABLE = ("uid", "resourceVersion", "creationTimestamp", "generation")

Object = dict[str, Any]


def record(kubeconfig: Path) -> None:
    """Record all topics."""
    server = RealCluster(kubeconfig)
    server.make_namespace(NAMESPACE)
    for path in sorted(CASES.glob("*.yaml")):
        content = yaml.safe_load(path.read_text())
        for definition in content.get("definitions", []):
            server.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        answers = {case["name"]: _answers(server, case) for case in content["cases"]}
        head = json.dumps({"recorded": server.recorded()})
        lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
        path.with_suffix(".json").write_text(f'{head[:-1]}, "cases": {{\n{lines}\n}}}}\n')


def _answers(server: RealCluster, case: Object) -> Object:
    """Create the object, send the patches, delete it; the answers to all of it."""
    template = case.get("object") or case["steps"][0]["patch"]
    collection = server.collection(template["apiVersion"], template["kind"], NAMESPACE)
    path = f"{collection}/{template['metadata']['name']}"
    _remove(server, path, template)
    answers: Object = {}
    if "object" in case:
        created = server.send("POST", f"{collection}?fieldManager={case.get('creator', 'creator')}", case["object"])
        answers["created"] = _stable(created)
    answers["steps"] = [_stable(_send_step(server, path, step)) for step in case["steps"]]
    _remove(server, path, template)
    return answers


def _remove(server: RealCluster, path: str, template: Object) -> None:
    """Delete an object, doing what controllers would do otherwise."""
    server.send("DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background")
    server.send("PATCH", path, {"metadata": {"finalizers": None}}, PATCHES["merge"])
    if template["kind"] == "Namespace":
        server.send("PUT", f"{path}/finalize", {**template, "spec": {"finalizers": []}})


def _send_step(server: RealCluster, path: str, step: Object) -> Object:
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
