"""The scheduling queue: which pod is next, and which ones wait for something to change.

*Active* pods are tried in order of priority, then of age. A pod that failed is *parked* together with the pods of its
kind, until an event happens that may help it; then it is active again, or, if it failed only a moment ago, it *backs
off*: it comes after all active pods, or when its back-off (one second, doubling up to ten) is over. *Gated* pods are
not tried at all until their gates are removed.

Parked pods of one kind stand in line. When there are many, only the first is tried again after an event, and the next
one when it succeeded: what the first cannot have, the others cannot have either.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.schedulers.kube.facts import priority_of
from ghostfleet.schedulers.kube.plan import Plan

__all__ = ["Kind", "QueuedPod", "SchedulingQueue"]

#: Lines up to this long are tried again as a whole.
_SHORT = 32
_WIDE = frozenset(("PodTopologySpread", "InterPodAffinity"))


class QueuedPod:
    """A pod that waits for a node."""

    __slots__ = ("failures", "kind", "place", "pod", "sequence", "stamp", "uid")

    def __init__(self, pod: Object, sequence: int, now: int) -> None:
        self.pod = pod
        self.uid: str = pod["metadata"]["uid"]
        self.sequence = sequence
        #: When it was queued last: added, or tried in vain.
        self.stamp = now
        self.failures = 0
        #: Where it is: active, backoff, parked, gated or away (being tried, or forgotten).
        self.place = "away"
        self.kind: Kind | None = None

    @property
    def priority(self) -> int:
        return priority_of(self.pod)


class Kind:
    """Parked pods that nothing tells apart, and why they failed."""

    __slots__ = ("key", "plan", "plugins", "pods", "since", "version")

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.plan: Plan | None = None
        self.pods: dict[str, QueuedPod] = {}
        self.plugins: frozenset[str] = frozenset()
        #: When one of them was tried last, and the version of the state and the plan then.
        self.since = 0
        self.version = -1


class SchedulingQueue:
    """All pods that wait."""

    def __init__(self, first_backoff: int = SECOND, longest_backoff: int = 10 * SECOND) -> None:
        self._first_backoff = first_backoff
        self._longest_backoff = longest_backoff
        self.pods: dict[str, QueuedPod] = {}
        self.kinds: dict[Hashable, Kind] = {}
        #: Those that pods on other nodes were in the way of.
        self.wide_kinds: dict[Hashable, Kind] = {}
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

    def add(self, pod: Object, now: int, *, gated: bool) -> QueuedPod:
        """A new pod."""
        self._sequence += 1
        queued = self.pods[pod["metadata"]["uid"]] = QueuedPod(pod, self._sequence, now)
        if gated:
            queued.place = "gated"
        else:
            self._activate(queued)
        return queued

    def remove(self, uid: str) -> QueuedPod | None:
        """A pod waits no longer, whyever."""
        queued = self.pods.pop(uid, None)
        if queued is not None:
            kind, tried = queued.kind, queued.place in ("active", "backoff")
            self._leave_kind(queued)
            queued.place = "away"
            if tried and kind is not None and kind.pods:
                # It was to be tried in the place of all of its kind; now the next one is.
                self._release(kind, queued.stamp)
        return queued

    def ungate(self, queued: QueuedPod) -> None:
        """The last gate of a pod is gone."""
        if queued.place == "gated":
            self._activate(queued)

    def _leave_kind(self, queued: QueuedPod) -> None:
        kind = queued.kind
        if kind is not None:
            queued.kind = None
            kind.pods.pop(queued.uid, None)
            if not kind.pods:
                self.kinds.pop(kind.key, None)
                self.wide_kinds.pop(kind.key, None)

    def _activate(self, queued: QueuedPod) -> None:
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
        """A pod found its node; the next of its kind may try, unless it is plain that there is no room."""
        kind = queued.kind
        self.remove(queued.uid)
        if kind is not None and kind.pods and (kind.plan is None or not kind.plan.hopeless):
            self._release(kind, queued.stamp)

    def is_crowded(self, queued: QueuedPod) -> bool:
        """Whether so many pods wait that one which failed before is not worth many words when it fails again."""
        return queued.failures > 0 and len(self.pods) > _SHORT

    def park_again(self, queued: QueuedPod, now: int) -> Kind | None:
        """A pod failed as before."""
        queued.place = "parked"
        if queued.kind is not None:
            queued.kind.since = now
        return queued.kind

    def park(self, queued: QueuedPod, key: Hashable, plugins: frozenset[str], now: int) -> Kind:
        """A pod failed; it waits with its kind."""
        kind = self.kinds.get(key)
        if queued.kind is not None and queued.kind is not kind:
            self._leave_kind(queued)
        if kind is None:
            kind = self.kinds[key] = Kind(key)
        kind.plugins, kind.since = plugins, now
        if plugins & _WIDE:
            self.wide_kinds[key] = kind
        else:
            self.wide_kinds.pop(key, None)
        queued.kind = kind
        kind.pods.setdefault(queued.uid, queued)
        queued.failures += 1
        queued.stamp = now
        queued.place = "parked"
        return kind

    # -- waking ------------------------------------------------------------------------------------------------------

    def wake(self, kinds: Iterable[Kind], now: int) -> None:
        """Something happened that may help these kinds: try them again."""
        for kind in kinds:
            self._release(kind, now)

    def wake_pod(self, queued: QueuedPod, now: int) -> None:
        """Try one pod again."""
        if queued.place == "parked":
            self._again(queued, now)

    def _release(self, kind: Kind, now: int) -> None:
        pods: Iterable[QueuedPod] = kind.pods.values()
        if len(kind.pods) > _SHORT:
            pods = (next(iter(kind.pods.values())),)
        for queued in pods:
            if queued.place == "parked":
                self._again(queued, now)

    def _again(self, queued: QueuedPod, now: int) -> None:
        since = queued.kind.since if queued.kind is not None else queued.stamp
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
