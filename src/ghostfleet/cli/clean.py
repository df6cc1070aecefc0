"""`ghostfleet clean`: remove what runs made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ghostfleet.cli.bars import shown
from ghostfleet.cli.connecting import ClusterName, Context, Kubeconfig, connected_to_run, interrupted, reporting
from ghostfleet.cli.output import FAILED, WRONG_USAGE, fail
from ghostfleet.cli.workloads import Quiet

__all__ = ["clean"]


def clean(
    output_dir: Annotated[Path | None, typer.Option("--output-dir", "-o", help="The run in this output dir.")] = None,
    run: Annotated[str, typer.Option("--run", metavar="ID", help="The run of this id.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="All runs.")] = False,
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: Quiet = False,
) -> None:
    """Remove all that a run made in the cluster; the files in its output dir stay."""
    from ghostfleet.lab.clean import clean as remove
    from ghostfleet.lab.directory import RunDirectory

    if (output_dir is not None) + bool(run) + everything != 1:
        fail("say which run: --output-dir DIR, --run ID or --all", WRONG_USAGE)
    more = []
    record = None
    with reporting():
        if output_dir is not None:
            directory = RunDirectory(output_dir)
            directory.require()
            record = directory.run()
            if record is None:
                fail(f"{output_dir} holds no run; name it by --run ID", WRONG_USAGE)
            run = record.run
            if record.template or record.mix:
                more += [kind.workload for kind in record.kinds().values()]
    again = "What is left can be removed by the same command."
    with interrupted(again), connected_to_run(record, cluster, kubeconfig, context) as found, shown(quiet) as progress:
        done = found.run(remove(found, run, more, progress))
    if done.left:
        fail(f"{done.left:,} objects are still on their way out; run the command again to see them off", FAILED)
    if not quiet:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(done.removed.items())) or "no workloads"
        typer.echo(f"Removed {kinds}{''.join(f', namespace {each}' for each in done.namespaces)}.")
        for namespace in done.kept:
            typer.echo(f"Kept namespace {namespace}: something else is in it.")
