"""Cleaning: removes all that runs made, by the label that everything of a run carries.

What was submitted is deleted, and what the cluster made from it goes by garbage collection. A namespace that a run made
goes too, unless something else is in it by then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.drive.interface import NAMESPACES, PODS, Cluster, Kind, Refused
from ghostfleet.lab.deviceclaims import CLAIM, CLAIM_TEMPLATE
from ghostfleet.lab.plan import RUN_LABEL
from ghostfleet.lab.progress import Progress
from ghostfleet.lab.types import JOIN_LABELS, KindName, type_names, workload_type

__all__ = ["Cleaned", "clean"]

_NOT_FOUND = 404
_STEP = SECOND
_PATIENCE = 120 * SECOND


@dataclass(slots=True)
class Cleaned:
    """What was removed."""

    #: How many of each kind.
    removed: Counter[str] = field(default_factory=Counter)
    namespaces: list[str] = field(default_factory=list)
    #: Namespaces of the run in which something else is.
    kept: list[str] = field(default_factory=list)
    #: Objects that are still on their way out.
    left: int = 0


async def clean(cluster: Cluster, run: str, more: Iterable[KindName], progress: Progress) -> Cleaned:
    """Remove what a run made, or all runs where `run` is ""; `more` are kinds that no type has."""
    selector = f"{RUN_LABEL}={run}" if run else RUN_LABEL
    result = Cleaned()
    kinds = await _kinds(cluster, more)
    found = {kind: await cluster.list(kind, "", selector) for kind in kinds}
    total = sum(map(len, found.values()))
    progress.begin("removing workloads", total)
    for kind, objects in found.items():
        for namespace in sorted({each["metadata"]["namespace"] for each in objects}):
            await cluster.delete_all(kind, namespace, selector)
        if objects:
            result.removed[kind.plural] += len(objects)
    gone = {_place(each) for objects in found.values() for each in objects}
    result.left = await _left(cluster, kinds, selector, gone, progress)
    for namespace in sorted(each["metadata"]["name"] for each in await cluster.list(NAMESPACES, "", selector)):
        await _remove_namespace(cluster, namespace, kinds, result)
    return result


def _place(obj: Object) -> tuple[str, str]:
    return obj["metadata"]["namespace"], obj["metadata"]["name"]


async def _kinds(cluster: Cluster, more: Iterable[KindName]) -> list[Kind]:
    """All kinds that a run may have submitted and the cluster serves."""
    names = dict.fromkeys([*(workload_type(name).workload for name in type_names()), CLAIM, CLAIM_TEMPLATE, *more])
    return [kind for name in names if (kind := await cluster.resolve(*name)) is not None]


async def _left(
    cluster: Cluster, kinds: list[Kind], selector: str, gone: set[tuple[str, str]], progress: Progress
) -> int:
    """Wait until nothing is left of what was deleted, its pods included; answers how much is when patience ends."""
    until = cluster.now() + _PATIENCE
    namespaces = sorted({namespace for namespace, _ in gone})
    while True:
        left = sum([len(await cluster.list(kind, "", selector)) for kind in kinds])
        progress.advance(len(gone) - min(left, len(gone)))
        for namespace in namespaces:
            left += sum(_workload_of(pod) in gone for pod in await cluster.list(PODS, namespace))
        if not left or cluster.now() > until:
            return left
        await cluster.sleep(_STEP)


def _workload_of(pod: Object) -> tuple[str, str]:
    labels = pod["metadata"].get("labels") or {}
    return pod["metadata"]["namespace"], next((labels[key] for key in JOIN_LABELS if key in labels), "")


async def _remove_namespace(cluster: Cluster, namespace: str, kinds: list[Kind], result: Cleaned) -> None:
    others = [len(await cluster.list(kind, namespace)) for kind in [*kinds, PODS]]
    if any(others):
        result.kept.append(namespace)
        return
    try:
        await cluster.delete(NAMESPACES, "", namespace)
    except Refused as refusal:
        if refusal.code != _NOT_FOUND:
            raise
    result.namespaces.append(namespace)
