"""Options about workloads that several commands share: the letters, defaults and meanings of Run:ai's scale test.

`workload_plan` is the group of those that say what to submit, `workload_type_name` the type alone (see `groups`).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ghostfleet.cli.groups import flag_group
from ghostfleet.cli.output import WRONG_USAGE, fail
from ghostfleet.cluster.config import ClusterConfig
from ghostfleet.lab.runoptions import RunOptions

if TYPE_CHECKING:
    from ghostfleet.lab.plan import Plan

__all__ = [
    "SCHEDULING",
    "CreateProject",
    "Force",
    "OutputDir",
    "Quiet",
    "numbers_of_jobs",
    "scheduling",
    "workload_plan",
    "workload_type_name",
]

OutputDir = Annotated[Path, typer.Option("--output-dir", "-o", help="Output dir.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what an earlier run left in the output dir.")]
CreateProject = Annotated[
    bool, typer.Option("--create-project", help="Make the project's namespace where it is missing, on any cluster.")
]
#: The fields of a cluster's configuration that say how a virtual cluster schedules.
SCHEDULING = (
    "schedulers",
    "kai_profile",
    "kai_policy",
    "kai_config",
    "kai_queue_label",
    "recreate_bare_pods",
    "scheduler_config",
)
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def _plan(**options: Any) -> Plan:
    """The plan that the options say, for one workload: how many there are to be is the command's own option."""
    from ghostfleet.lab.plan import Plan

    return Plan(count=1, **options)


workload_plan = flag_group(RunOptions, _plan)
#: Another scheduler stands in the place of the default one.
scheduling = flag_group(ClusterConfig, partial(ClusterConfig, replaces_default=True), *SCHEDULING)
workload_type_name = flag_group(RunOptions, lambda **given: given["type"], "type")


def numbers_of_jobs(option: str, text: str) -> tuple[int, ...]:
    """What an option such as `-j 1,10,100` says."""
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = (0,)
    if min(numbers) < 1:
        fail(f"{option} {text}: expected numbers of Jobs from 1, as in 1,10,100", WRONG_USAGE)
    return numbers
