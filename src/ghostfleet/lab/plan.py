"""A plan: what a run is asked to submit, before it begins.

It is all that the options of `ghostfleet submit` say, checked, and what follows from them: the workloads, their objects
and their times. A run has a mix of workloads: that of a file, or the one class of workloads that the options describe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ghostfleet.core.names import is_dns1123_label
from ghostfleet.lab.arrivals import parse_rate
from ghostfleet.lab.deviceclaims import MODES, DeviceClaims
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.mix import Mix, Workload, WorkloadClass
from ghostfleet.lab.mixfile import Given, read_mix
from ghostfleet.lab.naming import namer
from ghostfleet.lab.rendering import PROJECT_PREFIX, RUN_LABEL, Renderer, renderer
from ghostfleet.lab.runoptions import RunOptions
from ghostfleet.lab.types import WorkloadType, chosen_type
from ghostfleet.stages.distributions import parse_distribution

__all__ = ["RUN_LABEL", "Plan"]

_RUNTIME = "60s"


@dataclass(slots=True)
class Plan(RunOptions):
    """The options of a run, and what follows from them."""

    def check(self) -> None:
        """Raise a LabError for what cannot be done, whatever the cluster is."""
        problems = is_dns1123_label(self.namespace)
        if problems:
            raise LabError(f"--project {self.project!r}: its namespace {self.namespace} cannot exist: {problems[0]}")
        if self.rate and self.delay:
            raise LabError("--rate and --delay both say when to submit: give one of them")
        if self.mix and (self.type or self.template):
            raise LabError("--mix says what is submitted: leave out --workload-type and --template")
        chosen_type(self.type, self.template)
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
        self._check_claims(workloads)

    def _check_claims(self, workloads: Sequence[Workload]) -> None:
        if self.claim not in MODES:
            raise LabError(f"--claim {self.claim!r}: expected {' or '.join(MODES)}")
        claiming = [each for each in workloads if each.of.kind.claims_devices]
        for flag, given in (("--device-class", self.deviceClass), ("--device-selector", self.deviceSelector)):
            if given and not claiming:
                raise LabError(f"{flag}: no workload has claims of devices; those of type dra have")
        if any(not each.gpus for each in claiming):
            raise LabError("--num-gpus 0: a claim asks for one device at least")
        if self.deviceSelector:
            from ghostfleet.api.deviceselectors import is_too_complex, selector_problem  # it takes long to load

            if problem := selector_problem(self.deviceSelector):
                raise LabError(f"--device-selector: {problem.splitlines()[0]}")
            if is_too_complex(self.deviceSelector):
                raise LabError("--device-selector: too complex, exceeds cost limit")

    @property
    def claims(self) -> DeviceClaims:
        """What the claims of its workloads ask for."""
        return DeviceClaims(self.claim == "shared", self.deviceClass, self.deviceSelector)

    @property
    def namespace(self) -> str:
        """That of the project, where a mix says no other."""
        return f"{PROJECT_PREFIX}{self.project}"

    # -- what is submitted -------------------------------------------------------------------------------------------

    def load(self) -> Mix:
        """The mix of the file, or of one class without a name that is as the options say."""
        if self.mix:
            return read_mix(Path(self.mix), Given(self.gpus, self.workers, self.runtime or _RUNTIME, self.namespace))
        # A template says its type itself; what the record of a run calls it may be no type that is known.
        kind = chosen_type("" if self.template else self.type, self.template)
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
        return {each.name: renderer(each, run, self.claims, pvc=self.pvc, alike=alike) for each in mix.classes}

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
