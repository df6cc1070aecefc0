"""Connecting: which cluster a command means, by options that are the same everywhere, and what to say when it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ghostfleet.cli.completion import cluster_names
from ghostfleet.cli.output import FAILED, WRONG_USAGE, fail

if TYPE_CHECKING:
    from ghostfleet.drive.access import Access
    from ghostfleet.drive.connection import Connection
    from ghostfleet.drive.interface import Cluster
    from ghostfleet.lab.records import Run

__all__ = [
    "INTERRUPTED",
    "ClusterName",
    "Context",
    "Kubeconfig",
    "chosen_access",
    "connected",
    "connected_or",
    "connected_plainly",
    "connected_to_run",
    "interrupted",
    "reporting",
]

T = TypeVar("T")
#: What a shell reports for a command that Ctrl-C has ended.
INTERRUPTED = 130

ClusterName = Annotated[
    str,
    typer.Option(
        "--cluster",
        autocompletion=cluster_names,
        help="A cluster that `ghostfleet up` started. [default: $KUBECONFIG, else the cluster `default`]",
        show_default=False,
    ),
]
Kubeconfig = Annotated[Path | None, typer.Option(help="Any other cluster, by kubeconfig.")]
Context = Annotated[str, typer.Option(help="Context in that kubeconfig; by default the current one.")]


def chosen_access(cluster: str, kubeconfig: Path | None, context: str) -> Access:
    """How the cluster that the options name is reached; they must not name two."""
    from ghostfleet.drive.choice import find_access

    if cluster and (kubeconfig is not None or context):
        fail("--cluster names a cluster of `ghostfleet up`, --kubeconfig and --context another: give one", WRONG_USAGE)
    return find_access(cluster, kubeconfig, context)


@contextmanager
def connected(cluster: str, kubeconfig: Path | None, context: str, concurrency: int = 32) -> Iterator[Cluster]:
    """The cluster that the options name; errors end the command in one line."""
    from ghostfleet.drive.remote import Remote

    with reporting(), closing(Remote(chosen_access(cluster, kubeconfig, context), concurrency)) as found:
        yield found


@contextmanager
def connected_to_run(
    run: Run | None, cluster: str, kubeconfig: Path | None, context: str, concurrency: int = 32
) -> Iterator[Cluster]:
    """The cluster that a run is on, as its record says; the options may name it too, but no other."""
    from ghostfleet.drive.remote import Remote
    from ghostfleet.lab.whereabouts import access_of, check_is_there

    named = cluster or kubeconfig is not None or context
    with reporting():
        recorded = access_of(run) if run is not None and not named else None
        access = recorded or chosen_access(cluster, kubeconfig, context)
        with closing(Remote(access, concurrency)) as found:
            if run is not None:
                check_is_there(run, found.info)
            yield found


@contextmanager
def connected_plainly(cluster: str, kubeconfig: Path | None, context: str) -> Iterator[Connection]:
    """The same for a command that only sends one request after another."""
    from ghostfleet.drive.connection import Connection

    with reporting(), closing(Connection(chosen_access(cluster, kubeconfig, context))) as found:
        yield found


@contextmanager
def connected_or(
    fresh: Callable[[], T], cluster: str, kubeconfig: Path | None, context: str, concurrency: int = 32
) -> Iterator[Cluster | T]:
    """The cluster that the options name, or where they name none, something fresh."""
    if cluster or kubeconfig is not None or context:
        with connected(cluster, kubeconfig, context, concurrency) as found:
            yield found
    else:
        with reporting():
            yield fresh()


@contextmanager
def reporting() -> Iterator[None]:
    """Errors of the lab and of the cluster end the command in one line."""
    from ghostfleet.drive.interface import ConnectionFailed, Refused
    from ghostfleet.lab.errors import LabError

    try:
        yield
    except (LabError, ConnectionFailed) as error:
        fail(str(error), WRONG_USAGE)
    except Refused as refusal:
        fail(f"the cluster refused: {refusal}", FAILED)


@contextmanager
def interrupted(*lines: str) -> Iterator[None]:
    """Ctrl-C ends the command, and these lines say how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("", err=True)
        for line in lines:
            typer.echo(line, err=True)
        raise typer.Exit(INTERRUPTED) from None
