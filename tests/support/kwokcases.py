"""Cases of KWOK's behaviour: stages, and what is done to objects while they are played.

`tests/stages/kwok/cases.yaml` has the cases, `recorded.json` what the objects went through with the real kwok. What is seen
of an object is its *look*: labels, annotations, finalizers, whether it is being deleted, status and what stages may
change besides, without what differs from run to run. Two looks that are the same count as one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ghostfleet.core.patch import apply_merge_patch

__all__ = ["RECORDED", "Case", "Step", "histories", "load_cases", "load_recorded", "told_events"]

_FOLDER = Path(__file__).parents[1] / "stages" / "kwok"
RECORDED = _FOLDER / "recorded.json"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
_NODE_READY = {
    "name": "node-ready",
    "kind": "Node",
    "selector": {"matchExpressions": [{"key": ".status.phase", "operator": "DoesNotExist"}]},
    "next": {"statusTemplate": "phase: Running"},
}
_POD = {"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": "n", "containers": [{"name": "main", "image": "i"}]}}
_NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"annotations": {"kwok.x-k8s.io/node": "fake"}}}

Object = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """Something that is done to an object: `create`, `patch` (a merge patch), `delete` or `bind` (to a node)."""

    verb: str
    kind: str
    name: str
    body: Object
    #: so long nothing need happen before all is over, in seconds
    wait: float = 0.0


@dataclass(frozen=True)
class Case:
    """Stages, and the steps that are taken while they are played."""

    name: str
    stages: tuple[Object, ...]
    steps: tuple[Step, ...]


def load_cases() -> list[Case]:
    return [_case(written) for written in yaml.safe_load((_FOLDER / "cases.yaml").read_text())]


def load_recorded() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(RECORDED.read_text())
    return recorded


def _case(written: Object) -> Case:
    stages = [_stage(dict(each)) for each in written["stages"]]
    if all(each["spec"]["resourceRef"]["kind"] != "Node" for each in stages):
        stages.append(_stage(dict(_NODE_READY)))
    steps = [_step({"node": "n"}), *(_step(each) for each in written["steps"])]
    return Case(written["name"], tuple(stages), tuple(steps))


def _stage(written: Object) -> Object:
    name, kind = written.pop("name"), written.pop("kind", "Pod")
    spec = {"resourceRef": {"apiGroup": "v1", "kind": kind}, **written}
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": spec}


def _step(written: Object) -> Step:
    given, wait = written.get("with", {}), written.get("wait", 0.0)
    for verb in ("patch", "delete", "bind"):
        if verb in written:
            kind, _, name = written[verb].partition("/")
            body = {"target": {"kind": "Node", "name": written["to"]}} if verb == "bind" else given
            return Step(verb, kind.capitalize(), name, body, wait)
    obj = written.get("create")
    if obj is None:
        kind, template = ("pod", _POD) if "pod" in written else ("node", _NODE)
        obj = apply_merge_patch(
            {**template, "metadata": {**template.get("metadata", {}), "name": written[kind]}}, given
        )
    return Step("create", obj["kind"], obj["metadata"]["name"], obj, wait)


def histories(seen: Iterable[tuple[str, Object]]) -> dict[str, list[Any]]:
    """The looks of each object, from what a watch told of all."""
    made: dict[str, list[Any]] = {}
    for event, obj in seen:
        looks = made.setdefault(f"{obj['kind']}/{obj['metadata']['name']}", [])
        look = "gone" if event == "DELETED" else _look(obj)
        if not looks or looks[-1] != look:
            looks.append(look)
    return made


def _look(obj: Object) -> Object:
    metadata = obj["metadata"]
    look: Object = {name: metadata[name] for name in ("labels", "annotations", "finalizers") if metadata.get(name)}
    if "deletionTimestamp" in metadata:
        look["deleted"] = True
    if obj.get("spec", {}).get("unschedulable"):
        look["unschedulable"] = True
    look |= {name: obj[name] for name in ("data", "status") if obj.get(name)}
    normal: Object = _plain(look)
    return normal


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in sorted(value.items())}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return _ADDRESS.sub("ADDRESS", _TIME.sub("TIME", value)) if isinstance(value, str) else value


def told_events(events: Iterable[Object]) -> list[list[str]]:
    """Events as [object, type, reason, message]; which comes first is chance, as their times are whole seconds."""
    told = [[each["involvedObject"]["name"], each["type"], each["reason"], each["message"]] for each in events]
    return sorted(told)
