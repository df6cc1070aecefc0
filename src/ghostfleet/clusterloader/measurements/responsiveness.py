"""APIResponsivenessPrometheus, and APIResponsiveness of older configs: how long requests take, without Prometheus.

The figures are of the requests that the test itself has sent, each timed, so its percentiles are exact. That is how the
latency of a cluster in virtual time is known; on any other it would be this program's speed, so that nothing is
measured there, as in ClusterLoader2 without Prometheus. The thresholds are Kubernetes' objectives for the latency of
API calls: a second for a single object, thirty for lists.
"""

from __future__ import annotations

from ghostfleet.clusterloader.measurements.measurement import (
    DONE,
    Context,
    MeasurementError,
    Outcome,
    unknown_action,
)
from ghostfleet.clusterloader.params import Params
from ghostfleet.clusterloader.requests import RequestKind
from ghostfleet.clusterloader.summaries import DataItem, Summary, latency_item, latency_metric, perf_data
from ghostfleet.core.clock import SECOND
from ghostfleet.core.durations import format_duration

__all__ = ["APIResponsiveness"]

#: Published: sig-scalability/slos/api_call_latency.md of kubernetes/community.
_SINGLE, _SEVERAL = SECOND, 30 * SECOND
#: From when on a request is slow.
_SLOW = {"resource": SECOND, "namespace": 5 * SECOND, "cluster": 30 * SECOND}


class APIResponsiveness:
    """See the module."""

    def __init__(self, name: str = "APIResponsivenessPrometheus") -> None:
        self._name = name
        self._began: int | None = None

    async def execute(self, context: Context, params: Params) -> Outcome:
        if context.cluster.info.clock != "virtual":
            return Outcome(notes=(f"{self._name} is skipped: it needs Prometheus, or a cluster in virtual time",))
        action, now = params.text("action"), context.cluster.now()
        if action in ("start", "reset"):
            self._began = now
            return DONE
        if action != "gather":
            raise unknown_action(action, "start", "gather")
        if self._began is None:
            raise MeasurementError("the measurement was not started")
        bearable = params.integer("allowedSlowCalls", 0)
        calls = context.requests.since(self._began)
        errors = [problem for kind, times in calls.items() if (problem := _judged(kind, times, bearable)) is not None]
        if not params.boolean("enableViolations", True):
            errors = []
        content = perf_data([_item(kind, times) for kind, times in calls.items()], "v1")
        return Outcome([Summary(params.text("summaryName", self._name), "json", content, now)], errors)

    def dispose(self) -> None:
        """Nothing goes on by itself."""


def _slow(kind: RequestKind, times: list[int]) -> int:
    return sum(took > _SLOW[kind.scope] for took in times)


def _judged(kind: RequestKind, times: list[int], bearable: int) -> str | None:
    limit = _SINGLE if kind.scope == "resource" else _SEVERAL
    perc99 = latency_metric(times).perc99
    if perc99 <= limit or (bearable and _slow(kind, times) <= bearable):
        return None
    return (
        f"top latency metric: {kind.verb} {kind.resource} ({kind.scope}): expected perc99 <= {format_duration(limit)}, "
        f"got {format_duration(perc99)} in {len(times)} calls"
    )


def _item(kind: RequestKind, times: list[int]) -> DataItem:
    labels = {
        "Count": str(len(times)),
        "Resource": kind.resource,
        "Scope": kind.scope,
        "SlowCount": str(_slow(kind, times)),
        "Subresource": "",
        "Verb": kind.verb,
    }
    return latency_item("", latency_metric(times))._replace(labels=labels)
