"""Why a pod of KAI waits.

Two answers go together. The *checks* are the six things to look at when a pod is not scheduled: namespace and queue,
the queue's label, the scheduler's name, quota and limit, the nodes, and whether all parts of a distributed job can
start. The *cycle* is KAI's own, played on a copy of the cluster: where the pod's job stands in the order, what stops
it, what each node says, which victims were thought of and what speaks against each, and who would have to go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ghostfleet.controllers.kai.constants import POD_GROUP_ANNOTATION, POD_GROUPS
from ghostfleet.core.changes import Object
from ghostfleet.lab.explain.kaichecks import Check, all_checks
from ghostfleet.lab.kaistate import KaiState
from ghostfleet.schedulers.kai.cache.podgroups import job_key
from ghostfleet.schedulers.kai.explaining import JobExplanation, explain_job, outcome_in_words
from ghostfleet.schedulers.kai.search import SOLVED, Search

__all__ = ["KaiExplanation", "NodesSay", "ScenarioTold", "SearchTold", "explain_with_kai", "is_kais"]

#: Labels by which a pod shows that it is meant for KAI, whatever its scheduler is called.
_QUEUE_LABELS = ("kai.scheduler/queue", "runai/queue")
_DOES = {
    "consolidation": "Moving jobs together",
    "reclaim": "Taking back from other queues",
    "preempt": "Preempting jobs of lower priority in its queue",
}


@dataclass(frozen=True, slots=True)
class NodesSay:
    """A reason, and the nodes that give it."""

    reason: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScenarioTold:
    """Pods that would have had to go for so many pods of the job, and what came of it."""

    for_pods: int
    victims: tuple[str, ...]
    outcome: str


@dataclass(frozen=True, slots=True)
class SearchTold:
    """What an action that looks for victims found."""

    action: str
    does: str
    verdict: str
    scenarios: tuple[ScenarioTold, ...] = ()


@dataclass(frozen=True, slots=True)
class KaiExplanation:
    """What is the matter with a pod of KAI's."""

    namespace: str
    name: str
    phase: str
    verdict: str
    node: str = ""
    message: str = ""
    queue: str = ""
    pod_group: str = ""
    order: str = ""
    checks: tuple[Check, ...] = ()
    #: The lines of quota, limit or gang that stop it.
    stops: tuple[str, ...] = ()
    nodes: tuple[NodesSay, ...] = ()
    searches: tuple[SearchTold, ...] = ()
    #: Pods that the next cycle would evict for it.
    evicts: tuple[str, ...] = ()


def is_kais(pod: Object, scheduler_name: str = "kai-scheduler") -> bool:
    """Whether a pod is KAI's, or meant to be."""
    labels = pod["metadata"].get("labels") or {}
    return pod["spec"].get("schedulerName") == scheduler_name or any(label in labels for label in _QUEUE_LABELS)


def explain_with_kai(state: KaiState, pod: Object) -> KaiExplanation:
    """Explain a pod that has no node."""
    own = pod["metadata"]
    name = (own.get("annotations") or {}).get(POD_GROUP_ANNOTATION, "")
    key = job_key(own["namespace"], name)
    group = state.store.find(POD_GROUPS, own["namespace"], name) if name else None
    queue = ((group or {}).get("spec") or {}).get("queue", "")
    checks = tuple(all_checks(state, pod, group))
    wrong = [each for each in checks if not each.ok]
    with state.thinking():
        told = explain_job(state.info, state.config, state.now, key) if key in state.info.pod_groups else None
    names = _Names(state)
    return KaiExplanation(
        namespace=own["namespace"],
        name=own["name"],
        phase=(pod.get("status") or {}).get("phase", "Pending"),
        verdict=_verdict(told, wrong, names).rstrip("."),
        message=_said(pod),
        queue=queue,
        pod_group=name,
        order=_order(told),
        checks=checks,
        stops=tuple(error.strip() for error in told.errors) if told is not None else (),
        nodes=tuple(NodesSay(reason, nodes) for reason, nodes in told.nodes.items()) if told is not None else (),
        searches=tuple(_searches(told.searches, names)) if told is not None else (),
        evicts=tuple(names.of(each.pod) for each in told.evictions) if told is not None else (),
    )


class _Names:
    """The names of pods by uid."""

    def __init__(self, state: KaiState) -> None:
        pods = (pod["metadata"] for pod in state.store.list("pods"))
        self._names: dict[str, str] = {own["uid"]: own["name"] for own in pods}

    def of(self, uid: str) -> str:
        return self._names.get(uid, uid)


def _verdict(told: JobExplanation | None, wrong: Sequence[Check], names: _Names) -> str:
    if told is None:
        return wrong[0].told if wrong else "KAI has not taken it up yet"
    if told.binds:
        return f"the next cycle gives it a place: {_places(told.binds[0].node, len(told.binds))}"
    if told.evictions:
        victims = ", ".join(names.of(each.pod) for each in told.evictions)
        return f"the next cycle makes room for it: {victims} must go"
    if told.pipelines:
        return f"its place is known, {told.pipelines[0].node}, and pods there are leaving"
    if wrong:
        return wrong[0].told
    if told.errors:
        return told.errors[0].strip().splitlines()[-1].strip()
    return "no node has room for it, and nobody can be asked to go"


def _places(node: str, pods: int) -> str:
    return f"{node}" if pods == 1 else f"{node} and others, for {pods} pods"


def _order(told: JobExplanation | None) -> str:
    if told is None:
        return ""
    if not told.position:
        return "its job is not looked at in a cycle"
    place = f"number {told.position} of {told.waiting} jobs that wait"
    return f"{place}, behind {told.before}: {told.why_before}" if told.before else f"{place}, first of all"


def _searches(searches: Sequence[Search], names: _Names) -> Iterator[SearchTold]:
    for each in searches:
        does = _DOES.get(each.action, each.action)
        scenarios = tuple(
            ScenarioTold(tried.tasks, tuple(names.of(uid) for uid in tried.victims), outcome_in_words(tried))
            for tried in each.tried
            # The first one asks whether it can be done without anybody.
            if tried.victims or tried.outcome == SOLVED
        )
        yield SearchTold(each.action, does, _search_verdict(each), scenarios)


def _search_verdict(search: Search) -> str:
    if search.not_begun:
        return f"not tried: {search.not_begun}"
    tried = sum(bool(each.victims) or each.outcome == SOLVED for each in search.tried)
    if not tried:
        return "nobody could be asked to go"
    found = f"{search.tasks_solved} of {search.tasks} pods" if search.tasks > 1 else "a place"
    if search.outcomes[SOLVED] and search.tasks_solved == search.tasks:
        return f"{tried} scenario{_s(tried)} tried, and {found} found"
    return f"{tried} scenario{_s(tried)} tried, none would do" + (
        f" ({found} found)" if search.tasks_solved and search.tasks > 1 else ""
    )


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _said(pod: Object) -> str:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message", "")).strip()
    return ""
