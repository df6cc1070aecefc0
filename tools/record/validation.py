"""What a real API server says about bad manifests: `tests/api/validation/*.json`.

Recording asks again what the files ask, as `tests/api/test_validation_golden.py` describes it. `bases.json` and
`accepted.json` hold objects that the server must take.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from realcluster import MERGE, RealCluster, write_cases

from support.asgi import Reply
from support.changes import changed

__all__ = ["record"]

VALIDATION = Path(__file__).parents[2] / "tests" / "api" / "validation"
NAMESPACE = "golden"
_GIVEN = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "deletionTimestamp")

Object = dict[str, Any]


def record(kubeconfig: Path) -> None:
    cluster = RealCluster(kubeconfig)
    cluster.make_namespace(NAMESPACE)
    recorded = cluster.recorded()
    bases = json.loads((VALIDATION / "bases.json").read_text())["bases"]
    for base in bases.values():
        _must_be_taken(cluster, base["object"])
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(base)}" for name, base in bases.items())
    (VALIDATION / "bases.json").write_text(f'{{"recorded": {json.dumps(recorded)}, "bases": {{\n{lines}\n}}}}\n')
    asking = {"creates": _created, "updates": _updated, "shapes": _shaped, "accepted": _accepted}
    for name, ask in asking.items():
        path = VALIDATION / f"{name}.json"
        cases = json.loads(path.read_text())["cases"]
        write_cases(path, recorded, [ask(cluster, bases, case) for case in cases])


def _must_be_taken(cluster: RealCluster, obj: Object) -> None:
    reply = _post(cluster, obj)
    if reply.status != 201:
        raise SystemExit(f"a good {obj['kind']} is refused: {reply.body.decode()}")


def _post(cluster: RealCluster, obj: Object, query: str = "dryRun=All") -> Reply:
    collection = cluster.collection(obj["apiVersion"], obj["kind"], NAMESPACE)
    return cluster.ask("POST", f"{collection}?{query}", obj)


def _fresh(obj: Object) -> Object:
    """An object as a client would send it."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _GIVEN}
    if "generateName" in metadata:
        metadata.pop("name", None)
    spec, drawn = obj.get("spec"), set()
    if obj["kind"] == "Job" and not spec["manualSelector"]:
        # A new Job gets its selector, and the labels for it, from the server.
        spec, drawn = {**spec, "template": {**spec["template"], "metadata": {}}}, {"selector"}
    elif obj["kind"] == "Service" and spec.get("clusterIP") != "None":
        drawn = {"clusterIP", "clusterIPs"}
    if drawn:
        spec = {name: value for name, value in spec.items() if name not in drawn}
    return {**obj, "metadata": metadata} | ({"spec": spec} if spec is not None else {})


def _created(cluster: RealCluster, bases: Object, case: Object) -> Object:
    answer = _answer(_post(cluster, changed(bases[case["base"]]["object"], case["changes"])))
    if _findings(answer) == _findings(case):
        # Which finding comes first is chance where the server goes through a map.
        return case
    return {**_asked(case), "message": answer["message"], "causes": answer["causes"]}


def _findings(answer: Object) -> list[Any]:
    return sorted([each["field"], each["reason"], each["message"]] for each in answer.get("causes", ()))


def _shaped(cluster: RealCluster, _bases: Object, case: Object) -> Object:
    reply = _post(cluster, case["object"], "dryRun=All&fieldValidation=Strict")
    return {**_asked(case), "message": reply.value["message"]}


def _accepted(cluster: RealCluster, _bases: Object, case: Object) -> Object:
    _must_be_taken(cluster, _fresh(case["object"]))
    return case


def _updated(cluster: RealCluster, _bases: Object, case: Object) -> Object:
    """The object is stored, with its status; then it is changed. Answers are told with the uid that the file has."""
    old = case["old"]
    collection = cluster.collection(old["apiVersion"], old["kind"], NAMESPACE)
    path = f"{collection}/{old['metadata']['name']}"
    cluster.remove(path)
    stored = cluster.must("POST", collection, _fresh(old))
    if old.get("status") and stored.get("status") != old["status"]:
        stored = cluster.must("PATCH", f"{path}/status", {"status": old["status"]}, MERGE)
    if "deletionTimestamp" in old["metadata"]:
        cluster.must("DELETE", path)
        stored = cluster.must("GET", path)
    part = f"/{case['subresource']}" if case["subresource"] else ""
    answer = _answer(cluster.ask("PUT", f"{path}{part}?dryRun=All", changed(stored, case["changes"])))
    cluster.remove(path)
    text = json.dumps(answer).replace(stored["metadata"]["uid"], old["metadata"].get("uid", ""))
    return {**_asked(case), "code": 200, **json.loads(text)}


def _asked(case: Object) -> Object:
    return {name: value for name, value in case.items() if name not in ("code", "message", "causes")}


def _answer(reply: Reply) -> Object:
    if reply.status < 400:
        return {}
    answer = {"code": reply.status, "message": reply.value["message"]}
    if causes := (reply.value.get("details") or {}).get("causes"):
        answer["causes"] = causes
    return answer
