"""Amounts: what a node has (`Resource`) and what a pod asks for (`ResourceRequirements`).

CPU is in thousandths of a core, memory in bytes, GPU memory in MiB. GPUs are asked for as whole devices, as a portion
of one or several devices, as GPU memory, as MIG profiles or by claims (`dra_gpus`). `Quantities` are the three figures
that queues count: CPU, memory and GPUs, the last with MIG slices and claims in it. -1 means without limit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

__all__ = [
    "CPU_RESOURCE",
    "GPU_RESOURCE",
    "MEMORY_RESOURCE",
    "RESOURCE_NAMES",
    "UNLIMITED",
    "Quantities",
    "Resource",
    "ResourceRequirements",
    "go_float",
    "humanize",
    "is_mig",
    "less_equal",
    "mig_gpus",
    "mig_memory",
]

UNLIMITED = -1.0
CPU_RESOURCE, MEMORY_RESOURCE, GPU_RESOURCE = range(3)
RESOURCE_NAMES = ("CPU", "Memory", "GPU")

MIN_MILLI_CPU = 10
MIN_MEMORY = 10 * 1024 * 1024
MIN_SCALAR = 10
MIN_GPUS = 0.01

Quantities = tuple[float, float, float]

_MIG_PREFIX = "nvidia.com/mig-"
_MIG_PROFILE = re.compile(r"nvidia\.com/mig-(\d+)g\.(\d+)gb")


def is_mig(name: str) -> bool:
    """Whether a resource is a MIG profile."""
    return name.startswith(_MIG_PREFIX)


@lru_cache(maxsize=256)
def _mig_profile(name: str) -> tuple[int, int]:
    found = _MIG_PROFILE.fullmatch(name)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def mig_gpus(amounts: Iterable[tuple[str, int]]) -> int:
    """The GPU slices of MIG profiles; other resources count nothing."""
    return sum(_mig_profile(name)[0] * count for name, count in amounts if is_mig(name))


def mig_memory(amounts: Iterable[tuple[str, int]]) -> int:
    """The gigabytes in the names of MIG profiles."""
    return sum(_mig_profile(name)[1] * count for name, count in amounts if is_mig(name))


def less_equal(left: Iterable[float], right: Iterable[float]) -> bool:
    """Whether no quantity on the left is above its partner; UNLIMITED is above everything but itself."""
    for mine, theirs in zip(left, right, strict=True):
        if mine == theirs or theirs == UNLIMITED:
            continue
        if mine == UNLIMITED or mine > theirs:
            return False
    return True


@dataclass(frozen=True, eq=False)
class ResourceRequirements:
    """What a pod asks for. Shared between all that hold it, hence never changed."""

    cpu: float = 0.0
    memory: float = 0.0
    pods: int = 1
    scalars: Mapping[str, int] = field(default_factory=dict)
    count: int = 0
    portion: float = 0.0
    gpu_memory: int = 0
    dra_gpus: int = 0
    mig: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def gpus(self) -> float:
        """Devices as extended resource, whole or in hundredths."""
        return math.floor(self.portion * 100 + 0.5) * self.count / 100

    @cached_property
    def device_gpus(self) -> float:
        """GPUs that must be free on a node: devices and claims."""
        return self.gpus + self.dra_gpus

    @cached_property
    def quantities(self) -> Quantities:
        """CPU, memory and GPUs as a queue counts them."""
        return (self.cpu, self.memory, mig_gpus(self.mig.items()) + self.dra_gpus + self.gpus)

    @cached_property
    def is_empty(self) -> bool:
        """Whether there is so little of everything that it goes with best effort."""
        if self.gpus > MIN_GPUS or self.dra_gpus > 0 or any(count > 0 for count in self.mig.values()):
            return False
        if self.cpu >= MIN_MILLI_CPU or self.memory >= MIN_MEMORY:
            return False
        return all(count < MIN_SCALAR for count in self.scalars.values())

    @cached_property
    def shape(self) -> tuple[object, ...]:
        """All that is asked for, to be compared and hashed."""
        return (
            self.cpu,
            self.memory,
            self.pods,
            tuple(sorted(self.scalars.items())),
            self.count,
            self.portion,
            self.gpu_memory,
            self.dra_gpus,
            tuple(sorted(self.mig.items())),
        )

    def base_fits(self, free: Resource) -> bool:
        """Whether CPU, memory, pods and extended resources fit, leaving GPUs aside."""
        if self.cpu > free.cpu or self.memory > free.memory or self.pods > free.pods:
            return False
        return not self.scalars or all(free.scalars.get(name, 0) >= count for name, count in self.scalars.items())

    def fits(self, free: Resource) -> bool:
        """Whether all of it fits."""
        if self.cpu > free.cpu or self.memory > free.memory or self.pods > free.pods or self.device_gpus > free.gpus:
            return False
        if self.scalars and not self.base_fits(free):
            return False
        return not self.mig or all(free.scalars.get(name, 0) >= count for name, count in self.mig.items())

    def less_equal(self, other: ResourceRequirements) -> bool:
        """Whether nothing asked for here is more than there."""
        if self.cpu > other.cpu or self.memory > other.memory or self.count > other.count or self.pods > other.pods:
            return False
        if not (self.portion < other.portion or abs(self.portion - other.portion) < MIN_GPUS):
            return False
        if any(count > other.scalars.get(name, -1) for name, count in self.scalars.items()):
            return False
        return all(count <= other.mig.get(name, -1) for name, count in self.mig.items())


class Resource:
    """What there is, is left or is summed up; changed in place."""

    __slots__ = ("cpu", "gpus", "memory", "pods", "scalars")

    def __init__(
        self,
        cpu: float = 0.0,
        memory: float = 0.0,
        gpus: float = 0.0,
        pods: int = 0,
        scalars: Mapping[str, int] | None = None,
    ) -> None:
        self.cpu = cpu
        self.memory = memory
        self.gpus = gpus
        self.pods = pods
        self.scalars = dict(scalars) if scalars else {}

    def clone(self) -> Resource:
        return Resource(self.cpu, self.memory, self.gpus, self.pods, self.scalars)

    def add(self, other: Resource, sign: int = 1) -> None:
        """Add what another has, or take it away with sign -1."""
        self.cpu += sign * other.cpu
        self.memory += sign * other.memory
        self.gpus += sign * other.gpus
        self.pods += sign * other.pods
        for name, count in other.scalars.items():
            self.scalars[name] = self.scalars.get(name, 0) + sign * count

    def add_requirements(self, asked: ResourceRequirements, sign: int = 1) -> None:
        """Add what a pod asks for, or take it away with sign -1."""
        self.add_base(asked, sign)
        self.gpus += sign * asked.device_gpus

    def add_base(self, asked: ResourceRequirements, sign: int) -> None:
        """The same without GPU devices."""
        self.cpu += sign * asked.cpu
        self.memory += sign * asked.memory
        self.pods += sign * asked.pods
        if asked.scalars or asked.mig:
            for name, count in (*asked.scalars.items(), *asked.mig.items()):
                self.scalars[name] = self.scalars.get(name, 0) + sign * count

    def raise_to(self, other: Resource) -> None:
        """Become the greater of both in every resource."""
        self.cpu = max(self.cpu, other.cpu)
        self.memory = max(self.memory, other.memory)
        self.gpus = max(self.gpus, other.gpus)
        self.pods = max(self.pods, other.pods)
        for name, count in other.scalars.items():
            self.scalars[name] = max(self.scalars.get(name, 0), count)

    @property
    def mig(self) -> dict[str, int]:
        return {name: count for name, count in self.scalars.items() if is_mig(name)}

    @property
    def mig_gpus(self) -> int:
        return mig_gpus(self.scalars.items()) if self.scalars else 0

    @property
    def quantities(self) -> Quantities:
        return (self.cpu, self.memory, self.mig_gpus + self.gpus)


def go_float(value: float) -> str:
    """A number as Go prints it by %v: no point where there is nothing behind it."""
    return repr(int(value)) if value == int(value) else repr(value)


def humanize(value: float, unit: float = 1) -> str:
    """An amount in a unit with at most three digits behind the point, or Unlimited."""
    if value == UNLIMITED:
        return "Unlimited"
    text = f"{value / unit:f}"
    whole, _, digits = text.partition(".")
    return f"{whole}.{digits[:3]}".rstrip("0").rstrip(".")
