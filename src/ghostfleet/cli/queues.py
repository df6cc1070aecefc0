"""`ghostfleet queues`: the tree of KAI's queues with their figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ghostfleet.cli.connecting import ClusterName, Context, Kubeconfig, connected
from ghostfleet.cli.output import FAILED, WRONG_USAGE, Form, fail, print_rows

if TYPE_CHECKING:
    from ghostfleet.lab.queues import QueueState

__all__ = ["queues"]

_COLUMNS = ["queue", "priority", "quota", "limit", "weight", "fair share", "allocated", "requested", "pending pods"]
#: What figures are printed in: cores, gigabytes (10^9 bytes) and devices.
_UNITS = {"cpu": 1000.0, "memory": 1e9, "gpu": 1.0}


def queues(
    resource: Annotated[
        str, typer.Option(help="Which figures the table shows: in devices, cores or GB.", metavar="gpu|cpu|memory")
    ] = "gpu",
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    form: Annotated[Form, typer.Option("-o", "--output", help="How the answer is printed.")] = Form.TABLE,
) -> None:
    """Show KAI's queues: quota, limit, weight, fair share, what they hold, what they ask for, and pods that wait."""
    from ghostfleet.lab.errors import LabError
    from ghostfleet.lab.queues import queue_states

    if resource not in _UNITS:
        fail(f"--resource {resource}: expected gpu, cpu or memory", WRONG_USAGE)
    with connected(cluster, kubeconfig, context) as found:
        try:
            states = found.run(queue_states(found))
        except LabError as error:
            fail(str(error), FAILED)
    rows = [_row(each, resource) if form is Form.TABLE else _structure(each) for each in states]
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


def _structure(state: QueueState) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(state)
