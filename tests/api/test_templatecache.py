"""Pods and Jobs of one template: the short way makes the same objects as the long one."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.api.admission import Admission
from ghostfleet.api.options import WriteOptions
from ghostfleet.core.clock import VirtualClock
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store

container = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b"]), "image": st.sampled_from(["x", "x:1", "x@sha256:0"])},
    optional={
        "command": st.lists(st.sampled_from(["sleep", "10"]), max_size=2),
        "resources": st.fixed_dictionaries(
            {}, optional={"limits": st.fixed_dictionaries({"nvidia.com/gpu": st.sampled_from([1, "2", "0.5"])})}
        ),
        "ports": st.just([{"containerPort": 80}]),
    },
)
spec = st.fixed_dictionaries(
    {"containers": st.lists(container, max_size=2)},
    optional={
        "nodeName": st.sampled_from(["n1", ""]),
        "restartPolicy": st.sampled_from(["Never", "Always", "Sometimes"]),
        "priorityClassName": st.sampled_from(["", "system-node-critical", "ghost"]),
        "hostname": st.just("h"),
        "typo": st.just(1),
        "schedulingGates": st.just([{"name": "example.com/wait"}]),
    },
)
metadata = st.fixed_dictionaries(
    {"name": st.sampled_from(["p", "q", "UPPER"])},
    optional={"labels": st.just({"a": "b"}), "annotations": st.just({"c": "d"}), "generateName": st.just("x-")},
)


def outcome(lab: Any, body: dict[str, Any], validation: Any, *, plural: str = "pods", manager: str = "tests") -> Any:
    options = WriteOptions(manager=manager, validation=validation)
    resource, version = lab.at(plural)
    try:
        made = lab.api.create(resource, version, "default", body, options)
    except ApiError as error:
        return without_uids(error.status()), options.warnings
    kept = {key: value for key, value in made["metadata"].items() if key != "resourceVersion"}
    return without_uids({**made, "metadata": kept}), options.warnings


def without_uids(obj: dict[str, Any]) -> Any:
    """The object with one and the same uid in the place of all."""
    return orjson.loads(re.sub(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", b"<uid>", orjson.dumps(obj)))


@given(spec=spec, metadata=metadata, validation=st.sampled_from(["Strict", "Warn", "Ignore"]))
def test_the_second_pod_of_a_template_is_like_the_first(lab_factory, spec, metadata, validation):
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    alone, after = lab_factory(), lab_factory()
    outcome(after, {**body, "metadata": {"name": "first"}}, "Ignore")
    assert outcome(after, body, validation) == outcome(alone, body, validation)


def test_pods_of_one_template_share_their_spec(lab):
    body = {"spec": {"containers": [{"name": "a", "image": "b"}]}}
    made = [lab.create("pods", {**body, "metadata": {"name": f"p{number}"}}) for number in range(3)]
    assert made[1]["spec"] is made[2]["spec"]
    assert made[1]["spec"] == made[0]["spec"]


def test_a_new_priority_class_is_seen_by_later_pods(lab):
    body = {"spec": {"containers": [{"name": "a", "image": "b"}]}}
    assert lab.create("pods", {**body, "metadata": {"name": "p0"}})["spec"]["priority"] == 0
    lab.create("priorityclasses.scheduling.k8s.io", {"metadata": {"name": "high"}, "value": 7, "globalDefault": True})
    assert lab.create("pods", {**body, "metadata": {"name": "p1"}})["spec"]["priority"] == 7


def test_a_name_that_is_taken_is_still_refused(lab):
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
    lab.create("pods", body)
    with pytest.raises(ApiError, match="already exists"):
        lab.create("pods", body)
    with pytest.raises(ApiError, match='namespaces "nowhere" not found'):
        lab.create("pods", body, "nowhere")


job_labels = st.sampled_from(
    [
        {"a": "b"},
        {"a": "c", "d": ""},
        {"a": "bad value"},
        {"a": 1},
        {"a": None},
        {},
        {"job-name": "p"},
        {"bad key": "x"},
    ]
)
job_spec = st.fixed_dictionaries(
    {
        "template": st.fixed_dictionaries(
            {"spec": spec}, optional={"metadata": st.fixed_dictionaries({}, optional={"labels": job_labels})}
        )
    },
    optional={
        "parallelism": st.sampled_from([2, -1, None]),
        "completions": st.just(3),
        "completionMode": st.sampled_from(["NonIndexed", "Indexed"]),
        "manualSelector": st.booleans(),
        "selector": st.sampled_from([None, {"matchLabels": {"a": "b"}}]),
        "backoffLimit": st.just(0),
        "suspend": st.just(True),
        "typo": st.just(1),
    },
)
job_names = st.sampled_from(["p", "UPPER", "dotted.name", "x" * 63, "x" * 64, "y" * 250])


@given(
    spec=job_spec,
    name=job_names,
    rest=st.fixed_dictionaries({}, optional={"labels": st.just({"c": "d"}), "annotations": st.just({"e": "f"})}),
    validation=st.sampled_from(["Strict", "Warn", "Ignore"]),
    managers=st.tuples(st.sampled_from(["", "tests"]), st.sampled_from(["", "tests"])),
    other=job_labels,
)
def test_the_second_job_of_a_template_is_like_the_first(lab_factory, spec, name, rest, validation, managers, other):
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, **rest}, "spec": spec}
    jobs = {"plural": "jobs.batch"}
    alone, after = lab_factory(), lab_factory()
    relabelled = {**spec, "template": {**spec["template"], "metadata": {"labels": other}}}
    first = {**body, "metadata": {"name": "first"}}
    outcome(after, first, "Ignore", **jobs, manager=managers[0])
    if "metadata" in spec["template"]:
        again = {**first, "metadata": {"name": "again"}, "spec": relabelled}
        outcome(after, again, "Ignore", **jobs, manager=managers[0])
    second = outcome(after, body, validation, **jobs, manager=managers[1])
    assert second == outcome(alone, body, validation, **jobs, manager=managers[1])


def test_jobs_of_one_template_share_what_is_not_their_own(lab):
    container = {"name": "a", "image": "b"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    _, one, two = (
        lab.create("jobs.batch", {"metadata": {"name": name}, "spec": {"template": template}})
        for name in ("first", "one", "two")
    )
    assert one["spec"]["template"]["spec"] is two["spec"]["template"]["spec"]
    assert two["spec"]["selector"]["matchLabels"] == {"batch.kubernetes.io/controller-uid": two["metadata"]["uid"]}
    assert two["spec"]["template"]["metadata"]["labels"]["job-name"] == "two"


def test_jobs_that_differ_in_the_labels_of_their_pods_share_the_rest(lab):
    pods = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}
    _, one, two = (
        lab.create(
            "jobs.batch",
            {
                "metadata": {"name": name},
                "spec": {"template": {"metadata": {"labels": {"for": name}}, "spec": pods}},
            },
        )
        for name in ("first", "one", "two")
    )
    assert one["spec"]["template"]["spec"] is two["spec"]["template"]["spec"]
    assert [each["spec"]["template"]["metadata"]["labels"]["for"] for each in (one, two)] == ["one", "two"]
    assert two["metadata"]["labels"]["for"] == "two"
    bad = {"template": {"metadata": {"labels": {"for": "no label"}}, "spec": pods}}
    with pytest.raises(ApiError, match="a valid label must be"):
        lab.create("jobs.batch", {"metadata": {"name": "bad"}, "spec": bad})


SPEC = {"containers": [{"name": "main", "image": "trainer", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}


def templates():
    return Admission(Store(VirtualClock()), Random(0)).templates


def test_a_clean_template_is_returned_as_it_is_so_that_pods_can_share_it():
    template = {"metadata": {"labels": {"app": "a"}}, "spec": SPEC}
    reader = templates()
    assert reader.read(template) is template
    other = reader.read({"metadata": {"labels": {"app": "b"}}, "spec": SPEC})
    assert other["spec"] is SPEC
    assert other["metadata"]["labels"] == {"app": "b"}


def test_fields_that_pods_do_not_have_go():
    template = {"metadata": {"shape": "round"}, "spec": {**SPEC, "colour": "blue"}}
    assert templates().read(template) == {"metadata": {}, "spec": SPEC}


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        (None, "expected to be an object"),
        ({}, "spec.containers: Required value"),
        ({"spec": 3}, "cannot unmarshal number"),
        ({"spec": {"containers": [{"name": "A B", "image": "x"}]}}, r"spec.containers\[0\].name: Invalid value"),
        ({"metadata": {"labels": {"a": 1}}, "spec": SPEC}, "cannot unmarshal number"),
        ({"metadata": {"labels": {"a": "?"}}, "spec": SPEC}, "metadata.labels: Invalid value"),
        ({"metadata": 3, "spec": SPEC}, "cannot unmarshal number"),
        ({"spec": {"containers": [{**SPEC["containers"][0], "resources": {"limits": {"cpu": "x"}}}]}}, "quantities"),
    ],
)
def test_what_no_pod_can_be_made_of_is_refused_in_the_words_of_the_api(template, problem):
    reader = templates()
    for _ in range(2):
        with pytest.raises(ApiError, match=problem):
            reader.read(template)
