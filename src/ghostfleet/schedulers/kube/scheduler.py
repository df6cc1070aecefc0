"""kube-scheduler, the default scheduler, on one store and one clock.

It takes pods from its queue, decides about one after the other, and writes: the binding of a pod that found a node; the
condition, the event and the nomination of one that did not; the eviction of pods that must make room.

Pods are taken in *batches*: their CycleStates first, then decisions, then writes. That is only about speed; each
decision is made with all earlier ones in the snapshot, and a batch ends at the first pod that fails.

Figures have the names that kube-scheduler has for them. Attempts are counted for whole batches, and share the real time
that their batch took: that is the speed of our own program, not the one that a profile models.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND, Clock, Handle, real_seconds
from ghostfleet.core.metrics import Metrics
from ghostfleet.core.store import Store
from ghostfleet.schedulers.framework.cyclestate import CycleState
from ghostfleet.schedulers.framework.runner import INSTANT, Pace, Runner
from ghostfleet.schedulers.framework.writer import Reserved
from ghostfleet.schedulers.kube.config import Configuration
from ghostfleet.schedulers.kube.queue import QueuedPod, SchedulingQueue, UnschedulablePods
from ghostfleet.schedulers.kube.schedule_one import NO_NODES, ScheduleAlgorithm, ScheduleResult

__all__ = ["KubeScheduler"]

#: kube-scheduler's, in seconds.
_BOUNDS = tuple(0.001 * 2**step for step in range(15))
_QUEUES = ("active", "backoff", "gated", "unschedulable")
_DEFAULT = "default-scheduler"
#: Pods in one turn; then other callbacks of the clock get theirs.
_TURN = 256
#: What is unschedulable for so long is tried once more, and how often kube-scheduler looks whether something is
#: (k8s.io/kubernetes pkg/scheduler/backend/queue/scheduling_queue.go).
_FLUSH_AFTER = 300 * SECOND
_FLUSH_EVERY = 30 * SECOND


class _SchedulerFigures:
    """Counts what one scheduler does."""

    def __init__(self, metrics: Metrics, queue: SchedulingQueue) -> None:
        self._queue = queue
        #: By profile and result.
        self._attempts: dict[tuple[str, ...], int] = {}
        meaning = "Attempts to schedule a pod, by profile and result."
        attempts = metrics.family("scheduler_schedule_attempts_total", "counter", meaning, "profile", "result")
        attempts.read_from(lambda: self._attempts)
        pending = metrics.family("scheduler_pending_pods", "gauge", "Pods that wait for a node, by queue.", "queue")
        pending.read_from(self._pending)
        self._durations = metrics.histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "How long attempts took.",
            _BOUNDS,
            "profile",
            "result",
        )

    def scheduled(self, pods: Sequence[QueuedPod], seconds: float) -> None:
        """All these pods found nodes."""
        if pods:
            self._count(pods[0], "scheduled", len(pods), seconds / len(pods))

    def tried(self, queued: QueuedPod, seconds: float) -> None:
        """A pod was tried alone, or failed, or was to be deleted and not tried at all."""
        if "deletionTimestamp" not in queued.pod["metadata"]:
            self._count(queued, "unschedulable" if queued.place in _QUEUES else "scheduled", 1, seconds)

    def _count(self, queued: QueuedPod, result: str, times: int, seconds: float) -> None:
        labels = (queued.pod["spec"].get("schedulerName", _DEFAULT), result)
        self._attempts[labels] = self._attempts.get(labels, 0) + times
        self._durations.observe(labels, seconds, times)

    def _pending(self) -> dict[tuple[str, ...], float]:
        counts: dict[tuple[str, ...], float] = {(name,): 0 for name in _QUEUES}
        for queued in self._queue.pods.values():
            if queued.place in _QUEUES:
                counts[queued.place,] += 1
        return counts


class KubeScheduler(Runner):
    """Schedules the pods that ask for one of its profiles by spec.schedulerName."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        rng: Random,
        *,
        config: Configuration | None = None,
        pace: Pace = INSTANT,
    ) -> None:
        super().__init__(store, clock, pace)
        config = config or Configuration()
        self._flush: Handle | None = None
        #: How many pods to take at once: more and more while they all find nodes.
        self._batch = 1
        #: The last failure, and what it holds for: nothing must have changed since.
        self._failure: tuple[CycleState, int, ScheduleResult] | None = None
        self.algorithm = ScheduleAlgorithm(self.snapshot, config.profiles, rng)
        frameworks = self.algorithm.frameworks
        self.queue = SchedulingQueue(self._is_gated, config.first_backoff, config.longest_backoff)
        plugins = [plugin for framework in frameworks.values() for plugin in framework.plugins.values()]
        self._gate_events = {event for plugin in plugins if plugin.implements("preEnqueue") for event in plugin.events}
        self._held_events = {event for plugin in plugins if plugin.implements("preBind") for event in plugin.events}
        self._figures = _SchedulerFigures(clock.metrics, self.queue)
        self.start(self.queue, frameworks, plugins)

    def stop(self) -> None:
        super().stop()
        if self._flush is not None:
            self._flush.cancel()

    def _is_gated(self, pod: Object) -> bool:
        return self.algorithm.framework_of(pod).is_gated(pod)

    # -- batches -----------------------------------------------------------------------------------------------------

    def cycle(self, now: int) -> bool:
        """Try pods until none is left to be tried, or for a turn; one pod where a cycle costs time."""
        left = _TURN
        while left > 0:
            if self.handlers.events:
                self._move(now)
            # When pods on nodes may help pods that wait, each must be seen before the next is taken.
            single = self._costs or bool(self.queue.waiting_for_pods)
            batch = self.queue.pop_many(now, 1 if single else self._batch)
            if not batch:
                return False
            left -= self._try(batch, now)
            if self._costs:
                return True
        return True

    def _try(self, batch: list[QueuedPod], now: int) -> int:
        """Try the pods of a batch until one fails; how many were tried."""
        began = real_seconds()
        placed, result = self._place(batch, now)
        self._figures.scheduled(batch[:placed], real_seconds() - began)
        if placed == len(batch):
            self._batch = min(2 * self._batch, _TURN)
            return placed
        # Taking many pods is a waste while they fail.
        self._batch = 1
        self.queue.put_back(batch[placed + 1 :])
        self._try_last(batch[placed], result, now)
        self._figures.tried(batch[placed], real_seconds() - began)
        return placed + 1

    def _place(self, batch: list[QueuedPod], now: int) -> tuple[int, ScheduleResult | None]:
        """Place pods of a batch until one fails; how many were placed, and what was decided about that one."""
        snapshot, queue = self.snapshot, self.queue
        cycles = [self._cycle_state(queued.pod) for queued in batch]
        terms = snapshot.pods.terms_version
        placements: list[Reserved] = []
        result = None
        for queued, known in zip(batch, cycles, strict=True):
            pod = queued.pod
            cycle = known if snapshot.pods.terms_version == terms else self._cycle_state(pod)
            if cycle is None or "deletionTimestamp" in pod["metadata"]:
                break
            if placements and cycle.sequential:
                # What is written for the pods before it must be seen first.
                break
            if queue.is_crowded(queued) and cycle.hopeless:
                break
            result = self._decide(cycle, pod, now)
            if result.node is None:
                break
            queue.placed(queued)
            snapshot.assume(pod, result.node, cycle.info)
            placements.append((pod, cycle, result.node, cycle.reserve(pod, result.node)))
            result = None
        self.writer.bind(placements, self.cycle_cost())
        return len(placements), result

    def _cycle_state(self, pod: Object) -> CycleState | None:
        if not len(self.snapshot.nodes):
            return None
        return self.algorithm.framework_of(pod).cycle_state(pod)

    def _decide(self, cycle: CycleState, pod: Object, now: int) -> ScheduleResult:
        snapshot, last = self.snapshot, self._failure
        nominated = "nominatedNodeName" in pod.get("status", ())
        if last is not None and last[0] is cycle and last[1] == snapshot.version and not nominated:
            return last[2]
        if cycle.alone and not snapshot.nominated and not nominated:
            slot = self.algorithm.place_alone(cycle)
            if slot is not None:
                return ScheduleResult(snapshot.nodes.names[slot])
        result = self.algorithm.schedule(cycle, pod, now)
        if result.node is None and not nominated and not result.victims and result.write is None:
            self._failure = (cycle, snapshot.version, result)
        return result

    def _try_last(self, queued: QueuedPod, result: ScheduleResult | None, now: int) -> None:
        """Deal with the pod that ended a batch: it failed, or has to be tried alone."""
        pod = queued.pod
        if "deletionTimestamp" in pod["metadata"]:
            self.queue.remove(queued.uid)
            self.writer.skip(pod)
            return
        cycle = self._cycle_state(pod)
        if cycle is None:
            self._fail(queued, None, NO_NODES, now)
            return
        line = queued.line
        if self.queue.is_crowded(queued) and line is not None and line.signature == cycle.signature and cycle.hopeless:
            # Nothing but the counts in its message could have changed.
            self.queue.fail_again(queued, now)
            line.version = self.snapshot.version
            return
        result = result or self._decide(cycle, pod, now)
        if result.node is None:
            self._fail(queued, cycle, result, now)
        else:
            self.queue.placed(queued)
            self.snapshot.assume(pod, result.node, cycle.info)
            self.writer.bind([(pod, cycle, result.node, cycle.reserve(pod, result.node))])

    def _fail(self, queued: QueuedPod, cycle: CycleState | None, result: ScheduleResult, now: int) -> None:
        pod = queued.pod
        nominated = result.nominate or (pod.get("status") or {}).get("nominatedNodeName")
        # A pod with a nomination is like no other.
        signature = ("nominated", queued.uid) if nominated or cycle is None else cycle.signature
        if result.write is not None and result.victims:
            # A pod that waits for its victims to go does not hear of what was written for it.
            result.write()
            self._move(now)
        line = self.queue.fail(queued, signature, result.plugins, now)
        line.cycle = None if nominated else cycle
        if result.nominate is not None:
            self.snapshot.nominate(pod, result.nominate)
        if result.victims and result.nominate:
            self.writer.take_nominations_back(pod, result.nominate)
            for victim in result.victims:
                self.writer.preempt(victim, pod, result.nominate)
        self.writer.reject(pod, result.message, result.nominate, reason=result.reason)
        if result.write is not None and not result.victims:
            result.write()
        line.version = self.snapshot.version
        self._flush_later()

    # -- pods that wait ----------------------------------------------------------------------------------------------

    def _move(self, now: int) -> None:
        """Move pods that events may help out of the unschedulable ones."""
        events = self.handlers.taken()
        if not self._held_events.isdisjoint(events.seen):
            self.writer.look_at_held()
        if not self._gate_events.isdisjoint(events.seen):
            self.queue.ungate()
        lines = self.queue.waiting_for_pods if events.only_pods_came else self.queue.unschedulable
        if lines:
            self.queue.wake([line for line in lines.values() if events.help(line.plugins, line.cycle)], now)
            self._flush_later()

    def _flush_later(self) -> None:
        """Try what has been unschedulable for long once more, should a hint have been missed."""
        if self._flush is None:
            due = [line.since for line in self.queue.unschedulable.values() if self._is_stale(line)]
            if due:
                when, now = min(due) + _FLUSH_AFTER, self._clock.now()
                # One that has waited for longer, and is of use again only now, is seen to at the next look.
                self._flush = self._clock.call_at(when if when > now else now + _FLUSH_EVERY, self._flush_unschedulable)

    def _is_stale(self, line: UnschedulablePods) -> bool:
        """Whether the cluster has changed since these pods were tried; if not, trying again is of no use."""
        return line.version != self.snapshot.version

    def _flush_unschedulable(self) -> None:
        self._flush = None
        now = self._clock.now()
        late = [line for line in self.queue.unschedulable.values() if line.since + _FLUSH_AFTER <= now]
        self.queue.wake([line for line in late if self._is_stale(line)], now)
        self._flush_later()
        self.wake()
