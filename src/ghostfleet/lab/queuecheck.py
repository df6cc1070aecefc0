"""What is wrong, or very likely not meant, in the queues of KAI and in the work that names them.

Queues alone can be checked from files, before they reach a cluster. On a cluster the nodes, the pod groups and the pods
tell more: whether quotas can be kept, and whether work is in a queue where it can run. A *finding* says what it is
about, what is the case, and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ghostfleet.controllers.kai.constants import POD_GROUPS, QUEUES
from ghostfleet.controllers.kai.podgroups import is_preemptible
from ghostfleet.core.changes import Object
from ghostfleet.core.manifests import expand_lists, load_documents
from ghostfleet.lab.kaistate import KaiState
from ghostfleet.schedulers.kai.cache.queues import queue_info, queue_problem
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.queue_info import QueueInfo, ResourceQuota, link_queues
from ghostfleet.schedulers.kai.usage import capacity

__all__ = ["Finding", "check_cluster", "check_files"]

_RESOURCES = ("cpu", "memory", "gpu")
#: Below these a quota or limit is more likely cores or gigabytes than what KAI takes it for, thousandths of a core and
#: megabytes. Estimated: no queue is meant to have less than a tenth of a core, or less than a gigabyte.
_TOO_SMALL = {"cpu": 100, "memory": 1000}
_UNITS = {"cpu": ("thousandths of a core", "cores"), "memory": ("MB", "GB"), "gpu": ("GPUs", "GPUs")}
#: From KAI's units in a queue to those of its books.
_BOOKED = {"cpu": 1.0, "memory": 1e6, "gpu": 1.0}
_OLD_LABEL = "runai/queue"
_UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with what, and what to do; `where` is the file and line of it, if there is one."""

    about: str
    problem: str
    remedy: str
    where: str = ""


def check_files(texts: Mapping[str, bytes]) -> list[Finding]:
    """Check the queues of manifests, by the names of their files."""
    queues, places = [], {}
    for source, text in texts.items():
        for document in expand_lists(load_documents(text, source)):
            obj = document.object
            if obj.get("kind") == "Queue" and str(obj.get("apiVersion", "")).startswith("scheduling.run.ai/"):
                queues.append(obj)
                places[obj["metadata"]["name"]] = f"{document.source}:{document.line}"
    found = list(_check_queues(queues))
    return [Finding(each.about, each.problem, each.remedy, places.get(_queue_of(each), "")) for each in found]


def check_cluster(state: KaiState) -> list[Finding]:
    """Check the queues of a cluster, and the work in them."""
    queues = state.store.list(QUEUES)
    return [
        *_check_queues(queues),
        *_quotas_against_capacity(state),
        *_work_in_the_wrong_place(state),
        *_work_that_cannot_run(state),
        *_old_labels(state),
    ]


def _queue_of(finding: Finding) -> str:
    return finding.about.removeprefix("queue ")


# -- queues by themselves --------------------------------------------------------------------------------------------


def _check_queues(queues: Sequence[Object]) -> Iterator[Finding]:
    for queue in queues:
        yield from _no_numbers(queue)
    queues = [each for each in queues if not list(_no_numbers(each))]
    infos = {each["metadata"]["name"]: queue_info(each) for each in queues}
    link_queues(infos)
    for queue in queues:
        name = queue["metadata"]["name"]
        info, stated = infos[name], (queue.get("spec") or {}).get("resources")
        if not info.is_rooted:
            yield Finding(
                f"queue {name}", queue_problem(infos, name), "name a parentQueue that is there, or none for a root"
            )
        if stated is None:
            yield Finding(f"queue {name}", "it says nothing of resources, which KAI rejects", "add spec.resources")
            continue
        for resource in _RESOURCES:
            yield from _check_figures(name, resource, stated.get(resource) or {})
        yield from _check_children(infos, info)


def _no_numbers(queue: Object) -> Iterator[Finding]:
    """What cannot be read; KAI's definition of a queue rejects it."""
    stated = (queue.get("spec") or {}).get("resources") or {}
    for resource in _RESOURCES:
        for field, amount in (stated.get(resource) or {}).items():
            if isinstance(amount, bool) or not isinstance(amount, (int, float)):
                about = f"queue {queue['metadata']['name']}"
                yield Finding(
                    about, f"{resource}.{field} {amount!r} is not a number", "write it as 8, not as '8' or 8Gi"
                )


def _check_figures(queue: str, resource: str, stated: Mapping[str, float]) -> Iterator[Finding]:
    about = f"queue {queue}"
    limit, quota, weight = (stated.get(field) or 0 for field in ("limit", "quota", "overQuotaWeight"))
    if not limit:
        yield Finding(
            about,
            f"{resource}.limit is not set, which KAI takes for 0: no pod that asks for {resource} can run in it",
            f"write {resource}.limit: -1 for no limit",
        )
    for field, amount in (("quota", quota), ("limit", limit)):
        if resource in _TOO_SMALL and 0 < amount < _TOO_SMALL[resource]:
            unit, larger = _UNITS[resource]
            yield Finding(
                about,
                f"{resource}.{field} {amount:g} is {amount:g} {unit}",
                f"write {amount * 1000:g} if {amount:g} {larger} are meant",
            )
    if limit > 0 and (quota > limit or quota == _UNLIMITED):
        told = "without bound" if quota == _UNLIMITED else f"{quota:g}"
        yield Finding(
            about,
            f"{resource}.quota {told} is above {resource}.limit {limit:g}, which it can never go beyond",
            "raise the limit, or lower the quota",
        )
    if resource == "gpu" and limit and not quota and not weight:
        yield Finding(
            about,
            "gpu.quota and gpu.overQuotaWeight are 0: its fair share is always 0, so whatever it runs can be reclaimed",
            "give it a quota, or a weight for what others leave",
        )


def _check_children(infos: Mapping[str, QueueInfo], parent: QueueInfo) -> Iterator[Finding]:
    """Whether the quotas of a queue's children are more than it has itself."""
    for resource in _RESOURCES:
        own: ResourceQuota = getattr(parent, resource)
        quotas = [getattr(infos[child], resource).quota for child in parent.children]
        if own.quota == _UNLIMITED or not quotas or _UNLIMITED in quotas:
            continue
        if sum(quotas) > own.quota:
            yield Finding(
                f"queue {parent.uid}",
                f"the queues below it have {resource}.quota {sum(quotas):g} together, and it has {own.quota:g}",
                f"raise its {resource}.quota to {sum(quotas):g}, or lower theirs",
            )


# -- queues and nodes ------------------------------------------------------------------------------------------------


def _quotas_against_capacity(state: KaiState) -> Iterator[Finding]:
    roots = [queue for queue in state.info.queues.values() if not queue.parent]
    for resource, there in zip(_RESOURCES, capacity(state.info), strict=True):
        quotas = [getattr(queue, resource).quota for queue in roots]
        total = sum(quota for quota in quotas if quota != _UNLIMITED) * _BOOKED[resource]
        if total > there:
            unit = _BOOKED[resource]
            yield Finding(
                f"all queues, {resource}",
                f"quotas come to {total / unit:g} {_UNITS[resource][0]}, and the nodes have {there / unit:g}",
                "lower quotas or add nodes: KAI does not scale them down, so not all can be kept",
            )


# -- work ------------------------------------------------------------------------------------------------------------


def _work_in_the_wrong_place(state: KaiState) -> Iterator[Finding]:
    """Pod groups whose queue is missing or holds no jobs, and those of a priority class that is missing."""
    for group in _groups(state):
        own, spec = group["metadata"], group.get("spec") or {}
        about = f"pod group {own['namespace']}/{own['name']}"
        problem = queue_problem(state.info.queues, spec.get("queue") or "")
        if problem:
            yield Finding(about, problem, f"label its pods {state.config.queue_label} with a queue that has none below")
        named = spec.get("priorityClassName")
        if named and state.store.find("priorityclasses.scheduling.k8s.io", "", named) is None:
            yield Finding(
                about,
                f"its priority class {named} does not exist, so it has the default priority",
                f"create the PriorityClass {named}, or use train, build-preemptible, build or inference",
            )


def _groups(state: KaiState) -> Iterable[Object]:
    return (each for each in state.store.list(POD_GROUPS) if _job_of(state, each) is not None)


def _job_of(state: KaiState, group: Object) -> PodGroupInfo | None:
    return state.info.pod_groups.get(f"{group['metadata']['namespace']}/{group['metadata']['name']}")


def _work_that_cannot_run(state: KaiState) -> Iterator[Finding]:
    """Work that cannot be preempted may only use quota: what is larger than a quota on its way up never runs."""
    for group in _groups(state):
        job = _job_of(state, group)
        if job is None or is_preemptible(state.store, group) or not job.pending:
            continue
        asked = [0.0, 0.0, 0.0]
        for pod_set in job.pod_sets.values():
            for task in list(pod_set.tasks.values())[: pod_set.min_available]:
                asked = [held + more for held, more in zip(asked, task.pod.request.quantities, strict=True)]
        for queue in _way_up(state.info.queues, job.queue):
            yield from _above_quota(f"pod group {job.uid}", queue, asked)


def _above_quota(about: str, queue: QueueInfo, asked: Sequence[float]) -> Iterator[Finding]:
    for resource, amount in zip(_RESOURCES, asked, strict=True):
        quota, unit = getattr(queue, resource).quota, _BOOKED[resource]
        if quota != _UNLIMITED and amount > quota * unit:
            yield Finding(
                about,
                f"it cannot be preempted and asks for {amount / unit:g} {_UNITS[resource][0]}; "
                f"the quota of queue {queue.uid} is {quota:g}",
                f"raise {resource}.quota of {queue.uid}, or use a priority class below 100",
            )


def _way_up(queues: Mapping[str, QueueInfo], name: str) -> Iterator[QueueInfo]:
    queue = queues.get(name)
    while queue is not None and queue.is_rooted:
        yield queue
        queue = queues.get(queue.parent)


def _old_labels(state: KaiState) -> Iterator[Finding]:
    """Pods of KAI's with the label of before v0.6, gathered by namespace."""
    key = state.config.queue_label
    found: dict[str, list[str]] = {}
    for pod in state.store.list("pods"):
        labels = pod["metadata"].get("labels") or {}
        if (
            pod["spec"].get("schedulerName") == state.config.scheduler_name
            and _OLD_LABEL in labels
            and key not in labels
        ):
            found.setdefault(pod["metadata"]["namespace"], []).append(pod["metadata"]["name"])
    for namespace, names in sorted(found.items()):
        few = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        yield Finding(
            f"pods in {namespace}",
            f"{few}: labelled {_OLD_LABEL}, which KAI has not read since v0.6, and not {key}",
            f"label them {key}, or start the cluster with --kai-queue-label {_OLD_LABEL}",
        )
