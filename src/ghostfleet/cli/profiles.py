"""`ghostfleet profiles`: the figures of profiles and stage sets, and where each comes from."""

from __future__ import annotations

from typing import Annotated

import typer

from ghostfleet.cli.output import WRONG_USAGE, Form, fail, print_rows

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Profiles and stage sets: their figures, and where each comes from.")
_COLUMNS = ("figure", "value", "origin", "source")


def _names(incomplete: str) -> list[str]:
    from ghostfleet.lab.profiles import profiles

    return [name for each in profiles() if (name := each.name).startswith(incomplete)]


@app.command("list")
def list_profiles(
    output: Annotated[Form, typer.Option("--output", "-o", help="Form of the output.")] = Form.TABLE,
) -> None:
    """List profiles of clusters and dispatchers, and sets of stages."""
    from ghostfleet.lab.profiles import profiles

    print_rows([each._asdict() for each in profiles()], output, ["name", "kind"], "")


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A profile, a stage set, or a profile's file.", autocompletion=_names)],
    origin: Annotated[
        str, typer.Option(help="Only figures of this origin: published, measured, fitted, estimated or chosen.")
    ] = "",
    output: Annotated[Form, typer.Option("--output", "-o", help="Form of the output.")] = Form.TABLE,
) -> None:
    """Show the figures of one, with their origin (published, measured, fitted, estimated, chosen) and source."""
    from ghostfleet.core.profile import ORIGINS
    from ghostfleet.lab.profiles import figures

    if origin and origin not in ORIGINS:
        fail(f"--origin {origin}: expected one of {', '.join(ORIGINS)}", WRONG_USAGE)
    try:
        rows = [each._asdict() for each in figures(name) if not origin or each.origin == origin]
    except ValueError as error:
        fail(str(error), WRONG_USAGE)
    print_rows(rows, output, _COLUMNS, f"No figure of {name} is {origin}.")
