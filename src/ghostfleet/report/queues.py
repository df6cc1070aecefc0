"""KAI's queues over a run: what each was due and had, how long its pods waited, and what evictions cost.

Where a recorder ran on a cluster with KAI it has written that down (`queues.jsonl`, see `lab.queuehistory`). Averages
are over the time that was recorded. *Work lost* is GPUs times the time for which an evicted pod ran.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ghostfleet.core.timestamps import MICRO
from ghostfleet.lab.errors import LabError
from ghostfleet.report.markup import Markup, element, table
from ghostfleet.report.words import amount, count_of, span
from ghostfleet.report.workloads import Column

__all__ = ["EvictionFigures", "QueueFigures", "QueueReport", "queue_report", "queue_section"]

_FIELDS = ("quota", "fairShare", "allocated", "requested")
_HOUR = 3600.0
_UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """One queue in numbers; GPUs, but for the waits of its pods, in seconds."""

    name: str
    parent: str
    quota: float
    mean: Mapping[str, float]
    peak: float
    #: What its pods waited until they had a node, and how many never had one.
    waits: Column
    not_placed: int
    evictions: int

    def as_json(self) -> dict[str, Any]:
        return {
            "queue": self.name,
            "parent": self.parent,
            "quota": self.quota,
            "meanFairShare": self.mean["fairShare"],
            "meanAllocated": self.mean["allocated"],
            "meanRequested": self.mean["requested"],
            "peakAllocated": self.peak,
            "evictedPods": self.evictions,
            "waiting": {"placed": len(self.waits), "notPlaced": self.not_placed, **self.percentiles()},
        }

    def percentiles(self) -> dict[str, float]:
        if not len(self.waits):
            return {}
        p50, p90, p99 = (float(each) for each in np.percentile(self.waits, (50, 90, 99)))
        return {
            "mean": float(self.waits.mean()),
            "p50": p50,
            "p90": p90,
            "p99": p99,
            "max": float(self.waits.max()),
        }


@dataclass(frozen=True, slots=True)
class EvictionFigures:
    """What evictions cost, in all."""

    pods: int
    by_action: Mapping[str, int]
    gpus: int
    #: GPU hours for which evicted pods ran.
    gpu_hours_lost: float
    bare_pods_lost: int
    protected_pods: int

    def as_json(self) -> dict[str, Any]:
        return {
            "pods": self.pods,
            "byAction": dict(self.by_action),
            "gpus": self.gpus,
            "gpuHoursLost": self.gpu_hours_lost,
            "barePodsLost": self.bare_pods_lost,
            "protectedPods": self.protected_pods,
        }


@dataclass(frozen=True, slots=True)
class QueueReport:
    """All that is known of queues."""

    queues: Sequence[QueueFigures]
    evictions: EvictionFigures
    #: Times of points in seconds since the epoch, how long each was true, and by queue and field what it was.
    times: Column
    spans: Column
    columns: Mapping[str, Mapping[str, Column]]

    def as_json(self) -> dict[str, Any]:
        return {"queues": [each.as_json() for each in self.queues], "evictions": self.evictions.as_json()}

    def drawn(self, start: float) -> dict[str, Any]:
        """What the chart draws: the allocation of each queue that holds jobs, over time since the start."""
        parents = {each.parent for each in self.queues}
        leaves = [each.name for each in self.queues if each.name not in parents]
        used = [
            name for name in leaves if self.columns[name]["requested"].any() or self.columns[name]["allocated"].any()
        ]
        return {
            "times": [round(float(time) - start, 3) for time in self.times],
            "allocated": {name: self.columns[name]["allocated"].round(2).tolist() for name in used},
            "fairShare": {name: self.columns[name]["fairShare"].round(2).tolist() for name in used},
        }


def queue_report(seen: Sequence[Mapping[str, Any]]) -> QueueReport | None:
    """What recorders saw, one after the other; None where none saw a queue."""
    if not seen:
        return None
    try:
        return _report(seen)
    except (KeyError, TypeError, ValueError) as error:
        raise LabError(f"queues.jsonl is not what a recorder writes: {error!r}") from None


def _report(seen: Sequence[Mapping[str, Any]]) -> QueueReport:
    times, spans = [], []
    names = list(dict.fromkeys(name for each in seen for name in each["queues"]))
    columns: dict[str, dict[str, list[float]]] = {name: {field: [] for field in _FIELDS} for name in names}
    for each in seen:
        own = np.asarray(each["time"], dtype=float) / MICRO
        times.append(own)
        # Nothing is known of the time after the last point of a recorder.
        spans.append(np.append(np.diff(own), 0.0))
        for name in names:
            series = each["queues"].get(name)
            for field in _FIELDS:
                columns[name][field] += series[field] if series is not None else [0.0] * len(own)
    arrays = {
        name: {field: np.asarray(column, dtype=float) for field, column in of.items()} for name, of in columns.items()
    }
    lengths = np.concatenate(spans)
    evictions = [eviction for each in seen for eviction in each["evictions"]]
    queues = [_figures(name, arrays[name], lengths, seen, evictions) for name in names]
    return QueueReport(queues, _evicted(evictions), np.concatenate(times), lengths, arrays)


def _figures(
    name: str,
    columns: Mapping[str, Column],
    spans: Column,
    seen: Sequence[Mapping[str, Any]],
    evictions: Sequence[Mapping[str, Any]],
) -> QueueFigures:
    length = float(spans.sum())
    mean = {field: float((columns[field] * spans).sum()) / length if length else 0.0 for field in _FIELDS}
    return QueueFigures(
        name,
        next((each["parents"][name] for each in reversed(seen) if name in each["parents"]), ""),
        float(columns["quota"][-1]),
        mean,
        float(columns["allocated"].max()),
        np.asarray([wait for each in seen for wait in each["waits"].get(name, ())], dtype=float),
        int(seen[-1]["waiting"].get(name, 0)),
        sum(each["queue"] == name for each in evictions),
    )


def _evicted(evictions: Sequence[Mapping[str, Any]]) -> EvictionFigures:
    by_action: dict[str, int] = {}
    for each in evictions:
        by_action[each["action"]] = by_action.get(each["action"], 0) + 1
    return EvictionFigures(
        len(evictions),
        dict(sorted(by_action.items())),
        sum(each["gpus"] for each in evictions),
        sum(each["gpus"] * each["ran"] for each in evictions) / _HOUR,
        sum(each["bare"] for each in evictions),
        sum(each["protected"] for each in evictions),
    )


def queue_section(report: QueueReport | None) -> Markup:
    """The section of the page; empty where there were no queues."""
    if report is None:
        return Markup("")
    head = ["Queue", "Below", "Quota", "Fair share", "Allocated", "Most", "Asked for", "Evicted pods"]
    rows = [
        [
            each.name,
            each.parent or "–",
            "unlimited" if each.quota == _UNLIMITED else amount(each.quota),
            amount(each.mean["fairShare"]),
            amount(each.mean["allocated"]),
            amount(each.peak),
            amount(each.mean["requested"]),
            f"{each.evictions:,}",
        ]
        for each in report.queues
    ]
    waited = ["Queue", "Pods placed", "Not placed", "Mean", "p50", "p90", "p99", "Longest"]
    waits = [
        [each.name, f"{len(each.waits):,}", f"{each.not_placed:,}", *_spans(each)]
        for each in report.queues
        if len(each.waits) or each.not_placed
    ]
    return element(
        "section",
        element("h2", "Queues", id="queues"),
        element("p", "GPUs, on average over the recorded time; the most that a queue had; and pods evicted from it."),
        table("Queues", head, rows, texts=2, stacks=True),
        table("How long pods waited for a node, by queue", waited, waits, stacks=True),
        element("p", _told(report.evictions)),
        aria_labelledby="queues",
    )


def _spans(queue: QueueFigures) -> list[str]:
    found = queue.percentiles()
    return [span(found[name]) if found else "–" for name in ("mean", "p50", "p90", "p99", "max")]


def _told(evictions: EvictionFigures) -> str:
    if not evictions.pods:
        return "No pod was evicted."
    by = ", ".join(f"{count:,} by {action}" for action, count in evictions.by_action.items())
    return (
        f"{count_of(evictions.pods, 'pod')} evicted ({by}): {amount(evictions.gpu_hours_lost)} GPU hours of work lost; "
        f"{count_of(evictions.bare_pods_lost, 'bare pod')} that nothing makes anew; "
        f"{count_of(evictions.protected_pods, 'pod')} that a PodDisruptionBudget would have protected."
    )
