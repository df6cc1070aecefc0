"""Why a queue of KAI's has what it has: its figures, what became of its fair share, who waits in it and why."""

from __future__ import annotations

from dataclasses import dataclass

from ghostfleet.drive.interface import Cluster
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.kaistate import KaiState, read_kai
from ghostfleet.lab.queuecheck import Finding, check_cluster
from ghostfleet.lab.queues import Amounts, QueueState, states_of
from ghostfleet.schedulers.kai.explaining import JobExplanation, explain_jobs
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo

__all__ = ["QueueExplanation", "WaitingJob", "explain_queue"]

_UNLIMITED = -1
_MOST_JOBS = 20


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """A job that waits in a queue, and what the next cycle would do with it."""

    name: str
    #: Its place among all jobs that wait; 0 when it is not looked at.
    position: int
    pods: int
    told: str


@dataclass(frozen=True, slots=True)
class QueueExplanation:
    """What is the matter with a queue."""

    name: str
    parent: str
    priority: int
    children: tuple[str, ...]
    verdict: str
    resources: dict[str, Amounts]
    #: How its fair share of GPUs came about.
    fair_share: str
    waiting: tuple[WaitingJob, ...]
    #: How many more jobs wait than are told of.
    more: int
    findings: tuple[Finding, ...]


async def explain_queue(cluster: Cluster, name: str, node_pool: str = "") -> QueueExplanation:
    """Explain one queue of a node pool."""
    state = await read_kai(cluster, node_pool)
    states = {each.name: each for each in states_of(state)}
    own = states.get(name)
    if own is None:
        known = ", ".join(sorted(states)) or "none"
        raise LabError(f"there is no queue {name}; there are {known}")
    below = _below(state, name)
    jobs = sorted((job for job in state.info.pod_groups.values() if job.queue in below and job.pending), key=_age)
    with state.thinking():
        explained = explain_jobs(state.info, state.config, state.now, [job.uid for job in jobs[:_MOST_JOBS]])
    told = [_waiting(job, each) for job, each in zip(jobs, explained, strict=False)]
    return QueueExplanation(
        name,
        own.parent,
        own.priority,
        tuple(sorted(state.info.queues[name].children)),
        own.problem or _verdict(own),
        own.resources,
        _fair_share(own, states.get(own.parent)),
        tuple(sorted(told, key=lambda each: (not each.position, each.position))),
        max(0, len(jobs) - _MOST_JOBS),
        tuple(each for each in check_cluster(state) if each.about == f"queue {name}"),
    )


def _age(job: PodGroupInfo) -> tuple[float, str]:
    return (job.created, job.uid)


def _below(state: KaiState, name: str) -> set[str]:
    """A queue and all that hang on it."""
    found, left = {name}, [name]
    while left:
        new = [child for child in state.info.queues[left.pop()].children if child not in found]
        found.update(new)
        left += new
    return found


def _waiting(job: PodGroupInfo, told: JobExplanation) -> WaitingJob:
    return WaitingJob(job.uid, told.position, len(job.pending), _in_short(told))


def _in_short(told: JobExplanation) -> str:
    if told.binds:
        return f"gets a place in the next cycle, on {told.binds[0].node}"
    if told.evictions:
        return f"{len(told.evictions)} pods must go for it in the next cycle"
    if told.pipelines:
        return f"waits for pods to leave {told.pipelines[0].node}"
    if not told.position:
        return "is not looked at in a cycle"
    return told.errors[0].strip().splitlines()[-1].strip() if told.errors else "finds no place"


def _verdict(queue: QueueState) -> str:
    gpu = queue.resources["gpu"]
    if gpu.limit != _UNLIMITED and gpu.allocated >= gpu.limit:
        return f"it has reached its limit of {_gpus(gpu.limit)}"
    if gpu.allocated > gpu.fair_share:
        return f"it has {_gpus(gpu.allocated - gpu.fair_share)} more than its fair share, which others may take back"
    if gpu.requested > gpu.allocated and gpu.allocated < gpu.fair_share:
        lacking = _gpus(gpu.fair_share - gpu.allocated)
        return f"it lacks {lacking} of its fair share, and may take as much back from others"
    if gpu.requested > gpu.allocated:
        return "it has its fair share of GPUs and asks for more"
    return "it has all the GPUs that it asks for"


def _gpus(count: float) -> str:
    return f"{count:g} GPU{'' if count == 1 else 's'}"


def _fair_share(queue: QueueState, parent: QueueState | None) -> str:
    gpu = queue.resources["gpu"]
    wanted = gpu.requested if gpu.limit == _UNLIMITED else min(gpu.requested, gpu.limit)
    quota = wanted if gpu.quota == _UNLIMITED else min(gpu.quota, wanted)
    over = max(gpu.fair_share - quota, 0.0)
    told = f"{quota:g} of the {wanted:g} GPUs that it asks for are within its quota"
    if over or wanted > quota:
        shared = f"queue {parent.name}" if parent is not None else "the cluster"
        told += f", and {over:g} of what {shared} has left come by priority {queue.priority} and weight {gpu.weight:g}"
    return f"{told}: {gpu.fair_share:g}"
