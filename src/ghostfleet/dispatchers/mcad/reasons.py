"""Reasons: why something does not fit, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ghostfleet.core.quantity import canonical, from_milli
from ghostfleet.dispatchers.mcad.amounts import GPU, RESOURCES, Amounts, memory_text
from ghostfleet.dispatchers.mcad.demand import PodGroup
from ghostfleet.dispatchers.mcad.placement import Table

__all__ = ["amount_text", "no_place", "shortfall_text"]


def amount_text(resource: str, amount: int) -> str:
    """`500m cpu`, `2Gi memory`, `8 nvidia.com/gpu`."""
    if resource == "cpu":
        return f"{canonical(from_milli(amount))} cpu"
    if resource == "memory":
        return f"{memory_text(amount)} memory"
    return f"{amount} {resource}"


def shortfall_text(shortfall: Mapping[str, int]) -> str:
    """`8 nvidia.com/gpu and 1Gi memory`."""
    return " and ".join(amount_text(resource, amount) for resource, amount in shortfall.items())


def no_place(groups: Iterable[PodGroup], table: Table) -> str:
    """Why pods do not find room on nodes all at once, though the first of them may."""
    groups = list(groups)
    for group in groups:
        if not table.open_to(group.spec):
            return f"none of {len(table)} nodes is open to its pods"
        text = _no_node_has(group.each, table.largest_free(group))
        if text:
            return text
    return f"there is not room for all {sum(group.count for group in groups)} pods at once"


def _no_node_has(each: Amounts, largest: Amounts) -> str:
    """Which resource no single node has enough of for a pod; empty when one has, of each resource."""
    for name, asked, most in sorted(zip(RESOURCES, each, largest, strict=True), key=lambda entry: entry[0] != GPU):
        if asked > most:
            return (
                f"no node has {amount_text(name, asked)} free "
                f"(largest free block {amount_text(name, most).split(' ')[0]})"
            )
    return ""
