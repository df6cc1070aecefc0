"""Why a job waits: a cycle that is played for its answers only.

The cycle is the real one, on the same snapshot, with the same configuration; what it decides is not carried out. While
it goes on it is noted where the job stands in the *order* and behind whom, which *limit* stops it, why each node
refuses its next task, and which *scenarios* of victims are tried for it and what speaks against each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ghostfleet.schedulers.kai.allocation_info import tasks_to_allocate
from ghostfleet.schedulers.kai.cluster_info import ClusterInfo
from ghostfleet.schedulers.kai.conf import SchedulerConfiguration
from ghostfleet.schedulers.kai.cycle import open_session, run_once
from ghostfleet.schedulers.kai.decisions import Bind, Decisions, Evict, Pipeline
from ghostfleet.schedulers.kai.plugins.proportion.queue_order import RULES
from ghostfleet.schedulers.kai.plugins.proportion.reclaimable import FURTHER_ABOVE, KEEPS, Refusal
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.queue_info import QueueInfo
from ghostfleet.schedulers.kai.search import NO_PLACE, SOLVED, Search, Tried
from ghostfleet.schedulers.kai.session import QueueOrderJobs, Session

__all__ = ["JobExplanation", "explain_job", "explain_jobs", "outcome_in_words"]

_OUTCOMES = {
    SOLVED: "this would do",
    NO_PLACE: "it would find no place even then",
    "AccumulatedIdleGpus": "that would free too few GPUs",
    "AccumulatedNodeAffinities": "none of them is on a node that it may use",
    "TopologyAwareIdleGpus": "no part of its topology would have enough GPUs",
    "all victims placed": "not all of them would find another place, and consolidation costs nobody his",
    "minruntime": "one of them has not run for the minimal runtime of its queue yet",
    "proportion": "its queue has no right to what they hold",
}


@dataclass(frozen=True)
class JobExplanation:
    """What a cycle finds for a job."""

    job: str
    #: Its place among the jobs that allocate took, from 1; 0 when it was not looked at.
    position: int
    waiting: int
    #: The job that came right before it, and why that did.
    before: str
    why_before: str
    #: What stops it, in KAI's words.
    errors: tuple[str, ...]
    #: Why nodes refuse its next task: by reason, the nodes.
    nodes: Mapping[str, tuple[str, ...]]
    searches: tuple[Search, ...]
    #: Where its tasks would go, by uid of the pod, and who would have to go for it.
    binds: tuple[Bind, ...] = ()
    pipelines: tuple[Pipeline, ...] = ()
    evictions: tuple[Evict, ...] = ()


@dataclass
class _Look:
    """What is noted of a job while the cycle goes on."""

    errors: tuple[str, ...] = ()
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    searches: tuple[Search, ...] = ()


def explain_job(cluster: ClusterInfo, config: SchedulerConfiguration, now: float, uid: str) -> JobExplanation:
    """Play a cycle and tell what became of one job, with all the scenarios that were tried for it."""
    (told,) = explain_jobs(cluster, config, now, [uid], traced=uid)
    return told


def explain_jobs(
    cluster: ClusterInfo, config: SchedulerConfiguration, now: float, uids: Sequence[str], traced: str = ""
) -> list[JobExplanation]:
    """Play a cycle and tell what became of jobs."""
    looks = {uid: _Look() for uid in uids}
    attempts: list[str] = []

    def after(action: str, session: Session) -> None:
        attempts[:] = dict.fromkeys(session.attempts)
        for uid, look in looks.items():
            job = session.jobs[uid]
            # With `prefer-consolidation` an action may search twice: the last search tells.
            look.searches = tuple({each.action: each for each in session.searches if each.job == uid}.values())
            look.errors = tuple(f"{error.reason}: {', '.join(error.messages)}" for error in job.fit_errors)
            if action == "allocate":
                look.nodes = _refusals(session, job)

    decisions = run_once(cluster, config, now, after, traced)
    session = open_session(cluster, config, now)
    told = [_told(session, uid, look, attempts, decisions) for uid, look in looks.items()]
    session.close()
    return told


def _told(session: Session, uid: str, look: _Look, attempts: Sequence[str], decisions: Decisions) -> JobExplanation:
    position = attempts.index(uid) + 1 if uid in attempts else 0
    before = attempts[position - 2] if position > 1 else ""
    return JobExplanation(
        uid,
        position,
        len(attempts),
        before,
        _why_first(session, session.jobs[before], session.jobs[uid]) if before else "",
        look.errors,
        look.nodes,
        look.searches,
        tuple(each for each in decisions.binds if each.job == uid),
        tuple(each for each in decisions.pipelines if each.job == uid),
        tuple(each for each in decisions.evictions if each.preemptor == uid),
    )


def _refusals(session: Session, job: PodGroupInfo) -> dict[str, tuple[str, ...]]:
    """Why nodes refuse the next task of a job, as they are after allocate."""
    tasks = tasks_to_allocate(session, job, real=True)
    if not tasks:
        return {}
    impossible = session.pre_predicate(tasks[0], job)
    if impossible is not None:
        return {impossible: tuple(session.nodes)}
    found: dict[str, list[str]] = {}
    for node in session.nodes.values():
        for reason in session.refusals_of(tasks[0], job, node):
            found.setdefault(reason, []).append(node.name)
    return {reason: tuple(nodes) for reason, nodes in sorted(found.items(), key=lambda each: -len(each[1]))}


# -- order -----------------------------------------------------------------------------------------------------------


def _why_first(session: Session, one: PodGroupInfo, other: PodGroupInfo) -> str:
    """By which rule one job comes before another when a cycle begins."""
    if one.queue == other.queue:
        return _why_in_queue(one, other)
    ours, theirs = _below_common_ancestor(session.queues, one.queue, other.queue)
    if session.queue_order is None:
        return f"queue {ours.name} comes before queue {theirs.name}"
    rule = session.queue_order(ours, theirs, QueueOrderJobs(one), QueueOrderJobs(other))
    if rule > 0:
        return f"queue {theirs.name} had its turn already, for jobs before it"
    return f"queue {ours.name} comes before queue {theirs.name}: {RULES[-rule - 1]}"


def _why_in_queue(one: PodGroupInfo, other: PodGroupInfo) -> str:
    if one.priority != other.priority:
        return f"its priority is {one.priority}, this one's {other.priority}"
    if one.created < other.created:
        return "both have one priority, and it is older"
    if one.created == other.created:
        return "both have one priority and one age, and its name comes first"
    return "it lacks pods of its minimum, and this one does not"


def _below_common_ancestor(queues: Mapping[str, QueueInfo], one: str, other: str) -> tuple[QueueInfo, QueueInfo]:
    ours, theirs = _from_the_top(queues, one), _from_the_top(queues, other)
    for left, right in zip(ours, theirs, strict=False):
        if left is not right:
            return left, right
    return ours[-1], theirs[-1]


def _from_the_top(queues: Mapping[str, QueueInfo], name: str) -> list[QueueInfo]:
    way = [queues[name]]
    while way[-1].parent:
        way.append(queues[way[-1].parent])
    return way[::-1]


# -- words -----------------------------------------------------------------------------------------------------------


def outcome_in_words(tried: Tried) -> str:
    """What speaks for or against a scenario."""
    refused = tried.refused_by
    if tried.outcome == "proportion" and isinstance(refused, Refusal):
        if refused.rule == KEEPS:
            return f"queue {refused.queue} has no more than it may keep"
        if refused.rule == FURTHER_ABOVE:
            return f"queue {refused.queue} would be further above its fair share than {refused.other}, which would lose"
        return f"queue {refused.queue} would have more than its quota in pods that cannot be preempted"
    return _OUTCOMES.get(tried.outcome, tried.outcome)
