"""`ghostfleet status`: how a cluster is."""

from __future__ import annotations

from typing import Annotated

import typer

from ghostfleet.cli.completion import cluster_names
from ghostfleet.cli.output import FAILED, WRONG_USAGE, Form, fail, print_structure

__all__ = ["status"]


def status(
    name: Annotated[str, typer.Argument(help="Name of the cluster.", autocompletion=cluster_names)] = "default",
    output: Annotated[Form, typer.Option("--output", "-o", help="Form of the output.")] = Form.TABLE,
) -> None:
    """Show whether a cluster answers, and what is in it. Exits with 1 when it does not run."""
    from ghostfleet.server.instances import Instance, InstanceError
    from ghostfleet.server.survey import SurveyError, survey

    try:
        instance = Instance(name)
    except InstanceError as error:
        fail(str(error), WRONG_USAGE)
    try:
        record = instance.record()
        if record is None or not instance.running:
            what = "is starting" if instance.running else "is not running"
            if why := instance.epitaph():
                fail(f"cluster {name} is not running: {why}", FAILED)
            fail(f"cluster {name} {what}; `ghostfleet up {name} --detach` starts it", FAILED)
        facts = survey(instance, record)
    except (InstanceError, SurveyError) as error:
        fail(str(error), FAILED)
    if output is Form.TABLE:
        for key, value in facts.items():
            typer.echo(f"{key.replace('_', ' ') + ':':<16}{value}{_ago(value) if key == 'started' else ''}")
    else:
        print_structure(facts, output)


def _ago(started: str) -> str:
    from ghostfleet.core.clock import WallClock
    from ghostfleet.core.timestamps import age, parse_rfc3339

    return f" ({age(WallClock().now() - parse_rfc3339(started))} ago)"
