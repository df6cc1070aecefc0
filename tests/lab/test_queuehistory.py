"""The history of queues and of evictions: every figure is what the API says, worked out anew from all objects."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.controllers.kai import BIND_REQUESTS, POD_GROUPS
from ghostfleet.core.clock import SECOND
from ghostfleet.drive.embedded import Embedded
from ghostfleet.lab.queuehistory import QueueHistory
from ghostfleet.lab.queues import queue_states
from ghostfleet.report.queues import queue_report
from support.kai_lab import KaiLab

LABEL = "kai.scheduler/queue"
QUEUES = ("vision", "speech")
GPU = "nvidia.com/gpu"


def lab(profile: str = "kubernetes") -> KaiLab:
    config = ClusterConfig(nodes=2, gpus=4, profile=profile, schedulers=("kai",))
    kai = KaiLab.of(Cluster(config=config))
    kai.queue("research", gpus=8)
    for name in QUEUES:
        kai.queue(name, "research", gpus=4)
    kai.advance(5)
    return kai


def job(name: str, queue: str, pods: int, gpus: int) -> dict[str, Any]:
    container = {"name": "main", "image": "app", "resources": {"limits": {GPU: gpus}}}
    labels = {LABEL: queue, "app": name}
    template = {"metadata": {"labels": labels}, "spec": {"schedulerName": "kai-scheduler", "containers": [container]}}
    spec = {"replicas": pods, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name}, "spec": spec}


def gpus_of(pod: dict[str, Any]) -> int:
    return sum(int(each["resources"].get("requests", {}).get(GPU, 0)) for each in pod["spec"]["containers"])


def queue_of(kai: KaiLab, pod: dict[str, Any]) -> str:
    name = pod["metadata"].get("annotations", {}).get("pod-group-name")
    group = kai.store.find(POD_GROUPS, "default", name) if name else None
    return group["spec"]["queue"] if group is not None else ""


def allocated(kai: KaiLab) -> Counter[str]:
    """GPUs of pods that have a node, or a bind request, and that nobody deletes, by queue."""
    asked = {each["spec"]["podName"] for each in kai.store.list(BIND_REQUESTS)}
    held: Counter[str] = Counter()
    for pod in kai.store.list("pods", "default"):
        placed = pod["spec"].get("nodeName") or pod["metadata"]["name"] in asked
        if placed and "deletionTimestamp" not in pod["metadata"]:
            held[queue_of(kai, pod)] += gpus_of(pod)
    return held


class Witness:
    """What happens to pods, by the store's own changes."""

    def __init__(self, kai: KaiLab) -> None:
        self._kai = kai
        self.waits: dict[str, list[float]] = {name: [] for name in QUEUES}
        self.born: dict[str, int] = {}
        self.running: dict[str, int] = {}
        kai.store.listen("pods", self.see)

    def see(self, change: Any) -> None:
        now = self._kai.clock.now()
        pod = change.new
        if pod is None:
            self.born.pop(change.old["metadata"]["uid"], None)
            return
        uid = pod["metadata"]["uid"]
        if change.old is None:
            self.born[uid] = now
        elif "nodeName" in pod["spec"] and "nodeName" not in change.old["spec"]:
            self.waits[queue_of(self._kai, pod)].append((now - self.born.pop(uid)) / SECOND)
        if pod["status"].get("phase") == "Running":
            self.running.setdefault(uid, now)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from(QUEUES), st.integers(1, 4), st.integers(1, 4), st.integers(1, 30)),
        min_size=1,
        max_size=5,
    ),
    st.integers(0, 3),
)
def test_every_figure_is_what_the_api_says(jobs: list[tuple[str, int, int, int]], ended: int) -> None:
    kai = lab()
    cluster = Embedded(kai.cluster)
    history, witness = QueueHistory(cluster), Witness(kai)
    cluster.run(history.start())
    truth: dict[int, tuple[Counter[str], dict[str, float]]] = {}
    lost, bare = 0.0, 0
    evicted: list[str] = []

    def note_eviction(change: Any) -> None:
        nonlocal lost
        event = change.new
        if event is None or change.old is not None or event["reason"] != "Evict":
            return
        name = event["message"].split("default/")[1].split()[0].rstrip(".")
        pod = kai.store.get("pods", "default", name)
        evicted.append(name)
        since = witness.running.get(pod["metadata"]["uid"])
        lost += gpus_of(pod) * (kai.clock.now() - since) / SECOND / 3600 if since is not None else 0.0

    kai.store.listen("events", note_eviction)
    for number, (queue, pods, gpus, pause) in enumerate(jobs):
        kai.apply(job(f"j{number}", queue, pods, gpus))
        kai.advance(pause)
        truth[kai.clock.now()] = (allocated(kai), shares(cluster))
        kai.clock.advance(1)
    for number in range(min(ended, len(jobs))):
        kai.store.delete("replicasets.apps", "default", f"j{number}")
        kai.advance(40)
    history.stop()
    written = history.written()
    # The last point is of the end.
    assert written["time"][-1] == kai.clock.now()
    for name in QUEUES:
        series = written["queues"][name]
        assert series["allocated"][-1] == allocated(kai)[name]
        assert series["quota"] == [4.0] * len(written["time"])
        assert series["fairShare"][-1] == pytest.approx(shares(cluster)[name])
        assert all(0 <= held <= 8 for held in series["allocated"])
        assert sorted(written["waits"].get(name, [])) == pytest.approx(sorted(witness.waits[name]))
    for index in range(len(written["time"])):
        own = sum(written["queues"][name]["allocated"][index] for name in QUEUES)
        assert written["queues"]["research"]["allocated"][index] == own
        due = sum(written["queues"][name]["fairShare"][index] for name in QUEUES)
        assert due <= 8
    # Points at the times at which somebody else looked say the same.
    for time, (held, due) in truth.items():
        if time in written["time"]:
            at = written["time"].index(time)
            for name in QUEUES:
                assert written["queues"][name]["allocated"][at] == held[name]
                assert written["queues"][name]["fairShare"][at] == pytest.approx(due[name])
    assert sorted(each["pod"] for each in written["evictions"]) == sorted(f"default/{name}" for name in evicted)
    report = queue_report([written])
    assert report is not None
    assert report.evictions.pods == len(evicted)
    assert report.evictions.gpu_hours_lost == pytest.approx(lost)
    assert report.evictions.bare_pods_lost == bare
    waiting = Counter(queue_of(kai, pod) for pod in kai.store.list("pods", "default") if "nodeName" not in pod["spec"])
    assert {each.name: each.not_placed for each in report.queues if each.name in QUEUES} == {
        name: waiting[name] for name in QUEUES
    }


def shares(cluster: Embedded) -> dict[str, float]:
    return {each.name: each.resources["gpu"].fair_share for each in cluster.run(queue_states(cluster))}


def test_bare_pods_and_those_that_a_budget_protects_are_told_apart() -> None:
    kai = lab()
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}
    kai.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": budget})
    cluster = Embedded(kai.cluster)
    history = QueueHistory(cluster)
    cluster.run(history.start())
    for number in range(7):
        kai.pod(f"v{number}", labels={LABEL: "vision"})
    kai.advance(10)
    kai.apply(job("guarded", "vision", 1, 1))
    kai.advance(600)
    kai.apply(job("taker", "speech", 4, 1))
    kai.advance(30)
    history.stop()
    report = queue_report([history.written()])
    assert report is not None
    told = report.evictions
    assert (told.pods, told.by_action) == (4, {"reclaim": 4})
    names = {each["pod"]: each for each in history.written()["evictions"]}
    assert told.bare_pods_lost == sum("guarded" not in name for name in names) > 0
    assert told.protected_pods == sum("guarded" in name for name in names) > 0
    assert told.gpu_hours_lost == pytest.approx(4 * 600 / 3600, rel=0.05)


def test_many_points_are_thinned_out_and_the_last_is_kept() -> None:
    kai = lab("instant")
    cluster = Embedded(kai.cluster)
    history = QueueHistory(cluster, most_points=8)
    cluster.run(history.start())
    for number in range(40):
        kai.pod(f"p{number}", labels={LABEL: "vision"}, requests={"cpu": "1m"})
        kai.advance(2)
    history.stop()
    written = history.written()
    assert 4 <= len(written["time"]) <= 9
    assert written["time"] == sorted(written["time"])
    assert written["time"][-1] == kai.clock.now()


def test_a_cluster_without_kai_has_no_history() -> None:
    cluster = Embedded(Cluster(config=ClusterConfig(nodes=1)))
    history = QueueHistory(cluster)
    cluster.run(history.start())
    history.stop()
    assert not history.seen
