"""Explaining: why an AppWrapper waits.

Everything is worked out from API objects (AppWrappers, nodes, pods, QuotaSubtrees) and the dispatcher's profile, so it
can be asked of the embedded cluster as well as of a real one with MCAD on it. What only the controller itself knows,
the time of its next try, can be passed in; otherwise it is estimated from the conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ghostfleet.core.changes import Object
from ghostfleet.core.profile import Profile
from ghostfleet.core.timestamps import parse_rfc3339, rfc3339
from ghostfleet.dispatchers.mcad.amounts import NOTHING, RESOURCES, Amounts
from ghostfleet.dispatchers.mcad.availability import Rival, Terms, available, node_amounts
from ghostfleet.dispatchers.mcad.conditions import PENDING, micro_time
from ghostfleet.dispatchers.mcad.demand import Demand, demand_of, disagreements, pod_groups
from ghostfleet.dispatchers.mcad.placement import Table, closed_because
from ghostfleet.dispatchers.mcad.pods import label_of, pod_amounts, takes_room
from ghostfleet.dispatchers.mcad.quotafault import QuotaFault, find_quota_fault
from ghostfleet.dispatchers.mcad.reasons import amount_text, no_place, shortfall_text
from ghostfleet.dispatchers.mcad.wrapper import Key, Wrapper, key_of, read_wrapper

__all__ = ["Explanation", "Holder", "explain"]


@dataclass(frozen=True, slots=True)
class Holder:
    """A wrapper that was let in before, and what it has."""

    key: Key
    amounts: Amounts


@dataclass(slots=True)
class Explanation:
    """Why a wrapper is where it is."""

    key: Key
    state: str
    queue_state: str
    demand: Demand
    #: Place in the queue, from 1 on; None when it does not wait.
    position: int | None = None
    queued: int = 0
    #: What is free in all; None for a wrapper that does not wait.
    terms: Terms | None = None
    shortfall: dict[str, int] = field(default_factory=dict)
    #: What no single node has, in words, and the largest free block of each resource on nodes its pods may run on.
    fragmented: str = ""
    largest: Amounts = NOTHING
    #: Nodes that the dispatcher leaves out, by reason.
    left_out: dict[str, list[str]] = field(default_factory=dict)
    #: Nodes that it counts, though the wrapper's pods cannot run there, by reason.
    out_of_reach: dict[str, list[str]] = field(default_factory=dict)
    quota: QuotaFault | None = None
    #: The wrapper that keeps the dispatcher busy, or has nodes held for it.
    blocked_by: Key | None = None
    holders: list[Holder] = field(default_factory=list)
    next_try: int | None = None
    next_try_by: str = ""
    warnings: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """The one reason that matters most."""
        if self.state != PENDING and self.state:
            return f"it is {self.state}"
        if self.shortfall:
            return f"short of {shortfall_text(self.shortfall)}"
        if self.quota is not None:
            return self.quota.text
        if self.fragmented:
            return f"fits in aggregate, but {self.fragmented}"
        if self.blocked_by is not None:
            return f"waits behind {'/'.join(self.blocked_by)}"
        return "nothing is in its way: it will be dispatched at the next try"

    def lines(self) -> list[str]:
        """All of it, for people."""
        lines = [f"AppWrapper {'/'.join(self.key)}: {self.state or 'new'} ({self.queue_state or 'not seen yet'})"]
        lines.append(f"why: {self.verdict}")
        if self.position is not None:
            lines.append(f"queue: number {self.position} of {self.queued}")
        lines.append(f"demand: {_amounts(self.demand.total)}")
        lines += [f"  {part.count} x {_amounts(part.each)}, from {part.source}" for part in self.demand.parts]
        if self.terms is not None:
            lines += _terms(self.terms)
        lines += self._about_nodes()
        if self.quota is not None:
            lines.append(f"quota: {self.quota.text}")
        lines += [f"holds room: {'/'.join(each.key)} with {_amounts(each.amounts)}" for each in self.holders]
        if self.blocked_by is not None:
            lines.append(f"blocked by: {'/'.join(self.blocked_by)}")
        if self.next_try_by:
            when = f" at {rfc3339(self.next_try)}" if self.next_try is not None else ""
            lines.append(f"next try:{when} {self.next_try_by}")
        return lines + [f"warning: {each}" for each in self.warnings]

    def _about_nodes(self) -> list[str]:
        lines = [f"largest free block on one node: {_amounts(self.largest)}"]
        lines += [f"  left out, {why}: {_names(names)}" for why, names in self.left_out.items()]
        return lines + [
            f"counted, though out of reach by {why}: {_names(names)}" for why, names in self.out_of_reach.items()
        ]


def explain(
    key: Key,
    appwrappers: Iterable[Object],
    nodes: Sequence[Object],
    pods: Sequence[Object],
    quotasubtrees: Iterable[Object],
    profile: Profile,
    now: int,
    next_try: int | None = None,
) -> Explanation:
    """Why a wrapper waits; a KeyError when it is not among the AppWrappers, a ValueError when it cannot be read."""
    objects = {key_of(each): each for each in appwrappers}
    wrapper = read_wrapper(objects[key])
    status = objects[key].get("status") or {}
    demand = demand_of(wrapper)
    explanation = Explanation(key, status.get("state", ""), status.get("queuejobstate", ""), demand)
    explanation.warnings = disagreements(wrapper)
    machine = profile.figure("machine")
    _look_at_nodes(explanation, wrapper, nodes, pods, profile)
    if explanation.state in ("", PENDING):
        order = _queue(objects.values(), str(machine))
        explanation.position, explanation.queued = order.index(key) + 1, len(order)
        used = _used(pods, with_succeeded=profile.switch("usage.with-succeeded"))
        rivals = list(_rivals(objects, used))
        explanation.terms = _sum_up(wrapper, status, nodes, pods, rivals, profile)
        explanation.shortfall = demand.total.shortfall(explanation.terms.available)
        if profile.switch("quota"):
            explanation.quota = find_quota_fault(wrapper, demand.total, objects.values(), quotasubtrees)
        explanation.holders = _holders(rivals, key, explanation)
        explanation.blocked_by = _blocked_by(objects, key, order, profile, now)
        explanation.next_try, explanation.next_try_by = _next_try(status, profile, now, next_try)
    return explanation


def _queue(objects: Iterable[Object], machine: str) -> list[Key]:
    """Those who wait, in the order in which they are looked at."""
    waiting = []
    for obj in objects:
        status = obj.get("status") or {}
        if status.get("state") in (None, "", PENDING) and not status.get("canrun"):
            came = status.get("controllerfirsttimestamp") or obj["metadata"].get("creationTimestamp", "")
            # The last version looks at nobody's priority.
            priority = 0 if machine == "worker" else status.get("systempriority", 0)
            waiting.append((-priority, came, key_of(obj)))
    return [key for _, _, key in sorted(waiting)]


def _used(pods: Iterable[Object], *, with_succeeded: bool) -> dict[str, Amounts]:
    """What the pods of wrappers use, by the wrapper's name."""
    used: dict[str, Amounts] = {}
    for pod in pods:
        name, phase = label_of(pod), (pod.get("status") or {}).get("phase")
        if name and (phase == "Running" or (phase == "Succeeded" and with_succeeded)):
            used[name] = used.get(name, NOTHING).plus(pod_amounts(pod))
    return used


def _rivals(objects: dict[Key, Object], used: dict[str, Amounts]) -> Iterable[Rival]:
    for key, obj in objects.items():
        status = obj.get("status") or {}
        try:
            demand = demand_of(read_wrapper(obj)).total
        except ValueError:
            demand = NOTHING
        runs = bool(status.get("canrun"))
        yield Rival(key, status.get("systempriority", 0), runs, demand, used.get(key[1], NOTHING) if runs else NOTHING)


def _sum_up(
    wrapper: Wrapper,
    status: Object,
    nodes: Iterable[Object],
    pods: Iterable[Object],
    rivals: Iterable[Rival],
    profile: Profile,
) -> Terms:
    have = taken = NOTHING
    open_nodes = set()
    for node in nodes:
        amounts = node_amounts(node)
        if amounts is not None:
            have = have.plus(amounts)
            open_nodes.add(node["metadata"]["name"])
    for pod in pods:
        if takes_room(pod, str(profile.figure("availability.counts"))) and pod["spec"]["nodeName"] in open_nodes:
            taken = taken.plus(pod_amounts(pod))
    preempts = profile.switch("preemption") and not profile.switch("dynamic-priority")
    below = status.get("systempriority", 0) if preempts else None
    return available(have, taken, rivals, wrapper.key, below, returns_idle=False)


def _look_at_nodes(
    explanation: Explanation, wrapper: Wrapper, nodes: Sequence[Object], pods: Iterable[Object], profile: Profile
) -> None:
    """What single nodes have to say: the largest free blocks, and which nodes are of no use."""
    table = Table()
    for node in nodes:
        table.put(node)
    for pod in pods:
        row = table.row(pod["spec"].get("nodeName", "")) if takes_room(pod, "bound") else None
        if row is not None:
            table.take(row, pod_amounts(pod))
    groups = [group for item in wrapper.items for group in pod_groups(item) if group.count]
    for group in groups:
        explanation.largest = explanation.largest.at_least(table.largest_free(group))
    if groups and table.plan(groups) is None:
        explanation.fragmented = no_place(groups, table)
    by_node = profile.figure("machine") == "events"
    for node in nodes:
        reasons = [closed_because(group.spec, node) for group in groups] or [closed_because({}, node)]
        if all(reasons):
            found = explanation.left_out if by_node or reasons[0] == "cordoned" else explanation.out_of_reach
            found.setdefault(reasons[0], []).append(node["metadata"]["name"])


def _holders(rivals: Iterable[Rival], key: Key, explanation: Explanation) -> list[Holder]:
    """Who has what is missing, the largest first."""
    missing = [index for index, name in enumerate(RESOURCES) if name in explanation.shortfall]
    if not missing and explanation.fragmented:
        missing = [index for index in range(3) if explanation.demand.total[index]][-1:]
    held = [
        Holder(rival.key, rival.demand.at_least(rival.used)) for rival in rivals if rival.may_run and rival.key != key
    ]
    held = [each for each in held if any(each.amounts[index] for index in missing)]
    held.sort(key=lambda each: (tuple(-each.amounts[index] for index in reversed(missing)), each.key))
    return held[:5]


def _last(status: Object, kind: str) -> int | None:
    times = [
        parse_rfc3339(each["lastTransitionMicroTime"])
        for each in status.get("conditions") or ()
        if each["type"] == kind
    ]
    return max(times, default=None)


def _blocked_by(objects: dict[Key, Object], key: Key, order: list[Key], profile: Profile, now: int) -> Key | None:
    """Whom the dispatcher sleeps for, or holds nodes for."""
    others = [each for each in order if each != key]
    if profile.figure("machine") == "worker" and profile.switch("backoff.blocks"):
        asleep = [each for each in others if (objects[each].get("status") or {}).get("queuejobstate") == "Backoff"]
        return asleep[0] if asleep else None
    if profile.figure("machine") == "events":
        for each in order[: order.index(key)]:
            first = micro_time(objects[each].get("status") or {}, "controllerfirsttimestamp")
            if first is not None and first + profile.duration("reservation.after") <= now:
                return each
    return None


def _next_try(status: Object, profile: Profile, now: int, known: int | None) -> tuple[int | None, str]:
    if profile.figure("machine") == "events":
        return None, "as soon as something becomes free"
    period = profile.duration("backoff.time")
    text = f"after a back-off of {profile.figure('backoff.time')}; changes of the cluster are not noticed before"
    if known is not None:
        return known, text
    last = _last(status, "Backoff")
    if last is None:
        return None, "when it comes to the head of the queue"
    # The condition is stamped once only, at the first refusal.
    return last + ((now - last) // period + 1) * period, f"{text} (estimated)"


def _amounts(amounts: Amounts) -> str:
    shown = [amount_text(name, amount) for name, amount in zip(RESOURCES, amounts, strict=True) if amount]
    return ", ".join(shown) or "nothing"


def _terms(terms: Terms) -> list[str]:
    return [
        f"available: {_amounts(terms.available)}",
        f"  {_amounts(terms.allocatable)} on schedulable nodes",
        f"  less {_amounts(terms.taken)} taken by pods",
        f"  plus {_amounts(terms.preemptable)} of wrappers of lower priority",
        f"  less {_amounts(terms.pending)} promised to dispatched wrappers",
    ]


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
