"""Decisions: what a scheduler wants to be written.

A decision stands alone, or in a *group*, which is written as a whole or not at all: if one of its pods is gone by then,
or has a node already, nothing of the group is written.
"""

from __future__ import annotations

from dataclasses import dataclass

from ghostfleet.schedulers.framework.podinfo import PodInfo

__all__ = ["Bind", "Decision", "Evict", "Group", "Nominate", "Reject"]


@dataclass(frozen=True, slots=True)
class Bind:
    """Run a pod on a node."""

    pod: PodInfo
    node: str


@dataclass(frozen=True, slots=True)
class Evict:
    """Delete a pod, with its grace period, so that others get its room."""

    pod: PodInfo
    message: str = ""


@dataclass(frozen=True, slots=True)
class Nominate:
    """Keep room on a node for a pod, which is to be bound when those are gone who have to go."""

    pod: PodInfo
    node: str


@dataclass(frozen=True, slots=True)
class Reject:
    """Tell that a pod cannot run now, and why."""

    pod: PodInfo
    message: str


Decision = Bind | Evict | Nominate | Reject


@dataclass(frozen=True, slots=True, init=False)
class Group:
    """Decisions that are written all or not at all."""

    decisions: tuple[Decision, ...]

    def __init__(self, *decisions: Decision) -> None:
        object.__setattr__(self, "decisions", decisions)
