"""`ghostfleet decisions`: what schedulers decided."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ghostfleet.cli.connecting import ClusterName, Context, Kubeconfig, connected, interrupted
from ghostfleet.cli.output import Form, print_rows

if TYPE_CHECKING:
    from ghostfleet.lab.decisions import Decision

__all__ = ["decisions"]


def decisions(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with every new one, until Ctrl-C.")] = False,
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    form: Annotated[Form, typer.Option("-o", "--output", help="How the answer is printed.")] = Form.TABLE,
) -> None:
    """Print what schedulers decided, a line each, the oldest first, as far as the cluster's events tell it."""
    from ghostfleet.lab.decisions import decisions as told
    from ghostfleet.lab.decisions import follow_decisions

    with interrupted(), connected(cluster, kubeconfig, context) as found:
        if follow:
            found.run(follow_decisions(found, lambda each: _print(each, form)))
            return
        lines = found.run(told(found))
    if form is not Form.TABLE:
        print_rows([asdict(each) for each in lines], form, [], "")
    elif not lines:
        typer.echo("No decisions: no scheduler has told of any.")
    for each in lines if form is Form.TABLE else ():
        _print(each, form)


def _print(decision: Decision, form: Form) -> None:
    """One decision in one line, at once, be it in JSON."""
    if form is Form.TABLE:
        typer.echo(f"{decision.time}  {decision.line}")
    else:
        import orjson

        typer.echo(orjson.dumps(asdict(decision)).decode())
    sys.stdout.flush()
