"""`ghostfleet scale-test`: submit, record, sample and plot in one go."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ghostfleet.cli import workloads as options
from ghostfleet.cli.bars import shown
from ghostfleet.cli.connecting import ClusterName, Context, Kubeconfig, connected_or, interrupted, reporting
from ghostfleet.cli.output import FAILED, WRONG_USAGE, fail

if TYPE_CHECKING:
    from ghostfleet.cluster import Make
    from ghostfleet.drive.interface import Cluster
    from ghostfleet.lab.directory import RunDirectory
    from ghostfleet.lab.plan import Plan
    from ghostfleet.lab.scaletest import Tested

__all__ = ["scale_test"]

_MEBIBYTE = 1 << 20


def scale_test(
    output_dir: options.OutputDir = Path("logs"),
    workload_type: options.WorkloadTypeName = "",
    num_workloads: options.NumWorkloads = 1000,
    num_processes: options.NumProcesses = 8,
    num_workers: options.NumWorkers = 1,
    num_gpus: options.NumGpus = 1,
    delay: options.Delay = 0.0,
    project: options.Project = "project-0",
    pvc: options.Pvc = False,
    rate: options.Rate = "",
    seed: options.Seed = 0,
    runtime: options.Runtime = "",
    template: options.Template = "",
    force: options.Force = False,
    create_project: options.CreateProject = False,
    nodes: Annotated[int, typer.Option(min=0, help="Nodes of the virtual cluster.")] = 1000,
    gpus: Annotated[int, typer.Option(min=0, help="GPUs of each of them.")] = 8,
    gpu_product: Annotated[str, typer.Option(help="Which GPU it is.")] = "NVIDIA-H100-80GB-HBM3",
    profile: Annotated[
        str, typer.Option(help="How fast the virtual cluster's components work: kubernetes, instant ...")
    ] = "kubernetes",
    stages: Annotated[
        list[str] | None, typer.Option(help="Stages by which its pods and nodes live; several times too.")
    ] = None,
    scheduler_config: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="A KubeSchedulerConfiguration file for it.")
    ] = None,
    dispatcher: Annotated[
        str,
        typer.Option(
            help="The dispatcher in front of its scheduler: mcad-1.32, mcad-1.40, better; AppWrappers need one."
        ),
    ] = "",
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
    from ghostfleet.cluster import Make
    from ghostfleet.lab.directory import RunDirectory
    from ghostfleet.lab.plan import Plan
    from ghostfleet.lab.scaletest import patience_of
    from ghostfleet.lab.scaletest import scale_test as test
    from ghostfleet.lab.submit import Submitter, prepare

    directory = RunDirectory(output_dir)
    with reporting():
        plan = Plan(
            count=num_workloads,
            type=workload_type,
            processes=num_processes,
            workers=num_workers,
            gpus=num_gpus,
            delay=delay,
            project=project,
            pvc=pvc,
            rate=rate,
            seed=seed,
            template=str(Path(template).resolve()) if template else "",
            runtime=runtime,
        )
        plan.check()
        waiting = _duration(patience) if patience else patience_of(plan)
    named = bool(cluster or kubeconfig or context)
    with (
        interrupted(*_how_to_go_on(output_dir, named)),
        connected_or(
            lambda: _fresh(
                nodes,
                gpus,
                gpu_product,
                Make(
                    profile=profile,
                    stages=tuple(stages or ("fast",)),
                    scheduler_config=scheduler_config,
                    dispatcher=dispatcher,
                ),
                seed,
            ),
            cluster,
            kubeconfig,
            context,
            max(32, num_processes),
        ) as found,
    ):
        with shown(quiet or json) as progress:

            async def work() -> Tested:
                run = await prepare(found, directory, plan, force=force)
                submitter = Submitter(found, directory, plan, run, progress, create_project=create_project)
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
        found.run(sample(found, directory, plan.workload, events=plan.pvc))


def _duration(text: str) -> int:
    from ghostfleet.core.durations import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        fail(f"--patience: {error}", WRONG_USAGE)


def _fresh(nodes: int, gpus: int, product: str, make: Make, seed: int) -> Cluster:
    """A virtual cluster in this process."""
    from ghostfleet.cluster import Cluster as Assembled
    from ghostfleet.cluster import add_nodes
    from ghostfleet.core.collector import relax_collector
    from ghostfleet.drive.embedded import Embedded
    from ghostfleet.stages.nodes import NodeShape

    try:
        made = Assembled(make=make, seed=seed)
    except (ValueError, OSError) as error:
        fail(str(error), WRONG_USAGE)
    add_nodes(made, NodeShape(count=nodes, gpus=gpus, gpu_product=product, fake_taint=False))
    relax_collector()
    return Embedded(made)


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
    run, seen = tested.run, tested.run.cluster
    modelled, real = tested.modelled / 1e6, tested.real / 1e6
    profile = f", profile {seen['profile']}" if seen.get("profile") else ""
    speed = f", {modelled / real:,.0f} times as fast" if seen["clock"] == "virtual" and real else ""
    return [
        f"Cluster   {seen['nodes']:,} nodes, {seen['gpus']:,} GPUs, Kubernetes {seen['version']}{profile} "
        f"({seen['clock']} time)",
        f"Run       {run.run}: {tested.submitted:,} {run.type} workloads, {tested.finished:,} of them ended",
        f"Modelled  {modelled:,.1f} s of cluster time, from the first submission to the last step",
        f"Lab       {real:,.1f} s of real time{speed}, {_peak_memory() / _MEBIBYTE:,.0f} MiB at most",
    ]


def _peak_memory() -> int:
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
