"""Six things to look at when KAI does not schedule a pod, each with what was found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ghostfleet.controllers.kai.constants import QUEUES
from ghostfleet.core.changes import Object
from ghostfleet.lab.kaistate import KaiState
from ghostfleet.lab.queues import states_of
from ghostfleet.schedulers.kai.allocation_info import tasks_to_allocate
from ghostfleet.schedulers.kai.cache.podgroups import job_key
from ghostfleet.schedulers.kai.cache.queues import queue_problem
from ghostfleet.schedulers.kai.cycle import open_session
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.session import Session

__all__ = ["Check", "all_checks"]

_OLD_LABEL = "runai/queue"
_QUOTA, _NODES, _PARTS = "quota and limit", "nodes", "distributed parts"


@dataclass(frozen=True, slots=True)
class Check:
    """One of the six."""

    about: str
    ok: bool
    told: str


def all_checks(state: KaiState, pod: Object, group: Object | None) -> Iterator[Check]:
    """The checks, in the order in which one goes through them."""
    own = pod["metadata"]
    queue = ((group or {}).get("spec") or {}).get("queue", "")
    yield _namespace(state, own["namespace"], queue)
    yield _label(state, own.get("labels") or {}, queue)
    yield _scheduler_name(state, pod)
    name = ((group or {}).get("metadata") or {}).get("name", "")
    job = state.info.pod_groups.get(job_key(own["namespace"], name))
    problem = state.cache.problems.get(own["uid"])
    if job is None or queue_problem(state.info.queues, queue):
        yield from (Check(about, True, "cannot be said before it is in a queue") for about in (_QUOTA, _NODES, _PARTS))
        return
    session = open_session(state.info, state.config, state.now)
    try:
        yield _quota(state, session, job) if problem is None else Check(_QUOTA, False, problem[1])
        yield _nodes(session, job)
        yield _parts(session, job)
    finally:
        session.close()


def _namespace(state: KaiState, namespace: str, queue: str) -> Check:
    about = "namespace and queue"
    if state.store.find("namespaces", "", namespace) is None:
        return Check(about, False, f"the namespace {namespace} does not exist")
    if not queue:
        return Check(about, True, f"the namespace {namespace} exists; the pod is in no pod group yet")
    problem = queue_problem(state.info.queues, queue)
    if problem:
        if queue not in state.info.queues and state.store.find(QUEUES, "", queue) is not None:
            problem = f"Queue {queue!r} is not in node pool {state.config.node_pool or 'default'}, as the pod is"
        return Check(about, False, problem)
    same = "" if namespace == queue else ", and need not be called alike"
    return Check(about, True, f"the namespace {namespace} and the queue {queue} exist{same}")


def _label(state: KaiState, labels: dict[str, str], queue: str) -> Check:
    about, key = "queue label", state.config.queue_label
    if key in labels:
        return Check(about, True, f"{key}: {labels[key]}")
    if _OLD_LABEL in labels:
        told = f"it has the label {_OLD_LABEL}, which KAI has not read since v0.6, and not {key}"
        return Check(about, False, f"{told}: it is in {queue or 'default-queue'} (--kai-queue-label reads the old one)")
    where = f"so it is in {queue}" if queue else "so it goes to default-queue"
    return Check(about, True, f"no label {key} on the pod, {where}")


def _scheduler_name(state: KaiState, pod: Object) -> Check:
    found, wanted = pod["spec"].get("schedulerName", "default-scheduler"), state.config.scheduler_name
    if found == wanted:
        return Check("schedulerName", True, found)
    return Check("schedulerName", False, f"schedulerName is {found}, so KAI passes it over; it takes {wanted}")


def _quota(state: KaiState, session: Session, job: PodGroupInfo) -> Check:
    """What the job asks for next against quota and limit of its queue and of all above it."""
    over = session.job_over_queue_capacity(job, tasks_to_allocate(session, job, real=True))
    if over is not None:
        return Check(_QUOTA, False, over.message)
    figures = next(each for each in states_of(state) if each.name == job.queue).resources["gpu"]
    quota = "no bound" if figures.quota == -1 else f"{figures.quota:g}"
    told = f"queue {job.queue} has {figures.allocated:g} GPUs, with a quota of {quota} and a fair share of "
    return Check(_QUOTA, True, f"{told}{figures.fair_share:g}; no limit stops the job")


def _nodes(session: Session, job: PodGroupInfo) -> Check:
    tasks = tasks_to_allocate(session, job, real=True)
    if not tasks:
        return Check(_NODES, True, "none of its pods waits for a node")
    task = tasks[0]
    fitting = [node.name for node in session.nodes.values() if not list(session.refusals_of(task, job, node))]
    if fitting:
        room = "node has" if len(fitting) == 1 else "nodes have"
        return Check(_NODES, True, f"{len(fitting)} {room} room for {task.pod.name}, such as {fitting[0]}")
    could = [node.name for node in session.nodes.values() if task.pod.request.fits(node.allocatable)]
    if could:
        told = f"no node takes {task.pod.name} now; {could[0]} would be large enough if it were empty"
    else:
        told = f"no node is large enough for {task.pod.name}, not even an empty one"
    return Check(_NODES, False, told)


def _parts(session: Session, job: PodGroupInfo) -> Check:
    """Whether all that must start together is there, and has room together."""
    for pod_set in job.pod_sets.values():
        if not pod_set.is_ready:
            there = f"{pod_set.alive} of at least {pod_set.min_available} pods are there"
            return Check(_PARTS, False, f"{there}, and none starts before they are")
    tasks = tasks_to_allocate(session, job, real=True)
    least = sum(pod_set.min_available for pod_set in job.pod_sets.values())
    if least == 1:
        return Check(_PARTS, True, "its pods start one by one")
    asked = sum(task.pod.request.device_gpus for task in tasks)
    free = sum(node.idle.gpus for node in session.nodes.values() if not node.not_ready)
    told = f"{least} pods start together; {len(tasks)} are to be placed and ask for {asked:g} GPUs, {free:g} are free"
    return Check(_PARTS, asked <= free, told)
