"""`ghostfleet doctor`: what a cluster offers and lacks for each test."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from ghostfleet.cli.completion import workload_types
from ghostfleet.cli.connecting import ClusterName, Context, Kubeconfig, connected, reporting
from ghostfleet.cli.output import FAILED, Form, print_rows

__all__ = ["doctor"]


def doctor(
    workload_type: Annotated[
        str,
        typer.Option(
            "--workload-type",
            "-t",
            metavar="TYPE",
            autocompletion=workload_types,
            help="Exit with 1 if this type lacks something.",
        ),
    ] = "",
    project: Annotated[str, typer.Option("--project", help="Project that would be submitted to.")] = "project-0",
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output: Annotated[Form, typer.Option("--output", "-o", help="Form of the output.")] = Form.TABLE,
) -> None:
    """Look at a cluster and say what each test type finds there, and what it lacks."""
    from ghostfleet.lab.doctor import examine
    from ghostfleet.lab.types import workload_type as known

    with reporting():
        if workload_type:
            known(workload_type)
    with connected(cluster, kubeconfig, context) as found:
        diagnosis = found.run(examine(found, project))
    types = [each for each in diagnosis.types if not workload_type or each.type == workload_type]
    findings = [asdict(each) for each in diagnosis.findings]
    rows = [
        {"type": each.type, "ready": "yes" if each.ready else "no", "lacking": ", ".join(each.lacking) or "nothing"}
        for each in types
    ]
    if output is Form.TABLE:
        print_rows(findings, output, ["check", "state", "detail"], "")
        typer.echo("")
        print_rows(rows, output, ["type", "ready", "lacking"], "")
    else:
        listed = [{"type": each.type, "ready": each.ready, "lacking": list(each.lacking)} for each in types]
        _print_all({"checks": findings, "types": listed}, output)
    if workload_type and not types[0].ready:
        raise typer.Exit(FAILED)


def _print_all(found: dict[str, object], form: Form) -> None:
    if form is Form.JSON:
        import orjson

        sys.stdout.buffer.write(orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    else:
        import yaml

        typer.echo(yaml.safe_dump(found, sort_keys=False), nl=False)
