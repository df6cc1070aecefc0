"""Statements: what-if on a snapshot, with undo.

A *statement* changes the snapshot itself: pods are assumed on nodes, evicted from them, and given back. Whatever
plugins are asked meanwhile, they answer for the cluster as it would be. `rollback` takes the changes back, all of them
or those since a *checkpoint*, and leaves the snapshot as it was, its version included; `commit` takes them back, too,
and answers the decisions that would make them come true. Preemption, explain and schedulers with gangs use it.
"""

from __future__ import annotations

from types import TracebackType
from typing import NamedTuple

from ghostfleet.schedulers.framework.decisions import Bind, Decision, Evict, Group, Nominate
from ghostfleet.schedulers.framework.podinfo import PodInfo
from ghostfleet.schedulers.framework.snapshot import Snapshot

__all__ = ["Statement"]


class _Step(NamedTuple):
    #: Whether the pod came to its node or left it.
    came: bool
    pod: PodInfo
    version: int
    #: The pods on the node before, in their order.
    before: dict[str, PodInfo] | None


class Statement:
    """Changes of one snapshot that are not made yet."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._steps: list[_Step] = []
        #: Pods that are not to be bound yet.
        self._nominated: set[str] = set()

    def __enter__(self) -> Statement:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.rollback()

    def assume(self, pod: PodInfo, node: str) -> None:
        """A pod is on a node."""
        self.add(PodInfo(pod.pod, pod.info, self.snapshot.nodes.slot(node), assumed=True))

    def nominate(self, pod: PodInfo, node: str) -> None:
        """A pod is on a node, but to be bound there only later."""
        self._nominated.add(pod.uid)
        self.assume(pod, node)

    def add(self, pod: PodInfo) -> None:
        """A pod is on the node of its slot: assumed to be, or given back after its eviction."""
        self._note(True, pod)
        self.snapshot.add(pod)

    def evict(self, pod: PodInfo) -> None:
        """A pod is on its node no longer."""
        self._note(False, pod)
        self.snapshot.remove(pod)

    def _note(self, came: bool, pod: PodInfo) -> None:
        here = self.snapshot.pods.by_slot.get(pod.slot)
        self._steps.append(_Step(came, pod, self.snapshot.version, dict(here) if here is not None else None))

    def checkpoint(self) -> int:
        """A point to roll back to."""
        return len(self._steps)

    def rollback(self, to: int = 0) -> None:
        """Take back what was done since a checkpoint, or all."""
        snapshot, steps = self.snapshot, self._steps
        while len(steps) > to:
            came, pod, version, before = steps.pop()
            if came:
                snapshot.remove(pod)
            else:
                # The slot may have been given up with the last pod of a node that is gone.
                pod.slot = snapshot.nodes.slot(snapshot.nodes.names[pod.slot])
                snapshot.add(pod)
            if before is not None:
                snapshot.pods.by_slot[pod.slot] = before
            snapshot.version = version

    def commit(self, message: str = "") -> Group:
        """The decisions that make it so. Where pods have to go first, those to come are nominated instead of bound."""
        nodes = self.snapshot.nodes
        assumed: dict[str, PodInfo] = {}
        evicted: dict[str, PodInfo] = {}
        for step in self._steps:
            here, there = (evicted, assumed) if step.came else (assumed, evicted)
            if here.pop(step.pod.uid, None) is None:
                there[step.pod.uid] = step.pod
        decisions: list[Decision] = [Evict(pod, message) for pod in evicted.values()]
        for pod in assumed.values():
            node = nodes.names[pod.slot]
            decisions.append(Nominate(pod, node) if evicted or pod.uid in self._nominated else Bind(pod, node))
        self.rollback()
        return Group(*decisions)
