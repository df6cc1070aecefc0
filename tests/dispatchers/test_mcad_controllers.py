"""AppWrappers under MCAD, from submission to their end, in both versions and under the better dispatcher."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from mcad_runs import STAGES, Lab, custom, job, wrapper

from ghostfleet.core.errors import ApiError

ALL = ["mcad-1.32", "mcad-1.40", "better"]
REAL = ["mcad-1.32", "mcad-1.40"]


def sleeper(name: str, **resources):
    """A Deployment: its pods run until it is deleted."""
    container = {"name": "main", "image": "app", "resources": {"requests": resources, "limits": resources}}
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"tolerations": [{"operator": "Exists"}], "containers": [container]},
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def gpus(count: int) -> dict[str, str]:
    return {"nvidia.com/gpu": str(count)}


# -- created objects ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dispatcher", ALL)
def test_an_item_is_owned_by_its_wrapper_and_labelled_with_its_name(dispatcher):
    lab = Lab(dispatcher)
    lab.submit(wrapper("w", job("j")))
    lab.advance(3)
    (made,) = lab.jobs()
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("AppWrapper", "w", True)
    labels = {"appwrapper.mcad.ibm.com": "w", "resourceName": "j"}
    assert made["metadata"]["labels"].items() >= labels.items()
    (pod,) = lab.pods()
    assert pod["metadata"]["labels"].items() >= (labels | {"app": "j"}).items()
    if dispatcher != "mcad-1.32":
        assert made["metadata"]["labels"]["workload.codeflare.dev/appwrapper-namespace"] == "default"


def test_a_template_without_labels_gets_none():
    lab = Lab("mcad-1.40")
    made = job("j")
    del made["spec"]["template"]["metadata"]
    lab.submit(wrapper("w", made))
    lab.advance(3)
    assert "appwrapper.mcad.ibm.com" not in lab.pods()[0]["metadata"]["labels"]


def test_names_are_cut_at_63_characters():
    lab = Lab("mcad-1.40")
    made = job("x" * 70)
    made["spec"]["template"]["metadata"]["labels"] = {"app": "x"}
    lab.submit(wrapper("w", made))
    lab.advance(3)
    assert lab.jobs()[0]["metadata"]["name"] == "x" * 63


@pytest.mark.parametrize("dispatcher", ALL)
def test_a_deleted_wrapper_takes_its_items_along(dispatcher):
    lab = Lab(dispatcher)
    lab.submit(wrapper("w", sleeper("d"), completion=""))
    lab.advance(3)
    assert len(lab.pods()) == 1
    lab.delete("w")
    lab.advance(3)
    assert lab.pods() == []


# -- states ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dispatcher", ALL)
def test_a_wrapper_goes_through_its_conditions_and_completes(dispatcher):
    lab = Lab(dispatcher, stages=str(STAGES))
    lab.submit(wrapper("w", job("j")))
    lab.advance(60)
    assert lab.state("w") == "Completed"
    passed = ["Init", "Queueing", "HeadOfLine", "Dispatched", "Running", "Completed"]
    if dispatcher == "mcad-1.40":
        # Pods are counted right after dispatch only.
        passed.remove("Running")
    assert lab.conditions("w") == passed
    assert not lab.status("w").get("canrun")


def test_running_means_that_objects_were_created():
    lab = Lab("mcad-1.40", stages=str(STAGES))
    lab.submit(wrapper("w", job("j")))
    lab.advance(3)
    assert (lab.state("w"), lab.status("w")["queuejobstate"]) == ("Running", "Dispatched")
    assert lab.pods()[0]["status"]["phase"] == "Pending"


@pytest.mark.parametrize("dispatcher", ALL)
def test_without_a_completion_status_a_wrapper_never_completes(dispatcher):
    lab = Lab(dispatcher)
    lab.submit(wrapper("w", job("j"), completion=""))
    lab.advance(60)
    assert (lab.complete_jobs(), lab.state("w")) == (1, "Running")


@pytest.mark.parametrize("dispatcher", ALL)
def test_completion_holds_while_other_pods_of_the_wrapper_run(dispatcher):
    lab = Lab(dispatcher)
    obj = wrapper("w", job("j"), sleeper("d"))
    del obj["spec"]["resources"]["GenericItems"][1]["completionstatus"]
    lab.submit(obj)
    lab.advance(30)
    assert lab.state("w") == "RunningHoldCompletion"
    assert lab.conditions("w")[-1] == "RunningHoldCompletion"
    lab.delete("d", "deployments.apps")
    lab.advance(30)
    # The older version does not count pods in that state any more.
    assert lab.state("w") == ("RunningHoldCompletion" if dispatcher == "mcad-1.32" else "Completed")


@pytest.mark.parametrize("dispatcher", ALL)
def test_all_items_that_must_be_complete_are_waited_for(dispatcher):
    lab = Lab(dispatcher)
    lab.submit(wrapper("w", job("fits"), job("waits", gpus=99), custompods=[custom(1)]))
    lab.advance(9)
    assert lab.state("w") in ("Running", "Pending")
    assert "Completed" not in lab.conditions("w")


def test_a_part_of_a_conditions_type_completes_whatever_its_status():
    lab = Lab("mcad-1.40")
    lab.submit(wrapper("w", job("j"), completion="nothing,omPle"))
    lab.advance(10)
    assert lab.state("w") == "Completed"


# -- queueing ----------------------------------------------------------------------------------------------------------


def test_the_older_version_lets_smaller_wrappers_overtake():
    lab = Lab("mcad-1.32", nodes=1)
    lab.submit(wrapper("big", job("big", gpus=16)))
    lab.advance(1)
    lab.submit(wrapper("small", job("small", gpus=4)))
    lab.advance(8)
    assert (lab.state("big"), lab.state("small")) == ("Pending", "Completed")


def test_the_last_version_sleeps_for_one_and_keeps_all_waiting():
    lab = Lab("mcad-1.40", nodes=1)
    lab.submit(wrapper("big", job("big", gpus=16)))
    lab.advance(1)
    lab.submit(wrapper("small", job("small", gpus=4)))
    lab.advance(8)
    assert (lab.state("big"), lab.state("small")) == ("Pending", "")
    lab.advance(20)
    assert lab.state("small") == ""
    # It is queued after the second sleep, and tried after the third.
    lab.advance(35)
    assert lab.state("small") in ("Running", "Completed")


def test_the_older_version_goes_by_priority_and_the_last_by_arrival():
    for dispatcher, first in (("mcad-1.32:head-of-line.holding-time=10s", "high"), ("mcad-1.40", "low")):
        lab = Lab(dispatcher, nodes=1)
        # While the head of the line is held on to, or slept for, the others gather behind it.
        lab.submit(wrapper("head", job("head", gpus=16)))
        lab.advance(3)
        lab.submit(wrapper("low", sleeper("low", **gpus(8)), completion="", priority=1))
        lab.submit(wrapper("high", sleeper("high", **gpus(8)), completion="", priority=9))
        lab.advance(150)
        states = {name: lab.state(name) for name in ("low", "high")}
        assert states == {name: "Running" if name == first else "Pending" for name in states}, dispatcher


def test_dynamic_priority_grows_with_the_time_of_waiting():
    for dispatcher in REAL:
        lab = Lab(f"{dispatcher}:dynamic-priority=true", nodes=1)
        lab.submit(wrapper("holder", sleeper("holder", **gpus(8)), completion=""))
        lab.advance(3)
        lab.submit(wrapper("steep", sleeper("steep", **gpus(8)), completion="", priority=1, priorityslope=1))
        lab.submit(wrapper("flat", sleeper("flat", **gpus(8)), completion="", priority=5))
        lab.advance(50)
        lab.delete("holder")
        lab.advance(90)
        assert (lab.state("steep"), lab.state("flat")) == ("Running", "Pending"), dispatcher


def test_with_preemption_wrappers_of_lower_priority_are_counted_as_free():
    for preemption, state in (("true", "Running"), ("false", "Pending")):
        lab = Lab(f"mcad-1.40:preemption={preemption}", nodes=1)
        lab.submit(wrapper("low", sleeper("low", **gpus(8)), completion="", priority=1))
        lab.advance(5)
        lab.submit(wrapper("high", sleeper("high", **gpus(8)), completion="", priority=9))
        lab.advance(5)
        assert (lab.state("high"), lab.state("low")) == (state, "Running")


def test_a_pod_that_is_bound_but_not_running_is_subtracted_twice():
    lab = Lab("mcad-1.40", nodes=2, stages=str(STAGES))
    lab.submit(wrapper("first", job("first", gpus=8)))
    lab.advance(5)
    lab.submit(wrapper("second", job("second", gpus=8)))
    lab.advance(1)
    # Eight of the second node are free, but those of the first wrapper are missed once more.
    assert lab.status("second")["queuejobstate"] == "Backoff"
    terms = lab.cluster.dispatcher.explain("default", "second").terms
    assert (terms.allocatable.gpu, terms.taken.gpu, terms.pending.gpu, terms.available.gpu) == (16, 8, 8, 0)


def test_cordoned_nodes_do_not_count_and_tainted_ones_do():
    for change, state in (({"unschedulable": True}, "Pending"), ({"taints": []}, "Running")):
        lab = Lab("mcad-1.40", nodes=1)
        node = lab.cluster.store.get("nodes", "", "kwok-node-1")
        lab.cluster.store.update("nodes", {**node, "spec": {**node["spec"], **change}})
        lab.submit(wrapper("w", sleeper("d", **gpus(8)), completion=""))
        lab.advance(5)
        assert lab.state("w") == state


# -- requeuing ---------------------------------------------------------------------------------------------------------


def requeued(dispatcher: str, seconds: float, **requeuing):
    """A wrapper whose pod never finds a node, after a while."""
    lab = Lab(dispatcher, nodes=1)
    scheduling = {"minAvailable": 1, "requeuing": requeuing}
    stuck = wrapper("w", job("j", gpus=16), custompods=[custom(1)], schedulingSpec=scheduling)
    lab.submit(stuck)
    lab.advance(seconds)
    return lab


@pytest.mark.parametrize("dispatcher", REAL)
def test_a_wrapper_short_of_pods_gives_its_place_back_after_its_time(dispatcher):
    lab = requeued(dispatcher, 55, timeInSeconds=50, growthType="exponential")
    assert lab.state("w") == "Running"
    lab.advance(10)
    if dispatcher == "mcad-1.32":
        # The controller asks for events at fixed times since it started, and its heartbeat goes on meanwhile.
        lab.advance(60)
    conditions = {each["type"]: each for each in lab.controller.appwrappers.status(("default", "w"))["conditions"]}
    assert conditions["PreemptCandidate"]["reason"] == "MinPodsNotRunning"
    assert conditions["PreemptCandidate"]["message"] == (
        "Insufficient number of Running and Completed pods, minimum=1, running=0, completed=0."
    )
    assert "PreemptionTriggered" in [
        each.get("reason") for each in lab.controller.appwrappers.status(("default", "w"))["conditions"]
    ]


def test_the_older_version_grows_the_time_in_the_spec():
    lab = requeued("mcad-1.32", 70, timeInSeconds=40, growthType="exponential")
    rule = lab.get("w")["spec"]["schedulingSpec"]["requeuing"]
    assert (rule["timeInSeconds"], rule["initialTimeInSeconds"], rule["numRequeuings"]) == (80, 40, 1)


def test_the_last_version_grows_it_in_the_status_from_zero():
    lab = requeued("mcad-1.40", 70, timeInSeconds=40, growthType="linear")
    assert (lab.status("w")["requeueingTimeInSeconds"], lab.status("w")["numberOfRequeueings"]) == (40, 1)
    lab.advance(130)
    assert lab.status("w")["requeueingTimeInSeconds"] == 80


def test_requeuing_ends_in_the_older_version_and_never_in_the_last():
    lab = requeued("mcad-1.32", 400, timeInSeconds=10, growthType="none", maxNumRequeuings=2)
    assert lab.state("w") == "Deleted"
    assert lab.jobs() == []
    lab = requeued("mcad-1.40", 400, timeInSeconds=10, growthType="none", maxNumRequeuings=2)
    assert lab.state("w") != "Deleted"


def test_the_older_version_requeues_for_pods_without_a_node_even_if_no_minimum_is_asked_for():
    lab = Lab("mcad-1.32", nodes=1)
    lab.submit(wrapper("w", job("j", gpus=16), custompods=[custom(1)]))
    lab.advance(62)
    reasons = [each.get("reason") for each in lab.controller.appwrappers.status(("default", "w"))["conditions"]]
    assert "PodsFailedScheduling" in reasons


@pytest.mark.parametrize("dispatcher", ALL)
def test_a_wrapper_that_runs_past_its_deadline_has_failed(dispatcher):
    lab = Lab(dispatcher)
    spec = {"minAvailable": 1, "requeuing": {"timeInSeconds": 500}, "dispatchDuration": {"limit": 100}}
    lab.submit(wrapper("w", sleeper("d"), completion="", schedulingSpec=spec))
    lab.advance(70)
    # The last version reads a time that nobody writes, so that any limit is over at the first look.
    assert ("PreemptCandidate" in lab.conditions("w")) == (dispatcher == "mcad-1.40")
    lab.advance(120)
    (found,) = [each for each in lab.status("w")["conditions"] if each["type"] == "PreemptCandidate"][:1]
    assert found["reason"] == "DispatchDeadlineExceeded"
    if dispatcher == "better":
        assert (lab.state("w"), lab.pods()) == ("Failed", [])


# -- bad input ---------------------------------------------------------------------------------------------------------


def elsewhere():
    return {**job("j"), "metadata": {"name": "j", "namespace": "kube-public"}}


BAD = {
    "an unknown kind": (
        {"apiVersion": "example.com/v1", "kind": "Rocket", "metadata": {"name": "r"}},
        'default/bad creation failure: no matches for kind "Rocket" in version "example.com/v1"',
    ),
    "another namespace": (
        elsewhere(),
        'default/bad creation failure: [SyncQueueJob] resource namespace "kube-public" is different from '
        'AppWrapper namespace "default"',
    ),
    "an invalid object": (
        {**job("j"), "spec": {"template": {"spec": {"tolerations": [{"operator": "Exists"}], "containers": []}}}},
        "spec.template.spec.containers: Required value",
    ),
}


@pytest.mark.parametrize("dispatcher", ALL)
@pytest.mark.parametrize("what", BAD)
def test_an_item_that_cannot_be_created_fails_its_wrapper_and_the_queue_goes_on(dispatcher, what):
    template, message = BAD[what]
    if dispatcher == "mcad-1.32" and what == "another namespace":
        pytest.skip("the older version creates objects in whatever namespace they name")
    lab = Lab(dispatcher)
    lab.submit(wrapper("bad", template))
    lab.submit(wrapper("good", job("good")))
    lab.advance(15)
    (found,) = [each for each in lab.status("bad")["conditions"] if each["type"] == "Failed"]
    assert found["reason"] == "ItemCreationFailure."
    assert message in found["message"]
    assert lab.state("good") == "Completed"
    if dispatcher == "better":
        assert lab.state("bad") == "Failed"


def test_a_quantity_that_is_none_is_refused_by_the_api():
    lab = Lab("mcad-1.40")
    with pytest.raises(ApiError) as caught:
        lab.submit(wrapper("w", job("j"), custompods=[custom(1, cpu="many")]))
    assert "custompodresources[0].requests.cpu" in caught.value.message


def test_fields_of_older_versions_are_taken():
    lab = Lab("mcad-1.40")
    obj = wrapper("w", job("j"), group="mcad.ibm.com", service={"spec": {}})
    obj["spec"]["resources"] |= {"Items": [], "metadata": {}}
    lab.submit(obj)
    lab.advance(10)
    assert lab.state("w") == "Completed"


def test_a_wrapper_is_seen_under_both_names():
    lab = Lab("mcad-1.40")
    lab.submit(wrapper("old", job("a"), group="mcad.ibm.com"))
    lab.submit(wrapper("new", job("b")))
    for group in ("mcad.ibm.com", "workload.codeflare.dev"):
        resource, version = lab.cluster.registry.of_kind(f"{group}/v1beta1", "AppWrapper")
        for name in ("old", "new"):
            shown = lab.cluster.api.get(resource, version, "default", name)
            assert shown["apiVersion"] == f"{group}/v1beta1"


def test_the_last_version_looks_at_an_empty_cluster_again_and_again():
    lab = Lab("mcad-1.40", nodes=0)
    lab.submit(wrapper("w", job("w")))
    lab.advance(5)
    assert lab.conditions("w") == ["Init", "Queueing", "HeadOfLine"]
    lab.add_nodes(1, 8)
    lab.advance(10)
    assert lab.state("w") == "Completed"


#: Fields that are looked at before the object is created.
WORDS = ("spec", "template", "metadata", "labels", "containers", "resources", "requests", "cpu", "replicas")
WORDS += ("tolerations", "affinity", "nodeSelector")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(("", "x", "1", "many")),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)


PODS = st.fixed_dictionaries(
    {}, optional={"template": st.fixed_dictionaries({"spec": st.dictionaries(st.sampled_from(WORDS), ANYTHING)})}
)


@settings(max_examples=12)
@given(specs=st.lists(ANYTHING | PODS, min_size=3, max_size=3), kind=st.sampled_from(("Job", "Deployment", "Pod")))
def test_whatever_a_template_holds_the_queue_goes_on(specs, kind):
    api_version = {"Job": "batch/v1", "Deployment": "apps/v1", "Pod": "v1"}[kind]
    for dispatcher in ALL:
        lab = Lab(dispatcher)
        for number, spec in enumerate(specs):
            template = {"apiVersion": api_version, "kind": kind, "metadata": {"name": f"x{number}"}, "spec": spec}
            lab.submit(wrapper(f"w{number}", template))
        lab.submit(wrapper("good", job("good")))
        lab.advance(120)
        assert lab.state("good") == "Completed", dispatcher
