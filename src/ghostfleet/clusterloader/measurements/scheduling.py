"""SchedulingMetrics: how long the scheduler takes with a pod (`scheduler_latency.go`).

ClusterLoader2 reads the scheduler's own histograms; here it is what can be seen from outside, the time from a pod's
creation until it has a node, of pods that were created since the start or the last reset. What goes on inside of the
scheduler is left out.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.clusterloader.measurements.measurement import (
    DONE,
    Context,
    MeasurementError,
    Outcome,
    unknown_action,
)
from ghostfleet.clusterloader.params import Params
from ghostfleet.clusterloader.summaries import Summary, latency_metric, pretty_json
from ghostfleet.core.changes import Object
from ghostfleet.drive.interface import PODS

__all__ = ["SchedulingMetrics"]

_NANOSECONDS = 1000


class SchedulingMetrics:
    """See the module."""

    def __init__(self) -> None:
        self._created: dict[str, int] = {}
        self._scheduled: dict[str, int] = {}
        self._stop: Callable[[], None] | None = None

    async def execute(self, context: Context, params: Params) -> Outcome:
        action = params.text("action")
        if action not in ("start", "reset", "gather"):
            raise unknown_action(action, "start", "reset", "gather")
        if action == "gather":
            if self._stop is None:
                raise MeasurementError("the measurement was not started")
            self.dispose()
            return self._gathered(context.cluster.now())
        if self._stop is None:
            self._stop = context.cluster.watch(PODS, "", "", self._seen)
        # What is there already was not scheduled in the time that counts.
        self._created, self._scheduled = dict.fromkeys(self._created, 0), {}
        return DONE

    def dispose(self) -> None:
        if self._stop is not None:
            self._stop()
            self._stop = None

    def _seen(self, time: int, event: str, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        if event == "DELETED":
            return
        created = self._created.setdefault(uid, time)
        if created and uid not in self._scheduled and pod["spec"].get("nodeName"):
            self._scheduled[uid] = time

    def _gathered(self, now: int) -> Outcome:
        latency = latency_metric(time - self._created[uid] for uid, time in self._scheduled.items())
        percentiles = {
            f"Perc{percent}": value * _NANOSECONDS for percent, value in zip((50, 90, 99), latency, strict=True)
        }
        content = pretty_json({"e2eSchedulingLatency": percentiles, "schedulingLatency": percentiles})
        return Outcome([Summary("SchedulingMetrics", "json", content, now)])
