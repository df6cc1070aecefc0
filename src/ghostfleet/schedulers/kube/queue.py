"""The scheduling queue of kube-scheduler: which pod is next, and which ones wait for something to change.

*Active* pods are tried in order of priority, then of age. A pod that failed is *unschedulable*, together with the pods
of its scheduling signature, until an event happens that may help it; then it is active again, or, if it failed only a
moment ago, it *backs off*: it comes after all active pods, or when its back-off (one second, doubling up to ten) is
over. *Gated* pods are not tried at all until plugins let them in.

Unschedulable pods of one signature stand in line. When there are many, only the first is tried again after an event,
and the next one when it succeeded: what the first cannot have, the others cannot have either.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.schedulers.framework.cyclestate import CycleState
from ghostfleet.schedulers.framework.podinfo import priority_of
from ghostfleet.schedulers.framework.profile import REGISTRY

__all__ = ["QueuedPod", "SchedulingQueue", "UnschedulablePods"]

#: Lines up to this long are tried again as a whole.
_SHORT = 32


class QueuedPod:
    """A pod that waits for a node."""

    __slots__ = ("failures", "line", "place", "pod", "sequence", "stamp", "uid")

    def __init__(self, pod: Object, sequence: int, now: int) -> None:
        self.pod = pod
        self.uid: str = pod["metadata"]["uid"]
        self.sequence = sequence
        #: When it was queued last: added, or tried in vain.
        self.stamp = now
        self.failures = 0
        #: Where it is: active, backoff, unschedulable, gated or away (being tried, or forgotten).
        self.place = "away"
        self.line: UnschedulablePods | None = None

    @property
    def priority(self) -> int:
        return priority_of(self.pod)


class UnschedulablePods:
    """Pods of one scheduling signature that failed, and why."""

    __slots__ = ("cycle", "plugins", "pods", "signature", "since", "version")

    def __init__(self, signature: Hashable) -> None:
        self.signature = signature
        self.cycle: CycleState | None = None
        self.pods: dict[str, QueuedPod] = {}
        self.plugins: frozenset[str] = frozenset()
        #: When one of them was tried last, and the version of the snapshot then.
        self.since = 0
        self.version = -1


class SchedulingQueue:
    """All pods that wait."""

    def __init__(
        self, is_gated: Callable[[Object], bool], first_backoff: int = SECOND, longest_backoff: int = 10 * SECOND
    ) -> None:
        self._is_gated = is_gated
        self._first_backoff = first_backoff
        self._longest_backoff = longest_backoff
        self.pods: dict[str, QueuedPod] = {}
        self._gated: dict[str, QueuedPod] = {}
        self.unschedulable: dict[Hashable, UnschedulablePods] = {}
        #: Those that pods on other nodes were in the way of.
        self.waiting_for_pods: dict[Hashable, UnschedulablePods] = {}
        self._active: list[tuple[int, int, int, QueuedPod]] = []
        self._backoff: list[tuple[int, int, int, int, QueuedPod]] = []
        self._sequence = 0

    def __len__(self) -> int:
        return len(self.pods)

    def waiting(self) -> bool:
        """Whether some pod is to be tried."""
        self._drop_stale()
        return bool(self._active or self._backoff)

    # -- coming and going --------------------------------------------------------------------------------------------

    def put(self, old: Object | None, pod: Object, now: int) -> bool:
        """A pod waits, or has changed while it waits; answers whether it may be tried now."""
        queued = self.pods.get(pod["metadata"]["uid"])
        if queued is None:
            self._sequence += 1
            queued = self.pods[pod["metadata"]["uid"]] = QueuedPod(pod, self._sequence, now)
            if self._is_gated(pod):
                queued.place = "gated"
                self._gated[queued.uid] = queued
            else:
                self._activate(queued)
            return True
        queued.pod = pod
        if queued.place == "gated":
            if self._is_gated(pod):
                return False
            self._activate(queued)
            return True
        if old is not None and _asks_differently(old, pod):
            if queued.place == "unschedulable":
                self._again(queued, now)
            return True
        return False

    def ungate(self) -> None:
        """Let in the pods that plugins keep out no longer."""
        for queued in list(self._gated.values()):
            if not self._is_gated(queued.pod):
                self._activate(queued)

    def remove(self, uid: str) -> QueuedPod | None:
        """A pod waits no longer, whyever."""
        queued = self.pods.pop(uid, None)
        if queued is not None:
            line, tried = queued.line, queued.place in ("active", "backoff")
            if queued.place == "gated":
                del self._gated[uid]
            self._leave_line(queued)
            queued.place = "away"
            if tried and line is not None and line.pods:
                # It was to be tried in the place of all of its line; now the next one is.
                self._release(line, queued.stamp)
        return queued

    def _leave_line(self, queued: QueuedPod) -> None:
        line = queued.line
        if line is not None:
            queued.line = None
            line.pods.pop(queued.uid, None)
            if not line.pods:
                self.unschedulable.pop(line.signature, None)
                self.waiting_for_pods.pop(line.signature, None)

    def _activate(self, queued: QueuedPod) -> None:
        if queued.place == "gated":
            del self._gated[queued.uid]
        queued.place = "active"
        heapq.heappush(self._active, (-queued.priority, queued.stamp, queued.sequence, queued))

    # -- trying ------------------------------------------------------------------------------------------------------

    def pop(self, now: int) -> QueuedPod | None:
        """The next pod to try; None when none is to be tried."""
        backoff, active = self._backoff, self._active
        if active and not backoff:
            queued = heapq.heappop(active)[3]
            if queued.place == "active":
                queued.place = "away"
                return queued
        while backoff and (backoff[0][0] < _window(now) or backoff[0][4].place != "backoff"):
            queued = heapq.heappop(backoff)[4]
            if queued.place == "backoff":
                self._activate(queued)
        self._drop_stale()
        if self._active:
            queued = heapq.heappop(self._active)[3]
        elif backoff:
            queued = heapq.heappop(backoff)[4]
        else:
            return None
        queued.place = "away"
        return queued

    def pop_many(self, now: int, limit: int) -> list[QueuedPod]:
        """The next pods to try, in order."""
        found: list[QueuedPod] = []
        while len(found) < limit and (queued := self.pop(now)) is not None:
            found.append(queued)
        return found

    def put_back(self, pods: Iterable[QueuedPod]) -> None:
        """Pods that were taken to be tried, and were not."""
        for queued in pods:
            if queued.uid in self.pods:
                self._activate(queued)

    def _drop_stale(self) -> None:
        active, backoff = self._active, self._backoff
        while active and active[0][3].place != "active":
            heapq.heappop(active)
        while backoff and backoff[0][4].place != "backoff":
            heapq.heappop(backoff)

    def placed(self, queued: QueuedPod) -> None:
        """A pod found its node; the next of its line may try, unless it is plain that there is no room."""
        line = queued.line
        self.remove(queued.uid)
        if line is not None and line.pods and (line.cycle is None or not line.cycle.hopeless):
            self._release(line, queued.stamp)

    def is_crowded(self, queued: QueuedPod) -> bool:
        """Whether so many pods wait that one which failed before is not worth many words when it fails again."""
        return queued.failures > 0 and len(self.pods) > _SHORT

    def fail_again(self, queued: QueuedPod, now: int) -> UnschedulablePods | None:
        """A pod failed as before."""
        queued.place = "unschedulable"
        if queued.line is not None:
            queued.line.since = now
        return queued.line

    def fail(self, queued: QueuedPod, signature: Hashable, plugins: frozenset[str], now: int) -> UnschedulablePods:
        """A pod failed; it waits with its line."""
        line = self.unschedulable.get(signature)
        if queued.line is not None and queued.line is not line:
            self._leave_line(queued)
        if line is None:
            line = self.unschedulable[signature] = UnschedulablePods(signature)
        line.plugins, line.since = plugins, now
        if any("pods" in plugin.events for name in plugins if (plugin := REGISTRY.get(name)) is not None):
            self.waiting_for_pods[signature] = line
        else:
            self.waiting_for_pods.pop(signature, None)
        queued.line = line
        line.pods.setdefault(queued.uid, queued)
        queued.failures += 1
        queued.stamp = now
        queued.place = "unschedulable"
        return line

    # -- waking ------------------------------------------------------------------------------------------------------

    def wake(self, lines: Iterable[UnschedulablePods], now: int) -> None:
        """Something happened that may help these lines: try them again."""
        for line in lines:
            self._release(line, now)

    def _release(self, line: UnschedulablePods, now: int) -> None:
        pods: Iterable[QueuedPod] = line.pods.values()
        if len(line.pods) > _SHORT:
            pods = (next(iter(line.pods.values())),)
        for queued in pods:
            if queued.place == "unschedulable":
                self._again(queued, now)

    def _again(self, queued: QueuedPod, now: int) -> None:
        since = queued.line.since if queued.line is not None else queued.stamp
        stamp = max(queued.stamp, since)
        over = _window(stamp + self._backoff_of(queued))
        if over < _window(now) or not queued.failures:
            queued.stamp = stamp
            self._activate(queued)
        else:
            queued.place = "backoff"
            heapq.heappush(self._backoff, (over, -queued.priority, stamp, queued.sequence, queued))

    def _backoff_of(self, queued: QueuedPod) -> int:
        doubled = self._first_backoff << min(max(queued.failures - 1, 0), 32)
        return min(doubled, self._longest_backoff)


def _window(when: int) -> int:
    """Back-offs end at whole seconds."""
    return when // SECOND * SECOND


def _asks_differently(old: Object, new: Object) -> bool:
    """Whether a waiting pod was changed in a way that may matter."""
    return old["metadata"].get("labels") != new["metadata"].get("labels") or (
        old["spec"] is not new["spec"] and old["spec"] != new["spec"]
    )
