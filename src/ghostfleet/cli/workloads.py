"""Options about workloads that several commands share: the letters, defaults and meanings of Run:ai's scale test."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "CreateProject",
    "Delay",
    "Force",
    "NumGpus",
    "NumProcesses",
    "NumWorkers",
    "NumWorkloads",
    "OutputDir",
    "Project",
    "Pvc",
    "Quiet",
    "Rate",
    "Runtime",
    "Seed",
    "Template",
    "WorkloadTypeName",
]

OutputDir = Annotated[Path, typer.Option("--output-dir", "-o", help="Output dir.")]
WorkloadTypeName = Annotated[
    str,
    typer.Option(
        "--workload-type",
        "-t",
        metavar="TYPE",
        help="Workload type: training, distributed, interactive, job, deployment, pod or pytorchjob. "
        "[default: training, or what a --template holds]",
        show_default=False,
    ),
]
NumWorkloads = Annotated[int, typer.Option("--num-workloads", "-n", min=1, help="Number of workloads to submit.")]
NumProcesses = Annotated[
    int, typer.Option("--num-processes", "-p", min=1, help="Number of parallel submissions in an iteration.")
]
NumWorkers = Annotated[int, typer.Option("--num-workers", min=0, help="Number of workers in a distributed workload.")]
NumGpus = Annotated[int, typer.Option("--num-gpus", "-g", min=0, help="Number of GPUs per pod.")]
Delay = Annotated[
    float, typer.Option("--delay", min=0.0, help="Seconds of cluster time to sleep between submission iterations.")
]
Project = Annotated[str, typer.Option("--project", help="Project to submit to; its namespace is runai-<project>.")]
Pvc = Annotated[bool, typer.Option("--pvc", help="Add a PVC to the submitted workloads.")]
Rate = Annotated[
    str,
    typer.Option(
        "--rate", metavar="RATE", help="Submit at a rate instead of in iterations: 10/s is steady, poisson:10/s random."
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of names and random arrivals.")]
Template = Annotated[
    str, typer.Option("--template", metavar="FILE", help="A template of your own in place of the type's.")
]
Runtime = Annotated[
    str,
    typer.Option(
        "--runtime",
        metavar="TIME",
        help="How long fake pods run, in cluster time: 90s, exponential(5m) ... [default: 60s; some stay for ever]",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what an earlier run left in the output dir.")]
CreateProject = Annotated[
    bool, typer.Option("--create-project", help="Make the project's namespace where it is missing, on any cluster.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
