"""How GPUs are used over time: never more than there are, and at every moment what the API says."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghostfleet.cluster import add_nodes
from ghostfleet.core.clock import SECOND
from ghostfleet.core.errors import ApiError
from ghostfleet.drive.interface import JOBS, NAMESPACES, NODES, PODS, Refused
from ghostfleet.lab.occupancy import GpuOccupancy, Point
from ghostfleet.lab.plan import Plan
from ghostfleet.stages.nodes import NodeShape

pytestmark = pytest.mark.fleet

GPU = "nvidia.com/gpu"
OURS, FOREIGN = "ours", "foreign"
ENDS = ("Succeeded", "Failed")


def pod_spec(gpus: int) -> dict[str, Any]:
    resources = {"limits": {GPU: str(gpus)}} if gpus else {}
    return {"restartPolicy": "Never", "containers": [{"name": "m", "image": "x", "resources": resources}]}


def lived(seconds: int, failing: float) -> dict[str, str]:
    return {"ghostfleet.dev/duration": f"{seconds}s", "ghostfleet.dev/failure-probability": str(failing)}


class Truth:
    """What the objects of the API say, worked out anew from all of them at each moment."""

    def __init__(self, fleet: Any) -> None:
        self._store = fleet.store
        #: The largest request of a pod that had not ended, since somebody looked.
        self.largest = 0

    def look(self) -> None:
        for pod in self._store.list("pods"):
            self._see(pod)
        self._store.listen("pods", lambda change: self._see(change.new))

    def _see(self, pod: dict[str, Any] | None) -> None:
        if pod is not None and pod["status"].get("phase") not in ENDS:
            self.largest = max(self.largest, self.gpus(pod))

    def point(self, time: int) -> Point:
        offers, is_open = {}, {}
        for node in self._store.list("nodes"):
            name, status = node["metadata"]["name"], node["status"]
            offers[name] = int((status.get("allocatable") or {}).get(GPU, 0))
            ready = [each["status"] for each in status.get("conditions") or () if each["type"] == "Ready"]
            is_open[name] = ready == ["True"] and not node.get("spec", {}).get("unschedulable")
        held: Counter[str] = Counter()
        of_run: Counter[str] = Counter()
        waiting, refused = [], 0
        for pod in self._store.list("pods"):
            if pod["status"].get("phase") in ENDS:
                continue
            gpus = self.gpus(pod)
            node = pod["spec"].get("nodeName")
            if node is None:
                waiting.append(gpus)
                refused += any(
                    each["type"] == "PodScheduled" and each["status"] == "False"
                    for each in pod["status"].get("conditions") or ()
                )
            elif node in offers:
                held[node] += gpus
                of_run[node] += gpus * (pod["metadata"]["namespace"] == OURS)
        used = {name: min(held[name], offers[name]) for name in offers}
        free = {name: offers[name] - used[name] for name in offers}
        request = self.largest or 1
        usable = {name: free[name] // request * request for name in free if is_open[name]}
        return Point(
            time=time,
            there=sum(offers.values()),
            in_use=sum(used.values()),
            by_run=sum(min(of_run[name], used[name]) for name in offers),
            stranded=sum(free.values()) - sum(usable.values()),
            largest_block=max((free[name] for name in free if is_open[name]), default=0),
            waiting=sum(waiting),
            waiting_pods=len(waiting),
            refused_pods=refused,
        )

    def gpus(self, pod: dict[str, Any]) -> int:
        return sum(int(each.get("resources", {}).get("limits", {}).get(GPU, 0)) for each in pod["spec"]["containers"])


class Hand:
    """Does things to a cluster, as people and failures do."""

    def __init__(self, fleet: Any) -> None:
        self.fleet = fleet
        self.number = 0
        for name in (OURS, FOREIGN):
            self._try(fleet.cluster.create(NAMESPACES, {"metadata": {"name": name}}))

    def _try(self, work: Any) -> None:
        try:
            self.fleet.cluster.run(work)
        except (Refused, ApiError):
            # What was asked for is gone already, or not allowed: that is an outcome like any other.
            return

    def job(self, namespace: str, workers: int, gpus: int, seconds: int, failing: float) -> None:
        self.number += 1
        template = {"metadata": {"annotations": lived(seconds, failing)}, "spec": pod_spec(gpus)}
        spec = {"parallelism": workers, "completions": workers, "backoffLimit": 2, "template": template}
        self._try(
            self.fleet.cluster.create(
                JOBS, {"metadata": {"name": f"job-{self.number}", "namespace": namespace}, "spec": spec}
            )
        )

    def pod(self, namespace: str, gpus: int, seconds: int, node: int | None) -> None:
        self.number += 1
        spec = pod_spec(gpus)
        if node is not None:
            # Past the scheduler, even onto a node that is not there.
            spec["nodeName"] = f"kwok-node-{node}"
        metadata = {"name": f"pod-{self.number}", "namespace": namespace, "annotations": lived(seconds, 0)}
        self._try(self.fleet.cluster.create(PODS, {"metadata": metadata, "spec": spec}))

    def delete_pod(self, which: int) -> None:
        pods = self.fleet.store.list("pods")
        if pods:
            metadata = pods[which % len(pods)]["metadata"]
            self._try(self.fleet.cluster.delete(PODS, metadata["namespace"], metadata["name"]))

    def delete_job(self, which: int) -> None:
        jobs = self.fleet.store.list("jobs.batch")
        if jobs:
            metadata = jobs[which % len(jobs)]["metadata"]
            self._try(self.fleet.cluster.delete(JOBS, metadata["namespace"], metadata["name"]))

    def node(self, which: int, what: str) -> None:
        name = f"kwok-node-{which}"
        fleet, cluster = self.fleet, self.fleet.cluster
        if what == "add":
            self.number += 1
            shape = NodeShape(count=1, gpus=which + 1, prefix=f"more-{self.number}-", fake_taint=False)
            add_nodes(fleet.assembled, shape)
        elif what == "delete":
            self._try(cluster.delete(NODES, "", name))
        elif what == "cordon":
            self._try(cluster.patch(NODES, "", name, {"spec": {"unschedulable": True}}))
        elif fleet.store.find("nodes", "", name) is not None:
            (fleet.assembled.fleet.fail_node if what == "fail" else fleet.assembled.fleet.recover_node)(name)


namespaces = st.sampled_from([OURS, FOREIGN])
sizes = st.sampled_from([0, 1, 1, 2, 3, 4, 8])
lives = st.integers(1, 60)
deeds = st.one_of(
    st.tuples(st.just("job"), namespaces, st.integers(1, 4), sizes, lives, st.sampled_from([0.0, 0.3, 1.0])),
    st.tuples(st.just("pod"), namespaces, sizes, lives, st.one_of(st.none(), st.integers(0, 4))),
    st.tuples(st.just("delete_pod"), st.integers(0, 50)),
    st.tuples(st.just("delete_job"), st.integers(0, 50)),
    st.tuples(
        st.just("node"), st.integers(0, 3), st.sampled_from(["add", "delete", "cordon", "fail", "recover", "fail"])
    ),
)
stories = st.lists(st.tuples(st.integers(0, 9), deeds), min_size=4, max_size=14)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    story=stories,
    profile=st.sampled_from(["instant", "kubernetes"]),
    stages=st.sampled_from(["fast", "general"]),
    late=st.integers(0, 3),
)
def test_the_use_of_gpus_is_at_every_moment_what_the_api_says(make_fleet, story, profile, stages, late):
    fleet = make_fleet(nodes=4, gpus=4, profile=profile, stages=(stages,))
    clock, hand, truth = fleet.clock, Hand(fleet), Truth(fleet)
    occupancy = GpuOccupancy(fleet.cluster, [OURS], lambda pod: pod["metadata"]["namespace"] == OURS)
    expected: dict[int, Point] = {}

    async def begin() -> None:
        truth.look()
        await occupancy.start()

    def let_pass(until: int) -> None:
        while True:
            clock.settle()
            if occupancy._stops:  # what was before the watch began is not known
                expected[clock.now()] = truth.point(clock.now())
            deadline = clock.next_deadline()
            if deadline is None or deadline > until:
                clock.run(until)
                return
            clock.run(deadline)

    for at, (wait, (what, *details)) in enumerate(story):
        if at == late:
            # Some pods were there before, and hold what they hold.
            fleet.cluster.run(begin())
        getattr(hand, what)(*details)
        let_pass(clock.now() + wait * SECOND)
    if occupancy._stops:
        let_pass(clock.now() + 60 * SECOND)
        occupancy.stop()
    points = list(occupancy.points())
    assert [each.time for each in points] == sorted({each.time for each in points})
    for each in points:
        assert 0 <= each.in_use <= each.there
        assert 0 <= each.by_run <= each.in_use
        assert 0 <= each.stranded <= each.there - each.in_use
        assert 0 <= each.largest_block <= each.there - each.in_use
        assert min(each.waiting, each.waiting_pods, each.refused_pods) >= 0
    at = -1
    for moment in expected.values():
        while at + 1 < len(points) and points[at + 1].time <= moment.time:
            at += 1
        assert points[at]._replace(time=moment.time) == moment


def test_a_run_on_a_cluster_that_has_pods_tells_its_own_apart(make_fleet, directory):
    fleet = make_fleet(nodes=2, gpus=4)
    hand = Hand(fleet)
    hand.pod(FOREIGN, 3, 3600, None)
    fleet.clock.settle()
    fleet.test(directory, Plan(count=5, type="job", gpus=1))
    (series,) = directory.occupancy()
    assert series["whole"] is True
    assert max(series["inUse"]) == 8
    assert max(series["byRun"]) == 5
    assert series["inUse"][-1] == 3


def test_what_ends_is_given_back_when_the_pod_ends_and_not_its_workload(make_fleet, directory, template):
    own = """
apiVersion: batch/v1
kind: Job
spec:
  parallelism: 4
  completions: 4
  template:
    metadata: {annotations: {ghostfleet.dev/duration: "uniform(10s, 300s)"}}
    spec: {restartPolicy: Never, containers: [{name: m, image: x, resources: {limits: {nvidia.com/gpu: 2}}}]}
"""
    fleet = make_fleet(nodes=2, gpus=8)
    fleet.test(directory, Plan(count=12, template=template(own), workers=4))
    (series,) = directory.occupancy()
    assert max(series["inUse"]) == 16
    assert series["inUse"][-1] == 0


def test_free_gpus_that_no_request_fits_into_are_stranded(make_fleet):
    fleet = make_fleet(nodes=4, gpus=4)
    hand = Hand(fleet)
    occupancy = GpuOccupancy(fleet.cluster, [OURS], lambda _pod: True)
    fleet.cluster.run(occupancy.start())
    for node in range(4):
        hand.pod(OURS, 1, 3600, node)
    hand.pod(OURS, 4, 3600, None)
    fleet.clock.advance(SECOND)
    occupancy.stop()
    last = list(occupancy.points())[-1]
    # A small one is on each of the nodes, so that three GPUs are free on each of them.
    assert (last.there, last.in_use, last.stranded, last.largest_block) == (16, 4, 12, 3)
    assert (last.waiting, last.waiting_pods, last.refused_pods) == (4, 1, 1)
