"""What pod groups and queues say of themselves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.controllers.kai import POD_GROUPS, QUEUES
from ghostfleet.controllers.kai.tally import Tally
from ghostfleet.core import quantity
from support.kai_lab import KaiLab

QUEUE = "kai.scheduler/queue"
CLASS = "priorityClassName"


def queue(name, parent=""):
    share = {"quota": 4, "limit": -1, "overQuotaWeight": 1}
    spec = {"resources": {"cpu": share, "gpu": share, "memory": share}} | ({"parentQueue": parent} if parent else {})
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def resources(kai, pod):
    return kai.group(pod)["status"]["resourcesStatus"]


def status(kai, name):
    return kai.get(QUEUES, name).get("status", {})


# -- pod groups ----------------------------------------------------------------------------------------------------------


def test_a_waiting_pod_is_requested_and_a_bound_one_allocated_too(still):
    still.pod("p", requests={"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"})
    requested = {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"}
    assert resources(still, "p") == {"requested": requested}
    still.bind("p")
    assert resources(still, "p") == {"requested": requested, "allocated": requested}


def test_what_cannot_be_preempted_is_said_once_more(still):
    still.pod("p", labels={CLASS: "build"})
    still.bind("p")
    found = resources(still, "p")
    assert found["allocatedNonPreemptible"] == found["allocated"] == {"cpu": "1", "nvidia.com/gpu": "1"}


def test_an_unknown_priority_class_is_the_global_default_or_preemptible(still):
    still.pod("p")
    group = still.group("p")
    still.store.update(POD_GROUPS, {**group, "spec": {**group["spec"], "priorityClassName": "gone"}})
    still.bind("p")
    assert "allocatedNonPreemptible" not in resources(still, "p")
    default = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "usual"}}
    still.apply({**default, "value": 1000, "globalDefault": True})
    still.store.update(
        POD_GROUPS, {**still.group("p"), "metadata": {**still.group("p")["metadata"], "labels": {"a": "b"}}}
    )
    still.clock.settle()
    assert resources(still, "p")["allocatedNonPreemptible"] == {"cpu": "1", "nvidia.com/gpu": "1"}


def test_a_pod_that_has_ended_counts_for_nothing(kai):
    kai.pod("p", annotations={"pod-complete.stage.kwok.x-k8s.io/delay": "1s"}, spec={"restartPolicy": "Never"})
    kai.bind("p")
    kai.advance(1)
    current = kai.get("pods", "p")
    kai.store.patch_status("pods", "default", "p", {**current["status"], "phase": "Succeeded"})
    kai.clock.settle()
    assert resources(kai, "p") == {}


def test_fractions_of_gpus_are_summed_over_devices(still):
    still.pod("p", annotations={"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"}, requests={"cpu": "1"})
    assert resources(still, "p")["requested"] == {"cpu": "1", "nvidia.com/gpu": "1"}


def test_memory_of_a_gpu_becomes_a_fraction_of_one_when_the_node_is_known(kai):
    kai.pod("p", annotations={"gpu-memory": "40000"}, requests={"cpu": "1"})
    assert resources(kai, "p")["requested"] == {"cpu": "1", "run.ai/gpu.memory": "40k"}
    kai.bind("p", received_type="Fraction", gpu_groups=["g"], portion=0.49)
    kai.advance(5)
    share = quantity.parse(resources(kai, "p")["allocated"]["nvidia.com/gpu"]).nano
    assert 0 <= share - 40000 / 81559 * 10**9 <= 1, "in billionths, rounded up"


def test_pods_that_come_and_go_change_the_sum(still):
    still.define("example.com", "v1", "Thing")
    owner = still.owner("example.com/v1", "Thing", "t")
    for name in ("a", "b", "c"):
        still.pod(name, owner)
    assert resources(still, "a")["requested"] == {"cpu": "3", "nvidia.com/gpu": "3"}
    still.store.delete("pods", "default", "b")
    still.clock.settle()
    assert resources(still, "a")["requested"] == {"cpu": "2", "nvidia.com/gpu": "2"}


def test_conditions_of_the_scheduler_stay(still):
    still.pod("p")
    group = still.group("p")
    condition = {"type": "UnschedulableOnNodePool", "nodePool": "default", "status": "True"}
    place = (group["metadata"]["namespace"], group["metadata"]["name"])
    still.store.patch_status(POD_GROUPS, *place, {**group["status"], "schedulingConditions": [condition]})
    still.bind("p")
    assert still.group("p")["status"]["schedulingConditions"] == [condition]
    assert "allocated" in resources(still, "p")


# -- queues --------------------------------------------------------------------------------------------------------------


def test_sums_go_up_the_tree_of_queues(still):
    still.apply(queue("root"), queue("left", "root"), queue("right", "root"), queue("leaf", "left"))
    still.pod("a", labels={QUEUE: "leaf"})
    still.pod("b", labels={QUEUE: "right", CLASS: "build"})
    still.bind("b")
    one, two = {"cpu": "1", "nvidia.com/gpu": "1"}, {"cpu": "2", "nvidia.com/gpu": "2"}
    assert status(still, "leaf") == {"requested": one}
    assert status(still, "left") == {"childQueues": ["leaf"], "requested": one}
    assert status(still, "root") == {
        "childQueues": ["left", "right"],
        "allocated": one,
        "allocatedNonPreemptible": one,
        "requested": two,
    }
    still.store.delete("pods", "default", "b")
    still.clock.settle()
    assert status(still, "root") == {"childQueues": ["left", "right"], "requested": one}


def test_a_queue_that_moves_takes_its_sums_along(still):
    still.apply(queue("one"), queue("two"), queue("leaf", "one"))
    still.pod("a", labels={QUEUE: "leaf"})
    leaf = still.get(QUEUES, "leaf")
    still.store.update(QUEUES, {**leaf, "spec": {**leaf["spec"], "parentQueue": "two"}})
    still.clock.settle()
    assert status(still, "one") == {}
    assert status(still, "two") == {"childQueues": ["leaf"], "requested": {"cpu": "1", "nvidia.com/gpu": "1"}}


def test_a_group_that_moves_is_counted_in_its_new_queue_only(still):
    still.apply(queue("one"), queue("two"))
    still.pod("a", labels={QUEUE: "one"})
    group = still.group("a")
    still.store.update(POD_GROUPS, {**group, "spec": {**group["spec"], "queue": "two"}})
    still.clock.settle()
    assert status(still, "one") == {}
    assert status(still, "two")["requested"] == {"cpu": "1", "nvidia.com/gpu": "1"}


def test_a_circle_of_queues_and_a_missing_parent_do_no_harm(still):
    still.apply(queue("a", "b"), queue("b", "a"), queue("self", "self"), queue("lost", "nowhere"))
    for name in ("a", "self", "lost"):
        still.pod(f"in-{name}", labels={QUEUE: name})
    one = {"cpu": "1", "nvidia.com/gpu": "1"}
    assert status(still, "a") == {"childQueues": ["b"], "requested": one}
    assert status(still, "self") == {"childQueues": ["self"], "requested": one}
    assert status(still, "lost") == {"requested": one}


def test_controllers_that_start_late_find_everything(still):
    still.apply(queue("root"), queue("leaf", "root"))
    still.pod("a", labels={QUEUE: "leaf"})
    still.bind("a")
    from ghostfleet.controllers.kai.podgroups import PodGroupController
    from ghostfleet.controllers.kai.queues import QueueController
    from ghostfleet.core.profile import load_profile

    before = still.store.revision
    PodGroupController(still.store, load_profile("instant"))
    QueueController(still.store, load_profile("instant"))
    still.clock.settle()
    assert still.store.revision == before, "they come to the same sums"


def test_with_the_limits_of_kubernetes_everything_takes_its_time_and_comes_out_the_same():
    def outcome(profile):
        lab = KaiLab("stages", "controllers", profile=profile)
        lab.apply(queue("root"), queue("leaf", "root"))
        for index in range(200):
            lab.pod(f"p{index}", labels={QUEUE: "leaf"})
        began = lab.clock.now()
        lab.advance(60)
        assert began < lab.clock.now()
        return status(lab, "root"), len(lab.store.list(POD_GROUPS))

    assert outcome("kubernetes") == outcome("instant")


amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), st.integers(0, 10**6).map(quantity.from_milli)
)


@given(st.lists(st.tuples(amounts, st.booleans())))
def test_a_tally_is_the_sum_of_what_is_in_it(parts):
    tally = Tally()
    for part, _ in parts:
        tally.add(part)
    for part, goes in parts:
        if goes:
            tally.remove(part)
    kept = [part for part, goes in parts if not goes]
    expected = {name: sum(part[name].nano for part in kept if name in part) for part in kept for name in part}
    assert {name: amount.nano for name, amount in tally.amounts().items()} == expected
