"""Amounts: the three resources that MCAD counts.

CPU is in thousandths, memory in bytes, GPUs in whole devices. MCAD looks at no other resource, be it pods, ephemeral
storage or another vendor's devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ghostfleet.core.quantity import canonical, from_milli, from_value, milli, value

__all__ = ["GPU", "NOTHING", "RESOURCES", "Amounts", "container_amounts", "listed", "memory_text", "total"]

GPU = "nvidia.com/gpu"
#: The names of the resources, in the order of the fields.
RESOURCES = ("cpu", "memory", GPU)


class Amounts(NamedTuple):
    """An amount of each resource; it may be negative where something is overdrawn."""

    cpu: int = 0
    memory: int = 0
    gpu: int = 0

    def plus(self, other: Amounts) -> Amounts:
        return Amounts(self.cpu + other.cpu, self.memory + other.memory, self.gpu + other.gpu)

    def minus(self, other: Amounts) -> Amounts:
        return Amounts(self.cpu - other.cpu, self.memory - other.memory, self.gpu - other.gpu)

    def times(self, count: int) -> Amounts:
        return Amounts(self.cpu * count, self.memory * count, self.gpu * count)

    def floored(self) -> Amounts:
        """With nothing below zero."""
        return Amounts(max(self.cpu, 0), max(self.memory, 0), max(self.gpu, 0))

    def at_least(self, other: Amounts) -> Amounts:
        """The larger of both, resource by resource."""
        return Amounts(max(self.cpu, other.cpu), max(self.memory, other.memory), max(self.gpu, other.gpu))

    def fits(self, room: Amounts) -> bool:
        return self.cpu <= room.cpu and self.memory <= room.memory and self.gpu <= room.gpu

    def shortfall(self, room: Amounts) -> dict[str, int]:
        """What is missing for these amounts, by resource; empty when there is room."""
        missing = self.minus(room)
        return {name: amount for name, amount in zip(RESOURCES, missing, strict=True) if amount > 0}

    def shown(self) -> dict[str, str]:
        """The amounts as Kubernetes writes them."""
        return {
            "cpu": canonical(from_milli(self.cpu)),
            "memory": memory_text(self.memory),
            GPU: str(self.gpu),
        }


NOTHING = Amounts()


def memory_text(amount: int) -> str:
    """An amount of memory as one would write it: `2Gi`, `10M`."""
    return canonical(from_value(amount, "DecimalSI" if amount % 1024 else "BinarySI"))


def total(parts: Iterable[Amounts]) -> Amounts:
    """The sum of all."""
    result = NOTHING
    for part in parts:
        result = result.plus(part)
    return result


def listed(resources: Mapping[str, str | int | float] | None) -> Amounts:
    """The amounts in a resource list; a ValueError if one of them is no quantity."""
    if not resources:
        return NOTHING
    return Amounts(
        milli(resources["cpu"]) if "cpu" in resources else 0,
        value(resources["memory"]) if "memory" in resources else 0,
        value(resources[GPU]) if GPU in resources else 0,
    )


def container_amounts(requirements: Mapping[str, Mapping[str, str | int | float]] | None) -> Amounts:
    """What `requests` and `limits` ask for: the limit counts where the request is zero."""
    if not requirements:
        return NOTHING
    asked = listed(requirements.get("requests"))
    if asked.cpu and asked.memory and asked.gpu:
        return asked
    limit = listed(requirements.get("limits"))
    return Amounts(asked.cpu or limit.cpu, asked.memory or limit.memory, asked.gpu or limit.gpu)
