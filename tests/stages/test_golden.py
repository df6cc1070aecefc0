"""KWOK's own golden cases: an object in, the plan of all stages that may come next out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ghostfleet.core.manifests import load_documents
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.languages.gotemplate.fmt import go_syntax
from ghostfleet.stages.catalogue import load_stages
from ghostfleet.stages.lifecycle import Lifecycle
from ghostfleet.stages.selectors import Answers
from ghostfleet.stages.stage import Stage
from ghostfleet.stages.steps import ApplyAction, DeleteAction, PatchAction, StageEvent, actions

CASES = Path(__file__).parents[3] / "shared" / "fixtures" / "kwok-stages"
NOW = parse_rfc3339("2006-01-02T15:04:05Z")
MEDIA = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}

found = sorted(CASES.glob("*/*/testdata/*.input.yaml")) if CASES.exists() else []
needs_cases = pytest.mark.skipif(not found, reason="KWOK's golden cases are not beside this checkout")


def only_object(path: Path) -> Any:
    (document,) = load_documents(path.read_bytes(), str(path))
    return document.object


def told(name: str) -> Callable[..., str]:
    def function(*arguments: Any) -> str:
        return f"<{name}({', '.join(map(go_syntax, arguments))})>" if arguments else f"<{name}>"

    return function


def told_twice(name: str) -> Callable[..., list[str]]:
    one = told(name)
    return lambda *arguments: [f"<{place} of {one(*arguments)[1:]}" for place in (0, 1)]


FUNCTIONS = {
    name: told(name)
    for name in ("NodeIP", "NodeName", "NodePort", "PodIP", "NodeIPWith", "PodIPWith", "Now", "now", "Version")
} | {name: told_twice(name) for name in ("NodeIPsWith", "PodIPsWith")}


def plan_of(stage: Stage, obj: Any) -> dict[str, Any]:
    answers = Answers(obj, NOW)
    plan: dict[str, Any] = {"stage": stage.name}
    bounds = stage.delay.between(answers) if stage.delay is not None else ()
    if bounds:
        plan["delay"] = [bound * 1000 for bound in bounds]
    weight = stage.weight.get(answers)
    if weight is not None:
        plan["weight"] = weight
    plan["next"] = [described(action) for action in actions(stage.steps, obj, FUNCTIONS)]
    if stage.immediate:
        plan["next"].append({"kind": "immediate"})
    return plan


def described(action: Any) -> dict[str, Any]:
    match action:
        case StageEvent(type_, reason, message):
            return {"kind": "event", "type": type_, "reason": reason, "message": message}
        case DeleteAction():
            return {"kind": "delete"}
        case PatchAction(type_, data, subresource, user) | ApplyAction(type_, data, subresource, user):
            kind = "patch" if isinstance(action, PatchAction) else "apply"
            shown = {"kind": kind, "type": MEDIA[type_], "data": data}
            return (
                shown
                | ({"subresource": subresource} if subresource else {})
                | ({"impersonation": user} if user else {})
            )
    raise AssertionError(action)


@needs_cases
@pytest.mark.parametrize("case", found, ids=lambda path: str(path.relative_to(CASES)).removesuffix(".input.yaml"))
def test_a_golden_case_gives_the_plan_that_kwok_gives(case: Path) -> None:
    obj = only_object(case)
    stages = [
        stage
        for stage in load_stages(case.parents[1]).stages
        if (stage.api_version, stage.kind) == (obj["apiVersion"], obj["kind"])
    ]
    metadata = obj["metadata"]
    result = {"apiGroup": obj["apiVersion"], "kind": obj["kind"], "name": metadata["name"]}
    if metadata.get("namespace"):
        result["namespace"] = metadata["namespace"]
    result["stages"] = [plan_of(stage, obj) for stage in Lifecycle(stages).possible(obj, NOW)]
    assert result == only_object(case.with_name(case.name.replace(".input.", ".output.")))


@needs_cases
def test_every_stage_file_of_kwok_loads_without_a_complaint() -> None:
    folders = sorted({path.parent for path in CASES.glob("*/*/*.yaml")})
    notes = [note for folder in folders for note in load_stages(folder).notes]
    assert [note for note in notes if "StorageClass" not in note] == []
