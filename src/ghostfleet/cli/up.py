"""`ghostfleet up`: start a cluster, here or in the background."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ghostfleet.cli.groups import flag_group, taking
from ghostfleet.cli.output import FAILED, WRONG_USAGE, fail
from ghostfleet.server.launchconfig import LaunchConfig, Runtime

if TYPE_CHECKING:
    from ghostfleet.server.instances import Instance

__all__ = ["up"]


@taking(config=flag_group(LaunchConfig, LaunchConfig))
def up(
    *,
    name: Annotated[str, typer.Argument(help="Name of the cluster; several can run side by side.")] = "default",
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Run in the background; end it with `down`.")] = False,
    config: LaunchConfig,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Start a cluster and serve it until Ctrl-C, or in the background with --detach."""
    from ghostfleet.server.instances import Instance, InstanceError
    from ghostfleet.server.launch import LaunchError, check, launch, launch_detached

    config = replace(config, name=name)
    run = launch
    try:
        check(config)
        if config.runtime is Runtime.KUBERNETES:
            from ghostfleet.kube.launch import arguments_for, programs_for
            from ghostfleet.kube.launch import launch as launch_real

            arguments_for(config, programs_for(config))
            run = launch_real
        instance = Instance(name)
    except (LaunchError, InstanceError) as error:
        fail(str(error), WRONG_USAGE)
    try:
        if detach:
            launch_detached(config)
            if not quiet:
                _say_ready(instance, detached=True)
        else:
            run(config, on_ready=lambda: None if quiet else _say_ready(instance, detached=False))
            if not quiet:
                typer.echo(f"Cluster {name} has ended.")
    except (LaunchError, InstanceError) as error:
        fail(str(error), FAILED)


def _say_ready(instance: Instance, *, detached: bool) -> None:
    """Where the cluster is, how to use it, how to end it."""
    from ghostfleet.server.launch import missing_speedups

    record = instance.record()
    assert record is not None
    typer.echo(f"Cluster {record.name} is ready at {record.url} (Kubernetes {record.version}, clock: {record.clock})")
    typer.echo(f"  use it    export KUBECONFIG={_short(instance.kubeconfig)}")
    typer.echo("            kubectl get nodes")
    typer.echo(f"  or        ghostfleet kubeconfig {record.name} --merge")
    if record.url.startswith("http:"):
        typer.echo("  note      kubectl sends no token over plain HTTP; leave out --no-tls to use it")
    typer.echo(f"  end it    {'ghostfleet down ' + record.name if detached else 'Ctrl-C'}")
    missing = missing_speedups()
    if missing:
        typer.echo(f"  faster    pip install 'ghostfleet[fast]'   ({', '.join(missing)} not installed)")
    sys.stdout.flush()


def _short(path: Path) -> str:
    """A path with ~ for the home directory, where a shell would expand it."""
    try:
        return f"~/{path.relative_to(Path.home())}"
    except ValueError:
        return str(path)
