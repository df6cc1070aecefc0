"""What the controllers of all versions of MCAD have in common.

A controller can be *stopped* and *started*, as when its pod is deleted: all it kept in mind is lost then, and it finds
its way back from the AppWrappers alone. Those that were dispatched get their quota back on their own leaves, whether it
is there or not.
"""

from __future__ import annotations

from collections.abc import Generator

from ghostfleet.api.verbs import Api
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.profile import Profile
from ghostfleet.dispatchers.mcad.appwrapperstore import AppWrapperStore
from ghostfleet.dispatchers.mcad.availability import Ledger, Terms, available
from ghostfleet.dispatchers.mcad.conditions import COMPLETED, FAILED, HOLD, counted, failed, first_seen
from ghostfleet.dispatchers.mcad.costs import Costs
from ghostfleet.dispatchers.mcad.items import Items
from ghostfleet.dispatchers.mcad.pods import OwnPods, PodCounter
from ghostfleet.dispatchers.mcad.quotas import Quotas
from ghostfleet.dispatchers.mcad.threads import Steps
from ghostfleet.dispatchers.mcad.wrapper import APPWRAPPERS, Item, Key, Wrapper

__all__ = ["AggregateController", "Controller", "priority_now"]


def priority_now(wrapper: Wrapper, since: int, now: int) -> float:
    """A priority that grows with the time a wrapper has been waiting."""
    return wrapper.priority + wrapper.slope * (now - since) / 1_000_000


class Controller:
    """The part that does not depend on how work is shared out; versions say what happens on which event."""

    def __init__(self, api: Api, profile: Profile) -> None:
        self.profile = profile
        self._api = api
        self._clock = api.clock
        self._running = False
        self._preemption = profile.switch("preemption")
        self._dynamic = profile.switch("dynamic-priority")
        self._overflows = profile.switch("defect.memory-overflows")
        self._backoff_time = profile.duration("backoff.time")

    # -- life --------------------------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        return self._running

    def start(self) -> None:
        """Begin, knowing nothing but what the cluster holds."""
        store = self._api.store
        self._running = True
        self.costs = Costs(self._clock, self.profile)
        self.items = Items(self._api, self.profile)
        self.pod_counter = self._count_pods()
        self.appwrappers = AppWrapperStore(self._api, self.profile, self.pod_counter)
        self.quotas = Quotas(store, self.profile)
        self._stops = [
            store.listen(APPWRAPPERS, self._notice),
            self.pod_counter.stop,
            self.quotas.stop,
        ]
        self._begin()
        for key in list(self.appwrappers.keys()):
            self._recover(key)

    def stop(self) -> None:
        """End, and forget everything."""
        self._running = False
        for stop in self._stops:
            stop()
        self._end()

    def _count_pods(self) -> PodCounter | OwnPods:
        """How pods of wrappers are counted: by their labels."""
        store = self._api.store
        return PodCounter(store, store.list("pods"), with_succeeded=self.profile.switch("usage.with-succeeded"))

    def _begin(self) -> None:
        """Make what only this version has."""

    def _end(self) -> None:
        """Let go of what only this version has."""

    def _recover(self, key: Key) -> None:
        status = self.appwrappers.status(key)
        self.appwrappers.note(key)
        if status.get("canrun") and self.quotas.active:
            wrapper = self._readable(key)
            if wrapper is not None:
                forest = self.quotas.forest
                asks = self.appwrappers.demand(key).total
                leaves = forest.leaves_of(wrapper.labels)
                forest.force(key, leaves, asks, priority=wrapper.priority, preemptable=self._preemption)
        if status.get("state") not in (COMPLETED, FAILED):
            self._added(key)

    # -- noticing ----------------------------------------------------------------------------------------------------

    def _notice(self, change: Change) -> None:
        key = (change.namespace, change.name)
        if change.new is None or "deletionTimestamp" in change.new["metadata"]:
            self._gone(key)
        elif change.old is None:
            self._added(key)
        else:
            self._changed(key, change.new)

    def _added(self, key: Key) -> None:
        """A wrapper has come."""

    def _changed(self, key: Key, obj: Object) -> None:
        """A wrapper was written, most likely by ourselves."""

    def _gone(self, key: Key) -> None:
        """A wrapper was deleted; the garbage collector deletes its items."""
        self.quotas.forest.release(key)
        self.appwrappers.forget(key)

    def _see_first(self, key: Key) -> None:
        """Give a new wrapper its first condition, in memory only."""
        status = self.appwrappers.status(key)
        wrapper = self._readable(key)
        if not status.get("queuejobstate") and wrapper is not None:
            self.appwrappers.remember(key, first_seen(status, wrapper.priority, self._clock.now()))

    def _readable(self, key: Key) -> Wrapper | None:
        """The wrapper; None when it is gone, or cannot be read and has failed for it."""
        try:
            return self.appwrappers.wrapper(key)
        except ValueError as error:
            status = self.appwrappers.status(key)
            message = f"{key[0]}/{key[1]} creation failure: {error}"
            if status.get("state") != FAILED:
                self.appwrappers.write(key, failed(status, self._clock.now(), message, may_run=False), "reading")
            return None

    # -- what all versions do ----------------------------------------------------------------------------------------

    def _with_counts(self, key: Key, status: Object) -> Object:
        counts = self.pod_counter.counts(key)
        return counted(status, counts, self.pod_counter.unscheduled(key), overflows=self._overflows)

    def _create_items(self, wrapper: Wrapper) -> Generator[int, None, str]:
        """Create all items, one after the other; answers what went wrong last."""
        failure = ""
        for item in wrapper.items:
            yield self.costs.creation()
            problem = self.items.create(wrapper, item)
            if problem:
                failure = f"{wrapper.key[0]}/{wrapper.name} creation failure: {problem}"
        return failure

    def _delete_items(self, wrapper: Wrapper) -> Steps:
        for item in wrapper.items:
            yield self.costs.creation()
            self.items.delete(wrapper, item)
        self.quotas.forest.release(wrapper.key)

    def _derive(self, wrapper: Wrapper, status: Object) -> Generator[int, None, str]:
        """Look whether all items that must be complete are; answers the state that follows from it."""
        required: list[Item] = [item for item in wrapper.items if item.completion]
        for item in required:
            yield self.costs.check()
            if not self.items.is_complete(wrapper, item):
                return str(status.get("state", ""))
        if not required:
            return str(status.get("state", ""))
        return HOLD if status.get("running", 0) or status.get("pending", 0) else COMPLETED

    def _default_leaves(self, wrapper: Wrapper) -> dict[str, str]:
        """Labels for the quota trees that a wrapper says nothing about."""
        leaves = self.quotas.forest.leaves_of(wrapper.labels)
        return {tree: leaf for tree, leaf in leaves.items() if tree not in wrapper.labels}

    def next_try(self, _key: Key) -> int | None:
        """When a waiting wrapper is tried again, where that is a matter of time."""
        return None


class AggregateController(Controller):
    """A controller that looks at all nodes as one heap of resources."""

    def _begin(self) -> None:
        counts, snapshots = self.profile.figure("availability.counts"), self.profile.switch("availability.snapshots")
        self.ledger = Ledger(self._api.store, str(counts), snapshots)
        self._stops.append(self.ledger.stop)
        self._returns_idle = self.profile.switch("availability.returns-idle")

    def terms(self, wrapper: Wrapper, status: Object) -> Terms:
        """What is free for a wrapper, term by term."""
        preempts = self._preemption and not self._dynamic
        below = status.get("systempriority", 0) if preempts else None
        have, taken = self.ledger.totals()
        return available(have, taken, self.appwrappers.rivals(), wrapper.key, below, returns_idle=self._returns_idle)
