"""`ghostfleet down`: end clusters."""

from __future__ import annotations

from typing import Annotated

import typer

from ghostfleet.cli.completion import cluster_names
from ghostfleet.cli.output import FAILED, WRONG_USAGE, fail

__all__ = ["down"]


def down(
    name: Annotated[str, typer.Argument(help="Name of the cluster.", autocompletion=cluster_names)] = "default",
    everything: Annotated[bool, typer.Option("--all", help="End all clusters of this user.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """End a running cluster and forget it; its context leaves your kubeconfig if it was merged there."""
    from ghostfleet.server.instances import Instance, InstanceError, instances
    from ghostfleet.server.launch import end

    try:
        chosen = instances() if everything else [Instance(name)]
    except InstanceError as error:
        fail(str(error), WRONG_USAGE)
    if not everything and not chosen[0].directory.exists():
        known = ", ".join(each.name for each in instances()) or "none"
        fail(f"there is no cluster {name}; known: {known}")
    for instance in chosen:
        try:
            was_running = end(instance)
        except InstanceError as error:
            fail(str(error), FAILED)
        if not quiet:
            what = "has ended" if was_running else "was not running; what it left behind is cleared away"
            typer.echo(f"Cluster {instance.name} {what}.")
    if everything and not chosen and not quiet:
        typer.echo("No clusters.")
