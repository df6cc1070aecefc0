"""Tallies: amounts of resources that are summed up as parts come, change and go.

A sum has an entry for each resource that one of its parts has, be it none of it; so the parts that have it are counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from ghostfleet.core import quantity
from ghostfleet.core.quantity import Quantity

__all__ = ["Amounts", "Tally"]

#: By resource.
Amounts = Mapping[str, Quantity]


class Tally:
    """One sum."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        #: By resource: how many parts have it, and the sum.
        self._entries: dict[str, tuple[int, Quantity]] = {}

    def add(self, amounts: Amounts) -> None:
        for resource, amount in amounts.items():
            parts, total = self._entries.get(resource, (0, quantity.ZERO))
            self._entries[resource] = (parts + 1, quantity.add(total, amount))

    def remove(self, amounts: Amounts) -> None:
        """Take away what was added."""
        for resource, amount in amounts.items():
            parts, total = self._entries[resource]
            if parts == 1:
                del self._entries[resource]
            else:
                self._entries[resource] = (parts - 1, quantity.sub(total, amount))

    def __bool__(self) -> bool:
        return bool(self._entries)

    def amounts(self) -> Amounts:
        return {resource: total for resource, (_, total) in self._entries.items()}

    def texts(self) -> dict[str, str]:
        """The sums as the API writes them."""
        return {resource: str(self._entries[resource][1]) for resource in sorted(self._entries)}
