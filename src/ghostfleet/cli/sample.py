"""`ghostfleet sample`: what the cluster tells about the workloads of a run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ghostfleet.cli import workloads as options
from ghostfleet.cli.bars import shown
from ghostfleet.cli.connecting import (
    INTERRUPTED,
    ClusterName,
    Context,
    Kubeconfig,
    connected_to_run,
    interrupted,
    reporting,
)
from ghostfleet.cli.groups import taking
from ghostfleet.cli.output import FAILED, WRONG_USAGE, fail

if TYPE_CHECKING:
    from ghostfleet.drive.interface import Cluster
    from ghostfleet.lab.directory import RunDirectory
    from ghostfleet.lab.records import Run
    from ghostfleet.lab.sample import Sampled
    from ghostfleet.lab.types import WorkloadType

__all__ = ["sample"]


@taking(workload_type=options.workload_type_name)
def sample(
    *,
    output_dir: options.OutputDir = Path("logs"),
    workload_type: str,
    project: Annotated[str, typer.Option("--project", "-p", help="Project to sample; by default all of the run.")] = "",
    follow: Annotated[
        bool, typer.Option("--follow", help="Watch the run and mark each step to the microsecond until it has ended.")
    ] = False,
    events: Annotated[
        bool | None,
        typer.Option(
            "--events/--no-events", help="Read events for evictions and claims. [default: for runs with --pvc]"
        ),
    ] = None,
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: options.Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Write sampled.json: when each step of each workload happened. May run again and again during a test."""
    from ghostfleet.lab.directory import RunDirectory

    directory = RunDirectory(output_dir)
    with reporting():
        directory.require()
        run = directory.run()
        kinds = _kinds(run, workload_type)
        if run is None and follow:
            fail(f"{output_dir} has no run.json, which --follow needs; sample without it", WRONG_USAGE)
        directory.require_submissions()
    again = f"Nothing is lost; go on with: ghostfleet sample -o {output_dir}{' --follow' if follow else ''}"
    stopped = settled = False
    with interrupted(again), connected_to_run(run, cluster, kubeconfig, context) as found:
        if follow and run is not None:
            stopped, settled = _followed(found, directory, run, quiet=quiet or json)
        from ghostfleet.lab.sample import sample as take

        wanted = events if events is not None else run is not None and run.pvc
        done = found.run(take(found, directory, kinds, project=project, events=wanted))
    _tell(done, output_dir, quiet=quiet, json=json)
    if stopped:
        typer.echo(again, err=True)
        raise typer.Exit(INTERRUPTED)
    if follow and not settled:
        fail("gave up: nothing has changed for a long time, and not all workloads have ended", FAILED)


def _kinds(run: Run | None, asked: str) -> Mapping[str, WorkloadType]:
    """The type of each class of the run's mix, or of all its workloads."""
    from ghostfleet.lab.types import workload_type

    if run is None:
        return {"": workload_type(asked or "training")}
    if asked and asked != run.type:
        fail(f"run {run.run} is of type {run.type}, not {asked}; leave out --workload-type", WRONG_USAGE)
    return run.kinds()


def _followed(found: Cluster, directory: RunDirectory, run: Run, *, quiet: bool) -> tuple[bool, bool]:
    """Record until the run has ended; whether Ctrl-C ended that, and whether all workloads are where they stay."""
    from ghostfleet.lab.scaletest import follow, patience_of

    try:
        with shown(quiet) as progress:
            return False, found.run(follow(found, directory, run, progress, patience_of(run)))
    except KeyboardInterrupt:
        return True, False


def _tell(done: Sampled, output_dir: Path, *, quiet: bool, json: bool) -> None:
    if json:
        import orjson

        sys.stdout.buffer.write(orjson.dumps(asdict(done), option=orjson.OPT_APPEND_NEWLINE))
        return
    if done.incomplete:
        parts = ", ".join(f"{count:,} without {part}" for part, count in sorted(done.missing.items()))
        typer.echo(f"ghostfleet: left out {done.incomplete:,} workloads that are not complete yet ({parts})", err=True)
    if not quiet:
        phases = ", ".join(f"{count:,} {phase}" for phase, count in sorted(done.phases.items())) or "none"
        typer.echo(f"Sampled {done.complete:,} of {done.submitted:,} workloads: {phases}.")
        typer.echo(f"  plot them     ghostfleet plot -o {output_dir}")
