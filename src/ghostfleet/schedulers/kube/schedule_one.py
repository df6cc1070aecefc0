"""One scheduling cycle, kube-scheduler's schedulePod: from a pod and the snapshot to a result.

Nodes are looked at in the order of the node tree, from where the last cycle stopped, until enough of them are
possible (all of them in small clusters, a percentage in large ones). Each of those gets a score; the best is taken,
and among equals one is drawn. When no node is possible, plugins may make room. Nothing is written: the result says
what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

import numpy as np

from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store
from ghostfleet.schedulers.framework.cyclestate import CycleState
from ghostfleet.schedulers.framework.diagnosis import Diagnosis, diagnose, fits_with_nominated
from ghostfleet.schedulers.framework.nodetable import IntArray
from ghostfleet.schedulers.framework.podinfo import DEFAULT_SCHEDULER, PodInfo
from ghostfleet.schedulers.framework.profile import Profile
from ghostfleet.schedulers.framework.runtime import Framework
from ghostfleet.schedulers.framework.snapshot import Snapshot

__all__ = ["NO_NODES", "ScheduleAlgorithm", "ScheduleResult"]


class ScheduleResult(NamedTuple):
    """What to do with one pod."""

    #: The node to bind it to; None when there is none.
    node: str | None
    #: Why there is none, in kube-scheduler's words.
    message: str = ""
    #: The plugins that ruled nodes out.
    plugins: frozenset[str] = frozenset()
    #: The node to nominate the pod to; "" to take a nomination back, None to leave it as it is.
    nominate: str | None = None
    #: Pods to evict to make room for it.
    victims: Sequence[PodInfo] = ()
    #: What its condition gives as the reason.
    reason: str = "Unschedulable"
    #: What else is to be written.
    write: Callable[[], None] | None = None


NO_NODES = ScheduleResult(None, "no nodes available to schedule pods", nominate="")


class ScheduleAlgorithm:
    """Decides about single pods, by the frameworks of all profiles on one snapshot."""

    def __init__(self, snapshot: Snapshot, profiles: Sequence[Profile], rng: Random) -> None:
        self.snapshot = snapshot
        self.rng = rng
        self.frameworks = {profile.name: Framework(profile, snapshot, rng) for profile in profiles}
        #: Where the next search over nodes starts.
        self.next_start = 0

    @classmethod
    def from_store(cls, store: Store, profile: Profile, rng: Random) -> ScheduleAlgorithm:
        """The algorithm on everything that is in a store now."""
        return cls(Snapshot.from_store(store), (profile,), rng)

    def framework_of(self, pod: Object) -> Framework:
        """The framework that a pod asks for."""
        return self.frameworks[pod["spec"].get("schedulerName", DEFAULT_SCHEDULER)]

    def schedule(self, cycle: CycleState, pod: Object, now: int = 0) -> ScheduleResult:
        """Decide about one pod."""
        if not len(self.snapshot.nodes):
            return NO_NODES
        if cycle.aborted is not None:
            return _in_error(*cycle.aborted)
        if cycle.rejection is not None:
            plugin, why = cycle.rejection
            message = f"0/{len(self.snapshot.nodes)} nodes are available: {why}."
            return self._failed(cycle, pod, now, Diagnosis(message, frozenset((plugin,)), []))
        uid = pod["metadata"]["uid"]
        nominated = (pod.get("status") or {}).get("nominatedNodeName")
        if nominated and self._still_fits(cycle, uid, nominated):
            return ScheduleResult(nominated)
        slot = self._search(cycle, uid)
        if (wrong := cycle.error) is not None:
            return _in_error(*wrong)
        if slot is not None:
            return ScheduleResult(self.snapshot.nodes.names[slot])
        return self._failed(cycle, pod, now, diagnose(cycle, uid))

    def _still_fits(self, cycle: CycleState, uid: str, node: str) -> bool:
        slot = self.snapshot.nodes.slots.get(node)
        if slot is None or self.snapshot.nodes.objects[slot] is None:
            return False
        return fits_with_nominated(cycle, slot, uid)

    def _failed(self, cycle: CycleState, pod: Object, now: int, found: Diagnosis) -> ScheduleResult:
        results = cycle.framework.post_filter(cycle, pod, found, now)
        last = results[-1] if results else None
        write = next((result.write for result in results if result.write is not None), None)
        if last is not None and last.victims:
            return ScheduleResult(None, found.message, found.plugins, last.nominate, last.victims, write=write)
        said = [last] if last is not None and last.final else results
        messages = ", ".join(result.message for result in said)
        message = f"{found.message} {messages}" if messages else found.message
        nominate = last.nominate if last is not None else ""
        return ScheduleResult(None, message, found.plugins, nominate, write=write)

    # -- searching and choosing --------------------------------------------------------------------------------------

    def place_alone(self, cycle: CycleState) -> int | None:
        """The slot for a pod whose nodes are judged one by one: the same search as below, in the fewest steps."""
        values = cycle.current()
        order, nodes, enough = cycle.order, cycle.node_count, cycle.enough
        start = self.next_start if self.next_start < nodes else self.next_start % nodes
        reach = cycle.reach if 0 < cycle.reach < nodes else min(nodes, enough + enough // 8 + 8)
        while True:
            window = order[start : start + reach]
            here = cycle.values(window) if values is None else values[window]
            hits = (here >= 0).nonzero()[0]
            found = len(hits)
            if found > enough:
                # Looking stops at the first possible node too many.
                processed = int(hits[enough])
                cycle.reach = processed + processed // 8 + 8
                break
            if reach == nodes:
                processed = nodes
                break
            reach = min(nodes, 4 * reach)
        if not found:
            return None
        self.next_start = (start + processed) % nodes
        return int(window[self._best(here[:processed])])

    def _search(self, cycle: CycleState, uid: str) -> int | None:
        """The best of the first possible nodes; None when none is possible."""
        if cycle.named is not None:
            return self._search_named(cycle, uid)
        if cycle.alone and not self.snapshot.nominated:
            return self.place_alone(cycle)
        nodes = len(self.snapshot.nodes)
        start = self.next_start % nodes
        enough = cycle.enough
        reach = min(nodes, cycle.reach or enough + enough // 8 + 8)
        while True:
            window = cycle.order[start : start + reach]
            values = self._possible_values(cycle, window, uid)
            hits = (values >= 0).nonzero()[0]
            if len(hits) > enough:
                processed = int(hits[enough])
                cycle.reach = processed + processed // 8 + 8
                break
            if reach == nodes:
                processed = nodes
                break
            reach = min(nodes, 4 * reach)
        if not len(hits):
            return None
        self.next_start = (start + processed) % nodes
        hits = hits[:enough]
        candidates = window[hits]
        totals = values[hits] + cycle.compared(candidates) if len(hits) > 1 else values[hits]
        return int(candidates[self._best(totals)])

    def _search_named(self, cycle: CycleState, uid: str) -> int | None:
        nodes = self.snapshot.nodes
        slots = [nodes.slots[name] for name in sorted(cycle.named or ()) if name in nodes.slots]
        window: IntArray = np.array([slot for slot in slots if nodes.objects[slot] is not None], np.int64)
        if not len(window):
            return None
        values = self._possible_values(cycle, window, uid)
        hits = (values >= 0).nonzero()[0]
        if not len(hits):
            return None
        candidates = window[hits]
        totals = values[hits] + cycle.compared(candidates)
        return int(candidates[self._best(totals)])

    def _possible_values(self, cycle: CycleState, window: IntArray, uid: str) -> IntArray:
        """The values of nodes in a window, -1 also where pods on other nodes or nominations are in the way."""
        values = cycle.values(window)
        out = cycle.ruled_out_by_cluster(window)
        if out is not None:
            values = np.where(out, -1, values)
        for slot in self.snapshot.nominated:
            for position in (window == slot).nonzero()[0]:
                if values[position] >= 0 and not fits_with_nominated(cycle, slot, uid):
                    values[position] = -1
        return values

    def _best(self, totals: IntArray) -> int:
        """Where the highest total is; one of them at random."""
        highest = (totals == totals[totals.argmax()]).nonzero()[0]
        count = len(highest)
        return int(highest[int(self.rng.random() * count)] if count > 1 else highest[0])

    def scores(self, pod: Object) -> dict[str, int]:
        """The total score of every possible node, all of them taken into account: to look at, and for tests."""
        cycle, nodes = self.framework_of(pod).cycle_state(pod), self.snapshot.nodes
        window = nodes.tree.order()[: len(nodes)]
        values = self._possible_values(cycle, window, pod["metadata"]["uid"])
        candidates = window[values >= 0]
        if not len(candidates):
            return {}
        totals = values[values >= 0] + cycle.compared(candidates)
        return {nodes.names[slot]: int(total) for slot, total in zip(candidates, totals, strict=True)}


def _in_error(plugin: str, message: str) -> ScheduleResult:
    return ScheduleResult(None, message, frozenset((plugin,)), nominate="", reason="SchedulerError")
