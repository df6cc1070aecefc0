"""Preemption: making room for a more important pod.

For each node that pods leaving could open, the *victims* are found: all pods of lower priority are taken away in
thought, and if the pod fits then, as many as possible are given back, those protected by a disruption budget first,
the more important before the less. Of the nodes the best is the one with the fewest budgets broken, then the least
important top victim, the smallest sum of priorities, the fewest victims, and the victims that started last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ghostfleet.core.changes import Object
from ghostfleet.core.selectors import selector_from_object
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.schedulers.kube.counting import Resident
from ghostfleet.schedulers.kube.diagnosis import told
from ghostfleet.schedulers.kube.plan import Plan
from ghostfleet.schedulers.kube.state import ClusterState
from ghostfleet.schedulers.kube.trial import Trial, refusal_with_nominated

__all__ = ["Preemption", "preempt"]

_NO_VICTIMS = "No preemption victims found for incoming pod"
_NOT_HELPFUL = "Preemption is not helpful for scheduling"
_NEVER = "not eligible due to preemptionPolicy=Never."
_TERMINATING = "not eligible due to a terminating pod on the nominated node."
_LARGE = 1 << 31


class Preemption(NamedTuple):
    """What came of it."""

    #: The node to make room on, None to leave an earlier promise as it is, "" to take it back.
    node: str | None
    victims: list[Resident]
    #: Why nothing came of it.
    message: str = ""


class _Candidate(NamedTuple):
    slot: int
    victims: list[Resident]
    broken: int


def preempt(state: ClusterState, plan: Plan, pod: Object, open_slots: list[int], now: int) -> Preemption:
    """Find room for a pod on one of the open nodes."""
    if not plan.facts.preempts:
        return Preemption(None, [], _NEVER)
    if _waits_for_victims(state, pod, plan, open_slots):
        return Preemption(None, [], _TERMINATING)
    nodes = len(state.table)
    lowest = state.census.lowest_priority()
    if lowest is None or lowest >= plan.facts.priority:
        reasons = {_NO_VICTIMS: len(open_slots), _NOT_HELPFUL: nodes - len(open_slots)}
        return Preemption("", [], told(nodes, {reason: count for reason, count in reasons.items() if count}))
    candidates, refused = _candidates(state, plan, pod, open_slots, now)
    if not candidates:
        refused[_NOT_HELPFUL] = nodes - len(open_slots)
        return Preemption("", [], told(nodes, {reason: count for reason, count in refused.items() if count}))
    best = min(candidates, key=lambda candidate: _cost(candidate, now))
    return Preemption(state.table.names[best.slot], best.victims)


def _waits_for_victims(state: ClusterState, pod: Object, plan: Plan, open_slots: list[int]) -> bool:
    """Whether pods that were preempted for this one are still on their way out."""
    name = (pod.get("status") or {}).get("nominatedNodeName")
    slot = state.table.slots.get(name) if name else None
    if slot is None or slot not in open_slots:
        return False
    return any(
        each.facts.priority < plan.facts.priority and _preempted(each.pod)
        for each in state.census.by_slot.get(slot, {}).values()
    )


def _preempted(pod: Object) -> bool:
    if "deletionTimestamp" not in pod["metadata"]:
        return False
    conditions = (pod.get("status") or {}).get("conditions") or ()
    target: Object = next((each for each in conditions if each.get("type") == "DisruptionTarget"), {})
    return target.get("status") == "True" and target.get("reason") == "PreemptionByScheduler"


def _candidates(
    state: ClusterState, plan: Plan, pod: Object, open_slots: list[int], now: int
) -> tuple[list[_Candidate], dict[str, int]]:
    """Nodes with their victims, and the reasons of those looked at in vain."""
    budgets = _budgets(state)
    total = len(open_slots)
    enough = min(max(total * plan.profile.candidates_percent // 100, plan.profile.candidates_least), total)
    offset = int(state.rng.random() * total) if total else 0
    harmless: list[_Candidate] = []
    harmful: list[_Candidate] = []
    refused: dict[str, int] = {}
    for index in range(total):
        slot = open_slots[(offset + index) % total]
        found = _victims(state, plan, pod, slot, budgets, now)
        if isinstance(found, _Candidate):
            (harmful if found.broken else harmless).append(found)
            if harmless and len(harmless) + len(harmful) >= enough:
                break
        else:
            for reason in found:
                refused[reason] = refused.get(reason, 0) + 1
    return [*harmless, *harmful], refused


def _victims(
    state: ClusterState, plan: Plan, pod: Object, slot: int, budgets: list[_Budget], now: int
) -> _Candidate | tuple[str, ...]:
    """The victims on one node, or why there are none."""
    uid, priority = pod["metadata"]["uid"], plan.facts.priority
    lower = [each for each in state.census.by_slot.get(slot, {}).values() if each.facts.priority < priority]
    if not lower:
        return (_NO_VICTIMS,)
    trial = Trial(state, plan, slot)
    for each in lower:
        trial.remove(each)
    refused = refusal_with_nominated(state, trial, uid, priority)
    if refused is not None:
        return refused.reasons
    lower.sort(key=lambda each: (-each.facts.priority, _started(each.pod, now)))
    protected, others = _by_budget(lower, budgets)
    victims: list[Resident] = []
    broken = 0
    for each in (*protected, *others):
        trial.add(each)
        if refusal_with_nominated(state, trial, uid, priority) is not None:
            trial.remove(each)
            victims.append(each)
            broken += each in protected
    victims.sort(key=lambda each: (-each.facts.priority, _started(each.pod, now)))
    return _Candidate(slot, victims, broken)


def _started(pod: Object, now: int) -> int:
    started = (pod.get("status") or {}).get("startTime")
    return parse_rfc3339(started) if started else now


def _cost(candidate: _Candidate, now: int) -> tuple[int, int, int, int, int]:
    victims = candidate.victims
    top = max(each.facts.priority for each in victims)
    earliest = min(_started(each.pod, now) for each in victims if each.facts.priority == top)
    sum_of_priorities = sum(each.facts.priority + _LARGE for each in victims)
    return candidate.broken, top, sum_of_priorities, len(victims), -earliest


class _Budget(NamedTuple):
    namespace: str
    matches: Any
    allowed: int
    disrupted: Mapping[str, Any]


def _budgets(state: ClusterState) -> list[_Budget]:
    found = []
    for budget in state.store.list("poddisruptionbudgets.policy"):
        selector = selector_from_object((budget.get("spec") or {}).get("selector"))
        status = budget.get("status") or {}
        if selector.requirements:
            disrupted = status.get("disruptedPods") or {}
            allowed = status.get("disruptionsAllowed", 0)
            found.append(_Budget(budget["metadata"]["namespace"], selector.matches, allowed, disrupted))
    return found


def _by_budget(residents: list[Resident], budgets: list[_Budget]) -> tuple[list[Resident], list[Resident]]:
    """Pods whose going would break a budget, and the others; in the order given."""
    allowed = [budget.allowed for budget in budgets]
    protected: list[Resident] = []
    others: list[Resident] = []
    for each in residents:
        breaks = False
        for index, budget in enumerate(budgets) if each.labels else ():
            name = each.pod["metadata"]["name"]
            if budget.namespace == each.namespace and budget.matches(each.labels) and name not in budget.disrupted:
                allowed[index] -= 1
                breaks = breaks or allowed[index] < 0
        (protected if breaks else others).append(each)
    return protected, others
