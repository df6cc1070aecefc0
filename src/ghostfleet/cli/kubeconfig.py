"""`ghostfleet kubeconfig`: print a cluster's kubeconfig, or merge it into the user's."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from ghostfleet.cli.completion import cluster_names
from ghostfleet.cli.output import FAILED, WRONG_USAGE, fail

__all__ = ["kubeconfig"]


def kubeconfig(
    name: Annotated[str, typer.Argument(help="Name of the cluster.", autocompletion=cluster_names)] = "default",
    merge: Annotated[
        bool, typer.Option("--merge", help="Add it to your own kubeconfig and make it the current context.")
    ] = False,
    path: Annotated[bool, typer.Option("--path", help="Print only where the file is.")] = False,
) -> None:
    """Print the kubeconfig of a running cluster."""
    from ghostfleet.server.instances import Instance, InstanceError
    from ghostfleet.server.kubeconfig import KubeconfigError, default_path, entry_name
    from ghostfleet.server.kubeconfig import merge as merge_into

    try:
        instance = Instance(name)
    except InstanceError as error:
        fail(str(error), WRONG_USAGE)
    try:
        text = instance.kubeconfig.read_text()
    except FileNotFoundError:
        fail(f"cluster {name} is not running; `ghostfleet up {name} --detach` starts it", FAILED)
    except OSError as error:
        fail(f"cannot read {instance.kubeconfig}: {error.strerror}", FAILED)
    if path:
        typer.echo(str(instance.kubeconfig))
    elif merge:
        import yaml

        target = default_path(os.environ)
        if target.resolve() == instance.kubeconfig.resolve():
            fail(
                f"KUBECONFIG is {target}, the cluster's own file, which has it already; "
                "to merge it into ~/.kube/config: unset KUBECONFIG, then the same again",
                WRONG_USAGE,
            )
        try:
            merge_into(target, yaml.safe_load(text))
        except (KubeconfigError, OSError) as error:
            fail(str(error), FAILED)
        typer.echo(f"Added context {entry_name(name)} to {target} and made it the current one.")
    else:
        typer.echo(text, nl=False)
