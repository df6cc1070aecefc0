"""Options about workloads that several commands share: the letters, defaults and meanings of Run:ai's scale test.

`workload_plan` is the group of those that say what to submit (see `groups`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ghostfleet.cli.completion import workload_types
from ghostfleet.cli.output import WRONG_USAGE, fail

if TYPE_CHECKING:
    from ghostfleet.lab.plan import Plan

__all__ = [
    "CreateProject",
    "Force",
    "OutputDir",
    "Quiet",
    "Schedulers",
    "WorkloadTypeName",
    "numbers_of_jobs",
    "workload_plan",
]

OutputDir = Annotated[Path, typer.Option("--output-dir", "-o", help="Output dir.")]
WorkloadTypeName = Annotated[
    str,
    typer.Option(
        "--workload-type",
        "-t",
        metavar="TYPE",
        autocompletion=workload_types,
        help="Workload type: training, distributed, interactive, job, deployment, pod or pytorchjob. "
        "[default: training, or what a --template holds]",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what an earlier run left in the output dir.")]
CreateProject = Annotated[
    bool, typer.Option("--create-project", help="Make the project's namespace where it is missing, on any cluster.")
]
Schedulers = Annotated[
    list[str] | None,
    typer.Option(
        "--scheduler",
        help="A scheduler of your own, path.py:Class, in the place of the default one; several times too.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def workload_plan(
    workload_type: WorkloadTypeName = "",
    num_processes: Annotated[
        int, typer.Option("--num-processes", "-p", min=1, help="Number of parallel submissions in an iteration.")
    ] = 8,
    num_workers: Annotated[int, typer.Option(min=0, help="Number of workers in a distributed workload.")] = 1,
    num_gpus: Annotated[int, typer.Option("--num-gpus", "-g", min=0, help="Number of GPUs per pod.")] = 1,
    delay: Annotated[
        float, typer.Option(min=0.0, help="Seconds of cluster time to sleep between submission iterations.")
    ] = 0.0,
    project: Annotated[str, typer.Option(help="Project to submit to; its namespace is runai-<project>.")] = "project-0",
    pvc: Annotated[bool, typer.Option("--pvc", help="Add a PVC to the submitted workloads.")] = False,
    rate: Annotated[
        str,
        typer.Option(
            metavar="RATE", help="Submit at a rate instead of in iterations: 10/s is steady, poisson:10/s random."
        ),
    ] = "",
    seed: Annotated[int, typer.Option(help="Seed of names and random arrivals.")] = 0,
    runtime: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="How long fake pods run, in cluster time: 90s, exponential(5m) ... [default: 60s; some stay for ever]",
            show_default=False,
        ),
    ] = "",
    template: Annotated[str, typer.Option(metavar="FILE", help="A template of your own in place of the type's.")] = "",
) -> Plan:
    """The plan that the options say, for one workload: how many there are to be is the command's own option."""
    from ghostfleet.lab.plan import Plan

    return Plan(
        count=1,
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


def numbers_of_jobs(option: str, text: str) -> tuple[int, ...]:
    """What an option such as `-j 1,10,100` says."""
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = (0,)
    if min(numbers) < 1:
        fail(f"{option} {text}: expected numbers of Jobs from 1, as in 1,10,100", WRONG_USAGE)
    return numbers
