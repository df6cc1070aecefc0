"""`ghostfleet stress`: how long n small Jobs take, as the published stress tests measure it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ghostfleet.cli.completion import dra_profiles, modes, profiles, stage_sets
from ghostfleet.cli.connecting import ClusterName, Context, Kubeconfig, connected_or, interrupted, reporting
from ghostfleet.cli.groups import taking
from ghostfleet.cli.output import WRONG_USAGE, Form, fail, print_structure
from ghostfleet.cli.workloads import numbers_of_jobs, scheduling

if TYPE_CHECKING:
    from ghostfleet.cluster.config import ClusterConfig
    from ghostfleet.drive.interface import Cluster
    from ghostfleet.lab.stress import StressPlan, Trial

__all__ = ["stress"]


@taking(scheduling=scheduling)
def stress(
    *,
    jobs: Annotated[str, typer.Option("-j", "--jobs", help="Numbers of Jobs to try, one after another.")] = (
        "1,10,20,50,75,100"
    ),
    gpus: Annotated[int, typer.Option("-g", "--gpus", min=0, help="GPUs of each pod.")] = 0,
    pods: Annotated[int, typer.Option("-a", "--pods", min=1, help="Pods of each Job.")] = 1,
    mode: Annotated[
        str, typer.Option(autocompletion=modes, help="Clusters to try: kind, kwok, mcad, mcad-1.40, better.")
    ] = "kwok",
    iterations: Annotated[int, typer.Option(min=1, help="How often each number is tried.")] = 1,
    output_dir: Annotated[Path, typer.Option("-o", "--output-dir", help="Where the results are written.")] = Path(
        "stress"
    ),
    nodes: Annotated[int, typer.Option(min=1, help="Nodes of the embedded cluster.")] = 4,
    seed: Annotated[int, typer.Option(help="Seed of all that is random.")] = 0,
    profile: Annotated[
        str, typer.Option(autocompletion=profiles, help="Another profile than the mode's own: a name or a file.")
    ] = "",
    stages: Annotated[
        list[str] | None, typer.Option(autocompletion=stage_sets, help="Other stages than the mode's own.")
    ] = None,
    dra: Annotated[
        str,
        typer.Option(
            autocompletion=dra_profiles,
            help="GPUs are DRA devices (nvidia, kwok, example or a file), and each pod has a claim of -g of them.",
        ),
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace files that ghostfleet did not write.")] = False,
    scheduling: ClusterConfig,
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all trials as JSON and nothing else.")] = False,
) -> None:
    """Submit n small Jobs one after another, wait until all are complete, and tell how long that took.

    Each trial has a fresh embedded cluster in virtual time, unless another cluster is named.
    """
    from ghostfleet.lab.directory import OwnFiles
    from ghostfleet.lab.stress import StressPlan, find_mode

    with reporting():
        plan = StressPlan(
            modes=tuple(mode.split(",")),
            jobs=numbers_of_jobs("-j", jobs),
            pods=pods,
            gpus=gpus,
            iterations=iterations,
            nodes=nodes,
            seed=seed,
            profile=profile,
            stages=tuple(stages or ()),
            scheduling=scheduling,
            dra=dra,
        )
        if dra and not gpus:
            fail("--dra: say how many devices each pod claims, with -g", WRONG_USAGE)
        for name in plan.modes:
            find_mode(name)
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"cannot use {output_dir} as output directory: {error.strerror}", WRONG_USAGE)
    with reporting():
        OwnFiles(output_dir).claim(_files(plan), force=force)
    with connected_or(lambda: None, cluster, kubeconfig, context) as outside:
        _run(plan, outside, output_dir, quiet=quiet or as_json, as_json=as_json)


def _run(plan: StressPlan, outside: Cluster | None, directory: Path, *, quiet: bool, as_json: bool) -> None:
    from ghostfleet.cli.bars import shown
    from ghostfleet.lab.stress import run_stress
    from ghostfleet.report.stress import pod_table, stress_markdown, summary

    done: list[Trial] = []

    def report_trial(trial: Trial) -> None:
        done.append(trial)
        _write(done, directory)
        mine = [each for each in done if (each.mode, each.jobs) == (trial.mode, trial.jobs)]
        if not quiet and len(mine) == plan.iterations:
            average = sum(each.seconds for each in mine) / len(mine)
            typer.echo(f"\n{trial.mode}, {trial.jobs} Jobs, {trial.pods} pods")
            typer.echo(pod_table(trial.pod_times, short=True), nl=False)
            typer.echo(f"Average time per iteration: {average:.2f} seconds")

    with interrupted(f"Stopped. The trials that were done are in {directory}."):
        try:
            with shown(quiet) as progress:
                run_stress(plan, progress, outside=outside, done=report_trial)
        finally:
            drawn = _draw(done, directory)
    if as_json:
        print_structure(done, Form.JSON)
    elif not quiet:
        typer.echo("\nPerformance summary\n")
        typer.echo(stress_markdown(summary(done)))
        picture = "stress.png " if drawn else ""
        typer.echo(f"Times are cluster time. Written: {directory}/stress.csv, stress.md, {picture}and pods-*.txt")
        if not drawn:
            typer.echo("No picture was drawn: matplotlib is not installed; `pip install 'ghostfleet[plots]'` brings it")


def _files(plan: StressPlan) -> list[str]:
    """What a test leaves behind."""
    pods = [f"pods-{mode}-{jobs}.txt" for mode in plan.modes for jobs in plan.jobs]
    return ["stress.csv", "stress.md", "stress.png", *pods]


def _write(trials: list[Trial], directory: Path) -> None:
    """Everything so far, so that an interrupted test keeps what it has."""
    from ghostfleet.report.stress import pod_table, stress_csv, stress_markdown, summary

    (directory / "stress.csv").write_text(stress_csv(trials))
    (directory / "stress.md").write_text(stress_markdown(summary(trials)))
    last = trials[-1]
    (directory / f"pods-{last.mode}-{last.jobs}.txt").write_text(pod_table(last.pod_times))


def _draw(trials: list[Trial], directory: Path) -> bool:
    """Draw the picture of all trials, once, for that takes longer than a trial; false where nothing can draw."""
    from ghostfleet.report.stress import stress_png, summary

    picture = stress_png(summary(trials)) if trials else None
    if picture is not None:
        (directory / "stress.png").write_bytes(picture)
    return picture is not None
