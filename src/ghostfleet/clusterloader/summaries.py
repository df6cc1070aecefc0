"""Summaries: what measurements leave behind, in the formats of ClusterLoader2.

*PerfData* is what perfdash reads: items of numbers with a unit and labels. Percentiles are those of ClusterLoader2: of
n sorted values the one at the place ceil(n * p / 100).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

__all__ = [
    "DataItem",
    "LatencyMetric",
    "Summary",
    "latency_item",
    "latency_metric",
    "percentiles",
    "perf_data",
    "pretty_json",
]

_MILLISECOND = 1000
_PERCENTILES = (50, 90, 99)


class Summary(NamedTuple):
    """A file of the report directory, before its test and time are put into its name."""

    name: str
    extension: str
    content: str
    #: When it was made, in microseconds of cluster time.
    time: int


class LatencyMetric(NamedTuple):
    """Microseconds."""

    perc50: int
    perc90: int
    perc99: int


class DataItem(NamedTuple):
    """Numbers of one thing."""

    data: Mapping[str, float]
    unit: str
    labels: Mapping[str, str]


def latency_metric(times: Iterable[int]) -> LatencyMetric:
    """The percentiles of some spans; all 0 where there are none."""
    return LatencyMetric(*(int(each) for each in percentiles(list(times))))


def percentiles(values: Sequence[float]) -> list[float]:
    """The 50th, 90th and 99th."""
    ordered = sorted(values)
    if not ordered:
        return [0 for _ in _PERCENTILES]
    return [ordered[-(-len(ordered) * each // 100) - 1] for each in _PERCENTILES]


def latency_item(metric: str, latency: LatencyMetric) -> DataItem:
    """An item of PerfData, in milliseconds."""
    data = {f"Perc{percent}": value / _MILLISECOND for percent, value in zip(_PERCENTILES, latency, strict=True)}
    return DataItem(data, "ms", {"Metric": metric})


def perf_data(items: Iterable[DataItem], version: str = "1.0") -> str:
    return pretty_json({"version": version, "dataItems": [each._asdict() for each in items]})


def pretty_json(value: Any) -> str:
    """As ClusterLoader2 writes JSON: two spaces deep, and a line's end."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
