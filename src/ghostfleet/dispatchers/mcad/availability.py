"""Availability: what MCAD believes to be free in the cluster, all nodes taken together.

The *idle* resources are what all schedulable nodes have, less what the pods on them ask for. Taints, readiness and
selectors are not looked at, nor whether anything fits on one node. *Preemptable* is what wrappers of lower priority
use, *pending* what dispatched wrappers have not taken up yet; a pod that is bound but does not run is in both, and so
is subtracted twice. The *ledger* keeps the idle resources up to date by changes of nodes and pods; the older versions
look at it through a snapshot of every second.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.store import Store
from ghostfleet.dispatchers.mcad.amounts import NOTHING, Amounts, listed
from ghostfleet.dispatchers.mcad.pods import pod_amounts, takes_room
from ghostfleet.dispatchers.mcad.wrapper import Key

__all__ = ["Ledger", "Rival", "Terms", "available", "node_amounts"]


@dataclass(frozen=True, slots=True)
class Rival:
    """Another wrapper, as far as it matters for what is free."""

    key: Key
    priority: float
    may_run: bool
    demand: Amounts
    #: What its pods use.
    used: Amounts


@dataclass(frozen=True, slots=True)
class Terms:
    """The sum by which a wrapper is judged, term by term."""

    allocatable: Amounts
    taken: Amounts
    preemptable: Amounts
    pending: Amounts

    @property
    def idle(self) -> Amounts:
        return self.allocatable.minus(self.taken)

    @property
    def available(self) -> Amounts:
        return self.idle.plus(self.preemptable).minus(self.pending).floored()


def available(
    allocatable: Amounts,
    taken: Amounts,
    rivals: Iterable[Rival],
    wrapper: Key,
    below: float | None,
    *,
    returns_idle: bool,
) -> Terms:
    """The terms for a wrapper. Rivals of a priority `below` are preemptable; without it none is.

    With `returns_idle`, what wrappers that may not run have last been seen to use is counted as free once more.
    """
    preemptable = pending = NOTHING
    for rival in rivals:
        if rival.key[1] == wrapper[1]:
            # By name alone, whatever its namespace.
            continue
        if not rival.may_run:
            if returns_idle:
                preemptable = preemptable.plus(rival.used)
        elif below is not None and rival.priority < below:
            preemptable = preemptable.plus(rival.used)
        else:
            pending = pending.plus(rival.demand.minus(rival.used).floored())
    return Terms(allocatable, taken, preemptable, pending)


def node_amounts(node: Object) -> Amounts | None:
    """What a node has to give; None when it is closed to new pods."""
    if (node.get("spec") or {}).get("unschedulable"):
        return None
    return listed((node.get("status") or {}).get("allocatable"))


class Ledger:
    """What all nodes have, and what pods take of it."""

    def __init__(self, store: Store, rule: str, snapshots: bool) -> None:
        self._clock = store.clock
        self._rule = rule
        self._nodes: dict[str, Amounts] = {}
        self._taken: dict[str, Amounts] = {}
        self._now = (NOTHING, NOTHING)
        self._snapshots = snapshots
        self._start = self._clock.now()
        self._second = -1
        self._past = self._now
        for node in store.list("nodes"):
            self._move_node(node["metadata"]["name"], node_amounts(node))
        for pod in store.list("pods"):
            self._charge(pod, 1)
        self._past = self._now
        self._stops = (store.listen("nodes", self._notice_node), store.listen("pods", self._notice_pod))

    def stop(self) -> None:
        for stop in self._stops:
            stop()

    def totals(self) -> tuple[Amounts, Amounts]:
        """What schedulable nodes have, and what is taken of that, as the controller sees it."""
        if not self._snapshots:
            return self._now
        self._keep()
        return self._past

    def _keep(self) -> None:
        """What is true before the first change in a second is what the snapshot at its beginning saw."""
        second = (self._clock.now() - self._start) // SECOND
        if second > self._second:
            self._second, self._past = second, self._now

    def _notice_node(self, change: Change) -> None:
        self._keep()
        self._move_node(change.name, node_amounts(change.new) if change.new is not None else None)

    def _move_node(self, name: str, amounts: Amounts | None) -> None:
        before = self._nodes.pop(name, None)
        if before == amounts:
            if amounts is not None:
                self._nodes[name] = amounts
            return
        have, taken = self._now
        here = self._taken.get(name, NOTHING)
        if before is not None:
            have, taken = have.minus(before), taken.minus(here)
        if amounts is not None:
            self._nodes[name] = amounts
            have, taken = have.plus(amounts), taken.plus(here)
        self._now = (have, taken)

    def _notice_pod(self, change: Change) -> None:
        old, new = change.old, change.new
        before = old is not None and takes_room(old, self._rule)
        after = new is not None and takes_room(new, self._rule)
        if before and after and old is not None and new is not None and old["spec"] is new["spec"]:
            return
        if not before and not after:
            return
        self._keep()
        if before and old is not None:
            self._charge(old, -1)
        if after and new is not None:
            self._charge(new, 1)

    def _charge(self, pod: Object, by: int) -> None:
        if not takes_room(pod, self._rule):
            return
        name = pod["spec"]["nodeName"]
        amounts = pod_amounts(pod).times(by)
        self._taken[name] = self._taken.get(name, NOTHING).plus(amounts)
        if name in self._nodes:
            have, taken = self._now
            self._now = (have, taken.plus(amounts))
