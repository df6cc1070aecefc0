"""Records: what a run writes down, as it stands in its files.

A *run* is one submission of many workloads; its record says what was asked for and of which cluster. A
*submission* is one workload that was sent, or could not be. A *sample* is what the cluster's objects tell about one
workload; its *marks* are the times, in microseconds, at which a recorder saw each step.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path, PurePath
from typing import Any, NamedTuple, TypedDict

from ghostfleet import __version__
from ghostfleet.core.timestamps import MICRO, parse_rfc3339, rfc3339_micro
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.mix import Mix
from ghostfleet.lab.mixfile import digest_of
from ghostfleet.lab.plan import Plan

__all__ = ["MARKS", "Drawn", "Run", "Sample", "Submission"]

#: What a run with a mix has in the place of a type.
_MIXED = "mix"
_NEEDED = ("run", "type", "count")
#: Steps of a workload that a recorder marks, in the order in which they come.
MARKS = (
    "submitted",
    "workload",
    "job",
    "firstPod",
    "lastPod",
    "podGroup",
    "decided",
    "bound",
    "running",
    "ended",
    "finished",
    "evicted",
    "claimRequested",
    "claimBound",
)


@dataclass(slots=True)
class Run(Plan):
    """A plan that has begun: what was asked for, of which cluster, and how far it went."""

    run: str = ""
    started: str = ""
    #: `submitting` or `submitted`
    state: str = "submitting"
    cluster: dict[str, Any] = field(default_factory=dict)
    #: The version of ghostfleet that submitted it.
    version: str = ""
    #: Which limits of modelled components held things up, the worst first; None where that is not known.
    limits: list[dict[str, Any]] | None = None
    #: What came of it: utilisation, fragmentation, waiting time.
    figures: dict[str, Any] = field(default_factory=dict)
    #: Of the mix file's content, so that a run is not gone on with by another mix.
    mixDigest: str = ""  # the name it has in the file
    #: Real seconds that the lab has spent on the run so far.
    labSeconds: float = 0.0  # the name it has in the file

    @classmethod
    def begun(cls, plan: Plan, run: str, started: str, cluster: dict[str, Any]) -> Run:
        """The record of a plan that begins now."""
        asked = {each.name: getattr(plan, each.name) for each in fields(plan)}
        asked["type"] = _MIXED if plan.mix else plan.load().classes[0].kind.name
        digest = digest_of(Path(plan.mix)) if plan.mix else ""
        return cls(**asked, run=run, started=started, cluster=cluster, version=__version__, mixDigest=digest)

    @classmethod
    def read(cls, raw: dict[str, Any]) -> Run:
        """A run from its file; TypeError when something needed is not there."""
        missing = [name for name in _NEEDED if name not in raw]
        if missing:
            raise TypeError(f"it has no {missing[0]!r}")
        known = {each.name for each in fields(cls)}
        return cls(**{key: value for key, value in raw.items() if key in known})

    def written(self) -> dict[str, Any]:
        return {"run": self.run, **asdict(self), "namespace": self.namespace}

    @property
    def what(self) -> str:
        """What it submits, in words."""
        return f"workloads of {PurePath(self.mix).name}" if self.mix else f"{self.type} workloads"

    def load(self) -> Mix:
        if self.mix and digest_of(Path(self.mix)) != self.mixDigest:
            raise LabError(
                f"{self.mix} has changed since run {self.run} began: put it back, or begin another run "
                f"(`ghostfleet clean --run {self.run}` removes this one)"
            )
        return Plan.load(self)


class Drawn(NamedTuple):
    """What was drawn for one workload of a mix."""

    workload_class: str
    #: Of each pod.
    gpus: int
    workers: int
    #: Microseconds; None where its pods stay.
    duration: int | None = None
    queue: str = ""

    @classmethod
    def read(cls, raw: dict[str, Any]) -> Drawn:
        seconds = raw.get("durationSeconds")
        return cls(
            str(raw["class"]),
            int(raw["gpusPerPod"]),
            int(raw["workers"]),
            round(seconds * MICRO) if seconds is not None else None,
            str(raw.get("queue", "")),
        )

    def written(self) -> dict[str, Any]:
        record: dict[str, Any] = {"class": self.workload_class, "gpusPerPod": self.gpus, "workers": self.workers}
        if self.duration is not None:
            record["durationSeconds"] = self.duration / MICRO
        return {**record, "queue": self.queue} if self.queue else record


class Submission(NamedTuple):
    """One workload that was sent; `error` says why it could not be, and `drawn` what it is where a run has a mix."""

    name: str
    project: str
    namespace: str
    time: int
    error: str = ""
    drawn: Drawn | None = None

    @property
    def workload_class(self) -> str:
        """Its class in the run's mix; "" where there is none."""
        return self.drawn.workload_class if self.drawn is not None else ""

    @classmethod
    def read(cls, raw: dict[str, Any]) -> Submission:
        return cls(
            raw["jobName"],
            raw["projectName"],
            raw["jobNamespace"],
            parse_rfc3339(raw["submitTimestamp"]),
            raw.get("error", ""),
            Drawn.read(raw) if "class" in raw else None,
        )

    def written(self) -> dict[str, Any]:
        record = {
            "jobName": self.name,
            "projectName": self.project,
            "jobNamespace": self.namespace,
            "submitTimestamp": rfc3339_micro(self.time),
            **(self.drawn.written() if self.drawn is not None else {}),
        }
        return {**record, "error": self.error} if self.error else record


class Sample(TypedDict, total=False):
    """What is known about one workload; times are texts as the cluster wrote them, None where unknown."""

    jobName: str
    jobNamespace: str
    projectName: str
    workloadCreatedTimestamp: str | None
    jobCreatedTimestamp: str | None
    firstPodCreatedTimestamp: str | None
    lastPodCreatedTimestamp: str | None
    podGroupCreatedTimestamp: str | None
    podSchedulingDecisionTimestamp: str | None
    firstEvictionTimestamp: str | None
    firstPVCBindRequestTimestamp: str | None
    firstPVCBindTimestamp: str | None
    backendJobCreatedTimestamp: str | None
    phase: str
    pods: int
    gpus: int
    node: str
    firstPodScheduledTimestamp: str | None
    allPodsCreatedTimestamp: str | None
    lastPodScheduledTimestamp: str | None
    firstPodRunningTimestamp: str | None
    lastPodRunningTimestamp: str | None
    finishedTimestamp: str | None
    failure: str
    #: When each pod that is still there was bound to a node and ended, and its GPUs.
    gpuHolds: list[tuple[str, str | None, int]]
    marks: dict[str, int]
