"""Sampling: what the cluster's objects tell about the workloads of a run, joined and written down.

Workloads, jobs, pods and pod groups of the project's namespace are listed and joined by name: jobs have the workload's
name, pods carry it in a join label, pod groups in the label `release` or `workloadName`. A workload of which something
is still missing is *incomplete* and left out, so a sample can be taken again and again while a test runs. A workload
that is gone from the cluster keeps what an earlier sample saw of it. Times are passed on as the cluster wrote them, to
the second; where a recorder ran alongside, its marks stand beside them.

What is told must not depend on when it is asked for. A workload's *last* pod is therefore the last of as many as it
wants at once, and those that replace failed ones come after it: once that many were created, bound or running, the time
stays what it is. What pods do after their workload has ended is no part of its life. `podSchedulingDecisionTimestamp`
and `lastPodCreatedTimestamp` alone are what they are in the Run:ai tool, whatever that is at the time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import value
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.drive.interface import EVENTS, PERSISTENT_VOLUME_CLAIMS, PODS, Cluster, Kind, Refused
from ghostfleet.lab.directory import RunDirectory
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.records import Run, Sample, Submission
from ghostfleet.lab.survey import GPU_RESOURCES
from ghostfleet.lab.types import JOIN_LABELS, KindName, WorkloadType, ended_at, outcome, pods_at_once, why

__all__ = ["Sampled", "sample"]

_FORBIDDEN = 403
_ENDED = ("Succeeded", "Failed")
#: Times that stay what they are, once they are known.
_FOR_GOOD = (
    "firstPodCreatedTimestamp",
    "allPodsCreatedTimestamp",
    "firstPodScheduledTimestamp",
    "lastPodScheduledTimestamp",
    "firstPodRunningTimestamp",
    "lastPodRunningTimestamp",
)
#: The mark that says the same as a time of an object.
_MARKED = {
    "workloadCreatedTimestamp": "workload",
    "jobCreatedTimestamp": "job",
    "firstPodCreatedTimestamp": "firstPod",
    "lastPodCreatedTimestamp": "lastPod",
    "podGroupCreatedTimestamp": "podGroup",
    "podSchedulingDecisionTimestamp": "decided",
    "firstEvictionTimestamp": "evicted",
    "firstPVCBindRequestTimestamp": "claimRequested",
    "firstPVCBindTimestamp": "claimBound",
    "backendJobCreatedTimestamp": "",
    "firstPodScheduledTimestamp": "decided",
    "allPodsCreatedTimestamp": "lastPod",
    "lastPodScheduledTimestamp": "bound",
    "firstPodRunningTimestamp": "",
    "lastPodRunningTimestamp": "running",
    "finishedTimestamp": "finished",
}


@dataclass(slots=True)
class Sampled:
    """What came of a sample."""

    submitted: int = 0
    complete: int = 0
    #: Workloads that are left out, by what was missing.
    missing: dict[str, int] = field(default_factory=dict)
    #: Workloads by phase.
    phases: dict[str, int] = field(default_factory=dict)
    refused: int = 0

    @property
    def incomplete(self) -> int:
        return sum(self.missing.values())


@dataclass(slots=True)
class _Objects:
    """All objects that are joined, by the workload's name."""

    workloads: Mapping[str, Object]
    jobs: Mapping[str, Object]
    pods: Mapping[str, list[Object]]
    #: None where the type has none.
    groups: Mapping[str, Object] | None
    #: Times of events, by the name of what they are about.
    evictions: dict[str, str] = field(default_factory=dict)
    claim_requests: dict[str, str] = field(default_factory=dict)
    claims_bound: dict[str, str] = field(default_factory=dict)


async def sample(
    cluster: Cluster,
    directory: RunDirectory,
    kinds: Mapping[str, WorkloadType],
    *,
    project: str = "",
    events: bool = False,
    marks: Mapping[str, dict[str, int]] | None = None,
) -> Sampled:
    """Take a sample and write it to the run's directory.

    `kinds` has the type of each class of a mix, or that of all workloads under "". `marks` are those of the run's
    timeline where they are not given.
    """
    submissions = directory.require_submissions()
    if project and project not in (known := {each.project for each in submissions}):
        raise LabError(f"nothing was submitted to project {project}; {directory.path} has {', '.join(sorted(known))}")
    wanted = [each for each in submissions if not project or each.project == project]
    earlier = {each["jobName"]: each for each in directory.earlier_samples()}
    marks = directory.marks() if marks is None else marks
    result = Sampled(submitted=len(wanted), refused=sum(1 for each in wanted if each.error))
    made: list[Sample] = []
    run = directory.run()
    groups: dict[tuple[str, tuple[KindName, ...]], list[Submission]] = defaultdict(list)
    for each in wanted:
        groups[each.namespace, tuple(_kind_of(kinds, each).kinds())].append(each)
    lister = _Lister(cluster)
    for (namespace, _), group in groups.items():
        names = {each.name for each in group}
        objects = await _objects(lister, namespace, _kind_of(kinds, group[0]), names, events=events)
        for each in group:
            if not each.error:
                seen = marks.get(each.name) or {}
                shape = _shape(each, _kind_of(kinds, each), run)
                taken = _taken(each, objects, earlier.get(each.name), seen, shape, result)
                if taken is not None:
                    made.append({**taken, "marks": {"submitted": each.time, **seen}} if seen else taken)
    result.complete = len(made)
    for taken in made:
        result.phases[taken["phase"]] = result.phases.get(taken["phase"], 0) + 1
    directory.write_samples(made)
    return result


def _kind_of(kinds: Mapping[str, WorkloadType], submission: Submission) -> WorkloadType:
    kind = kinds.get(submission.workload_class)
    if kind is None:
        raise LabError(
            f"{submission.name} is of class {submission.workload_class!r}, which the run's mix does not have"
        )
    return kind


def _shape(submission: Submission, kind: WorkloadType, run: Run | None) -> tuple[int, int]:
    """How many pods a workload has, and GPUs; nothing where it is not known."""
    asked = submission.drawn or run
    if asked is None:
        return 0, 0
    pods = kind.pods(asked.workers)
    return pods, pods * asked.gpus


def _taken(
    submission: Submission,
    objects: _Objects,
    earlier: Sample | None,
    marks: Mapping[str, int],
    shape: tuple[int, int],
    result: Sampled,
) -> Sample | None:
    """The sample of one workload; None, and a count, when something is missing."""
    missing = _missing(submission.name, objects)
    if not missing:
        return _kept(_joined(submission, objects, shape[0]), earlier)
    if earlier is not None and missing in ("workload", "pods"):
        return earlier
    # Clusters clear away what has ended; what was seen before it went still counts.
    if "finished" in marks and "decided" in marks:
        return _from_marks(submission, marks, objects.jobs.get(submission.name), shape)
    result.missing[missing] = result.missing.get(missing, 0) + 1
    return None


def _kept(taken: Sample, earlier: Sample | None) -> Sample:
    """A sample with what an earlier one knew: pods that are deleted, or cleared away, take their times with them."""
    if earlier is None:
        return taken
    if earlier["phase"] in _ENDED and earlier["pods"] > taken["pods"]:
        return earlier
    known = {field: time for field, time in earlier.items() if field in _FOR_GOOD and time}
    return cast("Sample", {**taken, **known})


def _from_marks(submission: Submission, marks: Mapping[str, int], job: Object | None, shape: tuple[int, int]) -> Sample:
    """What the objects of a workload would say if they were still there; `shape` is how many pods and GPUs it had."""
    times: dict[str, str | None] = {
        field: rfc3339(marks[mark]) if mark in marks else None for field, mark in _MARKED.items()
    }
    made: dict[str, Any] = {
        "jobName": submission.name,
        "jobNamespace": submission.namespace,
        "projectName": submission.project,
        **times,
        "phase": (outcome(job) if job is not None else "") or "Succeeded",
        "pods": shape[0],
        "gpus": shape[1],
        "node": "",
        "failure": why(job) if job is not None else "",
        "gpuHolds": [],
    }
    return cast("Sample", made)


# -- finding objects -------------------------------------------------------------------------------------------------


class _Lister:
    """Lists each kind in each namespace once, for several classes may have the same."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._listed: dict[tuple[Kind, str], list[Object]] = {}

    async def list(self, kind: Kind, namespace: str) -> list[Object]:
        found = self._listed.get((kind, namespace))
        if found is None:
            found = self._listed[kind, namespace] = await self.cluster.list(kind, namespace)
        return found


async def _objects(lister: _Lister, namespace: str, kind: WorkloadType, names: set[str], *, events: bool) -> _Objects:
    workloads = _by_name(await _listed(lister, kind.workload, namespace, kind.name), names)
    jobs = workloads
    if kind.job is not None:
        jobs = _by_name(await _listed(lister, kind.job, namespace, kind.name), names)
    pods: dict[str, list[Object]] = defaultdict(list)
    for pod in await lister.list(PODS, namespace):
        name = _label_of(pod, JOIN_LABELS)
        if name in names:
            pods[name].append(pod)
    groups = None
    if kind.pod_group is not None:
        listed = await _listed(lister, kind.pod_group, namespace, kind.name)
        groups = {_label_of(each, ("release", "workloadName")): each for each in listed}
    objects = _Objects(workloads, jobs, pods, groups)
    if events:
        await _read_events(lister, namespace, objects)
    return objects


async def _listed(lister: _Lister, kind: KindName, namespace: str, type_name: str) -> list[Object]:
    found = await lister.cluster.resolve(*kind)
    if found is None:
        raise LabError(
            f"the cluster does not serve {kind.kind} ({kind.api_version}), which type {type_name} needs; "
            f"`ghostfleet doctor -t {type_name}` says what is missing"
        )
    return await lister.list(found, namespace)


def _by_name(objects: Iterable[Object], names: set[str]) -> dict[str, Object]:
    return {name: each for each in objects if (name := each["metadata"]["name"]) in names}


def _label_of(obj: Object, keys: Iterable[str]) -> str:
    labels = obj["metadata"].get("labels") or {}
    for key in keys:
        if key in labels:
            return str(labels[key])
    return ""


async def _read_events(lister: _Lister, namespace: str, objects: _Objects) -> None:
    """Evictions, and what happened to claims, which only events tell."""
    try:
        listed = await lister.list(EVENTS, namespace)
        claims = await lister.list(PERSISTENT_VOLUME_CLAIMS, namespace)
    except Refused as refusal:
        if refusal.code != _FORBIDDEN:
            raise
        return
    pods = {pod["metadata"]["name"]: name for name, group in objects.pods.items() for pod in group}
    owners = {claim["metadata"]["name"]: _owner_of(claim, pods) for claim in claims}
    # What an event is about, whose name leads to the workload, and where its time goes.
    wanted: dict[str, tuple[Mapping[str, str], dict[str, str]]] = {
        "Evict": (pods, objects.evictions),
        "Preempted": (pods, objects.evictions),
        "ExternalProvisioning": (owners, objects.claim_requests),
        "ProvisioningSucceeded": (owners, objects.claims_bound),
    }
    for event in listed:
        reason = event.get("reason", "")
        if reason not in wanted or (reason == "Evict" and not _takes_away(event.get("message", ""))):
            continue
        names, times = wanted[reason]
        name = names.get(event["involvedObject"].get("name", ""))
        time = event.get("firstTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"]
        if name is not None and time < times.get(name, "9999"):
            times[name] = time


def _owner_of(claim: Object, pods: Mapping[str, str]) -> str:
    """The workload that a claim is for, by its label or by the pod that owns it."""
    owners = claim["metadata"].get("ownerReferences") or ()
    return _label_of(claim, ("release",)) or next(
        (pods[owner["name"]] for owner in owners if owner.get("name") in pods), ""
    )


def _takes_away(message: str) -> bool:
    lowered = message.lower()
    return "preempt" in lowered or "reclaim" in lowered


# -- joining ---------------------------------------------------------------------------------------------------------


def _missing(name: str, objects: _Objects) -> str:
    """The first part that a workload lacks to be complete; "" when it has all."""
    if name not in objects.workloads:
        return "workload"
    if name not in objects.jobs:
        return "job"
    if name not in objects.pods:
        return "pods"
    if objects.groups is not None and name not in objects.groups:
        return "pod group"
    return "" if _decision(_first(objects.pods[name])) else "scheduling decision"


def _joined(submission: Submission, objects: _Objects, pods_of_type: int) -> Sample:
    name = submission.name
    pods = objects.pods[name]
    job = objects.jobs[name]
    first = _first(pods)
    created = [pod["metadata"]["creationTimestamp"] for pod in pods]
    ended = ended_at(job) or (_last_end(pods) if outcome(job) else None)
    running = _until(ended, (_running_since(pod) for pod in pods))
    scheduled = _until(ended, (_condition(pod, "PodScheduled", "True") for pod in pods))
    wanted = pods_at_once(job) or pods_of_type or len(pods)
    decided = _decision(first)
    return {
        "jobName": name,
        "jobNamespace": submission.namespace,
        "projectName": submission.project,
        "workloadCreatedTimestamp": objects.workloads[name]["metadata"]["creationTimestamp"],
        "jobCreatedTimestamp": job["metadata"]["creationTimestamp"],
        "firstPodCreatedTimestamp": min(created),
        "lastPodCreatedTimestamp": max(created),
        "podGroupCreatedTimestamp": (
            objects.groups[name]["metadata"]["creationTimestamp"] if objects.groups is not None else None
        ),
        "podSchedulingDecisionTimestamp": decided,
        "firstEvictionTimestamp": objects.evictions.get(name),
        "firstPVCBindRequestTimestamp": objects.claim_requests.get(name),
        "firstPVCBindTimestamp": objects.claims_bound.get(name),
        "backendJobCreatedTimestamp": None,
        "phase": outcome(job) or ("Running" if len(running) == len(pods) else "Pending"),
        "pods": len(pods),
        "gpus": sum(_gpus(pod) for pod in pods),
        "node": first["spec"].get("nodeName") or "",
        "firstPodScheduledTimestamp": min(scheduled, default=None),
        "allPodsCreatedTimestamp": _nth(created, wanted),
        "lastPodScheduledTimestamp": _nth(scheduled, wanted),
        "firstPodRunningTimestamp": min(running, default=None),
        "lastPodRunningTimestamp": _nth(running, wanted),
        "finishedTimestamp": ended,
        "failure": why(job),
        "gpuHolds": [hold for pod in pods if (hold := _hold(pod))],
    }


def _until(ended: str | None, times: Iterable[str | None]) -> list[str]:
    """The times that are known, but for those after the end."""
    return [time for time in times if time and (not ended or time <= ended)]


def _nth(times: list[str], number: int) -> str | None:
    """The time at which so many had happened."""
    return sorted(times)[number - 1] if len(times) >= number else None


def _hold(pod: Object) -> tuple[str, str | None, int] | None:
    """From when to when a pod held how many GPUs."""
    bound, gpus = _condition(pod, "PodScheduled", "True"), _gpus(pod)
    if not bound or not gpus:
        return None
    over = (pod.get("status") or {}).get("phase") in _ENDED
    return bound, (_last_end([pod]) or bound) if over else None, gpus


def _first(pods: list[Object]) -> Object:
    if len(pods) == 1:
        return pods[0]
    return min(pods, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))


def _decision(pod: Object) -> str | None:
    """When the scheduler decided about a pod: it was placed, or there was a reason why not."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "PodScheduled" and (condition["status"] == "True" or condition.get("reason")):
            time: str | None = condition.get("lastTransitionTime")
            return time
    return None


def _condition(pod: Object, wanted: str, status: str) -> str | None:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == wanted and condition["status"] == status:
            time: str | None = condition.get("lastTransitionTime")
            return time
    return None


def _running_since(pod: Object) -> str | None:
    """When the last of a pod's containers started."""
    return _latest(pod, lambda state: (state.get("running") or state.get("terminated") or {}).get("startedAt"))


def _last_end(pods: list[Object]) -> str | None:
    ends = [_latest(pod, lambda state: (state.get("terminated") or {}).get("finishedAt")) for pod in pods]
    return max((time for time in ends if time), default=None)


def _latest(pod: Object, time_of: Callable[[Object], str | None]) -> str | None:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    times = [time for status in statuses if (time := time_of(status.get("state") or {}))]
    return max(times, default=None)


def _gpus(pod: Object) -> int:
    total = 0
    for container in pod["spec"]["containers"]:
        limits = (container.get("resources") or {}).get("limits") or {}
        for name in GPU_RESOURCES:
            if name in limits:
                total += value(limits[name])
    return total
