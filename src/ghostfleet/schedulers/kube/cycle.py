"""One scheduling cycle: from a pod and the state of the cluster to a decision.

Nodes are looked at in the order of the node tree, from where the last cycle stopped, until enough of them are
possible (all of them in small clusters, a percentage in large ones). Each of those gets a score; the best is taken,
and among equals one is drawn. When no node is possible, preemption is tried. Nothing is written: the decision says
what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ghostfleet.core.changes import Object
from ghostfleet.schedulers.kube.counting import Resident
from ghostfleet.schedulers.kube.diagnosis import Diagnosis, diagnose
from ghostfleet.schedulers.kube.plan import Plan, enough_nodes
from ghostfleet.schedulers.kube.preemption import preempt
from ghostfleet.schedulers.kube.profile import Profile
from ghostfleet.schedulers.kube.state import ClusterState
from ghostfleet.schedulers.kube.table import IntArray
from ghostfleet.schedulers.kube.trial import Trial, refusal_with_nominated

__all__ = ["Decision", "place_alone", "schedule_one", "scores"]

#: DynamicResources speaks up whenever a pod fails: there are no claims it could give back.
_NO_CLAIMS, _NOT_ASKED = "no new claims to deallocate", "not found"


class Decision(NamedTuple):
    """What to do with one pod."""

    #: The node to bind it to; None when there is none.
    node: str | None
    #: Why there is none, in kube-scheduler's words.
    message: str = ""
    #: The plugins that ruled nodes out.
    plugins: frozenset[str] = frozenset()
    #: The node to promise to the pod; "" to take a promise back, None to leave it as it is.
    nominate: str | None = None
    #: Pods to delete to make room for it.
    victims: Sequence[Resident] = ()


def schedule_one(
    state: ClusterState, pod: Object, profile: Profile, now: int = 0, plan: Plan | None = None
) -> Decision:
    """Decide about one pod."""
    nodes = len(state.table)
    if not nodes:
        return Decision(None, "no nodes available to schedule pods", nominate="")
    plan = plan or state.plan(profile, pod)
    refusal = _refusal(plan)
    if refusal is not None:
        return _refused(state, plan, pod, *refusal)
    promised = (pod.get("status") or {}).get("nominatedNodeName")
    if promised and _still_fits(state, plan, pod, promised):
        return Decision(promised)
    slot = _search(state, plan, pod["metadata"]["uid"])
    if slot is not None:
        return Decision(state.table.names[slot])
    return _failed(state, plan, pod, now, diagnose(state, plan, pod["metadata"]["uid"]))


def _refusal(plan: Plan) -> tuple[str, str] | None:
    """What is wrong with the pod, whatever the nodes are."""
    if plan.named is not None and not plan.named:
        return "NodeAffinity", "pod affinity terms conflict"
    return plan.volumes.refusal if plan.volumes is not None else None


def _refused(state: ClusterState, plan: Plan, pod: Object, plugin: str, why: str) -> Decision:
    message = f"0/{len(state.table)} nodes are available: {why}."
    plugins = frozenset((plugin,))
    if plan.profile.deallocates:
        # DynamicResources was never asked about the pod, stumbles over that, and so keeps preemption from its turn.
        return Decision(None, f"{message} {_NOT_ASKED}", plugins)
    return _failed(state, plan, pod, 0, Diagnosis(message, plugins, []))


def _still_fits(state: ClusterState, plan: Plan, pod: Object, node: str) -> bool:
    slot = state.table.slots.get(node)
    if slot is None or state.table.nodes[slot] is None:
        return False
    plan.value(slot)
    trial = Trial(state, plan, slot)
    return refusal_with_nominated(state, trial, pod["metadata"]["uid"], plan.facts.priority) is None


def _failed(state: ClusterState, plan: Plan, pod: Object, now: int, found: Diagnosis) -> Decision:
    said = [_NO_CLAIMS] if plan.profile.deallocates else []
    if not plan.profile.preempts:
        return Decision(None, " ".join((found.message, *said)), found.plugins, nominate="")
    result = preempt(state, plan, pod, found.open, now)
    if result.victims:
        return Decision(None, found.message, found.plugins, result.node, result.victims)
    message = f"{found.message} {', '.join((*said, f'preemption: {result.message}'))}"
    return Decision(None, message, found.plugins, result.node)


# -- searching and choosing -------------------------------------------------------------------------------------------


def place_alone(state: ClusterState, plan: Plan) -> int | None:
    """The slot for a pod whose plan looks at nodes one by one: the same search as below, in the fewest steps."""
    values = plan.current()
    order, nodes, enough = plan.order, plan.nodes, plan.enough
    start = state.start if state.start < nodes else state.start % nodes
    reach = plan.reach if 0 < plan.reach < nodes else min(nodes, enough + enough // 8 + 8)
    while True:
        window = order[start : start + reach]
        here = plan.values(window) if values is None else values[window]
        hits = (here >= 0).nonzero()[0]
        found = len(hits)
        if found > enough:
            # Looking stops at the first possible node too many.
            processed = int(hits[enough])
            plan.reach = processed + processed // 8 + 8
            break
        if reach == nodes:
            processed = nodes
            break
        reach = min(nodes, 4 * reach)
    if not found:
        return None
    state.start = (start + processed) % nodes
    return int(window[_best(state, here[:processed])])


def _search(state: ClusterState, plan: Plan, uid: str) -> int | None:
    """The best of the first possible nodes; None when none is possible."""
    if plan.named is not None:
        return _search_named(state, plan, uid)
    if plan.alone and not state.nominated:
        return place_alone(state, plan)
    nodes = len(state.table)
    order = state.table.tree.order()
    start = state.start % nodes
    enough = enough_nodes(nodes, plan.profile.percentage)
    reach = min(nodes, plan.reach or enough + enough // 8 + 8)
    while True:
        window = order[start : start + reach]
        values = _possible_values(state, plan, window, uid)
        hits = (values >= 0).nonzero()[0]
        if len(hits) > enough:
            processed = int(hits[enough])
            plan.reach = processed + processed // 8 + 8
            break
        if reach == nodes:
            processed = nodes
            break
        reach = min(nodes, 4 * reach)
    if not len(hits):
        return None
    state.start = (start + processed) % nodes
    hits = hits[:enough]
    candidates = window[hits]
    totals = values[hits] + plan.compared(candidates) if len(hits) > 1 else values[hits]
    return int(candidates[_best(state, totals)])


def _search_named(state: ClusterState, plan: Plan, uid: str) -> int | None:
    slots = [state.table.slots[name] for name in sorted(plan.named or ()) if name in state.table.slots]
    window: IntArray = np.array([slot for slot in slots if state.table.nodes[slot] is not None], np.int64)
    if not len(window):
        return None
    values = _possible_values(state, plan, window, uid)
    hits = (values >= 0).nonzero()[0]
    if not len(hits):
        return None
    candidates = window[hits]
    totals = values[hits] + plan.compared(candidates)
    return int(candidates[_best(state, totals)])


def _possible_values(state: ClusterState, plan: Plan, window: IntArray, uid: str) -> IntArray:
    """The values of nodes in a window, -1 also where wide plugins or promises to others are in the way."""
    values = plan.values(window)
    if plan.wide:
        values = np.where(plan.ruled_out_widely(window), -1, values)
    if state.nominated:
        for slot in state.nominated:
            for position in (window == slot).nonzero()[0]:
                if values[position] >= 0:
                    trial = Trial(state, plan, slot)
                    if refusal_with_nominated(state, trial, uid, plan.facts.priority) is not None:
                        values[position] = -1
    return values


def _best(state: ClusterState, totals: IntArray) -> int:
    """Where the highest total is; one of them at random."""
    highest = (totals == totals[totals.argmax()]).nonzero()[0]
    count = len(highest)
    return int(highest[int(state.rng.random() * count)] if count > 1 else highest[0])


def scores(state: ClusterState, pod: Object, profile: Profile) -> dict[str, int]:
    """The total score of every possible node, all of them taken into account: to look at, and for tests."""
    plan = state.plan(profile, pod)
    window = state.table.tree.order()[: len(state.table)]
    values = _possible_values(state, plan, window, pod["metadata"]["uid"])
    candidates = window[values >= 0]
    if not len(candidates):
        return {}
    totals = values[values >= 0] + plan.compared(candidates)
    return {state.table.names[slot]: int(total) for slot, total in zip(candidates, totals, strict=True)}
