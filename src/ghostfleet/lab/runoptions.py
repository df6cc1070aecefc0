"""The options of a run: what `submit` and `scale-test` are asked for, each field with its flag.

Letters, defaults and meanings are those of Run:ai's scale test; "" stands for what was not asked for. What follows from
them is in `plan`, what became of them in `records`. This module is loaded for every `--help`, and so imports nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ghostfleet.core.flags import Flag

__all__ = ["RunOptions"]


@dataclass(slots=True)
class RunOptions:
    """What `submit` and `scale-test` are asked for; each field is a flag."""

    #: How many workloads; each command has an option of its own for it.
    count: int
    type: Annotated[
        str,
        Flag(
            "Workload type: training, distributed, interactive, job, dra, deployment, pod, pytorchjob or appwrapper. "
            "[default: training, or what a --template holds]",
            "--workload-type",
            "-t",
            metavar="TYPE",
            completion="workload_types",
            shows_default=False,
        ),
    ] = ""
    processes: Annotated[
        int, Flag("Number of parallel submissions in an iteration.", "--num-processes", "-p", least=1)
    ] = 8
    workers: Annotated[int, Flag("Number of workers in a distributed workload.", "--num-workers", least=0)] = 1
    gpus: Annotated[int, Flag("Number of GPUs per pod.", "--num-gpus", "-g", least=0)] = 1
    claim: Annotated[
        str,
        Flag("Type dra: `template` gives each pod a claim of its own, `shared` all pods of a workload one.", "--claim"),
    ] = "template"
    deviceClass: Annotated[  # the name it has in the file
        str,
        Flag(
            "Type dra: the DeviceClass of the devices. [default: gpu.nvidia.com, or the only one]",
            "--device-class",
            metavar="NAME",
            shows_default=False,
        ),
    ] = ""
    deviceSelector: Annotated[  # the name it has in the file
        str, Flag("Type dra: a CEL expression that chooses devices of the class.", "--device-selector", metavar="CEL")
    ] = ""
    delay: Annotated[float, Flag("Seconds of cluster time to sleep between submission iterations.", least=0.0)] = 0.0
    project: Annotated[str, Flag("Project to submit to; its namespace is runai-<project>.")] = "project-0"
    pvc: Annotated[bool, Flag("Add a PVC to the submitted workloads.", "--pvc")] = False
    rate: Annotated[
        str,
        Flag("Submit at a rate instead of in iterations: 10/s is steady, poisson:10/s random.", metavar="RATE"),
    ] = ""
    seed: Annotated[int, Flag("Seed of names, random arrivals and all that a mix leaves to chance.")] = 0
    template: Annotated[str, Flag("A template of your own in place of the type's.", metavar="FILE", file=True)] = ""
    mix: Annotated[str, Flag("Several classes of workloads together, from a file.", metavar="FILE", file=True)] = ""
    runtime: Annotated[
        str,
        Flag(
            "How long fake pods run, in cluster time: 90s, exponential(5m) ... [default: 60s; some stay for ever]",
            metavar="TIME",
            shows_default=False,
        ),
    ] = ""
