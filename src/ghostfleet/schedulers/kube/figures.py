"""Figures of the scheduler, under the names that kube-scheduler has for them.

Attempts are counted for whole batches, and share the real time that their batch took: that is the speed of our own
program, not the one that a profile models.
"""

from __future__ import annotations

from collections.abc import Sequence

from ghostfleet.core.metrics import Metrics
from ghostfleet.schedulers.kube.queue import QueuedPod, SchedulingQueue

__all__ = ["SchedulerFigures"]

#: kube-scheduler's, in seconds.
_BOUNDS = tuple(0.001 * 2**step for step in range(15))
_QUEUES = ("active", "backoff", "gated", "unschedulable")
_DEFAULT = "default-scheduler"


class SchedulerFigures:
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
