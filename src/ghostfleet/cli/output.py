"""Output: errors in one line, and results as a table, JSON or YAML."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NoReturn

import typer

__all__ = ["FAILED", "WRONG_USAGE", "Form", "fail", "print_rows", "print_structure"]

FAILED = 1
WRONG_USAGE = 2


class Form(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def fail(message: str, code: int = FAILED) -> NoReturn:
    """End the command with one line that says what is wrong."""
    typer.echo(f"ghostfleet: {message}", err=True)
    raise typer.Exit(code)


def print_rows(rows: Sequence[Mapping[str, Any]], form: Form, columns: Sequence[str], nothing: str) -> None:
    """Print rows; `columns` are their keys in the order of the table, `nothing` stands for no rows."""
    if form is Form.JSON:
        import orjson

        sys.stdout.buffer.write(orjson.dumps(list(rows), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    elif form is Form.YAML:
        import yaml

        typer.echo(yaml.safe_dump([dict(row) for row in rows], sort_keys=False), nl=False)
    elif not rows:
        typer.echo(nothing)
    else:
        _print_table(rows, columns)


def _print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Columns as kubectl sets them: upper case, three spaces apart."""
    cells = [[column.upper().replace("_", "-") for column in columns]]
    cells += [[str(row[column]) for column in columns] for row in rows]
    widths = [max(len(line[index]) for line in cells) for index in range(len(columns))]
    for line in cells:
        typer.echo("   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def print_structure(value: object, form: Form) -> None:
    """Dataclasses, or several of them, as JSON or YAML."""
    import orjson

    # Named tuples are told by their names.
    text = orjson.dumps(
        value, default=lambda each: each._asdict(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    )
    if form is Form.YAML:
        import yaml

        typer.echo(yaml.safe_dump(orjson.loads(text), sort_keys=False), nl=False)
    else:
        sys.stdout.buffer.write(text)
