"""MCAD as it was in the summer of 2023: two threads and a heartbeat.

*ScheduleNext* takes the wrapper of the highest priority and lets it run, if there is room; if not, the wrapper is put
aside for a while and others overtake it. The *worker* takes wrappers to which something happened, first in first out:
it queues new ones, creates the items of those that may run, and looks whether the items of running ones are complete.
Every write is an event for the worker, and the heartbeat is one for every wrapper every few seconds.

Three things make it slow. Each look at an item costs the worker a full discovery. While it works, nobody can add to its
queue: events, ScheduleNext and heartbeat wait at the gate. And it works on the wrapper *as it was seen* by the event:
what ScheduleNext hands over is older than its own last write, so that the worker's write about the created items is
refused, and all of it is done a second time when the event of that last write comes by.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND, Handle
from ghostfleet.core.timestamps import rfc3339_micro
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
    head_of_line,
    held,
    may_run,
    micro_time,
    queued,
    running,
    without_counts,
)
from ghostfleet.dispatchers.mcad.controller import AggregateController, priority_now
from ghostfleet.dispatchers.mcad.dispatch import NOT_RUNNABLE, DispatchDecision, decide_room_first
from ghostfleet.dispatchers.mcad.queue import ActiveQueue, EventQueue, Gate, Seen
from ghostfleet.dispatchers.mcad.quotas import REFRESH_FAILED
from ghostfleet.dispatchers.mcad.requeuing import Ruling, judge
from ghostfleet.dispatchers.mcad.threads import HELD, Steps, Thread, Ticker
from ghostfleet.dispatchers.mcad.wrapper import Key, Wrapper

__all__ = ["EarlyMcad"]


class EarlyMcad(AggregateController):
    """MCAD's controller with a worker, ScheduleNext, a heartbeat and the preemption loop."""

    def _begin(self) -> None:
        super()._begin()
        clock, profile = self._clock, self.profile
        self.events = EventQueue()
        self.active = ActiveQueue()
        #: Wrappers that are put aside, and when they come back; the one being looked at is here too, without a time.
        self.aside: dict[Key, Handle | None] = {}
        #: Wrappers that are not over: the heartbeat is for them.
        self._alive: dict[Key, None] = {}
        self._worker = Thread(clock, self._next_event)
        self._scheduler = Thread(clock, self._next_active)
        self._gate = Gate()
        self._heartbeat = Thread(clock, self._next_beat)
        self._period = profile.duration("heartbeat.period")
        self._beats_at = clock.now() + self._period
        self._found = False
        self._preemption_loop = Ticker(
            clock, profile.duration("preemption.period"), self._look_around, lambda: bool(self._alive)
        )
        self._scheduling: Key | None = None
        self._saves_backoff = not profile.switch("defect.backoff-unsaved")
        self._hold_is_final = profile.switch("defect.hold-completion-final")
        self._retries_failed = profile.switch("defect.failed-retried")
        self._holding_time = profile.duration("head-of-line.holding-time")
        self._hands_over_old = profile.switch("defect.dispatched-twice")

    def _end(self) -> None:
        for part in (self._worker, self._scheduler, self._heartbeat, self._preemption_loop):
            part.stop()
        for handle in self.aside.values():
            if handle is not None:
                handle.cancel()

    # -- noticing ----------------------------------------------------------------------------------------------------

    def _added(self, key: Key) -> None:
        self._see_first(key)
        self._alive[key] = None
        self._hear(key)
        self._heartbeat.wake()
        self._preemption_loop.wake()

    def _changed(self, key: Key, obj: Object) -> None:
        if (obj.get("status") or {}).get("state") == COMPLETED:
            self._alive.pop(key, None)
        self._hear(key)

    def _hear(self, key: Key) -> None:
        """An event of the API, which the worker gets as soon as it can."""
        seen = self.appwrappers.seen(key)
        self._gate.enter("events", partial(self._enqueue, key, seen))

    def _gone(self, key: Key) -> None:
        super()._gone(key)
        self._alive.pop(key, None)
        self.events.remove(key)
        self._leave_queue(key)

    def _enqueue(self, key: Key, seen: Seen) -> None:
        if self.appwrappers.object(key) is not None:
            self.events.add(key, seen)
            self._worker.wake()

    def _enqueue_now(self, key: Key) -> None:
        self._enqueue(key, self.appwrappers.seen(key))

    def _leave_queue(self, key: Key) -> None:
        self.active.remove(key)
        handle = self.aside.pop(key, None)
        if handle is not None:
            handle.cancel()

    # -- the heartbeat -----------------------------------------------------------------------------------------------

    def _next_beat(self) -> Steps | None:
        return self._beat() if self._alive else None

    def _beat(self) -> Steps:
        """Make an event of every wrapper that is not in a queue."""
        missed = (self._clock.now() - self._beats_at) // self._period + 1
        yield self._beats_at + max(missed, 0) * self._period
        for key in list(self._alive):
            self._stamp(key)
            yield from self._pass("heartbeat", self._heartbeat, partial(self._find, key))
            if not self._found and key not in self.active and key not in self.aside:
                yield from self._pass("heartbeat", self._heartbeat, partial(self._enqueue_now, key))
        self._beats_at = self._clock.now() + self._period

    def _find(self, key: Key) -> None:
        self._found = key in self.events

    def _stamp(self, key: Key) -> None:
        """Note when a wrapper was first seen to run."""
        status = self.appwrappers.status(key)
        if status.get("queuejobstate") == "Running" and not status.get("controllerfirstdispatchtimestamp"):
            stamp = rfc3339_micro(self._clock.now())
            self.appwrappers.remember(key, {**status, "controllerfirstdispatchtimestamp": stamp})

    def _pass(self, who: str, thread: Thread, act: Callable[[], None]) -> Steps:
        """Do something that needs the event queue, when it is one's turn."""

        def in_turn() -> None:
            act()
            thread.let_go()

        if self._gate.shut:
            self._gate.enter(who, in_turn)
            yield HELD
        else:
            act()

    # -- the worker --------------------------------------------------------------------------------------------------

    def _next_event(self) -> Steps | None:
        self._gate.let_in()
        popped = self.events.pop()
        while popped is None and self._gate.let_in():
            popped = self.events.pop()
        self._gate.shut = popped is not None
        return self._sync(*popped) if popped is not None else None

    def _sync(self, key: Key, seen: Seen) -> Steps:
        yield self.costs.event()
        wrapper = self._readable(key)
        if wrapper is None:
            return
        now = self.appwrappers.seen(key)
        before = now.status if now.version == seen.version else seen.status
        status = before
        if before.get("state") == RUNNING:
            status = self._with_counts(key, before)
            if status.get("queuejobstate") != "Running" and status.get("running"):
                status = running(status, self._clock.now())
                yield from self._write(key, status, "[syncQueueJob] setRunning", seen)
            elif status != before and now.version == seen.version:
                self.appwrappers.remember(key, status)
        yield from self._manage(wrapper, status, seen, changed=status != before)

    def _manage(self, wrapper: Wrapper, status: Object, seen: Seen, *, changed: bool) -> Steps:
        key, state, runs = wrapper.key, status.get("state", ""), bool(status.get("canrun"))
        if state == COMPLETED or (state == HOLD and self._hold_is_final):
            if changed:
                yield from self._write(key, status, "manageQueueJob - podPhaseChanges", seen)
        elif not runs and state not in (PENDING, DELETED):
            if state == FAILED and not self._retries_failed:
                return
            yield from self._queue(wrapper, status, seen)
        elif not runs and state == PENDING:
            if key not in self.active and key not in self.aside and key != self._scheduling:
                self._activate(key, status)
        elif runs and state not in (RUNNING, HOLD):
            if state != FAILED or self._retries_failed:
                yield from self._dispatch(wrapper, status, seen)
        elif runs:
            yield from self._complete(wrapper, status, seen)
        elif changed:
            yield from self._write(key, status, "manageQueueJob - podPhaseChanges", seen)

    def _write(self, key: Key, status: Object, place: str, seen: Seen | None = None) -> Steps:
        """Write a status; if it is made from a wrapper as it was seen, the write is refused when that has changed."""
        yield self.costs.write()
        if seen is None or seen.version == self.appwrappers.seen(key).version:
            self.appwrappers.write(key, status, place)

    def _queue(self, wrapper: Wrapper, status: Object, seen: Seen) -> Steps:
        """Put a wrapper into the queue: a new one, or one that may run no longer."""
        key = wrapper.key
        if status.get("state"):
            yield from self._delete_items(wrapper)
            status = without_counts(self.appwrappers.status(key))
        if key in self.aside:
            self.appwrappers.remember(key, {**status, "state": PENDING})
            return
        status = queued(status, self._clock.now())
        yield from self._write(key, status, "manageQueueJob - setQueueing", seen)
        self._activate(key, status)

    def _activate(self, key: Key, status: Object) -> None:
        if self.appwrappers.object(key) is not None:
            self.active.add(key, status.get("systempriority", 0))
            self._scheduler.wake()

    def _dispatch(self, wrapper: Wrapper, status: Object, seen: Seen) -> Steps:
        """Create the items of a wrapper that may run."""
        key = wrapper.key
        failure = yield from self._create_items(wrapper)
        if failure:
            status = failed(status, self._clock.now(), failure, may_run=True)
            yield from self._delete_items(wrapper)
            status = without_counts(status)
        else:
            status = dispatched(status, self._clock.now())
        yield from self._write(key, status, "manageQueueJob - afterEtcdDispatching", seen)

    def _complete(self, wrapper: Wrapper, status: Object, seen: Seen) -> Steps:
        """Look whether a running wrapper is complete."""
        key = wrapper.key
        derived = yield from self._derive(wrapper, status)
        now = self._clock.now()
        if derived == HOLD and status.get("state") != HOLD:
            yield from self._write(key, held(status, now), "[syncQueueJob] setRunningHoldCompletion", seen)
        elif derived == COMPLETED:
            yield from self._write(key, completed(status, now), "[syncQueueJob] setCompleted", seen)
            self.quotas.forest.release(key)

    # -- ScheduleNext ------------------------------------------------------------------------------------------------

    def _next_active(self) -> Steps | None:
        if self._dynamic and len(self.active):
            self._rank()
        key = self.active.pop()
        if key is None:
            return None
        self._scheduling = key
        return self._schedule(key)

    def _rank(self) -> None:
        """Work out all priorities anew."""
        now, priorities = self._clock.now(), {}
        for key in self.active.waiting():
            status = self.appwrappers.status(key)
            wrapper = self._readable(key)
            since = micro_time(status, "controllerfirsttimestamp") or now
            priorities[key] = priority_now(wrapper, since, now) if wrapper is not None else 0.0
            self.appwrappers.remember(key, {**status, "systempriority": priorities[key]})
        self.active.rank(priorities)

    def _schedule(self, key: Key) -> Steps:
        wrapper = self._readable(key)
        if wrapper is None or self.appwrappers.status(key).get("canrun"):
            self._scheduling = None
            return
        self.aside[key] = None
        yield from self._write(
            key, head_of_line(self.appwrappers.status(key), self._clock.now()), "ScheduleNext - setHOL"
        )
        began = self._clock.now()
        while True:
            verdict = yield from self._try(key)
            if verdict is None or verdict.fits:
                break
            if self._clock.now() >= began + self._holding_time:
                self._back_off(key, verdict.reason, verdict.message)
                break
            yield self._clock.now() + SECOND
        self._scheduling = None

    def _try(self, key: Key) -> Generator[int, None, DispatchDecision | None]:
        """Let a wrapper run if it fits; answers the verdict, or None when the wrapper has gone meanwhile."""
        wrapper = self._readable(key)
        if wrapper is None:
            return None
        status, demand = self.appwrappers.status(key), self.appwrappers.demand(key).total
        forest = None
        if self.quotas.active:
            if not self.quotas.refresh():
                return DispatchDecision(
                    False, f"{NOT_RUNNABLE} {REFRESH_FAILED}", "Insufficient quota to dispatch AppWrapper."
                )
            forest = self.quotas.forest
            missing = self._default_leaves(wrapper)
            if missing:
                yield self.costs.write()
                self.appwrappers.label(key, missing)
        verdict = decide_room_first(wrapper, demand, self.terms(wrapper, status), forest, preemption=self._preemption)
        if verdict.fits:
            for victim in verdict.victims:
                yield from self._evict(victim)
            before = self.appwrappers.seen(key)
            yield from self._write(key, may_run(before.status), "ScheduleNext - setCanRun")
            self.aside.pop(key, None)
            after = self.appwrappers.seen(key)
            handed = Seen(after.status, before.version if self._hands_over_old else after.version)
            yield from self._pass("ScheduleNext", self._scheduler, partial(self._enqueue, key, handed))
        return verdict

    def _evict(self, key: Key) -> Steps:
        status = {each: value for each, value in self.appwrappers.status(key).items() if each != "canrun"}
        yield from self._write(key, status, "preemptAWJobs - CanRun: false")

    def _back_off(self, key: Key, reason: str, message: str) -> None:
        """Put a wrapper aside for a while; others may overtake it."""
        if self.appwrappers.object(key) is None:
            return
        status = backed_off(self.appwrappers.status(key), self._clock.now(), reason, message)
        self._leave_queue(key)
        self.aside[key] = self._clock.call_later(self._backoff_time, self._rejoin, key)
        if self._saves_backoff:
            self.appwrappers.write(key, status, "backoff - Rejoining")
        else:
            self.appwrappers.remember(key, status)

    def _rejoin(self, key: Key) -> None:
        if self.aside.pop(key, None) is not None and self.appwrappers.object(key) is not None:
            self._activate(key, self.appwrappers.status(key))

    def next_try(self, key: Key) -> int | None:
        handle = self.aside.get(key)
        return handle.time if handle is not None else None

    # -- requeuing ---------------------------------------------------------------------------------------------------

    def _look_around(self) -> None:
        """Requeue wrappers that are short of pods."""
        now = self._clock.now()
        for key in list(self._alive):
            wrapper = self._readable(key)
            ruling = judge(wrapper, self.appwrappers.status(key), now, self.profile) if wrapper is not None else None
            if wrapper is not None and ruling is not None:
                self._rule(wrapper, ruling)

    def _rule(self, wrapper: Wrapper, ruling: Ruling) -> None:
        key = wrapper.key
        if ruling.requeuing is not None:
            self.appwrappers.set_requeuing(key, ruling.requeuing)
        self.appwrappers.write(key, ruling.status, "PreemptQueueJobs - CanRun: false")
        # Put aside before the worker hears of the write, which therefore leaves it there.
        if not ruling.ends:
            self._back_off(key, "PreemptionTriggered", ruling.message)
            return
        self._leave_queue(key)
        self.aside[key] = None
        for item in wrapper.items:
            self.items.delete(wrapper, item)
        self.quotas.forest.release(key)
