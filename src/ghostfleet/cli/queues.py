"""`ghostfleet queues`: the tree of KAI's queues with their figures, and a check of what they say."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ghostfleet.cli.connecting import ClusterName, Context, Kubeconfig, connected, interrupted, reporting
from ghostfleet.cli.output import FAILED, WRONG_USAGE, Form, fail, print_rows

if TYPE_CHECKING:
    from ghostfleet.drive.interface import Cluster
    from ghostfleet.lab.queuecheck import Finding
    from ghostfleet.lab.queues import QueueState

__all__ = ["queues"]

_COLUMNS = ["queue", "priority", "quota", "limit", "weight", "fair share", "allocated", "requested", "pending pods"]
#: What figures are printed in: cores, gigabytes (10^9 bytes) and devices.
_UNITS = {"cpu": 1000.0, "memory": 1e9, "gpu": 1.0}


def queues(
    action: Annotated[
        str, typer.Argument(metavar="[check]", help="check: find what is wrong, instead of showing the tree.")
    ] = "",
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Manifests to check; without any, the queues of a cluster and the work in them."),
    ] = None,
    resource: Annotated[
        str, typer.Option(help="Which figures the table shows: in devices, cores or GB.", metavar="gpu|cpu|memory")
    ] = "gpu",
    node_pool: Annotated[str, typer.Option(help="Of which node pool; by default of all that is in none.")] = "",
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Print the tree anew whenever it changes.")] = False,
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    form: Annotated[Form, typer.Option("-o", "--output", help="How the answer is printed.")] = Form.TABLE,
) -> None:
    """Show KAI's queues: quota, limit, weight, fair share, what they hold, what they ask for, and pods that wait.

    `queues check` finds what is wrong with them, or very likely not meant: a line and a remedy each, and exit 1.
    """
    if action not in ("", "check"):
        fail(f"queues {action}: expected check, or nothing", WRONG_USAGE)
    if resource not in _UNITS:
        fail(f"--resource {resource}: expected gpu, cpu or memory", WRONG_USAGE)
    if files:
        with reporting():
            _report(_findings_in(files), form)
        return
    with interrupted(), connected(cluster, kubeconfig, context) as found:
        if action:
            _report(_findings_on(found, node_pool), form)
        elif watch:
            found.run(_watch(found, resource, node_pool, form))
        else:
            _print(found.run(_states(found, node_pool)), resource, form)


async def _states(cluster: Cluster, node_pool: str) -> list[QueueState]:
    from ghostfleet.lab.queues import queue_states

    return await queue_states(cluster, node_pool)


async def _watch(cluster: Cluster, resource: str, node_pool: str, form: Form) -> None:
    """Look every second of cluster time, and print what is new."""
    from ghostfleet.core.clock import SECOND
    from ghostfleet.core.timestamps import rfc3339

    last: list[QueueState] | None = None
    while True:
        states = await _states(cluster, node_pool)
        if states != last:
            last = states
            if form is Form.TABLE:
                typer.echo(rfc3339(cluster.now()))
            _print(states, resource, form)
            sys.stdout.flush()
        await cluster.sleep(SECOND)


def _print(states: list[QueueState], resource: str, form: Form) -> None:
    rows = [_row(each, resource) if form is Form.TABLE else asdict(each) for each in states]
    print_rows(rows, form, _COLUMNS, "No queues.")
    if form is Form.TABLE:
        for each in states:
            if each.problem:
                typer.echo(f"{each.name}: {each.problem}; no job of it is scheduled")


def _row(state: QueueState, resource: str) -> dict[str, Any]:
    amounts, unit = state.resources[resource], _UNITS[resource]
    return {
        "queue": "  " * state.depth + state.name,
        "priority": state.priority,
        "quota": _told(amounts.quota, unit),
        "limit": _told(amounts.limit, unit),
        "weight": f"{amounts.weight:g}",
        "fair share": _told(amounts.fair_share, unit),
        "allocated": _told(amounts.allocated, unit),
        "requested": _told(amounts.requested, unit),
        "pending pods": state.pending_pods,
    }


def _told(amount: float, unit: float) -> str:
    return "unlimited" if amount == -1 else f"{amount / unit:g}"


# -- check -----------------------------------------------------------------------------------------------------------


def _findings_in(files: list[Path]) -> list[Finding]:
    from ghostfleet.core.manifests import ManifestError
    from ghostfleet.lab.queuecheck import check_files

    try:
        return check_files({str(each): _bytes_of(each) for each in files})
    except ManifestError as error:
        fail(str(error), WRONG_USAGE)


def _findings_on(cluster: Cluster, node_pool: str) -> list[Finding]:
    from ghostfleet.lab.kaistate import read_kai
    from ghostfleet.lab.queuecheck import check_cluster

    return check_cluster(cluster.run(read_kai(cluster, node_pool)))


def _report(findings: list[Finding], form: Form) -> None:
    if form is Form.TABLE:
        _print_findings(findings)
    else:
        print_rows([asdict(each) for each in findings], form, [], "")
    if findings:
        raise typer.Exit(FAILED)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        fail(f"{path}: {error.strerror}", WRONG_USAGE)


def _print_findings(findings: list[Finding]) -> None:
    for each in findings:
        where = f"{each.where}: " if each.where else ""
        typer.echo(f"{where}{each.about}: {each.problem}\n    {each.remedy}")
    count = len(findings)
    typer.echo(f"{count} finding{'' if count == 1 else 's'}." if count else "Nothing is wrong with the queues.")
