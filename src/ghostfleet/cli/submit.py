"""`ghostfleet submit`: submit many workloads, in iterations or at a rate."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ghostfleet.cli import workloads as options
from ghostfleet.cli.bars import shown
from ghostfleet.cli.connecting import ClusterName, Context, Kubeconfig, connected_to_run, interrupted, reporting
from ghostfleet.cli.groups import taking
from ghostfleet.cli.output import FAILED, WRONG_USAGE, fail

if TYPE_CHECKING:
    from ghostfleet.lab.plan import Plan
    from ghostfleet.lab.submit import Submitter

__all__ = ["submit"]


@taking(plan=options.workload_plan)
def submit(
    *,
    output_dir: options.OutputDir = Path("logs"),
    num_workloads: Annotated[
        int | None, typer.Option("--num-workloads", "-n", min=1, help="Number of workloads to submit.")
    ] = None,
    plan: Plan,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the run in the output dir; its options are those it began with."),
    ] = False,
    force: options.Force = False,
    create_project: options.CreateProject = False,
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: options.Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Submit workloads: so many at once, wait for all of them, sleep, and again; exactly as many as asked for."""
    from ghostfleet.lab.directory import RunDirectory
    from ghostfleet.lab.submit import Submitter, prepare
    from ghostfleet.lab.submit import resume as resumed

    directory = RunDirectory(output_dir)
    with reporting():
        run = resumed(directory) if resume else None
        if run is not None:
            plan = run
        elif num_workloads is None:
            fail("say how many workloads: --num-workloads N (or -n N)", WRONG_USAGE)
        else:
            plan = replace(plan, count=num_workloads)
            plan.check()
    go_on = f"What was submitted is in {output_dir}; go on with: ghostfleet submit --resume -o {output_dir}"
    with (
        interrupted(go_on),
        connected_to_run(run, cluster, kubeconfig, context, max(32, plan.processes)) as found,
        shown(quiet or json) as progress,
    ):

        async def work() -> Submitter:
            record = run or await prepare(found, directory, plan, force=force)
            submitter = Submitter(found, directory, record, progress, create_project=create_project)
            await submitter.submit()
            return submitter

        done = found.run(work())
    _tell(done, output_dir, quiet=quiet, json=json)
    if done.failed:
        raise typer.Exit(FAILED)


def _tell(done: Submitter, output_dir: Path, *, quiet: bool, json: bool) -> None:
    run = done.run
    if json:
        import orjson

        facts = {"run": run.run, "submitted": done.submitted, "failed": done.failed, "outputDir": str(output_dir)}
        sys.stdout.buffer.write(orjson.dumps(facts, option=orjson.OPT_APPEND_NEWLINE))
        return
    if done.failed:
        typer.echo(
            f"ghostfleet: {done.failed:,} of {run.count:,} could not be submitted; {output_dir}/submitted.json says "
            "why, and --resume tries them again",
            err=True,
        )
    if not quiet:
        where, kind = ("", "") if run.mix else (f" to project {run.project}", f"-t {run.type} ")
        typer.echo(f"Submitted {done.submitted:,} {run.what}{where} (run {run.run}) in {run.labSeconds:,.1f} s.")
        typer.echo(f"  sample them   ghostfleet sample {kind}-o {output_dir}")
        typer.echo(f"  remove them   ghostfleet clean -o {output_dir}")
