"""Findings for explain: what each node says to a pod that is pending, grouped by reason.

A *finding* is one reason with the nodes that give it. Where the reason is a resource that a node has too little of, the
finding also says how much the pod asks for, the largest *block* that is free on a single node, and how much is free in
all: what fits in sum may fit on no node.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ghostfleet.core.quantity import Format, from_milli, from_value
from ghostfleet.schedulers.dra import RequestCensus
from ghostfleet.schedulers.framework.cyclestate import CycleState, Refusal
from ghostfleet.schedulers.framework.diagnosis import refusal_with_nominated
from ghostfleet.schedulers.framework.podinfo import CPU
from ghostfleet.schedulers.framework.snapshot import Snapshot
from ghostfleet.schedulers.kube.plugins.deviceanswers import DevicesFilter
from ghostfleet.schedulers.kube.plugins.node_resources_fit import ResourcesFilter

__all__ = ["Block", "Reason", "amount_text", "device_findings", "findings", "largest_block", "needs", "refusals"]

_BINARY: Format = "BinarySI"


@dataclass(frozen=True, slots=True)
class Block:
    """How much of a resource is free."""

    resource: str
    asked: str
    largest: str
    #: Where that largest block is; "" when no node has any.
    node: str
    #: Free on all nodes together, and what these have.
    free: str
    capacity: str
    #: The whole of the largest node, if all its pods went.
    largest_node: str


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason, and who gives it."""

    plugin: str
    reason: str
    nodes: tuple[str, ...]
    block: Block | None = None


def refusals(cycle: CycleState, uid: str) -> dict[str, Refusal | None]:
    """What each node says: its first objection, or None when the pod would fit."""
    nodes = cycle.snapshot.nodes
    order = nodes.tree.order()[: len(nodes)]
    return {nodes.names[slot]: refusal_with_nominated(cycle, int(slot), uid) for slot in order}


def needs(cycle: CycleState) -> list[tuple[int, int, str]]:
    """What pods need of a node's resources: column, amount, name."""
    return [need for _, each in cycle.filters if isinstance(each, ResourcesFilter) for need in each.needs]


def findings(cycle: CycleState, uid: str) -> list[Reason]:
    """All reasons, the one that most nodes give first."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for node, refusal in refusals(cycle, uid).items():
        if refusal is not None:
            for reason in refusal.reasons:
                grouped.setdefault((refusal.plugin, reason), []).append(node)
    found = [Reason(plugin, reason, tuple(nodes), _block(cycle, reason)) for (plugin, reason), nodes in grouped.items()]
    return sorted(found, key=lambda finding: (-len(finding.nodes), finding.reason))


def device_findings(cycle: CycleState) -> list[RequestCensus]:
    """How many devices there are for each request of the claims of pods."""
    return [found for _, each in cycle.filters if isinstance(each, DevicesFilter) for found in each.census()]


def largest_block(snapshot: Snapshot, column: int, slots: Iterable[int]) -> tuple[int, int]:
    """The most of a resource that is free on one of these nodes, and which one; (0, -1) for none."""
    best, where = 0, -1
    for slot in slots:
        free = snapshot.nodes.allocatable[slot][column] - snapshot.nodes.used[slot][column]
        if free > best:
            best, where = free, slot
    return best, where


def amount_text(resource: str, amount: int) -> str:
    """An amount of the table as users write it."""
    if resource == CPU:
        return str(from_milli(amount))
    return str(from_value(amount, _BINARY if "memory" in resource or "storage" in resource else "DecimalSI"))


def _block(cycle: CycleState, reason: str) -> Block | None:
    """How much of the resource is free that a reason names; None for other reasons."""
    for column, asked, name in needs(cycle):
        if reason == f"Insufficient {name}":
            table = cycle.snapshot.nodes
            slots = [int(slot) for slot in table.tree.order()[: len(table)]]
            largest, where = largest_block(cycle.snapshot, column, slots)
            free = sum(max(0, table.allocatable[slot][column] - table.used[slot][column]) for slot in slots)
            return Block(
                resource=name,
                asked=amount_text(name, asked),
                largest=amount_text(name, largest),
                node=table.names[where] if where >= 0 else "",
                free=amount_text(name, free),
                capacity=amount_text(name, sum(table.allocatable[slot][column] for slot in slots)),
                largest_node=amount_text(name, max((table.allocatable[slot][column] for slot in slots), default=0)),
            )
    return None
