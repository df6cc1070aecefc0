"""What a stress test leaves behind: a CSV of all trials, a summary in Markdown, pod tables and a picture.

A *row* of the summary is the average over the trials of one mode and number of Jobs.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from ghostfleet.lab.stress import MODES, PodTimes, Trial
from ghostfleet.report.figures import can_draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["StressRow", "pod_table", "stress_csv", "stress_markdown", "stress_png", "summary"]

_COLUMNS = (
    "mode",
    "jobs",
    "pods",
    "seconds",
    "exact",
    "submitted",
    "last_pod_created",
    "last_pod_finished",
    "last_completion",
)
_SHOWN_PODS = 3
_COLOURS = ("#3b6fb6", "#c4472f", "#4d8f5b", "#8a5fb0", "#b58a2e")


@dataclass(frozen=True, slots=True)
class StressRow:
    """One mode and number of Jobs."""

    mode: str
    jobs: int
    pods: int
    iterations: int
    #: On average, in the shell's whole seconds.
    seconds: float

    @property
    def about(self) -> str:
        return MODES[self.mode].about


def summary(trials: Iterable[Trial]) -> list[StressRow]:
    """Averages by mode and number of Jobs, in the order in which they were tried."""
    grouped: dict[tuple[str, int, int], list[Trial]] = {}
    for trial in trials:
        grouped.setdefault((trial.mode, trial.jobs, trial.pods), []).append(trial)
    return [StressRow(*key, len(group), fmean(trial.seconds for trial in group)) for key, group in grouped.items()]


def stress_csv(trials: Iterable[Trial]) -> str:
    """All trials, a line each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for trial in trials:
        writer.writerow(
            round(value, 3) if isinstance(value := getattr(trial, column), float) else value for column in _COLUMNS
        )
    return text.getvalue()


def stress_markdown(rows: Sequence[StressRow]) -> str:
    """The summary: a table for each mode, and where there are several modes, one that compares them."""
    parts = []
    modes = list(dict.fromkeys(row.mode for row in rows))
    for mode in modes:
        lines = ["| Jobs | Pods | Total time to complete (s) | Cluster Info |", "|---|---|---|---|"]
        lines += [
            f"| {row.jobs} | {row.pods} | {row.seconds:g} | {row.about if number == 0 else ''} |"
            for number, row in enumerate(row for row in rows if row.mode == mode)
        ]
        parts.append("\n".join(lines))
    if len(modes) > 1:
        lines = [f"| Jobs | {' | '.join(modes)} |", "|---" * (len(modes) + 1) + "|"]
        found = {(row.mode, row.jobs): f"{row.seconds:g}" for row in rows}
        for jobs in dict.fromkeys(row.jobs for row in rows):
            lines.append(f"| {jobs} | {' | '.join(found.get((mode, jobs), '') for mode in modes)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def pod_table(times: Sequence[PodTimes], *, short: bool = False) -> str:
    """When pods and containers started, in the words of the published command; `short` shows the first ones only."""
    lines = ["POD NAME PODSTARTTIME CONTAINERSTARTTIME CONTAINERFINISHTIME TIMETOSTART"]
    for pod in times[: _SHOWN_PODS if short else None]:
        minutes, seconds = divmod(pod.time_to_start, 60)
        took = f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
        lines.append(f"{pod.name} {pod.pod_started} {pod.container_started} {pod.container_finished} {took}")
    if short and len(times) > _SHOWN_PODS:
        lines.append(f"... and {len(times) - _SHOWN_PODS} more")
    return "\n".join(lines) + "\n"


def stress_png(rows: Sequence[StressRow]) -> bytes | None:
    """Time to complete over the number of Jobs, a line for each mode; None without matplotlib."""
    if not can_draw():
        return None
    from matplotlib.figure import Figure

    figure: Figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for number, mode in enumerate(dict.fromkeys(row.mode for row in rows)):
        mine = sorted((row.jobs, row.seconds) for row in rows if row.mode == mode)
        colour = _COLOURS[number % len(_COLOURS)]
        axes.plot([jobs for jobs, _ in mine], [seconds for _, seconds in mine], "o-", color=colour, label=mode)
    axes.set(xlabel="Jobs submitted", ylabel="Time to complete (s)", title="Time until all Jobs are complete")
    axes.set_ylim(bottom=0)
    axes.grid(color="#d9dee5", linewidth=0.6)
    axes.legend()
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    return picture.getvalue()
