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


class Statement:
    """Changes of one snapshot that are not made yet.

    With `amounts` only the amounts of resources on nodes follow them: enough where nothing else will be asked.
    """

    def __init__(self, snapshot: Snapshot, *, amounts: bool = False) -> None:
        self.snapshot = snapshot
        self._amounts = amounts
        self._steps: list[_Step] = []
        #: The amounts used on nodes before, and the pods on them in their order.
        self._used: dict[int, list[int]] = {}
        self._before: dict[int, dict[str, PodInfo] | None] = {}
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
        self._steps.append(_Step(True, pod, self.snapshot.version))
        self._change(pod, came=True)

    def evict(self, pod: PodInfo) -> None:
        """A pod is on its node no longer."""
        self._steps.append(_Step(False, pod, self.snapshot.version))
        self._change(pod, came=False)

    def _change(self, pod: PodInfo, *, came: bool) -> None:
        snapshot = self.snapshot
        if self._amounts:
            if pod.slot not in self._used:
                self._used[pod.slot] = list(snapshot.nodes.used[pod.slot])
            snapshot.nodes.imagine(pod.slot, pod.info, 1 if came else -1)
            return
        if pod.slot not in self._before:
            here = snapshot.pods.by_slot.get(pod.slot)
            self._before[pod.slot] = dict(here) if here is not None else None
        if came:
            snapshot.add(pod)
        else:
            snapshot.remove(pod)

    def checkpoint(self) -> int:
        """A point to roll back to."""
        return len(self._steps)

    def rollback(self, to: int = 0) -> None:
        """Take back what was done since a checkpoint, or all."""
        snapshot, steps = self.snapshot, self._steps
        if self._amounts and to:
            for came, pod, _ in steps[to:]:
                snapshot.nodes.imagine(pod.slot, pod.info, -1 if came else 1)
            del steps[to:]
            return
        if self._amounts:
            for slot, used in self._used.items():
                snapshot.nodes.restore(slot, used)
            self._used.clear()
            steps.clear()
            return
        while len(steps) > to:
            came, pod, version = steps.pop()
            if not came:
                # The slot may have been given up with the last pod of a node that is gone.
                pod.slot = snapshot.nodes.slot(snapshot.nodes.names[pod.slot])
            self._change(pod, came=not came)
            snapshot.version = version
        if not steps:
            for slot, before in self._before.items():
                if before is not None:
                    snapshot.pods.by_slot[slot] = before
            self._before.clear()

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
