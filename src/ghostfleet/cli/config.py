"""`ghostfleet config`: where the values of options come from."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ghostfleet.cli.output import WRONG_USAGE, Form, fail, print_rows

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Settings: where the values of options come from.")


@app.callback()
def _group() -> None:
    """Settings: where the values of options come from."""


@app.command("show")
def show(
    context: typer.Context,
    command: Annotated[str, typer.Argument(help="Only the options of this command, such as submit.")] = "",
    changed: Annotated[bool, typer.Option("--changed", help="Only what is set somewhere.")] = False,
    output: Annotated[Form, typer.Option("--output", "-o", help="Form of the output.")] = Form.TABLE,
) -> None:
    """Show the value of each option and where it was set: default, a ghostfleet.toml or the environment."""
    from ghostfleet.cli.defaults import options_of, user_settings

    group = context.find_root().command
    options = {
        words: found for words, found in options_of(group).items() if not command or " ".join(words).startswith(command)
    }
    if not options:
        known = ", ".join(sorted({words[0] for words in options_of(group)}))
        fail(f"there is no command {command}; known are {known}", WRONG_USAGE)
    settings = user_settings(context)
    rows = []
    for words, found in options.items():
        for name, parameter in found:
            given = settings.get(words, name)
            if given is None and changed:
                continue
            value = given.value if given is not None else parameter.default
            source = given.source if given is not None else "default"
            rows.append({"key": ".".join((*words, name)), "value": _plain(value), "source": source})
    print_rows(rows, output, ["key", "value", "source"], "Nothing is set; all options have their defaults.")


def _plain(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return " ".join(str(each) for each in value)
    return value if isinstance(value, bool | int | float) else str(value)
