"""A plan: what a run is asked to submit, before it begins.

It is all that the options of `ghostfleet submit` say, checked, and what follows from them: the workloads, their names,
their objects and their times. A run has a mix of workloads: that of a file, or the one class of workloads that the
options describe.

A workload is called `j-` and six hexadecimal digits. Its name follows from the run's id and its number alone, so that
a run that was cut short knows which workloads it still owes. Numbers are scattered over all six-digit names by
a mapping that never gives the same name twice; where a name is taken by something else in the cluster, the workload has
further *attempts*, each with a name that no other workload of the run can have.

The object of a workload is the template of its class with its values in it, and carries the labels by which everything
of a run (`ghostfleet.dev/run`) and of a class (`ghostfleet.dev/class`) is found. A workload of a mix has its number in
an annotation, for from that all that was drawn for it follows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.durations import parse_duration
from ghostfleet.core.names import is_dns1123_label
from ghostfleet.lab.arrivals import parse_rate
from ghostfleet.lab.claims import with_claim
from ghostfleet.lab.deviceclaims import MODES, DeviceClaims
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.mix import Mix, Workload, WorkloadClass
from ghostfleet.lab.mixfile import ClassDefaults, read_mix
from ghostfleet.lab.podfields import with_metadata, with_pod_spec
from ghostfleet.lab.runoptions import RunOptions
from ghostfleet.lab.templates import Values, compiled, placeholder
from ghostfleet.lab.types import WorkloadType, chosen_type
from ghostfleet.stages.distributions import parse_distribution

__all__ = ["ATTEMPTS", "CLASS_LABEL", "INDEX_ANNOTATION", "MOST", "RUN_LABEL", "Plan", "namer", "project_of", "run_id"]

_BITS = 24
_SPACE = 1 << _BITS
_HALF = _BITS // 2
#: Names that a workload may try.
ATTEMPTS = 8
#: Workloads that a run may have.
MOST = _SPACE // ATTEMPTS

#: The name of a workload's number and attempt.
Namer = Callable[[int, int], str]
#: On everything that a run makes.
RUN_LABEL = "ghostfleet.dev/run"
#: On the workloads of a mix and their pods.
CLASS_LABEL = "ghostfleet.dev/class"
#: On the workloads of a mix: the workload's number in the run.
INDEX_ANNOTATION = "ghostfleet.dev/index"
#: On pods: how long they run. `stages.lifecycle` knows it too, but takes long to load.
_DURATION = "ghostfleet.dev/duration"
#: Before the name of a project in that of its namespace.
_PROJECT_PREFIX = "runai-"
#: The object of a workload, its name, and its number in the run.
_Renderer = Callable[[Workload, str, int], Object]
_RUNTIME = "60s"


def run_id(*facts: object) -> str:
    """Eight hexadecimal digits that follow from the facts of a run; the cluster's time should be among them."""
    return hashlib.blake2b("\0".join(map(str, facts)).encode(), digest_size=4).hexdigest()


def namer(run: str, count: int) -> Namer:
    """The names of a run's workloads."""
    if count > MOST:
        raise LabError(f"a run has at most {MOST:,} workloads, since their names have six digits; asked for {count:,}")
    digest = hashlib.blake2b(run.encode(), digest_size=9).digest()
    first, second, shift = (int.from_bytes(digest[start : start + 3]) for start in (0, 3, 6))
    # Odd factors and shifts downwards can both be undone, so no two numbers meet.
    first, second = first | 1, second | 1

    def name(number: int, attempt: int = 0) -> str:
        mixed = (number + attempt * count) ^ shift
        mixed = mixed * first % _SPACE
        mixed ^= mixed >> _HALF
        mixed = mixed * second % _SPACE
        mixed ^= mixed >> _HALF
        return f"j-{mixed:06x}"

    return name


def project_of(namespace: str) -> str:
    """The project whose namespace it is; any other namespace is a project by itself."""
    return namespace.removeprefix(_PROJECT_PREFIX)


def _renderer(
    of: WorkloadClass, run: str, claims: DeviceClaims, *, pvc: bool, alike: Workload | None = None
) -> _Renderer:
    """What makes the objects of a class; where all its workloads are `alike`, they share all but their names."""

    def values(workload: Workload) -> Values:
        template = None if claims.shared else claims.template_name(run, workload.gpus)
        return {**_values(workload), "claimTemplate": template}

    known = {"run": run, "class": of.name or None, "claim": placeholder("name") if claims.shared else None}
    tree = of.kind.template.fixed({**known, **values(alike)} if alike is not None else known)
    tree = _with_class(tree, of) if of.name else tree
    metadata = tree.get("metadata") or {}
    named = {
        "name": placeholder("name"),
        "namespace": alike.namespace if alike is not None else placeholder("namespace"),
        "labels": {**(metadata.get("labels") or {}), RUN_LABEL: run},
    }
    tree = {**tree, "metadata": {**metadata, **named}}
    made = compiled(with_claim(tree, of.kind) if pvc else tree)

    def render(workload: Workload, name: str, number: int) -> Object:
        own = {"name": name, "index": number}
        rendered: Object = made(own if alike is not None else {**own, **values(workload)})
        return rendered

    return render


def _with_class(tree: Object, of: WorkloadClass) -> Object:
    """What a class adds to the objects of its template, and to their pods."""
    labels: dict[str, Any] = {**of.labels, CLASS_LABEL: of.name}
    if of.queues is not None:
        labels[of.queue_label] = placeholder("queue")
    annotations: dict[str, Any] = dict(of.annotations)
    if of.duration is not None and "runtime" not in of.kind.template.placeholders:
        annotations[_DURATION] = placeholder("runtime")
    tree = with_metadata(tree, of.kind, labels, annotations)
    if of.priority_class:
        tree = with_pod_spec(tree, of.kind, {"priorityClassName": of.priority_class})
    metadata = tree["metadata"]
    numbered = {**(metadata.get("annotations") or {}), INDEX_ANNOTATION: placeholder("index", text=True)}
    return {**tree, "metadata": {**metadata, "annotations": numbered}}


def _values(workload: Workload) -> Values:
    runtime = workload.runtime
    return {
        "namespace": workload.namespace,
        "project": project_of(workload.namespace),
        "workers": workload.workers,
        "gpus": workload.gpus,
        "runtime": runtime,
        "seconds": _seconds(runtime or ""),
        "queue": workload.queue or None,
    }


def _seconds(runtime: str) -> str:
    try:
        seconds = f"{parse_duration(runtime) / 1_000_000:.6f}"
    except ValueError:
        return "infinity"
    return seconds.rstrip("0").rstrip(".")


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
        return f"{_PROJECT_PREFIX}{self.project}"

    # -- what is submitted -------------------------------------------------------------------------------------------

    def load(self) -> Mix:
        """The mix of the file, or of one class without a name that is as the options say."""
        if self.mix:
            return read_mix(
                Path(self.mix), ClassDefaults(self.gpus, self.workers, self.runtime or _RUNTIME, self.namespace)
            )
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

    def renderers(self, run: str) -> Mapping[str, _Renderer]:
        """What makes the objects of each class."""
        mix = self.load()
        alike = None if self.mix else mix.workloads(1, self.seed)[0]
        return {each.name: _renderer(each, run, self.claims, pvc=self.pvc, alike=alike) for each in mix.classes}

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
