"""PodStartupLatency: how long pods take from their creation to running (`slos/pod_startup_latency.go`).

All moments are those at which a watch tells of them: *create* is the first event of a pod, *schedule* the first in
which it has a node, *run* and *watch* the first in which it runs. They are exact to the microsecond on a virtual clock.
A pod is *stateless* when its volumes hold nothing that outlives it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ghostfleet.clusterloader.measurements.measurement import (
    DONE,
    Context,
    MeasurementError,
    Outcome,
    unknown_action,
)
from ghostfleet.clusterloader.measurements.selecting import ObjectSelector
from ghostfleet.clusterloader.params import Params
from ghostfleet.clusterloader.summaries import LatencyMetric, Summary, latency_item, latency_metric, perf_data
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.durations import format_duration
from ghostfleet.drive.interface import PODS

__all__ = ["PodStartupLatency"]

_THRESHOLD = 5 * SECOND
#: Metrics, and the moments between which they lie.
_TRANSITIONS = {
    "create_to_schedule": ("create", "schedule"),
    "schedule_to_run": ("schedule", "run"),
    "run_to_watch": ("run", "watch"),
    "schedule_to_watch": ("schedule", "watch"),
    "pod_startup": ("create", "watch"),
    "create_to_run": ("create", "run"),
}
_STATELESS = frozenset(("name", "emptyDir", "downwardAPI", "configMap", "secret", "projected"))


@dataclass(slots=True)
class _Pod:
    """When a pod came to each point; 0 where it has not."""

    create: int
    stateless: bool
    schedule: int = 0
    run: int = 0

    @property
    def watch(self) -> int:
        return self.run


class PodStartupLatency:
    """See the module."""

    def __init__(self) -> None:
        self._pods: dict[str, _Pod] = {}
        self._thresholds = (_THRESHOLD,) * 3
        self._stop: Callable[[], None] | None = None

    async def execute(self, context: Context, params: Params) -> Outcome:
        action = params.text("action")
        if action == "start":
            if self._stop is None:
                self._read_thresholds(params)
                self._stop = ObjectSelector.read(params).watch(context.cluster, PODS, self._seen)
            return DONE
        if action == "gather":
            if self._stop is None:
                raise MeasurementError("metric has not been started")
            self.dispose()
            return self._gathered(context.identifier, context.cluster.now())
        raise unknown_action(action, "start", "gather")

    def dispose(self) -> None:
        if self._stop is not None:
            self._stop()
            self._stop = None

    def _read_thresholds(self, params: Params) -> None:
        usual = params.duration("threshold", _THRESHOLD)
        p50, p90, p99 = (params.duration(f"perc{each}Threshold", usual) for each in (50, 90, 99))
        self._thresholds = (p50, p90, p99)

    def _seen(self, time: int, event: str, pod: Object) -> None:
        if event == "DELETED":
            return
        known = self._pods.get(pod["metadata"]["uid"])
        if known is None:
            stateless = all(volume.keys() <= _STATELESS for volume in pod["spec"].get("volumes") or ())
            known = self._pods[pod["metadata"]["uid"]] = _Pod(time, stateless)
        if not known.schedule and pod["spec"].get("nodeName"):
            known.schedule = time
        if not known.run and (pod.get("status") or {}).get("phase") == "Running":
            known.run = time

    def _gathered(self, identifier: str, now: int) -> Outcome:
        pods = self._pods.values()
        groups = {
            "": pods,
            "Stateless": [pod for pod in pods if pod.stateless],
            "Stateful": [pod for pod in pods if not pod.stateless],
        }
        summaries = [
            Summary(f"{prefix}PodStartupLatency_{identifier}", "json", _written(group), now)
            for prefix, group in groups.items()
        ]
        startup = _latency(pods, "create", "watch")
        errors = [
            f"pod startup: expected perc{percent} <= {format_duration(threshold)}, got {format_duration(latency)}"
            for percent, latency, threshold in zip((50, 90, 99), startup, self._thresholds, strict=True)
            if latency > threshold
        ]
        self._pods = {}
        return Outcome(summaries, errors)


def _latency(pods: Iterable[_Pod], start: str, end: str) -> LatencyMetric:
    return latency_metric(
        last - first for pod in pods if (first := getattr(pod, start)) and (last := getattr(pod, end))
    )


def _written(pods: Iterable[_Pod]) -> str:
    return perf_data(latency_item(metric, _latency(pods, *between)) for metric, between in _TRANSITIONS.items())
