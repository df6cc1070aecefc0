"""`ghostfleet agent`: play the fake nodes of any cluster, and the pods on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ghostfleet.cli.connecting import ClusterName, Context, Kubeconfig, chosen_access
from ghostfleet.cli.output import FAILED, WRONG_USAGE, fail

if TYPE_CHECKING:
    from ghostfleet.kube.agent import Agent
    from ghostfleet.stages.settings import StageSettings

__all__ = ["agent"]


def agent(
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    stages: Annotated[
        list[str] | None,
        typer.Option(
            help="Stages by which pods and nodes live: fast, general, chaos or KWOK files; several times too."
        ),
    ] = None,
    node_annotations: Annotated[
        str, typer.Option(metavar="SELECTOR", help='Annotations of the nodes to play; "" does not ask for any.')
    ] = "kwok.x-k8s.io/node=fake",
    node_labels: Annotated[
        str, typer.Option(metavar="SELECTOR", help='Labels of the nodes to play; "" does not ask for any.')
    ] = "",
    admission: Annotated[
        bool, typer.Option(help="Reject pods that do not fit on their node, as a kubelet does.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors and warnings.")] = False,
) -> None:
    """Play the fake nodes of a cluster until Ctrl-C: their leases, their conditions, and the pods on them."""
    import logging

    from ghostfleet.drive.interface import ConnectionFailed, Refused
    from ghostfleet.kube.agent import Agent
    from ghostfleet.stages.stage import StageError

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    settings = _settings(node_annotations, node_labels, admission)
    try:
        played = Agent(chosen_access(cluster, kubeconfig, context), stages or (), settings)
        _run(played, quiet)
    except StageError as error:
        fail(str(error), WRONG_USAGE)
    except (ConnectionFailed, Refused) as error:
        fail(str(error), FAILED)


def _settings(annotations: str, labels: str, admission: bool) -> StageSettings:
    from ghostfleet.stages.settings import StageSettings

    settings = StageSettings(node_annotations=annotations, node_labels=labels, admission=admission)
    try:
        settings.manages()
    except ValueError as error:
        fail(f"--node-annotations or --node-labels: {error}", WRONG_USAGE)
    return settings


def _run(played: Agent, quiet: bool) -> None:
    from ghostfleet.kube.running import run_until_signal

    def say_ready() -> None:
        figures = played.figures
        if not quiet:
            typer.echo(f"Playing {figures.nodes} nodes and {figures.pods} pods of {played.url}; Ctrl-C ends it.")

    run_until_signal(played.run(say_ready))
    if not quiet:
        typer.echo(f"Ended after {played.figures.sent} requests.")
