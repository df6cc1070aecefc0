"""A plan: what a run is asked to submit, before it begins.

It is all that the options of `ghostfleet submit` say, checked, and the record of a run can be turned back into it, so
that a run that was cut short goes on as it began. A run has a mix of workloads: that of a file, or the one class of
workloads that the options describe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghostfleet.core.names import is_dns1123_label
from ghostfleet.lab.arrivals import parse_rate
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.mix import Mix, Workload, WorkloadClass
from ghostfleet.lab.mixfile import Given, digest_of, read_mix
from ghostfleet.lab.naming import namer
from ghostfleet.lab.records import Run
from ghostfleet.lab.rendering import PROJECT_PREFIX, RUN_LABEL, Renderer, renderer
from ghostfleet.lab.types import WorkloadType, chosen_type
from ghostfleet.stages.distributions import parse_distribution

__all__ = ["RUN_LABEL", "Plan"]

_RUNTIME = "60s"
#: What a run with a mix has in the place of a type.
_MIXED = "mix"


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
    mix: str = ""
    runtime: str = ""

    def check(self) -> None:
        """Raise a LabError for what cannot be done, whatever the cluster is."""
        problems = is_dns1123_label(self.namespace)
        if problems:
            raise LabError(f"--project {self.project!r}: its namespace {self.namespace} cannot exist: {problems[0]}")
        if self.rate and self.delay:
            raise LabError("--rate and --delay both say when to submit: give one of them")
        if self.mix and (self.type or self.template):
            raise LabError("--mix says what is submitted: leave out --workload-type and --template")
        if self.runtime:
            try:
                parse_distribution(self.runtime)
            except ValueError as error:
                raise LabError(f"--runtime: {error}") from None
        namer("", self.count)
        workloads = self.workloads()
        if workloads[0].time is not None and (self.rate or self.delay):
            raise LabError(f"{self.mix} says when workloads arrive: leave out --rate and --delay")
        self.times(workloads)
        self.renderers("00000000")

    @property
    def namespace(self) -> str:
        """That of the project, where a mix says no other."""
        return f"{PROJECT_PREFIX}{self.project}"

    # -- what is submitted -------------------------------------------------------------------------------------------

    def load(self) -> Mix:
        """The mix of the file, or of one class without a name that is as the options say."""
        if self.mix:
            return read_mix(Path(self.mix), Given(self.gpus, self.workers, self.runtime or _RUNTIME, self.namespace))
        kind = chosen_type(self.type, self.template)
        runtime = self.runtime or (_RUNTIME if kind.ends else "")
        alike = WorkloadClass.alike(kind, self.namespace, gpus=self.gpus, workers=self.workers, runtime=runtime)
        return Mix((alike,))

    def workloads(self) -> Sequence[Workload]:
        """All workloads of the run, in the order in which they are submitted."""
        if self.mix:
            return self.load().workloads(self.count, self.seed)
        return self.load().workloads(1, self.seed) * self.count

    def kinds(self) -> Mapping[str, WorkloadType]:
        """The type of each class."""
        return {each.name: each.kind for each in self.load().classes}

    def renderers(self, run: str) -> Mapping[str, Renderer]:
        """What makes the objects of each class."""
        mix = self.load()
        alike = None if self.mix else mix.workloads(1, self.seed)[0]
        return {each.name: renderer(each, run, pvc=self.pvc, alike=alike) for each in mix.classes}

    def times(self, workloads: Sequence[Workload]) -> Iterator[int] | None:
        """When workloads are submitted, in microseconds after the start; None where they go in iterations."""
        if workloads[0].time is not None:
            return (each.time for each in workloads if each.time is not None)
        if not self.rate:
            return None
        try:
            return parse_rate(self.rate).times(self.seed)
        except ValueError as error:
            raise LabError(f"--rate {error}") from None

    # -- its record --------------------------------------------------------------------------------------------------

    def record(self, run: str, started: str, cluster: dict[str, Any]) -> Run:
        return Run(
            run=run,
            type=_MIXED if self.mix else self.load().classes[0].kind.name,
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
            mix=self.mix,
            mixDigest=digest_of(Path(self.mix)) if self.mix else "",
            runtime=self.runtime,
            started=started,
            cluster=cluster,
        )

    @classmethod
    def of(cls, run: Run) -> Plan:
        """The plan of a run that has begun."""
        if run.mix and digest_of(Path(run.mix)) != run.mixDigest:
            raise LabError(f"{run.mix} has changed since run {run.run} began: put it back, or begin another run")
        return cls(
            count=run.count,
            type="" if run.template or run.mix else run.type,
            processes=run.processes,
            workers=run.workers,
            gpus=run.gpus,
            delay=run.delay,
            project=run.project,
            pvc=run.pvc,
            rate=run.rate,
            seed=run.seed,
            template=run.template,
            mix=run.mix,
            runtime=run.runtime,
        )
