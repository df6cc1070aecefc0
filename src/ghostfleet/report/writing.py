"""A run's files in, its report out: `times.csv`, the pictures and `report.html`, each written in one step."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ghostfleet.lab.directory import RunDirectory
from ghostfleet.lab.errors import LabError
from ghostfleet.report.classes import ClassFigures, class_column, class_figures
from ghostfleet.report.figures import PLOTS, Plot, can_draw, figure_png, rows_of
from ghostfleet.report.page import report_page
from ghostfleet.report.phases import Counts, PhaseFigures, measure
from ghostfleet.report.times import times_csv
from ghostfleet.report.workloads import join

__all__ = ["Summary", "write_report"]

_NO_PICTURES = "no PNG was drawn: matplotlib is not installed; `pip install 'ghostfleet[plots]'` brings it"


@dataclass(frozen=True, slots=True)
class Summary:
    """What a report says, in short."""

    counts: Counts
    phases: Sequence[PhaseFigures]
    #: What was written.
    files: Sequence[Path]
    #: What the reader should know, such as a picture that could not be drawn.
    notes: Sequence[str]
    #: The classes of a run's mix; none where it has no mix.
    classes: Sequence[ClassFigures] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "counts": asdict(self.counts),
            "phases": [each.as_json() for each in self.phases],
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
    submitted = directory.require_submissions()
    joined = join(submitted, directory.samples())
    measured = measure(joined, skip_errors=skip_errors, head=head, tail=tail)
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
    contents["report.html"] = report_page(measured, directory.run(), classes).encode()
    directory.own.claim(contents, force=force)
    files = [_written(directory.path / name, content) for name, content in contents.items()]
    return Summary(measured.counts, measured.figures, files, notes, classes)


def _written(path: Path, content: bytes) -> Path:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise LabError(f"cannot write {path}: {error.strerror}") from error
    return path
