"""DefaultPreemption: making room for a more important pod.

For each node that pods leaving could open, the *victims* are found: all pods of lower priority are evicted in a
statement, and if the pod fits then, as many as possible are given back, those protected by a disruption budget first,
the more important before the less. Of the nodes the best is the one with the fewest budgets broken, then the least
important top victim, the smallest sum of priorities, the fewest victims, and the victims that started last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ghostfleet.core.changes import Object
from ghostfleet.core.selectors import selector_from_object
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.schedulers.framework.arguments import plugin_fields, whole_number
from ghostfleet.schedulers.framework.cyclestate import CycleState
from ghostfleet.schedulers.framework.diagnosis import (
    Diagnosis,
    fits_with_nominated,
    reasons_text,
    refusal_with_nominated,
)
from ghostfleet.schedulers.framework.plugin import Plugin, PostFilterResult
from ghostfleet.schedulers.framework.podinfo import PodInfo
from ghostfleet.schedulers.framework.statement import Statement

__all__ = ["DefaultPreemption"]

_NO_VICTIMS = "No preemption victims found for incoming pod"
_NOT_HELPFUL = "Preemption is not helpful for scheduling"
_NEVER = "not eligible due to preemptionPolicy=Never."
_TERMINATING = "not eligible due to a terminating pod on the nominated node."
_LARGE = 1 << 31


class _Arguments(NamedTuple):
    """How many nodes are looked at, at least: percent, and absolutely."""

    percent: int = 10
    least: int = 100


class DefaultPreemption(Plugin):
    """Evicts pods of lower priority."""

    name = "DefaultPreemption"
    arguments: _Arguments

    @classmethod
    def read_arguments(cls, path: str, given: Mapping[str, Any]) -> _Arguments:
        plugin_fields(path, given, "minCandidateNodesPercentage", "minCandidateNodesAbsolute")
        percent, least = given.get("minCandidateNodesPercentage", 10), given.get("minCandidateNodesAbsolute", 100)
        return _Arguments(
            whole_number(f"{path}.minCandidateNodesPercentage", percent, 0, 100),
            whole_number(f"{path}.minCandidateNodesAbsolute", least, 0, None),
        )

    @classmethod
    def default_arguments(cls) -> _Arguments:
        return _Arguments()

    def post_filter(self, cycle: CycleState, pod: Object, found: Diagnosis, now: int) -> PostFilterResult:
        if not cycle.info.preempts:
            return _in_vain(None, _NEVER)
        if _waits_for_victims(cycle, pod, found.open):
            return _in_vain(None, _TERMINATING)
        nodes = len(cycle.snapshot.nodes)
        lowest = cycle.snapshot.pods.lowest_priority()
        candidates: list[_Candidate] = []
        refused = {_NO_VICTIMS: len(found.open)}
        wrong: list[str] = []
        if lowest is not None and lowest < cycle.info.priority:
            candidates, refused, wrong = self._candidates(cycle, pod, found.open, now)
        if not candidates and wrong:
            return _in_vain(None, wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]")._replace(final=True)
        if not candidates:
            refused[_NOT_HELPFUL] = nodes - len(found.open)
            return _in_vain("", reasons_text(nodes, {reason: count for reason, count in refused.items() if count}))
        best = min(candidates, key=lambda candidate: _cost(candidate, now))
        return PostFilterResult(nominate=cycle.snapshot.nodes.names[best.slot], victims=best.victims)

    def _candidates(
        self, cycle: CycleState, pod: Object, open_slots: list[int], now: int
    ) -> tuple[list[_Candidate], dict[str, int], list[str]]:
        """Nodes with their victims, the reasons of those looked at in vain, and what went wrong there."""
        budgets = _budgets(cycle.snapshot.store)
        total = len(open_slots)
        enough = min(max(total * self.arguments.percent // 100, self.arguments.least), total)
        offset = int(cycle.framework.rng.random() * total) if total else 0
        harmless: list[_Candidate] = []
        harmful: list[_Candidate] = []
        refused: dict[str, int] = {}
        wrong: dict[str, None] = {}
        for index in range(total):
            slot = open_slots[(offset + index) % total]
            try:
                found = _victims(cycle, pod, slot, budgets, now)
            except _WrongError as error:
                wrong[str(error)] = None
                continue
            if isinstance(found, _Candidate):
                (harmful if found.broken else harmless).append(found)
                if harmless and len(harmless) + len(harmful) >= enough:
                    break
            else:
                for reason in found:
                    refused[reason] = refused.get(reason, 0) + 1
        return [*harmless, *harmful], refused, list(wrong)


def _in_vain(nominate: str | None, why: str) -> PostFilterResult:
    return PostFilterResult(f"preemption: {why}", nominate)


class _WrongError(Exception):
    """A filter found something wrong with the pod."""


class _Candidate(NamedTuple):
    slot: int
    victims: list[PodInfo]
    broken: int


def _waits_for_victims(cycle: CycleState, pod: Object, open_slots: list[int]) -> bool:
    """Whether pods that were preempted for this one are still on their way out."""
    name = (pod.get("status") or {}).get("nominatedNodeName")
    slot = cycle.snapshot.nodes.slots.get(name) if name else None
    if slot is None or slot not in open_slots:
        return False
    return any(
        each.info.priority < cycle.info.priority and _preempted(each.pod)
        for each in cycle.snapshot.pods.by_slot.get(slot, {}).values()
    )


def _preempted(pod: Object) -> bool:
    if "deletionTimestamp" not in pod["metadata"]:
        return False
    conditions = (pod.get("status") or {}).get("conditions") or ()
    target: Object = next((each for each in conditions if each.get("type") == "DisruptionTarget"), {})
    return target.get("status") == "True" and target.get("reason") == "PreemptionByScheduler"


def _victims(
    cycle: CycleState, pod: Object, slot: int, budgets: list[_Budget], now: int
) -> _Candidate | tuple[str, ...]:
    """The victims on one node, or why there are none; a _WrongError if something is wrong with the pod."""
    uid, priority = pod["metadata"]["uid"], cycle.info.priority
    lower = [each for each in cycle.snapshot.pods.by_slot.get(slot, {}).values() if each.info.priority < priority]
    if not lower:
        return (_NO_VICTIMS,)
    with Statement(cycle.snapshot, amounts=cycle.by_amounts) as statement:
        for each in lower:
            statement.evict(each)
        refused = refusal_with_nominated(cycle, slot, uid)
        if refused is not None:
            if (wrong := cycle.error_on(slot)) is not None:
                raise _WrongError(wrong[1])
            return refused.reasons
        lower.sort(key=lambda each: (-each.info.priority, _started(each.pod, now)))
        protected, others = _by_budget(lower, budgets)
        victims: list[PodInfo] = []
        broken = 0
        for each in (*protected, *others):
            checkpoint = statement.checkpoint()
            statement.add(each)
            if not fits_with_nominated(cycle, slot, uid):
                statement.rollback(checkpoint)
                victims.append(each)
                broken += each in protected
    victims.sort(key=lambda each: (-each.info.priority, _started(each.pod, now)))
    return _Candidate(slot, victims, broken)


def _started(pod: Object, now: int) -> int:
    started = (pod.get("status") or {}).get("startTime")
    return parse_rfc3339(started) if started else now


def _cost(candidate: _Candidate, now: int) -> tuple[int, int, int, int, int]:
    victims = candidate.victims
    top = max(each.info.priority for each in victims)
    earliest = min(_started(each.pod, now) for each in victims if each.info.priority == top)
    sum_of_priorities = sum(each.info.priority + _LARGE for each in victims)
    return candidate.broken, top, sum_of_priorities, len(victims), -earliest


class _Budget(NamedTuple):
    namespace: str
    matches: Any
    allowed: int
    disrupted: Mapping[str, Any]


def _budgets(store: Store) -> list[_Budget]:
    found = []
    for budget in store.list("poddisruptionbudgets.policy"):
        selector = selector_from_object((budget.get("spec") or {}).get("selector"))
        status = budget.get("status") or {}
        if selector.requirements:
            disrupted = status.get("disruptedPods") or {}
            allowed = status.get("disruptionsAllowed", 0)
            found.append(_Budget(budget["metadata"]["namespace"], selector.matches, allowed, disrupted))
    return found


def _by_budget(pods: list[PodInfo], budgets: list[_Budget]) -> tuple[list[PodInfo], list[PodInfo]]:
    """Pods whose going would break a budget, and the others; in the order given."""
    allowed = [budget.allowed for budget in budgets]
    protected: list[PodInfo] = []
    others: list[PodInfo] = []
    for each in pods:
        breaks = False
        for index, budget in enumerate(budgets) if each.labels else ():
            name = each.pod["metadata"]["name"]
            if budget.namespace == each.namespace and budget.matches(each.labels) and name not in budget.disrupted:
                allowed[index] -= 1
                breaks = breaks or allowed[index] < 0
        (protected if breaks else others).append(each)
    return protected, others
