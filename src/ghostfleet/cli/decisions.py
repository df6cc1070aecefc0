"""`ghostfleet decisions`: what schedulers decided."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ghostfleet.cli.connecting import ClusterName, Context, Kubeconfig, connected
from ghostfleet.cli.output import Form, print_rows

__all__ = ["decisions"]


def decisions(
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    form: Annotated[Form, typer.Option("-o", "--output", help="How the answer is printed.")] = Form.TABLE,
) -> None:
    """Print what schedulers decided, a line each, the oldest first, as far as the cluster's events tell it."""
    from ghostfleet.lab.decisions import decisions as told

    with connected(cluster, kubeconfig, context) as found:
        lines = found.run(told(found))
    if form is not Form.TABLE:
        print_rows([asdict(each) for each in lines], form, [], "")
    elif not lines:
        typer.echo("No decisions: no scheduler has told of any.")
    for each in lines if form is Form.TABLE else ():
        typer.echo(f"{each.time}  {each.line}")
