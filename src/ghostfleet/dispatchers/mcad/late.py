"""MCAD in its last version: one worker for everything.

The *worker* takes wrappers to which something happened, first in first out, whatever their priority: it queues new
ones, and tries those that wait. A try begins with lists of all nodes and of the pods on each. If a wrapper fits, its
items are created in the same turn; if not, the worker *sleeps* for the time of the back-off, and nobody is dispatched
meanwhile. Whether items are complete, and whether enough pods run, is looked at for each wrapper apart, at fixed times
after it came.
"""

from __future__ import annotations

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import Handle
from ghostfleet.dispatchers.mcad.amounts import Amounts
from ghostfleet.dispatchers.mcad.conditions import (
    COMPLETED,
    DELETED,
    FAILED,
    HOLD,
    PENDING,
    RUNNING,
    backed_off,
    completed,
    dispatched,
    failed,
    has_condition,
    head_of_line,
    held,
    may_run,
    micro_time,
    queued,
    without_counts,
)
from ghostfleet.dispatchers.mcad.controller import AggregateController, priority_now
from ghostfleet.dispatchers.mcad.dispatch import DispatchDecision, decide_quota_first
from ghostfleet.dispatchers.mcad.queue import EventQueue
from ghostfleet.dispatchers.mcad.requeuing import judge
from ghostfleet.dispatchers.mcad.threads import Steps, Thread, Ticker
from ghostfleet.dispatchers.mcad.wrapper import Key, Wrapper

__all__ = ["LateMcad"]

_OVER = (COMPLETED, DELETED)


class _Watch:
    """What is looked at for one wrapper at fixed times."""

    __slots__ = ("completion", "looking", "minimum")

    def __init__(self, completion: Ticker, minimum: Ticker, looking: Thread) -> None:
        self.completion = completion
        self.minimum = minimum
        self.looking = looking

    def wake(self) -> None:
        self.completion.wake()
        self.minimum.wake()

    def stop(self) -> None:
        self.completion.stop()
        self.minimum.stop()
        self.looking.stop()


class LateMcad(AggregateController):
    """MCAD's controller with one worker, which queues, tries and sleeps."""

    def _begin(self) -> None:
        super()._begin()
        self.events = EventQueue()
        #: Wrappers whose events are held back, and until when.
        self.delayed: dict[Key, Handle] = {}
        #: Whom the worker sleeps for, and until when.
        self.asleep: tuple[Key, int] | None = None
        self._worker = Thread(self._clock, self._next_event)
        self._watches: dict[Key, _Watch] = {}
        self._blocks = self.profile.switch("backoff.blocks")
        self._lists_nodes = self.profile.switch("node-lists")
        self._releases_quota = self.profile.switch("defect.quota-released-after-backoff")
        self._retries_failed = self.profile.switch("defect.failed-retried")
        self._spins = self.profile.switch("defect.spins-without-room")

    def _end(self) -> None:
        self._worker.stop()
        for watch in self._watches.values():
            watch.stop()
        for handle in self.delayed.values():
            handle.cancel()

    # -- noticing ----------------------------------------------------------------------------------------------------

    def _added(self, key: Key) -> None:
        self._see_first(key)
        self._enqueue(key)
        wrapper = self._readable(key)
        if wrapper is not None and key not in self._watches:
            watch = self._watches[key] = self._watch(wrapper)
            watch.wake()

    def _changed(self, key: Key, obj: Object) -> None:
        status = obj.get("status") or {}
        if status.get("state") in _OVER and key in self._watches:
            self._watches.pop(key).stop()
        if not has_condition(status, "Backoff"):
            self._enqueue(key)
        elif key not in self.delayed:
            self.delayed[key] = self._clock.call_later(self._backoff_time, self._come_late, key)

    def _come_late(self, key: Key) -> None:
        """An event that was held back, of a wrapper that once had to wait."""
        del self.delayed[key]
        if self._releases_quota and self.quotas.active:
            self.quotas.forest.release(key)
        self._enqueue(key)

    def _gone(self, key: Key) -> None:
        super()._gone(key)
        self.events.remove(key)
        watch = self._watches.pop(key, None)
        if watch is not None:
            watch.stop()
        handle = self.delayed.pop(key, None)
        if handle is not None:
            handle.cancel()

    def _enqueue(self, key: Key) -> None:
        self.events.add(key, self.appwrappers.seen(key))
        self._worker.wake()

    # -- the worker --------------------------------------------------------------------------------------------------

    def _next_event(self) -> Steps | None:
        if self._dynamic:
            key = self._highest()
            return self._work(key) if key is not None else None
        popped = self.events.pop()
        return self._work(popped[0]) if popped is not None else None

    def _highest(self) -> Key | None:
        """The waiting wrapper whose priority has grown most; wrappers that do not wait go first."""
        best: tuple[float, Key] | None = None
        now = self._clock.now()
        for key in self.events.waiting():
            status = self.appwrappers.status(key)
            wrapper = self._readable(key)
            if wrapper is None or status.get("canrun") or status.get("state") != PENDING:
                best = (0.0, key)
                break
            grown = priority_now(wrapper, micro_time(status, "controllerfirsttimestamp") or now, now)
            self.appwrappers.remember(key, {**status, "systempriority": grown})
            if best is None or grown > best[0]:
                best = (grown, key)
        if best is None:
            return None
        self.events.remove(best[1])
        return best[1]

    def _work(self, key: Key) -> Steps:
        yield self.costs.event()
        wrapper = self._readable(key)
        if wrapper is None:
            return
        status = self.appwrappers.status(key)
        state = status.get("state", "")
        if state == COMPLETED or status.get("canrun"):
            return
        if state not in (PENDING, DELETED):
            if state != FAILED or self._retries_failed:
                yield from self._queue(wrapper, status)
        elif state == PENDING:
            yield from self._schedule(wrapper)

    def _write(self, key: Key, status: Object, place: str) -> Steps:
        yield self.costs.write()
        self.appwrappers.write(key, status, place)

    def _queue(self, wrapper: Wrapper, status: Object) -> Steps:
        """Put a wrapper into the queue: a new one, or one that may run no longer."""
        if status.get("state"):
            yield from self._delete_items(wrapper)
            status = without_counts(self.appwrappers.status(wrapper.key))
        yield from self._write(wrapper.key, queued(status, self._clock.now()), "worker - setQueueing")

    def _schedule(self, wrapper: Wrapper) -> Steps:
        """Try a wrapper: let it run and create its items, or sleep."""
        key = wrapper.key
        yield from self._write(
            key, head_of_line(self.appwrappers.status(key), self._clock.now()), "ScheduleNext - setHOL"
        )
        yield from self._list_nodes()
        if self.appwrappers.wrapper(key) is None:
            return
        fresh = self.quotas.refresh()
        if self.quotas.active and self._default_leaves(wrapper):
            yield self.costs.write()
            self.appwrappers.label(key, self._default_leaves(wrapper))
            wrapper = self.appwrappers.wrapper(key) or wrapper
        verdict = self._decide(wrapper, fresh=fresh)
        if not verdict.fits:
            yield from self._back_off(key, verdict.reason, verdict.message)
            return
        for victim in verdict.victims:
            gone = {each: value for each, value in self.appwrappers.status(victim).items() if each != "canrun"}
            yield from self._write(victim, gone, "preemptAWJobs - CanRun: false")
        yield from self._write(key, may_run(self.appwrappers.status(key)), "ScheduleNext - setCanRun")
        yield from self._dispatch(wrapper)

    def _list_nodes(self) -> Steps:
        """Look at all nodes; a cluster without any room is looked at again and again until it has some."""
        if not self._lists_nodes:
            return
        active = sum(rival.may_run for rival in self.appwrappers.rivals())
        yield self.costs.lists(1 + self._api.store.count("nodes") + active)
        while self._spins and _is_nothing(self.ledger.totals()):
            yield self.costs.lists(1 + self._api.store.count("nodes"))

    def _decide(self, wrapper: Wrapper, *, fresh: bool) -> DispatchDecision:
        forest = None
        if self.quotas.active:
            if not fresh:
                message = "Insufficient quota and/or resources to dispatch AppWrapper."
                return DispatchDecision(False, "quota limit exceeded", message)
            forest = self.quotas.forest
        return decide_quota_first(
            wrapper,
            self.appwrappers.demand(wrapper.key).total,
            self.terms(wrapper, self.appwrappers.status(wrapper.key)),
            forest,
            preemption=self._preemption,
            demand_of=lambda key: self.appwrappers.demand(key).total,
        )

    def _dispatch(self, wrapper: Wrapper) -> Steps:
        key = wrapper.key
        failure = yield from self._create_items(wrapper)
        status = self.appwrappers.status(key)
        if failure:
            status = failed(status, self._clock.now(), failure, may_run=False)
            yield from self._delete_items(wrapper)
            status = without_counts(status)
        else:
            status = dispatched(status, self._clock.now())
        yield from self._write(key, status, "manageQueueJob - afterEtcdDispatching")

    def _back_off(self, key: Key, reason: str, message: str) -> Steps:
        status = backed_off(self.appwrappers.status(key), self._clock.now(), reason, message)
        yield from self._write(key, status, "[backoff] - Rejoining")
        if self._blocks:
            self.asleep = (key, self._clock.now() + self._backoff_time)
            yield self.asleep[1]
            self.asleep = None

    def next_try(self, key: Key) -> int | None:
        times = [self.delayed[key].time] if key in self.delayed else []
        if self.asleep is not None:
            times.append(self.asleep[1])
        return max(times, default=None)

    # -- what is looked at at fixed times ------------------------------------------------------------------------------

    def _watch(self, wrapper: Wrapper) -> _Watch:
        key, profile = wrapper.key, self.profile
        looks: list[Key] = []

        def take() -> Steps | None:
            return self._look_for_completion(looks.pop()) if looks else None

        looking = Thread(self._clock, take)

        def look() -> None:
            if self.appwrappers.status(key).get("state") in (RUNNING, HOLD) and not looks:
                looks.append(key)
                looking.wake()

        return _Watch(
            Ticker(self._clock, profile.duration("heartbeat.period"), look, lambda: wrapper.completes),
            Ticker(
                self._clock,
                profile.duration("preemption.period"),
                lambda: self._look_for_minimum(key),
                lambda: wrapper.min_available > 0,
            ),
            looking,
        )

    def _look_for_completion(self, key: Key) -> Steps:
        wrapper = self._readable(key)
        if wrapper is None:
            return
        status = self._with_counts(key, self.appwrappers.status(key))
        derived = yield from self._derive(wrapper, status)
        now = self._clock.now()
        if self.appwrappers.status(key).get("state") not in (RUNNING, HOLD):
            return
        if derived == HOLD and status.get("state") != HOLD:
            yield from self._write(key, held(status, now), "[UpdateQueueJobs]  setRunningHoldCompletion")
        elif derived == COMPLETED:
            yield from self._write(key, completed(status, now), "[UpdateQueueJobs] setCompleted")
            self.quotas.forest.release(key)
            self.events.remove(key)

    def _look_for_minimum(self, key: Key) -> None:
        """Requeue a wrapper that is short of pods."""
        wrapper = self._readable(key)
        if wrapper is None:
            return
        status = self._with_counts(key, self.appwrappers.status(key))
        ruling = judge(wrapper, status, self._clock.now(), self.profile)
        if ruling is None:
            return
        if ruling.reason == "DispatchDeadlineExceeded":
            self.appwrappers.write(key, ruling.status, "PreemptQueueJobs - CanRun: false -- DispatchDeadlineExceeded")
            return
        self.appwrappers.write(key, ruling.status, "PreemptQueueJobs - CanRun: false -- MinPodsNotRunning")
        if ruling.ends:
            for item in wrapper.items:
                self.items.delete(wrapper, item)
            self.quotas.forest.release(key)
            return
        status = backed_off(ruling.status, self._clock.now(), "PreemptionTriggered", ruling.message)
        self.appwrappers.write(key, status, "[backoff] - Rejoining")


def _is_nothing(totals: tuple[Amounts, Amounts]) -> bool:
    """Whether so little is idle that MCAD takes it for nothing: less than 10m CPU and 10 MiB, and no GPU."""
    have, taken = totals
    idle = have.minus(taken)
    return idle.cpu < 10 and idle.memory < 10 << 20 and idle.gpu <= 0
