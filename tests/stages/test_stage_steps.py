"""What the steps of a stage come to for an object."""

from __future__ import annotations

import pytest

from ghostfleet.languages.errors import EvaluationError
from ghostfleet.stages.stage import parse_stage
from ghostfleet.stages.steps import ApplyAction, DeleteAction, PatchAction, StageEvent, actions


def come_to(steps, obj=None, **more):
    stage = parse_stage(
        {
            "apiVersion": "kwok.x-k8s.io/v1alpha1",
            "kind": "Stage",
            "metadata": {"name": "s"},
            "spec": {"resourceRef": {"kind": "ConfigMap"}, "selector": {}, "steps": steps},
        }
    )
    return list(actions(stage.steps, obj or {"metadata": {"name": "x"}}, {}, **more))


def finalizers(present, **change):
    change = {key: value if key == "empty" else [{"value": name} for name in value] for key, value in change.items()}
    obj = {"metadata": {"name": "x", **({"finalizers": present} if present else {})}}
    done = come_to([{"finalizers": change}], obj)
    return done[0].data if done else []


@pytest.mark.parametrize(
    ("present", "change", "operations"),
    [
        ([], {"add": ["a"]}, [{"op": "add", "path": "/metadata/finalizers", "value": ["a"]}]),
        (["a"], {"add": ["a"]}, []),
        (["a"], {"add": ["b"]}, [{"op": "add", "path": "/metadata/finalizers/-", "value": "b"}]),
        ([], {"remove": ["a"]}, []),
        (["a"], {"remove": ["a"]}, [{"op": "remove", "path": "/metadata/finalizers"}]),
        (["a", "b"], {"remove": ["a"]}, [{"op": "remove", "path": "/metadata/finalizers/0"}]),
        (
            ["a", "b", "c"],
            {"remove": ["a", "c"]},
            [{"op": "remove", "path": "/metadata/finalizers/2"}, {"op": "remove", "path": "/metadata/finalizers/0"}],
        ),
        ([], {"empty": True}, []),
        (["a"], {"empty": True, "remove": ["b"]}, [{"op": "remove", "path": "/metadata/finalizers"}]),
        (
            ["a"],
            {"empty": True, "add": ["a"]},
            [
                {"op": "remove", "path": "/metadata/finalizers"},
                {"op": "add", "path": "/metadata/finalizers", "value": ["a"]},
            ],
        ),
    ],
)
def test_finalizers_change_by_json_patch(present, change, operations):
    assert finalizers(present, **change) == operations


def test_after_a_deletion_only_events_are_left():
    event = {"event": {"type": "Normal", "reason": "R", "message": "M"}}
    steps = [{"delete": True, "patch": {"template": "a: b"}}, {"patch": {"template": "a: b"}}, event, {"delete": True}]
    assert come_to(steps) == [DeleteAction(), StageEvent("Normal", "R", "M")]


def test_a_patch_is_yaml_below_its_root():
    (patch,) = come_to([{"patch": {"root": "data", "template": "a: {{ .metadata.name }}\nm: 012"}}])
    assert patch == PatchAction("merge", {"data": {"a": "x", "m": 10}})


def test_the_paths_of_a_json_patch_are_put_below_its_root():
    template = "- {op: add, path: /a, value: 1}\n- {op: move, from: /b, path: /c}"
    (patch,) = come_to([{"patch": {"root": "data", "template": template, "type": "json"}}])
    moved = {"op": "move", "path": "/data/c", "from": "/b"}
    assert patch == PatchAction("json", [{"op": "add", "path": "/data/a", "value": 1}, moved])


def test_the_type_is_the_stated_one_or_the_default_of_the_kind():
    steps = [{"patch": {"template": "a: b"}}, {"patch": {"template": "a: b", "type": "merge"}}]
    assert [patch.type for patch in come_to(steps, default_type="strategic")] == ["strategic", "merge"]


def test_an_applied_object_keeps_type_subresource_and_user():
    apply = {"template": "kind: X", "subresource": "status", "type": "merge", "impersonation": {"username": "u"}}
    assert come_to([{"apply": apply}]) == [ApplyAction("merge", {"kind": "X"}, "status", "u")]


def test_text_that_is_no_yaml_is_an_error():
    with pytest.raises(EvaluationError, match="no YAML"):
        come_to([{"patch": {"template": "a: b: c"}}])
