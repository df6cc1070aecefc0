"""SchedulingThroughput: how many pods a second get a node (`scheduling_throughput.go`).

The time since the start is cut into intervals; each is a sample, the pods that got a node in it divided by its length.
Pods are counted once, when they get their node, so that deleting pods never makes a sample negative.
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
from ghostfleet.clusterloader.measurements.selecting import ObjectSelector
from ghostfleet.clusterloader.params import Params
from ghostfleet.clusterloader.summaries import Summary, percentiles, pretty_json
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.drive.interface import PODS

__all__ = ["SchedulingThroughput"]

_INTERVAL = 5 * SECOND


class SchedulingThroughput:
    """See the module."""

    def __init__(self) -> None:
        self._scheduled: set[str] = set()
        #: Pods that got a node, by the number of the interval.
        self._counts: dict[int, int] = {}
        self._began = 0
        self._interval = _INTERVAL
        self._stop: Callable[[], None] | None = None

    async def execute(self, context: Context, params: Params) -> Outcome:
        action = params.text("action")
        if action == "start":
            if self._stop is None:
                # The name is spelt like that.
                self._interval = max(1, params.duration("measurmentInterval", _INTERVAL))
                self._began = context.cluster.now()
                self._scheduled, self._counts = set(), {}
                self._stop = ObjectSelector.read(params).watch(context.cluster, PODS, self._seen)
            return DONE
        if action == "gather":
            if self._stop is None:
                raise MeasurementError("measurement is not running")
            self.dispose()
            return self._gathered(params, context.cluster.now())
        raise unknown_action(action, "start", "gather")

    def dispose(self) -> None:
        if self._stop is not None:
            self._stop()
            self._stop = None

    def _seen(self, time: int, event: str, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        if event != "DELETED" and pod["spec"].get("nodeName") and uid not in self._scheduled:
            self._scheduled.add(uid)
            number = (time - self._began) // self._interval
            self._counts[number] = self._counts.get(number, 0) + 1

    def _gathered(self, params: Params, now: int) -> Outcome:
        threshold = params.number("threshold", 0)
        violations = params.boolean("enableViolations", True)
        # A test may be over before its first interval is; what was seen of it counts all the same.
        whole = max(1, (now - self._began) // self._interval, 1 + max(self._counts, default=0))
        samples = [self._counts.get(number, 0) * SECOND / self._interval for number in range(whole)]
        p50, p90, p99 = percentiles(samples)
        most = max(samples)
        content = pretty_json({"perc50": p50, "perc90": p90, "perc99": p99, "max": most})
        errors = []
        if violations and threshold > 0 and most < threshold:
            errors.append(f"scheduler throughput: actual throughput {most:g} lower than threshold {threshold:g}")
        return Outcome([Summary("SchedulingThroughput", "json", content, now)], errors)
