"""`ghostfleet scale-test`: submit, record, sample and plot in one go."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ghostfleet.cli import workloads as options
from ghostfleet.cli.bars import shown
from ghostfleet.cli.connecting import ClusterName, Context, Kubeconfig, connected_or, interrupted, reporting
from ghostfleet.cli.groups import flag_group, taking
from ghostfleet.cli.output import FAILED, WRONG_USAGE, fail
from ghostfleet.cluster.config import ClusterConfig

if TYPE_CHECKING:
    from ghostfleet.drive.interface import Cluster
    from ghostfleet.lab.directory import RunDirectory
    from ghostfleet.lab.plan import Plan
    from ghostfleet.lab.scaletest import Tested

__all__ = ["scale_test"]

#: Makes a virtual cluster from its seed.
Virtual = Callable[[int], "Cluster"]


def _virtual(**options: Any) -> Virtual:
    """What makes a virtual cluster in this process."""
    config = ClusterConfig(**options, replaces_default=True)

    def made(seed: int) -> Cluster:
        from ghostfleet.cluster import Cluster as Assembled
        from ghostfleet.core.collector import relax_collector
        from ghostfleet.drive.embedded import Embedded

        try:
            assembled = Assembled(config=config, seed=seed)
        except (ValueError, OSError) as error:
            fail(str(error), WRONG_USAGE)
        relax_collector()
        return Embedded(assembled)

    return made


#: What a virtual cluster can be asked for, and its defaults where they are not those of `up`.
_virtual_cluster = flag_group(
    ClusterConfig,
    _virtual,
    "nodes",
    "gpus",
    "gpu_product",
    "dra",
    "profile",
    "stages",
    *options.SCHEDULING,
    "dispatcher",
    nodes=1000,
    gpus=8,
    profile="kubernetes",
)


@taking(plan=options.workload_plan, virtual=_virtual_cluster)
def scale_test(
    *,
    output_dir: options.OutputDir = Path("logs"),
    num_workloads: Annotated[
        int, typer.Option("--num-workloads", "-n", min=1, help="Number of workloads to submit.")
    ] = 1000,
    plan: Plan,
    force: options.Force = False,
    create_project: options.CreateProject = False,
    virtual: Virtual,
    patience: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Give up when nothing has changed for so long, in cluster time. [default: 10m and the runtime]",
            show_default=False,
        ),
    ] = "",
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: options.Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Submit, record, sample and plot, on a fresh cluster in virtual time, or on the one that is named."""
    from ghostfleet.lab.directory import RunDirectory
    from ghostfleet.lab.scaletest import patience_of
    from ghostfleet.lab.scaletest import scale_test as test
    from ghostfleet.lab.submit import Submitter, prepare

    directory = RunDirectory(output_dir)
    with reporting():
        plan = replace(plan, count=num_workloads)
        plan.check()
        waiting = _duration(patience) if patience else patience_of(plan)
    named = bool(cluster or kubeconfig or context)
    with (
        interrupted(*_how_to_go_on(output_dir, named)),
        connected_or(lambda: virtual(plan.seed), cluster, kubeconfig, context, max(32, plan.processes)) as found,
    ):
        with shown(quiet or json) as progress:

            async def work() -> Tested:
                run = await prepare(found, directory, plan, force=force)
                submitter = Submitter(found, directory, run, progress, create_project=create_project)
                return await test(found, directory, submitter, progress, waiting)

            try:
                tested = found.run(work())
            except KeyboardInterrupt:
                _keep(found, directory, plan)
                raise
        _finish(tested, directory, quiet=quiet, json=json)
    if tested.failed:
        fail(f"{tested.failed:,} workloads could not be submitted; {output_dir}/submitted.json says why", FAILED)
    if tested.gave_up:
        left = tested.submitted - tested.finished
        fail(
            f"gave up: nothing changed any more, and {left:,} workloads had not ended (--patience waits longer)", FAILED
        )


def _how_to_go_on(output_dir: Path, named: bool) -> list[str]:
    kept = f"What was measured is in {output_dir}; look at it with: ghostfleet plot -o {output_dir}"
    if not named:
        return [kept, "The virtual cluster is gone; begin again with --force."]
    return [
        kept,
        f"Go on with: ghostfleet submit --resume -o {output_dir}; then ghostfleet sample --follow -o {output_dir}",
    ]


def _keep(found: Cluster, directory: RunDirectory, plan: Plan) -> None:
    """Sample what there is of a test that Ctrl-C has ended."""
    from ghostfleet.lab.sample import sample

    if directory.submissions():
        found.run(sample(found, directory, plan.kinds(), events=plan.pvc))


def _duration(text: str) -> int:
    from ghostfleet.core.durations import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        fail(f"--patience: {error}", WRONG_USAGE)


def _finish(tested: Tested, directory: RunDirectory, *, quiet: bool, json: bool) -> None:
    """Make the report and print what is worth knowing."""
    from ghostfleet.report import summary_lines, write_report

    summary = write_report(directory)
    if json:
        import orjson

        facts = {**summary.as_json(), "modelledSeconds": tested.modelled / 1e6, "labSeconds": tested.real / 1e6}
        sys.stdout.buffer.write(orjson.dumps(facts, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    elif not quiet:
        for line in _facts(tested):
            typer.echo(line)
        typer.echo("")
        for line in summary_lines(summary):
            typer.echo(line)
        typer.echo(f"Report: {directory.path / 'report.html'}")


def _facts(tested: Tested) -> list[str]:
    from ghostfleet.report.memory import peak_memory

    run, seen = tested.run, tested.run.cluster
    modelled, real = tested.modelled / 1e6, tested.real / 1e6
    profile = f", profile {seen['profile']}" if seen.get("profile") else ""
    speed = f", {modelled / real:,.0f} times as fast" if seen["clock"] == "virtual" and real else ""
    return [
        f"Cluster   {seen['nodes']:,} nodes, {seen['gpus']:,} GPUs, Kubernetes {seen['version']}{profile} "
        f"({seen['clock']} time)",
        f"Run       {run.run}: {tested.submitted:,} {run.what}, {tested.finished:,} of them ended",
        f"Modelled  {modelled:,.1f} s of cluster time, from the first submission to the last step",
        f"Lab       {real:,.1f} s of real time{speed}, {peak_memory():,.0f} MiB at most",
    ]
