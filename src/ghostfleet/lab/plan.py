"""A plan: what a run is asked to submit, before it begins.

It is all that the options of `ghostfleet submit` say, checked, and the record of a run can be turned back into it, so
that a run that was cut short goes on as it began.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ghostfleet import __version__
from ghostfleet.core.durations import parse_duration
from ghostfleet.core.names import is_dns1123_label
from ghostfleet.lab.arrivals import Arrivals, parse_rate
from ghostfleet.lab.claims import with_claim
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.records import Run
from ghostfleet.lab.templates import Render, compiled, placeholder
from ghostfleet.lab.types import WorkloadType, chosen_type
from ghostfleet.stages.distributions import parse_distribution

__all__ = ["RUN_LABEL", "Plan"]

#: On everything that a run makes.
RUN_LABEL = "ghostfleet.dev/run"
_RUNTIME = "60s"


@dataclass(frozen=True, slots=True)
class Plan:
    """See the module's words; "" stands for what was not asked for."""

    count: int
    type: str = ""
    processes: int = 8
    workers: int = 1
    gpus: int = 1
    delay: float = 0.0
    project: str = "project-0"
    pvc: bool = False
    rate: str = ""
    seed: int = 0
    template: str = ""
    runtime: str = ""

    def check(self) -> None:
        """Raise a LabError for what cannot be done, whatever the cluster is."""
        problems = is_dns1123_label(self.namespace)
        if problems:
            raise LabError(f"--project {self.project!r}: its namespace {self.namespace} cannot exist: {problems[0]}")
        if self.rate and self.delay:
            raise LabError("--rate and --delay both say when to submit: give one of them")
        if self.runtime:
            try:
                parse_distribution(self.runtime)
            except ValueError as error:
                raise LabError(f"--runtime: {error}") from None
        _ = self.arrivals
        self.render("00000000")

    @property
    def namespace(self) -> str:
        return f"runai-{self.project}"

    @property
    def workload(self) -> WorkloadType:
        return chosen_type(self.type, self.template)

    @property
    def arrivals(self) -> Arrivals | None:
        return parse_rate(self.rate) if self.rate else None

    @property
    def spans(self) -> str:
        """How long pods run: as asked for, else a minute, and no end for those that stay."""
        return self.runtime or (_RUNTIME if self.workload.ends else "")

    def render(self, run: str) -> Render:
        """What makes the run's objects from their `name` and `index`."""
        kind = self.workload
        fixed: dict[str, Any] = {
            "namespace": self.namespace,
            "project": self.project,
            "workers": self.workers,
            "gpus": self.gpus,
            "runtime": self.spans or None,
            "seconds": _seconds(self.spans),
            "run": run,
        }
        tree = kind.template.fixed(fixed)
        metadata = tree.get("metadata") or {}
        labels = {**(metadata.get("labels") or {}), RUN_LABEL: run}
        named = {**metadata, "name": placeholder("name"), "namespace": self.namespace, "labels": labels}
        tree = {**tree, "metadata": named}
        return compiled(with_claim(tree, kind) if self.pvc else tree)

    def record(self, run: str, started: str, cluster: dict[str, Any]) -> Run:
        return Run(
            run=run,
            type=self.workload.name,
            count=self.count,
            seed=self.seed,
            project=self.project,
            namespace=self.namespace,
            workers=self.workers,
            gpus=self.gpus,
            pvc=self.pvc,
            processes=self.processes,
            delay=self.delay,
            rate=self.rate,
            template=self.template,
            runtime=self.runtime,
            started=started,
            cluster=cluster,
            version=__version__,
        )

    @classmethod
    def of(cls, run: Run) -> Plan:
        """The plan of a run that has begun."""
        return cls(
            count=run.count,
            type="" if run.template else run.type,
            processes=run.processes,
            workers=run.workers,
            gpus=run.gpus,
            delay=run.delay,
            project=run.project,
            pvc=run.pvc,
            rate=run.rate,
            seed=run.seed,
            template=run.template,
            runtime=run.runtime,
        )


def _seconds(runtime: str) -> str:
    try:
        return f"{parse_duration(runtime) / 1_000_000:g}"
    except ValueError:
        return "infinity"
