"""`ghostfleet plot`: times.csv, pictures and report.html from what was submitted and sampled."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ghostfleet.cli.output import WRONG_USAGE, fail

__all__ = ["PlotType", "plot"]


class PlotType(StrEnum):
    """Which picture is drawn."""

    GENERAL = "general"
    DETAILED = "detailed"


def plot(
    output_dir: Annotated[Path, typer.Option("--output-dir", "-o", help="Output dir.")] = Path("logs"),
    which: Annotated[PlotType, typer.Option("--plot", help="Plot type.")] = PlotType.GENERAL,
    skip_errors: Annotated[
        bool, typer.Option(help="Skip workloads with erroneous times, excluding them from the graphs.")
    ] = True,
    head: Annotated[
        int | None, typer.Option(min=1, help="Process only this number of workloads from the start.")
    ] = None,
    tail: Annotated[int | None, typer.Option(min=1, help="Process only this number of workloads from the end.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that ghostfleet did not write.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Make times.csv, a PNG and report.html of a run, and print how long each phase took."""
    from ghostfleet.lab.directory import RunDirectory
    from ghostfleet.lab.errors import LabError
    from ghostfleet.report import summary_lines, write_report

    try:
        summary = write_report(
            RunDirectory(output_dir),
            plots=(which.value,),
            skip_errors=skip_errors,
            head=head,
            tail=tail,
            force=force,
        )
    except LabError as error:
        fail(str(error), WRONG_USAGE)
    if json:
        import orjson

        sys.stdout.buffer.write(orjson.dumps(summary.as_json(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    elif not quiet:
        for line in summary_lines(summary):
            typer.echo(line)
        typer.echo(f"Wrote {', '.join(str(path) for path in summary.files)}")
