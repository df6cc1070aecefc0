"""Evidence: what each node says to a pod that is pending, grouped by reason.

A *finding* is one reason with the nodes that give it. Where the reason is a resource that a node has too little of, the
finding also says how much the pod asks for, the largest *block* that is free on a single node, and how much is free in
all: what fits in sum may fit on no node.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ghostfleet.core.quantity import Format, from_milli, from_value
from ghostfleet.schedulers.kube.plan import Plan
from ghostfleet.schedulers.kube.requests import CPU
from ghostfleet.schedulers.kube.state import ClusterState
from ghostfleet.schedulers.kube.trial import Refusal, Trial, refusal_with_nominated

__all__ = ["Block", "Finding", "amount_text", "findings", "largest_block", "refusals"]

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
class Finding:
    """One reason, and who gives it."""

    plugin: str
    reason: str
    nodes: tuple[str, ...]
    block: Block | None = None


def refusals(state: ClusterState, plan: Plan, uid: str) -> dict[str, Refusal | None]:
    """What each node says: its first objection, or None when the pod would fit."""
    plan.possible(range(state.table.capacity))
    order = state.table.tree.order()[: len(state.table)]
    return {
        state.table.names[slot]: refusal_with_nominated(state, Trial(state, plan, int(slot)), uid, plan.facts.priority)
        for slot in order
    }


def findings(state: ClusterState, plan: Plan, uid: str) -> list[Finding]:
    """All reasons, the one that most nodes give first."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for node, refusal in refusals(state, plan, uid).items():
        if refusal is not None:
            for reason in refusal.reasons:
                grouped.setdefault((refusal.plugin, reason), []).append(node)
    found = [
        Finding(plugin, reason, tuple(nodes), _block(state, plan, reason))
        for (plugin, reason), nodes in grouped.items()
    ]
    return sorted(found, key=lambda finding: (-len(finding.nodes), finding.reason))


def largest_block(state: ClusterState, column: int, slots: Iterable[int]) -> tuple[int, int]:
    """The most of a resource that is free on one of these nodes, and which one; (0, -1) for none."""
    best, where = 0, -1
    for slot in slots:
        free = state.table.allocatable[slot][column] - state.table.used[slot][column]
        if free > best:
            best, where = free, slot
    return best, where


def amount_text(resource: str, amount: int) -> str:
    """An amount of the table as users write it."""
    if resource == CPU:
        return str(from_milli(amount))
    return str(from_value(amount, _BINARY if "memory" in resource or "storage" in resource else "DecimalSI"))


def _block(state: ClusterState, plan: Plan, reason: str) -> Block | None:
    """How much of the resource is free that a reason names; None for other reasons."""
    for column, asked, name in plan.needs:
        if reason == f"Insufficient {name}":
            table = state.table
            slots = [int(slot) for slot in table.tree.order()[: len(table)]]
            largest, where = largest_block(state, column, slots)
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
