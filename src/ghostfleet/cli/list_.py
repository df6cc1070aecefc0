"""`ghostfleet list`: the clusters of this user."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ghostfleet.cli.output import FAILED, Form, fail, print_rows

__all__ = ["list_clusters"]


def list_clusters(
    output: Annotated[Form, typer.Option("--output", "-o", help="Form of the output.")] = Form.TABLE,
) -> None:
    """List clusters, running or left behind."""
    from ghostfleet.server.instances import InstanceError, instances

    try:
        rows = [_row(instance) for instance in instances()]
    except InstanceError as error:
        fail(str(error), FAILED)
    print_rows(
        rows,
        output,
        ["name", "state", "runtime", "url", "clock", "started"],
        "No clusters. Start one: ghostfleet up --detach",
    )


def _row(instance: Any) -> dict[str, Any]:
    from ghostfleet.server.instances import InstanceError

    running = instance.running
    try:
        record = instance.record()
        state = ("running" if record is not None else "starting") if running else "stopped"
    except InstanceError:
        record, state = None, "unreadable"
    return {
        "name": instance.name,
        "state": state,
        "runtime": record.runtime if record is not None else "",
        "url": record.url if record is not None else "",
        "clock": record.clock if record is not None else "",
        "started": record.started if record is not None else "",
        "kubeconfig": str(instance.kubeconfig),
    }
