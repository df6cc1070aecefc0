"""`ghostfleet up`: start a cluster, here or in the background."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ghostfleet.cli.completion import profiles, stage_sets
from ghostfleet.cli.output import FAILED, WRONG_USAGE, fail

if TYPE_CHECKING:
    from ghostfleet.server.instances import Instance

__all__ = ["up"]


class Runtime(StrEnum):
    """What a cluster is made of."""

    EMBEDDED = "embedded"
    KUBERNETES = "kubernetes"


def up(
    name: Annotated[str, typer.Argument(help="Name of the cluster; several can run side by side.")] = "default",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 0,
    address: Annotated[str, typer.Option(help="Address to listen on; loopback only, unless TLS is on.")] = "127.0.0.1",
    clock: Annotated[
        str, typer.Option(metavar="wall|scaled:N", help="Pace of cluster time; scaled:10 runs ten times as fast.")
    ] = "wall",
    tls: Annotated[
        bool, typer.Option(help="Serve HTTPS with a certificate authority of its own; kubectl sends tokens only there.")
    ] = True,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Run in the background; end it with `down`.")] = False,
    nodes: Annotated[int, typer.Option(min=0, help="Fake nodes to start with.")] = 0,
    gpus: Annotated[int, typer.Option(min=0, help="GPUs of each of them.")] = 0,
    profile: Annotated[
        str,
        typer.Option(
            autocompletion=profiles,
            help="How fast the cluster's components work: instant, or kubernetes with its rate limits.",
        ),
    ] = "instant",
    stages: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=stage_sets,
            help="Stages by which pods and nodes live: fast, general, stress, kind, chaos or KWOK files; "
            "several times too.",
        ),
    ] = None,
    commands: Annotated[
        str,
        typer.Option(
            metavar="ignored|endless|played",
            help="What counts of containers' commands: nothing, as in KWOK; that they never end (`sleep infinity`), "
            "as is the default with a dispatcher; or how long they sleep.",
        ),
    ] = "",
    scheduler: Annotated[
        list[str] | None, typer.Option(help="A scheduler of your own, path.py:Class; may be given several times.")
    ] = None,
    scheduler_config: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="A KubeSchedulerConfiguration file.")
    ] = None,
    dispatcher: Annotated[
        str,
        typer.Option(
            metavar="NAME[:FIGURE=VALUE,...]",
            help="A dispatcher of AppWrappers in front of the scheduler: mcad-1.32, mcad-1.40 or better.",
        ),
    ] = "",
    disable: Annotated[
        str, typer.Option(metavar="PART,...", help="Leave out controllers, scheduler, stages, kubeflow or runai.")
    ] = "",
    project: Annotated[
        list[str] | None,
        typer.Option(help="A Run:ai project to have beside project-0: namespace runai-NAME; several times too."),
    ] = None,
    runtime: Annotated[
        Runtime, typer.Option(help="Our own cluster in one process, or a real control plane on this machine.")
    ] = Runtime.EMBEDDED,
    bin_dir: Annotated[
        Path | None,
        typer.Option(help="Where the programs of a real control plane are; else where `make kube` put them."),
    ] = None,
    component_arg: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROGRAM=--FLAG=VALUE",
            help="A flag for a program of a real control plane, kube-scheduler=--v=4; may be given several times.",
        ),
    ] = None,
    seed: Annotated[str, typer.Option(help="Seed of all that is random in the cluster; empty draws one.")] = "",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Start a cluster and serve it until Ctrl-C, or in the background with --detach."""
    from ghostfleet.server.instances import Instance, InstanceError
    from ghostfleet.server.launch import LaunchError, Settings, check, launch, launch_detached

    settings = Settings(
        name=name,
        address=address,
        port=port,
        clock=clock,
        tls=tls,
        seed=seed,
        nodes=nodes,
        gpus=gpus,
        profile=profile,
        stages=tuple(stages or ()),
        commands=commands,
        scheduler=tuple(scheduler or ()),
        scheduler_config=str(scheduler_config or ""),
        dispatcher=dispatcher,
        disable=tuple(part for part in disable.split(",") if part),
        project=tuple(project or ()),
        runtime=runtime.value,
        bin_dir=str(bin_dir or ""),
        component_arg=tuple(component_arg or ()),
    )
    run = launch
    try:
        check(settings)
        if runtime is Runtime.KUBERNETES:
            from ghostfleet.kube.launch import arguments_for, programs_for
            from ghostfleet.kube.launch import launch as launch_real

            arguments_for(settings, programs_for(settings))
            run = launch_real
        instance = Instance(name)
    except (LaunchError, InstanceError) as error:
        fail(str(error), WRONG_USAGE)
    try:
        if detach:
            launch_detached(settings)
            if not quiet:
                _say_ready(instance, detached=True)
        else:
            run(settings, on_ready=lambda: None if quiet else _say_ready(instance, detached=False))
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
