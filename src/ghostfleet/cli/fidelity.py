"""`ghostfleet fidelity`: how near the embedded cluster comes to what was measured on real ones."""

from __future__ import annotations

from typing import Annotated

import typer

from ghostfleet.cli.output import FAILED, WRONG_USAGE, Form, fail, print_rows

__all__ = ["fidelity"]


def fidelity(
    mode: Annotated[str, typer.Option(help="Modes to compare; by default all that figures were published for.")] = "",
    iterations: Annotated[int, typer.Option(min=1, help="Trials for each figure.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of all that is random.")] = 0,
    form: Annotated[Form, typer.Option("-o", "--output", help="How the comparison is printed.")] = Form.TABLE,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Repeat published stress tests on the embedded cluster and compare the times.

    Exit code 1 when a mode's mean error is over 5 % or any single one over 10 %.
    """
    from ghostfleet.cli.bars import shown
    from ghostfleet.lab import fidelity as lab
    from ghostfleet.lab.errors import LabError

    modes = mode.split(",") if mode else lab.published_modes()
    try:
        with shown(quiet) as progress:
            compared = lab.compare(modes, progress, iterations=iterations, seed=seed)
    except LabError as error:
        fail(str(error), WRONG_USAGE)
    if not quiet:
        rows = [
            {
                "mode": each.mode,
                "jobs": each.jobs,
                "published_s": f"{each.published:g}",
                "ours_s": f"{each.ours:.1f}",
                "error": f"{each.error:+.1%}",
            }
            for each in compared
        ]
        print_rows(rows, form, ("mode", "jobs", "published_s", "ours_s", "error"), "Nothing to compare.")
        if form is Form.TABLE:
            for name in modes:
                typer.echo(f"{name}: mean error {lab.mean_error(compared, name):.1%}; figures: {lab.source(name)}")
    if not lab.holds(compared):
        fail(f"the mean error is to be at most {lab.MEAN_ERROR:.0%}, and each at most {lab.LARGEST_ERROR:.0%}", FAILED)
