"""Options about workloads that several commands share: the letters, defaults and meanings of Run:ai's scale test.

`workload_plan` is the group of those that say what to submit, `workload_type_name` the type alone (see `groups`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ghostfleet.cli.groups import flag_group
from ghostfleet.cli.output import WRONG_USAGE, fail
from ghostfleet.lab.runoptions import RunOptions

if TYPE_CHECKING:
    from ghostfleet.lab.plan import Plan

__all__ = [
    "CreateProject",
    "Force",
    "OutputDir",
    "Quiet",
    "Schedulers",
    "numbers_of_jobs",
    "workload_plan",
    "workload_type_name",
]

OutputDir = Annotated[Path, typer.Option("--output-dir", "-o", help="Output dir.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what an earlier run left in the output dir.")]
CreateProject = Annotated[
    bool, typer.Option("--create-project", help="Make the project's namespace where it is missing, on any cluster.")
]
Schedulers = Annotated[
    list[str] | None,
    typer.Option(
        "--scheduler",
        help="kai, or a scheduler of your own, path.py:Class, in the place of the default one; several times too.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def _plan(**options: Any) -> Plan:
    """The plan that the options say, for one workload: how many there are to be is the command's own option."""
    from ghostfleet.lab.plan import Plan

    return Plan(count=1, **options)


workload_plan = flag_group(RunOptions, _plan)
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
