"""The framework: a plugin is written once, a statement leaves no trace, a snapshot kept by events is a true one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.changes import Object
from ghostfleet.lab.explain.pod import judge
from ghostfleet.schedulers.framework import (
    Filter,
    Objection,
    Plugin,
    PodInfo,
    Profile,
    Scope,
    Score,
    Snapshot,
    Statement,
    register,
)
from ghostfleet.schedulers.framework.podinfo import SpecInfo
from ghostfleet.schedulers.framework.profile import REGISTRY
from ghostfleet.schedulers.kube import KubeScheduler, ScheduleAlgorithm

# -- a plugin of one's own --------------------------------------------------------------------------------------------


class LicenceSeats(Plugin):
    """Pods with the label `licence` run only where less than two others with it do: a filter and a score."""

    name = "LicenceSeats"
    weight = 1

    def sign(self, pod: Object, info: SpecInfo) -> tuple[object, ...] | None:
        return () if "licence" in (pod["metadata"].get("labels") or {}) else None

    def pre_filter(self, pod: PodInfo) -> Filter | None:
        return Seats(self.snapshot) if "licence" in pod.labels else None


class Seats(Filter):
    scope = Scope.PODS

    def __init__(self, snapshot: Snapshot) -> None:
        self._counter = snapshot.pods.counter("licence", lambda _, labels, __: "licence" in labels, {})

    def objections(self, slots: Any) -> Sequence[Objection]:
        return (Objection("node(s) had no free licence seat", self._counter.at(slots) >= 2, True),)


class Favourite(Plugin):
    """Prefers the node that a pod names by a label."""

    name = "Favourite"
    weight = 100

    def sign(self, pod: Object, info: SpecInfo) -> tuple[object, ...] | None:
        return () if "favourite" in (pod["metadata"].get("labels") or {}) else None

    def pre_score(self, pod: PodInfo) -> Score | None:
        return Named(self.snapshot, pod.labels["favourite"]) if "favourite" in pod.labels else None


class Named(Score):
    def __init__(self, snapshot: Snapshot, name: str) -> None:
        self._nodes = snapshot.nodes
        self._name = name

    def many(self, slots: Any) -> Any:
        return 100 * (np.asarray(slots) == self._nodes.slots[self._name])


@pytest.fixture
def plugins() -> Iterator[None]:
    register(LicenceSeats)
    register(Favourite)
    yield
    del REGISTRY["LicenceSeats"], REGISTRY["Favourite"]


SEAT = {"licence": "yes"}


@pytest.mark.usefixtures("plugins")
def test_a_new_filter_counts_in_placement_message_and_hints(lab: Any) -> None:
    lab.node("n0")
    lab.node("n1")
    for index in range(5):
        lab.gpus(f"p{index}", 1, labels=SEAT)
    lab.run()
    placed = [lab.node_of(f"p{index}") for index in range(5)]
    assert sorted(filter(None, placed)) == ["n0", "n0", "n1", "n1"]
    (waiting,) = [index for index in range(5) if placed[index] is None]
    assert lab.message(f"p{waiting}").startswith("0/2 nodes are available: 2 node(s) had no free licence seat.")
    lab.gpus("plain", 1)
    lab.run()
    assert lab.node_of("plain")
    lab.delete("p0")
    lab.clock.settle()
    assert lab.node_of(f"p{waiting}") == placed[0]


@pytest.mark.usefixtures("plugins")
def test_a_new_filter_counts_in_preemption(lab: Any) -> None:
    lab.node("n0")
    lab.gpus("a", 1, labels=SEAT, priority=1)
    lab.gpus("b", 1, labels=SEAT, priority=2)
    lab.gpus("other", 1, priority=0)
    lab.run()
    lab.gpus("high", 1, labels=SEAT, priority=10)
    lab.clock.settle()
    marked = [each["metadata"]["name"] for each in lab.store.list("pods") if "deletionTimestamp" in each["metadata"]]
    assert marked == ["a"]
    assert lab.get("high")["status"]["nominatedNodeName"] == "n0"


@pytest.mark.usefixtures("plugins")
def test_a_new_filter_counts_in_explain(lab: Any) -> None:
    for name in ("n0", "n1"):
        lab.node(name)
        for index in range(2):
            lab.gpus(f"{name}-{index}", 1, labels=SEAT, nodeName=name)
    pod = lab.gpus("p", 1, labels=SEAT)
    explained = judge(ScheduleAlgorithm.from_store(lab.store, Profile(), Random(0)), pod)
    (finding,) = explained.findings
    assert (finding.plugin, finding.nodes) == ("LicenceSeats", ("n0", "n1"))
    assert [remedy.change for remedy in explained.remedies] == ["add one more node like n0"]


@pytest.mark.usefixtures("plugins")
def test_a_new_score_counts_by_its_weight_and_can_be_disabled(lab: Any, new_lab: Any) -> None:
    def favoured(where: Any, config: Any = None) -> list[Any]:
        for index in range(4):
            where.node(f"n{index}")
        for index in range(4):
            where.gpus(f"p{index}", 1, labels={"favourite": "n2"})
        where.run(config)
        return [where.node_of(f"p{index}") for index in range(4)]

    assert favoured(lab) == ["n2"] * 4
    off = {"profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "Favourite"}]}}}]}
    assert favoured(new_lab(), off) != ["n2"] * 4


@pytest.mark.parametrize("point", ["permit", "preBind"])
def test_a_plugin_can_hold_a_binding_back_until_its_event(lab: Any, point: str) -> None:
    class Approval(Plugin):
        name = "Approval"
        events = frozenset(("services",))

        def concerns(self, info: SpecInfo) -> bool:
            return info.priority > 0

        def reserve(self, pod: Object, info: SpecInfo, node: str) -> bool:
            return point == "permit"

        def permit(self, pod: Object, info: SpecInfo, node: str) -> bool | None:
            return point != "permit" or self._approved()

        def pre_bind(self, pod: Object, info: SpecInfo, node: str) -> bool | None:
            return self._approved()

        def _approved(self) -> bool:
            return self.snapshot.store.find("services", "default", "approved") is not None

    register(Approval)
    try:
        lab.node("n0")
        lab.gpus("held", 8, priority=1)
        lab.gpus("next", 1)
        lab.run()
        assert lab.node_of("held") is None
        assert "Insufficient nvidia.com/gpu" in lab.message("next")
        lab.put({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "approved"}, "spec": {}})
        lab.run()
        assert lab.node_of("held") == "n0"
    finally:
        del REGISTRY["Approval"]


def test_a_plugin_is_not_asked_about_pods_without_the_fields_that_it_is_about(lab: Any) -> None:
    asked: dict[str, list[str]] = {}

    class Watching(Plugin):
        name = "Watching"
        weight = 1
        fields = frozenset(("volumes", "nodeSelector"))

        def pre_enqueue(self, pod: Object) -> bool:
            asked.setdefault(pod["metadata"]["name"], []).append("preEnqueue")
            return True

        def sign(self, pod: Object, info: SpecInfo) -> tuple[object, ...] | None:
            asked[pod["metadata"]["name"]].append("sign")
            return None

        def pre_filter(self, pod: PodInfo) -> Filter | None:
            asked[pod.name].append("filter")
            return None

        def pre_score(self, pod: PodInfo) -> Score | None:
            asked[pod.name].append("score")
            return None

        def reserve(self, pod: Object, info: SpecInfo, node: str) -> bool:
            asked[pod["metadata"]["name"]].append("reserve")
            return True

    register(Watching)
    try:
        lab.node("n0", labels={"zone": "a"})
        lab.gpus("plain", 1, volumes=[])
        lab.gpus("selecting", 1, nodeSelector={"zone": "a"})
        lab.run()
        assert lab.node_of("plain") == lab.node_of("selecting") == "n0"
        assert asked.keys() == {"selecting"}
        assert {"preEnqueue", "sign", "filter", "score", "reserve"} <= set(asked["selecting"])
    finally:
        del REGISTRY["Watching"]


# -- statements and snapshots -----------------------------------------------------------------------------------------


def picture(snapshot: Snapshot) -> Any:
    """All that can be told of a snapshot, by names instead of slots."""
    nodes, pods = snapshot.nodes, snapshot.pods
    allocatable, used = nodes.flush()
    return {
        name: {
            "amounts": {
                resource: (int(allocatable[column, slot]), int(used[column, slot]), nodes.used[slot][column])
                for resource, column in sorted(nodes.resources.items())
                if nodes.allocatable[slot][column] or nodes.used[slot][column]
            },
            "pods": sorted(pod.key for pod in pods.by_slot.get(slot, {}).values()),
            "nominated": sorted(pod.key for pod in snapshot.nominated.get(slot, {}).values()),
            "room": int(snapshot.room({"nvidia.com/gpu": 1, "cpu": 500})[slot]),
            "terms": sorted(
                (str(key), int(each.counter.at(slot)))
                for key, each in pods.existing_terms.items()
                if each.counter.at(slot)
            ),
        }
        for name, slot in sorted(nodes.slots.items())
        if nodes.objects[slot] is not None
    }


def anti(app: str) -> Any:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["node", "unnode", "pod", "pod", "port", "finish", "delete", "nominate", "run", "trial", "trial"]
        ),
        st.integers(0, 50),
        st.integers(0, 50),
    ),
    min_size=5,
    max_size=40,
)


class Cluster:
    """A store that random things happen in, while a scheduler keeps a snapshot of it."""

    def __init__(self, lab: Any) -> None:
        self.lab = lab
        self.scheduler: KubeScheduler = lab.start()
        self.count = 0

    def do(self, what: str, first: int, second: int) -> None:
        store, lab = self.lab.store, self.lab
        self.count += 1
        pods, nodes = store.list("pods"), store.list("nodes")
        pod = pods[first % len(pods)]["metadata"]["name"] if pods else None
        if what == "node":
            lab.node(f"n{self.count}", gpus=first % 9)
        elif what == "unnode" and nodes:
            store.delete("nodes", "", nodes[first % len(nodes)]["metadata"]["name"])
        elif what == "pod":
            extra = {"affinity": anti("a")} if second % 5 == 0 else {}
            lab.gpus(f"p{self.count}", first % 5, labels={"app": "ab"[second % 2]}, priority=second % 3, **extra)
        elif what == "port":
            ports = [{"containerPort": 1, "hostPort": 80}]
            lab.pod(f"p{self.count}", containers=[{"name": "c", "image": "i", "resources": {}, "ports": ports}])
        elif what == "finish" and pod is not None:
            lab.finish(pod)
        elif what == "delete" and pod is not None:
            lab.delete(pod)
        elif what == "nominate" and pod is not None and nodes:
            known = lab.get(pod)
            node = nodes[second % len(nodes)]["metadata"]["name"]
            if not known["spec"].get("nodeName"):
                store.patch_status("pods", "default", pod, {**known["status"], "nominatedNodeName": node})
        elif what == "run":
            lab.clock.settle()
        elif what == "trial":
            self.trial(first, second)

    def trial(self, first: int, second: int) -> None:
        """Evict and assume some pods in thought, half of it taken back by a checkpoint."""
        snapshot = self.scheduler.snapshot
        before, version = picture(snapshot), snapshot.version
        order = {slot: list(here) for slot, here in snapshot.pods.by_slot.items()}
        with Statement(snapshot) as statement:
            for index, pod in enumerate(list(snapshot.pods.by_uid.values())[: 1 + first % 6]):
                checkpoint = statement.checkpoint()
                statement.evict(pod)
                if index % 3 == 1:
                    statement.add(pod)
                if index % 3 == 2:
                    statement.rollback(checkpoint)
            names = [name for name, slot in snapshot.nodes.slots.items() if snapshot.nodes.objects[slot] is not None]
            for pod in self.lab.store.list("pods"):
                if names and pod["metadata"]["uid"] not in snapshot.pods.by_uid:
                    info = snapshot.specs.of(pod["spec"])
                    statement.assume(PodInfo(pod, info), names[second % len(names)])
        assert picture(snapshot) == before
        assert snapshot.version == version
        assert {slot: list(here) for slot, here in snapshot.pods.by_slot.items()} == order


@given(history=STEPS)
def test_a_snapshot_kept_by_events_and_through_statements_equals_one_built_from_scratch(
    new_lab: Any, history: Any
) -> None:
    cluster = Cluster(new_lab())
    for what, first, second in history:
        cluster.do(what, first, second)
    cluster.lab.clock.settle()
    assert picture(cluster.scheduler.snapshot) == picture(Snapshot.from_store(cluster.lab.store))


def test_a_statement_answers_the_decisions_that_would_make_it_come_true(lab: Any) -> None:
    lab.node("n0")
    there = lab.gpus("there", 4, nodeName="n0")
    new, also = lab.gpus("new", 4), lab.gpus("also", 4)
    snapshot = Snapshot.from_store(lab.store)

    def info(pod: Object) -> PodInfo:
        return snapshot.pods.by_uid.get(pod["metadata"]["uid"]) or PodInfo(pod, snapshot.specs.of(pod["spec"]))

    statement = Statement(snapshot)
    statement.assume(info(new), "n0")
    assert not snapshot.fits(info(also)).any()
    assert [type(each).__name__ for each in statement.commit().decisions] == ["Bind"]
    assert snapshot.fits(info(also)).any()
    statement.assume(info(new), "n0")
    statement.evict(info(there))
    statement.nominate(info(also), "n0")
    decisions = statement.commit().decisions
    told = [(type(each).__name__, each.pod.name) for each in decisions]
    assert told == [("Evict", "there"), ("Nominate", "new"), ("Nominate", "also")]
