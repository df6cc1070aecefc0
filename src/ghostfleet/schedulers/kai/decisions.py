"""What a cycle decided: pods to bind, pods to evict, and pods that wait for a place to be left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Bind", "Decisions", "Evict", "Pipeline"]


@dataclass(frozen=True)
class Bind:
    """A bind request: the node, what kind of resource the pod gets, and on which shared GPUs or devices."""

    pod: str
    job: str
    node: str
    received_type: str
    gpu_count: int
    gpu_portion: float
    gpu_groups: tuple[str, ...] = ()
    claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Evict:
    """A pod that must go, by which action, for whom and why."""

    pod: str
    job: str
    node: str
    action: str
    message: str
    preemptor: str = ""
    gang_size: int = 0


@dataclass(frozen=True)
class Pipeline:
    """A pod whose place is known but not free yet."""

    pod: str
    job: str
    node: str
    gpu_groups: tuple[str, ...] = ()


@dataclass
class Decisions:
    """In the order in which they were taken."""

    binds: list[Bind] = field(default_factory=list)
    evictions: list[Evict] = field(default_factory=list)
    pipelines: list[Pipeline] = field(default_factory=list)
    log: list[Bind | Evict | Pipeline] = field(default_factory=list)

    def add(self, decision: Bind | Evict | Pipeline) -> None:
        """Note a decision."""
        if isinstance(decision, Bind):
            self.binds.append(decision)
        elif isinstance(decision, Evict):
            self.evictions.append(decision)
        else:
            self.pipelines.append(decision)
        self.log.append(decision)

    def __bool__(self) -> bool:
        return bool(self.log)
