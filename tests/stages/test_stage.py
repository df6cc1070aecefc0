"""Reading stages: what loads, what does not, and what the author is told."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ghostfleet.stages import catalogue
from ghostfleet.stages.catalogue import built_in_sets, load_stages, stage_definition
from ghostfleet.stages.stage import COMPATIBILITIES, StageError, parse_stage
from ghostfleet.stages.steps import Finalizers, StageEvent


def stage_with(**spec):
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": "s"},
        "spec": {"resourceRef": {"kind": "Pod"}, "selector": {}, **spec},
    }


def expression(**fields):
    return {"selector": {"matchExpressions": [fields]}}


def kinds_of_steps(stage):
    return [
        next(name for name in ("event", "finalizers", "delete", "patch", "apply") if getattr(step, name))
        for step in stage.steps
    ]


@pytest.mark.parametrize("compatibility", COMPATIBILITIES)
@pytest.mark.parametrize("name", [*built_in_sets(), "fast+chaos", "general+chaos"])
def test_the_sets_that_come_along_load_without_a_complaint(name, compatibility):
    loaded = load_stages(name, compatibility=compatibility)
    assert loaded.stages
    assert loaded.notes == ()


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (expression(key=".status | getpath(", operator="Exists"), "jq"),
        (expression(key=".status | nonsense", operator="Exists"), "nonsense"),
        (expression(cel={"expression": "self.status.phase ==="}), "cel"),
        (expression(key=".a", operator="Intersection", values=["x"]), "Intersection"),
        (expression(key=".a", operator="In"), "In needs at least one value"),
        (expression(key=".a", operator="Exists", values=["x"]), "Exists takes no values"),
        (expression(key=".a", operator="In", values=[True]), "expected a text"),
        (expression(operator="In"), "expected jq, cel or key"),
        ({"next": {"statusTemplate": "{{ Nonsense }}"}}, "Nonsense"),
        ({"next": {"statusTemplate": "{{ if }}"}}, "spec.next.statusTemplate"),
        ({"steps": [{"patch": {"type": "apply", "template": "a: b"}}]}, "spec.steps[0].patch.type"),
        ({"delay": {"durationMilliseconds": "5"}}, "spec.delay.durationMilliseconds"),
        ({"delay": {"durationMilliseconds": -1}}, "spec.delay.durationMilliseconds"),
        ({"delay": {"durationFrom": {"jq": {"expression": ".a |"}}}}, "jq"),
        ({"weightFrom": {"cel": {"expression": "("}}}, "cel"),
        ({"resourceRef": {}}, "spec.resourceRef.kind"),
    ],
)
def test_what_is_wrong_with_a_stage_is_told_with_its_name_when_it_is_read(spec, complaint):
    with pytest.raises(StageError) as caught:
        parse_stage(stage_with(**spec), source="kwok.yaml")
    assert "stage 's' (kwok.yaml)" in str(caught.value)
    assert complaint in str(caught.value)


def test_functions_of_pods_are_not_there_for_other_kinds():
    template = {"next": {"statusTemplate": "ip: {{ PodIP }}"}}
    parse_stage(stage_with(**template))
    with pytest.raises(StageError, match="PodIP"):
        parse_stage(stage_with(resourceRef={"kind": "ConfigMap"}, **template))


@pytest.mark.parametrize(
    ("spec", "note"),
    [
        ({"selector": None}, "never used"),
        ({"delay": {"durationMillis": 5}}, "unknown field spec.delay.durationMillis"),
        (
            {"delay": {"durationMilliseconds": 60_000, "jitterDurationMilliseconds": 5_000}},
            "so that the delay is 5000 ms",
        ),
        ({"delay": {"jitterDurationFrom": {"cel": {"expression": "'5s'"}}}}, "jitterDurationFrom.cel has no effect"),
    ],
)
def test_what_may_surprise_is_noted(spec, note):
    (only,) = parse_stage(stage_with(**spec)).notes
    assert note in only


def test_next_comes_to_event_finalizers_patches_and_deletion_in_this_order():
    following = {
        "delete": True,
        "statusTemplate": "phase: Failed",
        "finalizers": {"empty": True},
        "event": {"type": "Normal", "reason": "R", "message": "M"},
    }
    stage = parse_stage(stage_with(next=following))
    assert kinds_of_steps(stage) == ["event", "finalizers", "patch", "delete"]
    assert stage.steps[0].event == StageEvent("Normal", "R", "M")
    assert stage.steps[1].finalizers == Finalizers(empty=True)
    assert (stage.steps[2].patch.root, stage.steps[2].patch.subresource) == ("status", "status")
    assert stage.phase == "Failed"


def test_before_0_8_a_deletion_took_the_place_of_patches():
    following = {"delete": True, "statusTemplate": "phase: Failed", "finalizers": {"empty": True}}
    assert kinds_of_steps(parse_stage(stage_with(next=following), compatibility="0.7")) == ["finalizers", "delete"]


def test_patches_come_before_the_status_template_and_steps_before_next():
    patches = [{"template": "a: b", "root": "metadata", "type": "merge"}]
    following = {"patches": patches, "statusTemplate": "phase: X"}
    stage = parse_stage(stage_with(next=following))
    assert [step.patch.root for step in stage.steps] == ["metadata"]
    both = parse_stage(stage_with(next=following, steps=[{"delete": True}]))
    assert kinds_of_steps(both) == ["delete"]
    older = parse_stage(stage_with(next=following, steps=[{"delete": True}]), compatibility="0.7")
    assert kinds_of_steps(older) == ["patch"]
    (note,) = older.notes
    assert "spec.steps came with KWOK 0.8" in note


def test_a_configuration_file_is_read_and_what_is_no_stage_in_it_is_noted(stage_file, make_stage):
    documents = [{"apiVersion": "config.kwok.x-k8s.io/v1alpha1", "kind": "KwokConfiguration"}]
    listed = {"apiVersion": "v1", "kind": "List", "items": [make_stage("b", "Running", "Failed")]}
    documents += [make_stage("a", "Pending", "Running"), listed]
    loaded = load_stages(stage_file(yaml.safe_dump_all(documents)))
    assert [stage.name for stage in loaded.stages] == ["a", "b"]
    (note,) = loaded.notes
    assert "KwokConfiguration" in note


def test_a_later_stage_of_the_same_name_replaces_an_earlier_one(stage_file, make_stage):
    path = stage_file(yaml.safe_dump(make_stage("pod-ready", "Pending", "Unknown")))
    loaded = load_stages(["fast", path])
    assert [stage.phase for stage in loaded.stages if stage.name == "pod-ready"] == ["Unknown"]


@pytest.mark.parametrize("source", ["fastest", "fast+nothing"])
def test_a_source_that_is_not_there_is_an_error_that_names_the_sets(source):
    with pytest.raises(StageError, match="chaos, clusterloader, fast, general"):
        load_stages(source)


def test_a_file_without_stages_is_an_error(stage_file):
    with pytest.raises(StageError, match="found no stages"):
        load_stages(stage_file("apiVersion: v1\nkind: ConfigMap\n"))


def test_the_definition_takes_every_stage_that_comes_along(make_world):
    world = make_world()
    world.create(stage_definition())
    world.run()
    for path in sorted((Path(catalogue.__file__).parent / "data").glob("*/*.yaml")):
        obj = yaml.safe_load(path.read_text())
        if world.store.find("stages.kwok.x-k8s.io", "", obj["metadata"]["name"]) is None:
            stored = world.create(obj)
            assert stored["spec"]["next"].items() >= obj["spec"]["next"].items()


def test_a_directory_that_is_called_like_a_set_does_not_hide_it(tmp_path, monkeypatch):
    (tmp_path / "stress").mkdir()
    monkeypatch.chdir(tmp_path)
    assert {stage.name for stage in load_stages("stress").stages} >= {"pod-create", "pod-ready"}
    with pytest.raises(StageError, match="found no stages"):
        load_stages("./stress")


def test_the_example_of_a_users_own_stages_is_the_set_stress():
    built_in = (Path(catalogue.__file__).parent / "data" / "stress").glob("*.yaml")
    example = Path(__file__).parents[2] / "examples" / "03-kwok-stages" / "kwok.yaml"
    stages = {each["metadata"]["name"]: each for each in yaml.safe_load_all(example.read_text())}
    shipped = {path.stem: yaml.safe_load(path.read_text()) for path in built_in}
    for stage in shipped.values():
        # Where its figures come from is said of our own sets only.
        stage["metadata"].pop("annotations", None)
    assert stages == shipped
