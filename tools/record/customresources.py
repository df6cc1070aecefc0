"""What a real API server says about definitions and makes of custom objects: `tests/api/customresources/*.json`.

Recording asks again what the files ask: definitions to create or to put in the place of another one, objects to create
or update, and updates of objects that were stored before their schema was tightened.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from realcluster import RealCluster, told_warnings, write_cases

from support.asgi import Reply

__all__ = ["record"]

CUSTOMS = Path(__file__).parents[2] / "tests" / "api" / "customresources"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_UNSTABLE = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
#: A schema that lets everything through.
_LOOSE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

Object = dict[str, Any]


def record(kubeconfig: Path) -> None:
    cluster = RealCluster(kubeconfig)
    for name, recorder in (("definitions", _definitions), ("objects", _objects), ("ratcheting", _ratcheting)):
        path = CUSTOMS / f"{name}.json"
        asked = json.loads(path.read_text())
        cases = [{**case, "response": response} for case, response in recorder(cluster, asked)]
        more = {key: asked[key] for key in ("definitions", "definition") if key in asked}
        write_cases(path, cluster.recorded(), cases, **more)


def _definitions(cluster: RealCluster, asked: Object) -> list[tuple[Object, Object]]:
    return [(case, _defined(cluster, case)) for case in asked["cases"]]


def _defined(cluster: RealCluster, case: Object) -> Object:
    if "old" not in case:
        return _judged(cluster.ask("POST", f"{_DEFINITIONS}?dryRun=All", case["definition"]))
    cluster.define(case["old"])
    path = f"{_DEFINITIONS}/{case['old']['metadata']['name']}"
    stored = cluster.must("GET", path)
    metadata = {**case["definition"]["metadata"], "resourceVersion": stored["metadata"]["resourceVersion"]}
    answer = _judged(cluster.ask("PUT", f"{path}?dryRun=All", {**case["definition"], "metadata": metadata}))
    cluster.remove(path)
    return answer


def _objects(cluster: RealCluster, asked: Object) -> list[tuple[Object, Object]]:
    for definition in asked["definitions"].values():
        cluster.define(definition)
    made = [(case, _made(cluster, case)) for case in asked["cases"]]
    for definition in asked["definitions"].values():
        cluster.remove(f"{_DEFINITIONS}/{definition['metadata']['name']}")
    return made


def _made(cluster: RealCluster, case: Object) -> Object:
    sent = case["object"]
    first = case.get("old", sent)
    collection = cluster.collection(first["apiVersion"], first["kind"])
    reply = cluster.ask("POST", collection, first)
    if reply.status >= 400 and "old" not in case:
        return _judged(reply)
    path = f"{collection}/{reply.value['metadata']['name']}"
    if "old" in case:
        metadata = {**sent["metadata"], "resourceVersion": reply.value["metadata"]["resourceVersion"]}
        part = f"/{case['subresource']}" if "subresource" in case else ""
        reply = cluster.ask("PUT", f"{path}{part}", {**sent, "metadata": metadata})
    answer = _judged(reply)
    if reply.status < 400:
        kept = {name: value for name, value in reply.value["metadata"].items() if name not in _UNSTABLE}
        answer = {"object": {**reply.value, "metadata": kept}, **answer}
    cluster.remove(path)
    return answer


def _ratcheting(cluster: RealCluster, asked: Object) -> list[tuple[Object, Object]]:
    tight = asked["definition"]
    loose = json.loads(json.dumps(tight))
    version = loose["spec"]["versions"][0]
    version["schema"]["openAPIV3Schema"]["properties"]["spec"] = _LOOSE
    cluster.define(loose)
    kind = {"apiVersion": f"{tight['spec']['group']}/{version['name']}", "kind": tight["spec"]["names"]["kind"]}
    collection = cluster.collection(kind["apiVersion"], kind["kind"])
    stored = [
        cluster.must("POST", collection, {**kind, "metadata": {"name": f"case-{number}"}, "spec": case["old"]})
        for number, case in enumerate(asked["cases"])
    ]
    cluster.define(tight)
    answers = []
    for case, old in zip(asked["cases"], stored, strict=True):
        path = f"{collection}/{old['metadata']['name']}"
        answers.append((case, _judged(cluster.ask("PUT", path, {**old, "spec": case["new"]}))))
    cluster.remove(f"{_DEFINITIONS}/{tight['metadata']['name']}")
    return answers


def _judged(reply: Reply) -> Object:
    """Code and findings of a refusal, and warnings; in which order these come is chance."""
    warnings = sorted(told_warnings(reply))
    told: Object = {"warnings": warnings} if warnings else {}
    if reply.status < 400:
        return told
    causes = (reply.value.get("details") or {}).get("causes")
    if reply.status != 422 or causes is None:
        return {"code": reply.status, "message": reply.value["message"], **told}
    found = sorted([each["field"], each["reason"], each["message"]] for each in causes)
    return {"code": 422, "causes": found, **told}
