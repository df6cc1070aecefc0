"""What must hold whatever happens, checked against a second opinion that shares no code with the scheduler.

Random clusters live through random events. At every binding the naive checker below looks at the plain objects in the
store and says whether the node was allowed; when everything has settled it looks for nodes that a waiting pod could have
had; and the scheduler's picture, kept by events, must equal one built from scratch.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.clock import SECOND
from ghostfleet.schedulers.framework import Snapshot
from ghostfleet.schedulers.kube import Profile, ScheduleAlgorithm

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
APPS, ZONES, POOLS = ("x", "y"), ("a", "b"), ("p", "q")
TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


# -- a second opinion -------------------------------------------------------------------------------------------------


def amount(text: str) -> int:
    return int(text[:-1]) if text.endswith("m") else 1000 * int(text.removesuffix("Gi"))


def asked(pod: Any) -> dict[str, int]:
    total: dict[str, int] = {}
    for container in pod["spec"]["containers"]:
        for name, text in container["resources"]["requests"].items():
            total[name] = total.get(name, 0) + amount(text)
    return total


def alive(store: Any) -> list[Any]:
    return [pod for pod in store.list("pods") if pod["status"]["phase"] not in ("Succeeded", "Failed")]


def matches(selector: Any, pod: Any) -> bool:
    return all(pod["metadata"]["labels"].get(key) == value for key, value in selector["matchLabels"].items())


def allowed(store: Any, pod: Any, node: Any, others: list[Any]) -> bool:
    """Whether a pod may be on a node while `others` are on theirs."""
    labels, spec = node["metadata"]["labels"], pod["spec"]
    tolerated = any(each.get("operator") == "Exists" for each in spec.get("tolerations", ()))
    if (node["spec"].get("taints") or node["spec"].get("unschedulable")) and not tolerated:
        return False
    if any(labels.get(key) != value for key, value in spec.get("nodeSelector", {}).items()):
        return False
    here = [each for each in others if each["spec"]["nodeName"] == node["metadata"]["name"]]
    has = node["status"]["allocatable"]
    if len(here) + 1 > int(has["pods"]):
        return False
    for resource, wanted in asked(pod).items():
        used = sum(asked(each).get(resource, 0) for each in here)
        if wanted and used + wanted > amount(has[resource]):
            return False
    ports = {port["hostPort"] for port in spec["containers"][0].get("ports", ())}
    if any(port["hostPort"] in ports for each in here for port in each["spec"]["containers"][0].get("ports", ())):
        return False
    return spread_allows(store, pod, node, others) and neighbours_allow(store, pod, node, others)


def spread_allows(store: Any, pod: Any, node: Any, others: list[Any]) -> bool:
    for constraint in pod["spec"].get("topologySpreadConstraints", ()):
        key = constraint["topologyKey"]
        value = node["metadata"]["labels"].get(key)
        if value is None:
            return False
        wanted = pod["spec"].get("nodeSelector", {})
        counts: dict[str, int] = {}
        for each in store.list("nodes"):
            own = each["metadata"]["labels"]
            if key in own and all(own.get(name) == text for name, text in wanted.items()):
                counts.setdefault(own[key], 0)
                for other in others:
                    if other["spec"]["nodeName"] == each["metadata"]["name"]:
                        leaving = "deletionTimestamp" in other["metadata"]
                        counts[own[key]] += matches(constraint["labelSelector"], other) and not leaving
        itself = matches(constraint["labelSelector"], pod)
        if counts and counts.get(value, 0) + itself - min(counts.values()) > constraint["maxSkew"]:
            return False
    return True


def anti_terms(pod: Any) -> list[Any]:
    side = pod["spec"].get("affinity", {}).get("podAntiAffinity", {})
    return side.get("requiredDuringSchedulingIgnoredDuringExecution", [])


def neighbours_allow(store: Any, pod: Any, node: Any, others: list[Any]) -> bool:
    labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in store.list("nodes")}
    mine = node["metadata"]["labels"]
    for other in others:
        theirs = labels.get(other["spec"]["nodeName"], {})
        for who, term, whom in [(pod, each, other) for each in anti_terms(pod)] + [
            (other, each, pod) for each in anti_terms(other)
        ]:
            key = term["topologyKey"]
            together = key in mine and mine[key] == theirs.get(key)
            if together and matches(term["labelSelector"], whom) and who is not whom:
                return False
    return True


# -- random clusters --------------------------------------------------------------------------------------------------


@st.composite
def node_fields(draw: Any) -> dict[str, Any]:
    labels = {}
    if draw(st.integers(0, 3)):
        labels[ZONE] = draw(st.sampled_from(ZONES))
    if draw(st.booleans()):
        labels["pool"] = draw(st.sampled_from(POOLS))
    fields: dict[str, Any] = {"labels": labels}
    if draw(st.integers(0, 4)) == 0:
        fields["taints"] = [TAINT]
    fields["gpus"] = draw(st.sampled_from([0, 4, 8]))
    fields["allocatable"] = {
        "cpu": str(draw(st.integers(1, 8))),
        "memory": f"{draw(st.integers(1, 16))}Gi",
        "pods": str(draw(st.sampled_from([3, 110]))),
    }
    return fields


@st.composite
def pod_fields(draw: Any, *, priorities: bool) -> dict[str, Any]:
    requests = {"cpu": f"{draw(st.integers(1, 3000))}m"}
    if draw(st.booleans()):
        requests["memory"] = f"{draw(st.integers(1, 5))}Gi"
    if draw(st.booleans()):
        requests["nvidia.com/gpu"] = str(draw(st.sampled_from([1, 2, 4, 8])))
    container: dict[str, Any] = {"name": "c", "image": "i", "resources": {"requests": requests}}
    spec: dict[str, Any] = {"containers": [container], "labels": {"app": draw(st.sampled_from(APPS))}}
    if priorities:
        spec["priority"] = draw(st.integers(0, 2)) * 100
        return spec
    kind = draw(st.integers(0, 5))
    selector = {"matchLabels": {"app": draw(st.sampled_from(APPS))}}
    key = draw(st.sampled_from([ZONE, HOST]))
    if kind == 1:
        container["ports"] = [{"containerPort": 1, "hostPort": 80}]
    if kind == 2:
        term = {"labelSelector": selector, "topologyKey": key}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if kind == 3:
        constraint = {"maxSkew": draw(st.integers(1, 2)), "topologyKey": key, "labelSelector": selector}
        spec["topologySpreadConstraints"] = [{**constraint, "whenUnsatisfiable": "DoNotSchedule"}]
    if draw(st.booleans()):
        spec["tolerations"] = [{"operator": "Exists"}]
    if draw(st.integers(0, 3)) == 0:
        spec["nodeSelector"] = {"pool": draw(st.sampled_from(POOLS))}
    return spec


def steps(*, priorities: bool) -> Any:
    return st.lists(
        st.one_of(
            st.tuples(st.just("pod"), pod_fields(priorities=priorities)),
            st.tuples(st.just("pod"), pod_fields(priorities=priorities)),
            st.tuples(st.just("node"), node_fields()),
            st.tuples(st.sampled_from(["finish", "delete", "unnode", "cordon", "relabel", "mark"]), st.integers(0, 30)),
            st.tuples(st.just("settle"), st.none()),
        ),
        min_size=5,
        max_size=40,
    )


class World:
    """A lab that does random things and watches every binding."""

    def __init__(self, lab: Any) -> None:
        self.lab = lab
        self.store = lab.store
        self.count = 0
        self.wrong: list[str] = []
        lab.store.listen("pods", self.watch)
        lab.start()

    def watch(self, change: Any) -> None:
        old, new = change.old, change.new
        if old is None or new is None or old["spec"].get("nodeName") or not new["spec"].get("nodeName"):
            return
        node = self.store.get("nodes", "", new["spec"]["nodeName"])
        others = [each for each in alive(self.store) if each["spec"].get("nodeName") and each is not new]
        if not allowed(self.store, new, node, others):
            self.wrong.append(f"{new['metadata']['name']} on {node['metadata']['name']}")

    def do(self, what: str, how: Any) -> None:
        getattr(self, what)(how)

    def pod(self, fields: Any) -> None:
        self.count += 1
        self.lab.pod(f"p{self.count}", **fields)

    def node(self, fields: Any) -> None:
        self.count += 1
        self.lab.node(f"n{self.count}", **fields)

    def settle(self, _: Any = None) -> None:
        self.lab.clock.settle()

    def _pick(self, resource: str, index: int) -> Any:
        found = self.store.list(resource)
        return found[index % len(found)] if found else None

    def finish(self, index: int) -> None:
        pod = self._pick("pods", index)
        if pod is not None and pod["spec"].get("nodeName"):
            self.lab.finish(pod["metadata"]["name"])

    def delete(self, index: int) -> None:
        pod = self._pick("pods", index)
        if pod is not None:
            self.lab.delete(pod["metadata"]["name"])

    def mark(self, index: int) -> None:
        pod = self._pick("pods", index)
        if pod is not None and pod["spec"].get("nodeName"):
            self.store.delete("pods", "default", pod["metadata"]["name"], grace=30)

    def unnode(self, index: int) -> None:
        node = self._pick("nodes", index)
        if node is not None:
            self.store.delete("nodes", "", node["metadata"]["name"])
            for pod in self.store.list("pods"):
                if pod["spec"].get("nodeName") == node["metadata"]["name"]:
                    self.lab.delete(pod["metadata"]["name"])

    def cordon(self, index: int) -> None:
        node = self._pick("nodes", index)
        if node is not None:
            flipped = not node["spec"].get("unschedulable", False)
            self.store.update("nodes", {**node, "spec": {**node["spec"], "unschedulable": flipped}})

    def relabel(self, index: int) -> None:
        node = self._pick("nodes", index)
        if node is not None:
            labels = {**node["metadata"]["labels"], ZONE: ZONES[index % 2], "pool": POOLS[index % 2]}
            self.store.update("nodes", {**node, "metadata": {**node["metadata"], "labels": labels}})

    def bury(self) -> None:
        """Pods that were asked to go are gone."""
        for pod in self.store.list("pods"):
            if "deletionTimestamp" in pod["metadata"]:
                self.lab.delete(pod["metadata"]["name"])
        self.settle()


def overcommitted(store: Any) -> list[str]:
    found = []
    for node in store.list("nodes"):
        here = [each for each in alive(store) if each["spec"].get("nodeName") == node["metadata"]["name"]]
        for resource, text in node["status"]["allocatable"].items():
            used = len(here) if resource == "pods" else sum(asked(each).get(resource, 0) for each in here)
            if used > (int(text) if resource == "pods" else amount(text)):
                found.append(f"{node['metadata']['name']}: {resource}")
    return found


def left_behind(store: Any) -> list[str]:
    """Pods that wait although some node would have them."""
    on_nodes = [each for each in alive(store) if each["spec"].get("nodeName")]
    return [
        f"{pod['metadata']['name']} could be on {node['metadata']['name']}"
        for pod in alive(store)
        if not pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]
        for node in store.list("nodes")
        if allowed(store, pod, node, on_nodes)
    ]


@given(history=steps(priorities=False))
def test_pods_go_only_where_they_may_and_never_wait_without_need(new_lab: Any, history: Any) -> None:
    world = World(new_lab())
    for what, how in history:
        world.do(what, how)
    world.settle()
    assert world.wrong == []
    assert overcommitted(world.store) == []
    assert left_behind(world.store) == []


@given(history=steps(priorities=True))
def test_preemption_keeps_all_promises_and_limits(new_lab: Any, history: Any) -> None:
    world = World(new_lab())
    for what, how in history:
        world.do(what, how)
    for _ in range(20):
        world.settle()
        world.bury()
    assert world.wrong == []
    assert overcommitted(world.store) == []
    assert left_behind(world.store) == []
    waiting = [pod for pod in alive(world.store) if not pod["spec"].get("nodeName")]
    for pod in waiting:
        nodes = world.store.list("nodes")
        lower = [
            each
            for each in alive(world.store)
            if each["spec"].get("nodeName") and each["spec"]["priority"] >= pod["spec"]["priority"]
        ]
        assert not any(allowed(world.store, pod, node, lower) for node in nodes), pod["metadata"]["name"]


@given(history=steps(priorities=False))
def test_the_picture_kept_by_events_equals_one_built_from_scratch(new_lab: Any, history: Any) -> None:
    world = World(new_lab())
    for what, how in history:
        world.do(what, how)
        if what == "pod":
            # Plans are made early, so that they have to be kept up to date.
            world.settle()
    kept = world.lab.scheduler.algorithm
    fresh = ScheduleAlgorithm.from_store(world.store, Profile(), Random(0))
    assert amounts(kept.snapshot) == amounts(fresh.snapshot)
    for pod in world.store.list("pods"):
        if not pod["spec"].get("nodeName"):
            for _ in range(4):
                assert kept.scores(pod) == fresh.scores(pod)


def amounts(snapshot: Snapshot) -> dict[str, Any]:
    table = snapshot.nodes
    allocatable, used = table.flush()
    return {
        table.names[slot]: {
            name: (
                table.allocatable[slot][column],
                table.used[slot][column],
                int(allocatable[column, slot]),
                int(used[column, slot]),
            )
            for name, column in sorted(table.resources.items())
            if table.allocatable[slot][column] or table.used[slot][column]
        }
        for slot, node in enumerate(table.objects)
        if node is not None
    }


@given(history=steps(priorities=True), seed=st.integers(0, 3))
def test_the_same_seed_gives_the_same_placements(new_lab: Any, history: Any, seed: int) -> None:
    def run() -> list[Any]:
        world = World(new_lab(seed))
        for what, how in history:
            world.do(what, how)
        world.settle()
        return [(pod["metadata"]["name"], pod["spec"].get("nodeName")) for pod in world.store.list("pods")]

    assert run() == run()


@pytest.mark.replaces
@given(history=steps(priorities=True))
def test_nothing_is_put_off_to_a_time_that_has_passed(new_lab: Any, history: Any) -> None:
    lab = new_lab()
    call_at = lab.clock.call_at

    def noting(when: int, call: Any, *arguments: Any) -> Any:
        assert when > lab.clock.now() or "flush" not in call.__name__, "the clock would never get on"
        return call_at(when, call, *arguments)

    lab.clock.call_at = noting
    world = World(lab)
    for what, how in history:
        world.do(what, how)
        lab.clock.run(until=lab.clock.now() + 100 * SECOND)
    lab.clock.run(until=lab.clock.now() + 1000 * SECOND)
