"""Admission of pods: service account, priority, tolerations."""

from __future__ import annotations

import pytest

from ghostfleet.api.admission import admit_pod
from ghostfleet.api.defaults.pods import keep_admitted
from ghostfleet.core.errors import ApiError

CLASSES = {
    "high": {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"},
    "usual": {"metadata": {"name": "usual"}, "value": 10, "preemptionPolicy": "PreemptLowerPriority"},
}


def pod(name="a", **spec):
    return {"metadata": {"name": name}, "spec": spec}


def admitted(pod, default=None):
    return admit_pod(pod, priority_class=CLASSES.get, default_priority_class=lambda: CLASSES.get(default))["spec"]


def test_a_pod_that_says_nothing_gets_the_default_account_and_priority_zero():
    spec = admitted(pod())
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    assert spec["priority"] == 0
    assert spec["preemptionPolicy"] == "PreemptLowerPriority"
    assert "priorityClassName" not in spec


def test_a_pod_tolerates_a_lost_node_for_five_minutes():
    assert [(one["key"], one["effect"], one["tolerationSeconds"]) for one in admitted(pod())["tolerations"]] == [
        ("node.kubernetes.io/not-ready", "NoExecute", 300),
        ("node.kubernetes.io/unreachable", "NoExecute", 300),
    ]


@pytest.mark.parametrize("toleration", [{"operator": "Exists"}, {"operator": "Exists", "effect": "NoExecute"}])
def test_a_pod_that_tolerates_everything_gets_no_more_tolerations(toleration):
    assert admitted(pod(tolerations=[toleration]))["tolerations"] == [toleration]


def test_a_toleration_of_another_effect_does_not_count():
    other = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}
    assert len(admitted(pod(tolerations=[other]))["tolerations"]) == 3


def test_a_pod_has_the_priority_of_its_class():
    spec = admitted(pod(priorityClassName="high"), default="usual")
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")


def test_a_pod_without_a_class_gets_the_default_one():
    spec = admitted(pod(), default="usual")
    assert (spec["priorityClassName"], spec["priority"]) == ("usual", 10)


def test_the_classes_of_the_system_are_always_there():
    assert admitted(pod(priorityClassName="system-node-critical"))["priority"] == 2000001000
    assert admitted(pod(priorityClassName="system-cluster-critical"))["priority"] == 2000000000


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"priorityClassName": "foo"}, "no PriorityClass with name foo was found"),
        (
            {"priority": 7},
            "the integer value of priority (7) must not be provided in pod spec; priority admission controller "
            "computed 0 from the given PriorityClass name",
        ),
        (
            {"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"},
            "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority "
            "admission controller computed Never from the given PriorityClass name",
        ),
    ],
)
def test_a_priority_that_is_not_that_of_the_class_is_forbidden(spec, why):
    with pytest.raises(ApiError) as caught:
        admitted(pod("x", **spec))
    assert (caught.value.code, caught.value.message) == (403, f'pods "x" is forbidden: {why}')


def test_the_error_shows_the_prefix_of_a_name_that_is_yet_to_be_made():
    with pytest.raises(ApiError, match='pods "x-" is forbidden'):
        admitted({"metadata": {"generateName": "x-"}, "spec": {"priorityClassName": "foo"}})


def test_a_mirror_pod_keeps_its_account():
    mirror = {"metadata": {"name": "m", "annotations": {"kubernetes.io/config.mirror": "x"}}, "spec": {}}
    assert "serviceAccountName" not in admitted(mirror)


def test_an_admitted_pod_is_admitted_as_it_is():
    once = {"metadata": {"name": "a"}, "spec": admitted(pod(priorityClassName="high"))}
    assert admit_pod(once, priority_class=CLASSES.get, default_priority_class=lambda: None) is once


def test_an_update_that_leaves_out_what_admission_gave_keeps_it():
    old = pod(**admitted(pod(priorityClassName="high")))
    spec = keep_admitted(old, pod(priorityClassName="high"))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"], len(spec["tolerations"])) == (1000, "Never", 2)
    assert keep_admitted(old, old) is old
