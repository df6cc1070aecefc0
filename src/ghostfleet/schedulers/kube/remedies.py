"""Remedies: changes that would place a pod which is pending, each checked by scheduling the changed pod.

A *remedy* is one small change, of the pod or of the cluster, together with the node that the pod would get. Changes are
tried alone, from those that cost least: tolerate a taint, ask for less, of nodes or of devices, drop one demand,
uncordon a node, add a node. When none of them helps alone, pairs are tried. The store is a copy for that: what claims
and slices are like in a change is written to it, and taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

from ghostfleet.api.podclaims import CLAIMS, SLICES
from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import milli, value
from ghostfleet.schedulers.framework.cyclestate import CycleState
from ghostfleet.schedulers.framework.podinfo import CPU
from ghostfleet.schedulers.framework.runtime import Framework
from ghostfleet.schedulers.framework.snapshot import Snapshot
from ghostfleet.schedulers.kube.claimremedies import changed_claims
from ghostfleet.schedulers.kube.findings import amount_text, device_findings, largest_block, needs, refusals
from ghostfleet.schedulers.kube.plugins.extendedresources import ExtendedResources
from ghostfleet.schedulers.kube.schedule_one import ScheduleAlgorithm

__all__ = ["Remedy", "find_remedies", "fresh_nodes"]

#: So many changes are tried at most; pairs grow with the square of it.
_CHANGES = 24
_NEW_NODE = "one-more-node"
_CORDON = "node.kubernetes.io/unschedulable"


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do, and where the pod would then go."""

    change: str
    node: str


@dataclass(frozen=True, slots=True)
class _Change:
    text: str
    pod: Callable[[Object], Object] = lambda pod: pod
    #: Nodes that are added, or take the place of those of their names.
    nodes: tuple[Object, ...] = ()
    #: The same for claims and slices, with their resource.
    others: tuple[tuple[str, Object], ...] = ()


def find_remedies(algorithm: ScheduleAlgorithm, pod: Object) -> list[Remedy]:
    """Single changes that would place the pod; pairs where no single one does. The snapshot is left as it was."""
    cycle = algorithm.framework_of(pod).cycle_state(pod)
    changes = list(_changes(cycle, pod))[:_CHANGES]
    found = [remedy for change in changes if (remedy := _tried(algorithm, pod, (change,))) is not None]
    if found:
        return found
    pairs = combinations(changes, 2)
    return [remedy for pair in pairs if (remedy := _tried(algorithm, pod, pair)) is not None]


def _tried(algorithm: ScheduleAlgorithm, pod: Object, changes: tuple[_Change, ...]) -> Remedy | None:
    """Schedule the pod as if the changes were made."""
    snapshot = algorithm.snapshot
    nodes = [node for change in changes for node in change.nodes]
    before = {node["metadata"]["name"]: _node(snapshot, node["metadata"]["name"]) for node in nodes}
    for change in changes:
        pod = change.pod(pod)
    for node in nodes:
        snapshot.put_node(node)
    framework = algorithm.framework_of(pod)
    try:
        with _written(framework, [other for change in changes for other in change.others]):
            placed = algorithm.schedule(framework.cycle_state(pod), pod).node
    finally:
        for name, earlier in before.items():
            if earlier is None:
                snapshot.drop_node(name)
            else:
                snapshot.put_node(earlier)
    return Remedy(" and ".join(change.text for change in changes), placed) if placed is not None else None


@contextmanager
def _written(framework: Framework, objects: Sequence[tuple[str, Object]]) -> Iterator[None]:
    """Objects are in the store for a while, new or in the place of others, and plugins know of them."""
    store = framework.snapshot.store
    told = [(kind, plugin.notice) for plugin in framework.plugins.values() for kind in plugin.kinds]
    stops = [store.listen(kind, notice) for kind, notice in told] if objects else []
    before = [(kind, obj, store.find(kind, *_place(obj))) for kind, obj in objects]
    try:
        for kind, obj, earlier in before:
            if earlier is None:
                store.create(kind, obj)
            else:
                store.replace(kind, earlier, obj)
        yield
    finally:
        for kind, obj, earlier in before:
            if earlier is None:
                store.delete(kind, *_place(obj))
            else:
                store.replace(kind, store.get(kind, *_place(obj)), {**earlier, "metadata": {**earlier["metadata"]}})
        for stop in stops:
            stop()


def _place(obj: Object) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _changes(cycle: CycleState, pod: Object) -> Iterator[_Change]:
    snapshot = cycle.snapshot
    yield from _tolerations(snapshot, pod)
    yield from _smaller_requests(cycle, pod["metadata"]["uid"])
    yield from _fewer_devices(cycle, pod)
    yield from _dropped_demands(pod)
    yield from _uncordoned(snapshot)
    yield from _one_more_node(snapshot)


def _tolerations(snapshot: Snapshot, pod: Object) -> Iterator[_Change]:
    """Tolerate a taint that keeps the pod away from some node."""
    seen: dict[tuple[str, str, str], None] = {}
    tolerated = pod["spec"].get("tolerations") or []
    for taints in snapshot.nodes.taints:
        for taint in taints:
            if (
                taint.get("effect") in ("NoSchedule", "NoExecute")
                and taint["key"] != "node.kubernetes.io/unschedulable"
            ):
                seen[taint["key"], taint.get("value", ""), taint["effect"]] = None
    for key, given, effect in seen:
        toleration = {"key": key, "operator": "Equal", "value": given, "effect": effect}
        yield _Change(
            f"tolerate the taint {key}{f'={given}' if given else ''}:{effect}",
            partial(_with_spec, tolerations=[*tolerated, toleration]),
        )


def _smaller_requests(cycle: CycleState, uid: str) -> Iterator[_Change]:
    """Ask for no more than the largest block that is free, on any node or on those that object to nothing else."""
    snapshot = cycle.snapshot
    slots = snapshot.nodes.slots
    refused = refusals(cycle, uid)
    short = [slots[node] for node, why in refused.items() if why is not None and why.plugin == "NodeResourcesFit"]
    for column, asked, name in needs(cycle):
        blocks = {largest_block(snapshot, column, places) for places in (short, [slots[node] for node in refused])}
        for block, where in sorted(blocks):
            if 0 < block < asked:
                yield _Change(
                    f"ask for {amount_text(name, block)} instead of {amount_text(name, asked)} {name} "
                    f"(the largest free block, on {snapshot.nodes.names[where]})",
                    partial(_asking_less, resource=name, less=asked - block),
                )


def _fewer_devices(cycle: CycleState, pod: Object) -> Iterator[_Change]:
    """Ask for other devices, or for no more than one node has free."""
    found = device_findings(cycle)
    if not found:
        return
    for text, claim in changed_claims(cycle.snapshot.store, pod, found):
        yield _Change(text, others=((CLAIMS, claim),))
    served = ExtendedResources.of(cycle.snapshot).serving(cycle.info)
    for resource, device_class in served.items():
        asked = cycle.info.requests.asked[resource]
        most = max((each.most for each in found if each.device_class == device_class), default=0)
        if 0 < most < asked:
            text = f"ask for {most} instead of {asked} {resource} (the most devices that are free on one node)"
            yield _Change(text, partial(_asking_less, resource=resource, less=asked - most))


def _dropped_demands(pod: Object) -> Iterator[_Change]:
    """Give up one demand on the node."""
    spec = pod["spec"]
    for key, wanted in (spec.get("nodeSelector") or {}).items():
        left = {other: text for other, text in spec["nodeSelector"].items() if other != key}
        yield _Change(f"drop the node selector {key}={wanted}", partial(_with_spec, nodeSelector=left))
    affinity = spec.get("affinity") or {}
    names = {"nodeAffinity": "node affinity", "podAffinity": "pod affinity", "podAntiAffinity": "pod anti-affinity"}
    for field, called in names.items():
        if (affinity.get(field) or {}).get("requiredDuringSchedulingIgnoredDuringExecution"):
            left = {**affinity, field: {**affinity[field], "requiredDuringSchedulingIgnoredDuringExecution": None}}
            yield _Change(f"drop the required {called}", partial(_with_spec, affinity=left))
    for number, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        if constraint.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule":
            loose = [*spec["topologySpreadConstraints"]]
            loose[number] = {**constraint, "whenUnsatisfiable": "ScheduleAnyway"}
            yield _Change(
                f"let the spread over {constraint['topologyKey']} be ScheduleAnyway",
                partial(_with_spec, topologySpreadConstraints=loose),
            )


def _uncordoned(snapshot: Snapshot) -> Iterator[_Change]:
    for slot, node in enumerate(snapshot.nodes.objects):
        if node is not None and snapshot.nodes.unschedulable[slot]:
            taints = [each for each in node["spec"].get("taints") or () if each["key"] != _CORDON]
            spec = {**node["spec"], "unschedulable": False, "taints": taints}
            yield _Change(f"uncordon the node {node['metadata']['name']}", nodes=({**node, "spec": spec},))


def _one_more_node(snapshot: Snapshot) -> Iterator[_Change]:
    for like, fresh in fresh_nodes(snapshot):
        slices = tuple((SLICES, each) for each in _fresh_slices(snapshot, like))
        yield _Change(f"add one more node like {like}", nodes=(fresh,), others=slices)


def _fresh_slices(snapshot: Snapshot, like: str) -> Iterator[Object]:
    """What drivers would publish for a fresh node: what they do for one like it, without taints."""
    for each in snapshot.store.list(SLICES):
        spec = each["spec"]
        if spec.get("nodeName") == like:
            devices = [{key: one[key] for key in one if key != "taints"} for one in spec.get("devices") or ()]
            pool = {**spec["pool"], "name": f"{_NEW_NODE}/{spec['pool']['name']}"}
            fresh = {**spec, "nodeName": _NEW_NODE, "pool": pool, "devices": devices}
            yield {**each, "metadata": {"name": f"{_NEW_NODE}-{each['metadata']['name']}"}, "spec": fresh}


def fresh_nodes(snapshot: Snapshot) -> Iterator[tuple[str, Object]]:
    """A fresh copy of each shape of node that there is, and the name of one that has it."""
    shapes: dict[tuple[tuple[str, str], ...], None] = {}
    for node in list(snapshot.nodes.objects):
        if node is None:
            continue
        shape = tuple(sorted((node["status"].get("allocatable") or {}).items()))
        if shape in shapes:
            continue
        shapes[shape] = None
        labels = {**(node["metadata"].get("labels") or {}), "kubernetes.io/hostname": _NEW_NODE}
        metadata = {**node["metadata"], "name": _NEW_NODE, "uid": _NEW_NODE, "labels": labels}
        fresh = {**node, "metadata": metadata, "spec": {**node["spec"], "unschedulable": False}}
        yield node["metadata"]["name"], fresh


def _node(snapshot: Snapshot, name: str) -> Object | None:
    slot = snapshot.nodes.slots.get(name)
    return snapshot.nodes.objects[slot] if slot is not None else None


def _with_spec(pod: Object, **fields: Any) -> Object:
    return {**pod, "spec": {**pod["spec"], **fields}}


def _asking_less(pod: Object, resource: str, less: int) -> Object:
    """The pod with a smaller request, taken from its containers one after another."""
    containers = []
    for container in pod["spec"]["containers"]:
        resources = container.get("resources") or {}
        requests = resources.get("requests") or {}
        if resource in requests and less > 0:
            there = milli(requests[resource]) if resource == CPU else value(requests[resource])
            cut = min(there, less)
            less -= cut
            left = {**requests, resource: amount_text(resource, there - cut)}
            container = {**container, "resources": {**resources, "requests": left}}
        containers.append(container)
    return _with_spec(pod, containers=containers)
