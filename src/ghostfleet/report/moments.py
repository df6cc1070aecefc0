"""The moments of a workload's life, and the phases between them.

A *moment* is a step that has a time: the workload was submitted, its job was created, its last pod runs. The cluster
tells it as a timestamp, to the second; a recorder that ran alongside tells it as a *mark*, to the microsecond. A
*phase* is the time between two moments. A *step* is a phase from one moment to a following one; a *total* is a phase
from the submission on. The phases of the Run:ai scale test tool come first, in its order and by its names, so that
sheets made for its `times.csv` go on working; those after them are ours.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CHAIN", "EXTRA_PHASES", "MOMENTS", "PHASES", "RUNAI_PHASES", "TOTALS", "Moment", "Phase"]


class Moment(NamedTuple):
    """One step in a workload's life."""

    key: str
    title: str
    #: Where sampled.json (or, for the first, submitted.json) has it.
    field: str
    #: Its name among the marks; "" when a recorder does not see it.
    mark: str = ""
    #: Where the Run:ai tool has what comes nearest to it; read where the field is missing.
    runai: str = ""


class Phase(NamedTuple):
    """The time between two moments, by their keys."""

    key: str
    title: str
    start: str
    end: str
    total: bool = False

    @property
    def sentence(self) -> str:
        return f"Time between {_TITLES[self.start]} and {_TITLES[self.end]}"

    @property
    def start_title(self) -> str:
        return _TITLES[self.start]


_ALL = (
    Moment("submitted", "Workload Submission", "submitTimestamp", "submitted"),
    Moment("workload", "Workload Creation", "workloadCreatedTimestamp", "workload"),
    Moment("job", "Job Creation", "jobCreatedTimestamp", "job"),
    Moment("firstPod", "First Pod Creation", "firstPodCreatedTimestamp", "firstPod"),
    Moment("lastPod", "Last Pod Creation", "allPodsCreatedTimestamp", "lastPod", "lastPodCreatedTimestamp"),
    Moment("podGroup", "Pod Group Creation", "podGroupCreatedTimestamp", "podGroup"),
    Moment(
        "decided",
        "Pod Scheduling Decision",
        "firstPodScheduledTimestamp",
        "decided",
        "podSchedulingDecisionTimestamp",
    ),
    Moment("evicted", "First Eviction", "firstEvictionTimestamp", "evicted"),
    Moment("claimRequested", "First PVC Bind Request", "firstPVCBindRequestTimestamp", "claimRequested"),
    Moment("claimBound", "First PVC Bind", "firstPVCBindTimestamp", "claimBound"),
    Moment("backendJob", "Backend Job Creation", "backendJobCreatedTimestamp"),
    Moment("bound", "Last Pod Bound", "lastPodScheduledTimestamp", "bound"),
    Moment("firstRunning", "First Pod Running", "firstPodRunningTimestamp"),
    Moment("running", "Last Pod Running", "lastPodRunningTimestamp", "running"),
    Moment("finished", "Finish", "finishedTimestamp", "finished"),
)
#: By key.
MOMENTS = {moment.key: moment for moment in _ALL}
_TITLES = {moment.key: moment.title for moment in _ALL}

RUNAI_PHASES = (
    Phase("workload", "Workload Creation", "submitted", "workload"),
    Phase("job", "Job Creation", "workload", "job"),
    Phase("firstPod", "First Pod Creation", "job", "firstPod"),
    Phase("lastPod", "Last Pod Creation", "job", "lastPod"),
    Phase("podGroup", "Pod Group Creation", "firstPod", "podGroup"),
    Phase("decided", "Pod Scheduling Decision", "podGroup", "decided"),
    Phase("evicted", "First Eviction", "podGroup", "evicted"),
    Phase("claimRequested", "First PVC Bind Request", "podGroup", "claimRequested"),
    Phase("claimBound", "First PVC Bind", "claimRequested", "claimBound"),
    Phase("backendJob", "Backend Job Creation", "podGroup", "backendJob"),
    Phase("totalDecided", "Total Pod Scheduling Decision", "submitted", "decided", total=True),
    Phase("totalBackendJob", "Total Backend Job Creation", "submitted", "backendJob", total=True),
)
EXTRA_PHASES = (
    Phase("bound", "Last Pod Bound", "decided", "bound"),
    Phase("running", "Last Pod Running", "bound", "running"),
    Phase("finished", "Finish", "running", "finished"),
    Phase("totalBound", "Total Last Pod Bound", "submitted", "bound", total=True),
    Phase("totalRunning", "Total Last Pod Running", "submitted", "running", total=True),
    Phase("totalFinished", "Total Finish", "submitted", "finished", total=True),
)
_PHASES = RUNAI_PHASES + EXTRA_PHASES
#: All of them, steps before totals.
PHASES = tuple(phase for phase in _PHASES if not phase.total) + tuple(phase for phase in _PHASES if phase.total)
#: The totals, from the earliest moment to the latest.
TOTALS = tuple(phase for phase in PHASES if phase.total)
#: Moments that follow one another in every workload's life: their phases add up to the whole.
CHAIN = ("submitted", "workload", "job", "firstPod", "podGroup", "decided", "bound", "running")
