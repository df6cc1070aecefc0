"""The data that the charts of the page draw, small whatever the size of the run.

Times are seconds since the first submission; columns of points are packed as `series.packed` tells.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.report.devices import DeviceFigures
from ghostfleet.report.phases import Measured
from ghostfleet.report.queues import QueueReport
from ghostfleet.report.series import Slices, drawn_rows, histogram, packed
from ghostfleet.report.usage import Usage

__all__ = ["chart_data"]

_COUNTED = ("submitted", "decided", "bound", "running", "finished")
#: Names longer than this are cut in the charts; tables show them whole.
_LONGEST_NAME = 63


def chart_data(
    measured: Measured,
    over: Slices,
    usage: Usage | None,
    queues: QueueReport | None = None,
    devices: DeviceFigures | None = None,
) -> dict[str, Any]:
    """Everything the charts need."""
    workloads = measured.workloads
    rows = drawn_rows([measured.delays[phase.key] for phase in measured.phases], len(workloads))
    return {
        "points": {
            "of": len(workloads),
            "names": [name[:_LONGEST_NAME] for name in workloads.names[rows]],
            "submitted": packed(workloads.at("submitted")[rows] - over.start),
            "delays": {phase.key: packed(measured.delays[phase.key][rows]) for phase in measured.phases},
        },
        "phases": [
            {
                "key": phase.key,
                "title": phase.title,
                "sentence": phase.sentence,
                "total": phase.total,
                "p50": figures.p50,
                "p99": figures.p99,
                "histogram": histogram(measured.delays[phase.key])._asdict(),
            }
            for phase, figures in zip(measured.phases, measured.figures, strict=True)
        ],
        "slices": {
            "width": over.width,
            "counts": {key: over.counted(workloads.at(key)) for key in _COUNTED if workloads.knows(key)},
        },
        "gpus": _gpus(usage, over) if usage is not None else None,
        "queues": queues.drawn(float(over.start)) if queues is not None else None,
        "devices": _devices(devices.usage, over) if devices is not None else None,
    }


def _devices(usage: Usage, over: Slices) -> dict[str, Any]:
    return {name: usage.averages(column, over.edges) for name, column in (("allocated", "inUse"), ("there", "there"))}


def _gpus(usage: Usage, over: Slices) -> dict[str, Any]:
    """The averages of slices; those of which nothing is known are left out."""
    shown = ["inUse"]
    if usage.columns["there"].any():
        shown.append("there")
    if usage.recorded:
        shown.append("stranded")
        if (usage.columns["byRun"] < usage.columns["inUse"]).any():
            shown.append("byRun")
    return {name: usage.averages(name, over.edges) for name in shown}
