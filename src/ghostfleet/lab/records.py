"""Records: what a run writes down, as it stands in its files.

A *run* is one submission of many like workloads; its record says what was asked for and of which cluster. A
*submission* is one workload that was sent, or could not be. A *sample* is what the cluster's objects tell about one
workload; its *marks* are the times, in microseconds, at which a recorder saw each step.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple, TypedDict

from ghostfleet.core.timestamps import parse_rfc3339, rfc3339_micro

__all__ = ["MARKS", "Run", "Sample", "Submission"]

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
class Run:
    """What was asked for, of which cluster, and how far it went."""

    run: str
    type: str
    count: int
    seed: int
    project: str
    namespace: str
    workers: int = 1
    gpus: int = 1
    pvc: bool = False
    processes: int = 8
    delay: float = 0.0
    rate: str = ""
    template: str = ""
    runtime: str = ""
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
    #: Real seconds that the lab has spent on the run so far.
    labSeconds: float = 0.0  # the name it has in the file

    @classmethod
    def read(cls, raw: dict[str, Any]) -> Run:
        """A run from its file; TypeError or KeyError when something needed is not there."""
        known = {each.name for each in fields(cls)}
        return cls(**{key: value for key, value in raw.items() if key in known})

    def written(self) -> dict[str, Any]:
        return asdict(self)


class Submission(NamedTuple):
    """One workload that was sent; `error` says why it could not be."""

    name: str
    project: str
    namespace: str
    time: int
    error: str = ""

    @classmethod
    def read(cls, raw: dict[str, Any]) -> Submission:
        return cls(
            raw["jobName"],
            raw["projectName"],
            raw["jobNamespace"],
            parse_rfc3339(raw["submitTimestamp"]),
            raw.get("error", ""),
        )

    def written(self) -> dict[str, str]:
        record = {
            "jobName": self.name,
            "projectName": self.project,
            "jobNamespace": self.namespace,
            "submitTimestamp": rfc3339_micro(self.time),
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
