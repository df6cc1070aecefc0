"""A run's files in, its report out: `times.csv`, the pictures and `report.html`, each written in one step."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ghostfleet.lab.directory import RunDirectory
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.records import Run, Sample
from ghostfleet.report.classes import ClassFigures, class_column, class_figures
from ghostfleet.report.devices import DeviceFigures, recorded_devices
from ghostfleet.report.figures import PLOTS, Plot, can_draw, figure_png, rows_of
from ghostfleet.report.page import report_page
from ghostfleet.report.phases import Measured, PhaseFigures, WorkloadCounts, measure
from ghostfleet.report.queues import queue_report
from ghostfleet.report.series import slices
from ghostfleet.report.times import times_csv
from ghostfleet.report.usage import Usage, held_usage, recorded_usage
from ghostfleet.report.why import HeldUp, held_up, knows_limits
from ghostfleet.report.workloads import JoinedRun, join

__all__ = ["Summary", "write_report"]

_NO_PICTURES = "no PNG was drawn: matplotlib is not installed; `pip install 'ghostfleet[plots]'` brings it"


@dataclass(frozen=True, slots=True)
class Summary:
    """What a report says, in short."""

    counts: WorkloadCounts
    phases: Sequence[PhaseFigures]
    #: What was written.
    files: Sequence[Path]
    #: What the reader should know, such as a picture that could not be drawn.
    notes: Sequence[str]
    #: Utilisation, fragmentation and waiting time; queues and evictions where there is KAI.
    figures: Mapping[str, Any]
    #: Which limits held things up, the worst first.
    limits: Sequence[HeldUp]
    #: All that made the run; None where there is no record of it.
    run: Run | None
    #: The classes of a run's mix; none where it has no mix.
    classes: Sequence[ClassFigures] = ()
    #: DRA devices and claims; None where no devices were seen.
    devices: DeviceFigures | None = None

    def as_json(self) -> dict[str, Any]:
        made = self.run.written() if self.run is not None else None
        return {
            "run": {key: value for key, value in made.items() if key not in ("figures", "limits")} if made else None,
            "counts": asdict(self.counts),
            "phases": [each.as_json() for each in self.phases],
            "figures": dict(self.figures),
            "limits": [each._asdict() for each in self.limits],
            "modelledLimits": knows_limits(self.run),
            "files": [str(path) for path in self.files],
            "notes": list(self.notes),
            **({"classes": [each.as_json() for each in self.classes]} if self.classes else {}),
        }


def write_report(
    directory: RunDirectory,
    *,
    plots: Sequence[Plot] = PLOTS,
    skip_errors: bool = True,
    head: int | None = None,
    tail: int | None = None,
    force: bool = False,
) -> Summary:
    """Write the report of a run into its directory. Raises LabError when there is nothing to report from."""
    submitted, samples, run = directory.require_submissions(), directory.samples(), directory.run()
    joined = join(submitted, samples)
    measured = measure(joined, skip_errors=skip_errors, head=head, tail=tail)
    usage = _usage(directory, samples, joined, run)
    devices = recorded_devices(directory.devices())
    classes = class_figures(measured, submitted)
    notes: list[str] = []
    contents: dict[str, bytes] = {"times.csv": times_csv(measured, class_column(measured, submitted)).encode()}
    for plot in plots:
        if not can_draw():
            notes.append(_NO_PICTURES)
            break
        if rows_of(plot, measured):
            contents[f"{plot}.png"] = figure_png(plot, measured)
        else:
            notes.append(f"{plot}.png was not drawn: no workload went through a phase that it shows")
    queues = queue_report(directory.queues())
    contents["report.html"] = report_page(measured, run, usage, classes, queues, devices).encode()
    directory.own.claim(contents, force=force)
    files = [_written(directory.path / name, content) for name, content in contents.items()]
    figures = run_figures(measure(joined) if head or tail else measured, usage)
    if queues is not None:
        figures |= queues.as_json()
    if devices is not None:
        figures["devices"] = devices.as_json()
    if run is not None and run.state == "submitted":
        # Nobody else writes it any more.
        run.figures = figures
        directory.write_run(run)
    limits = held_up(run, usage)
    return Summary(measured.counts, measured.figures, files, notes, figures, limits, run, classes, devices)


def run_figures(measured: Measured, usage: Usage | None) -> dict[str, Any]:
    """Utilisation and fragmentation where they are known, and how long workloads waited until their pods had nodes."""
    workloads = measured.workloads
    start = float(workloads.at("submitted").min()) if len(workloads) else 0.0
    waited = next((each for each in measured.figures if each.key == "totalBound"), None)
    waiting: dict[str, Any] = {"placed": 0} if waited is None else {"placed": waited.count, **waited.delays()}
    waiting["notPlaced"] = int((np.isnan(workloads.at("bound")) & ~workloads.failed).sum())
    if usage is None:
        return {"waiting": waiting}
    if usage.recorded:
        waiting["mostPods"] = int(usage.columns["waitingPods"].max())
        waiting["mostGpus"] = int(usage.columns["waiting"].max())
        waiting["noRoomSeconds"] = usage.refused_seconds
    return {**usage.as_json(start), "waiting": waiting}


def _usage(directory: RunDirectory, samples: Sequence[Sample], joined: JoinedRun, run: Run | None) -> Usage | None:
    recorded = recorded_usage(directory.occupancy())
    if recorded is not None or not len(joined.workloads):
        return recorded
    capacity = float((run.cluster.get("gpus") if run is not None else 0) or 0)
    return held_usage(samples, float(slices(joined.workloads).edges[-1]), capacity)


def _written(path: Path, content: bytes) -> Path:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise LabError(f"cannot write {path}: {error.strerror}") from error
    return path
