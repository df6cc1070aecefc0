"""Dispatch: may a wrapper run now, or why not.

The older version asks whether there is room in the cluster, and then for quota. The newer one asks for quota first,
and then whether there is room once those have gone who must give their quota back; if there is not, the quota is given
back at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ghostfleet.dispatchers.mcad.amounts import Amounts, total
from ghostfleet.dispatchers.mcad.availability import Terms
from ghostfleet.dispatchers.mcad.conditions import NO_QUOTA, NO_ROOM
from ghostfleet.dispatchers.mcad.quotaforest import Forest
from ghostfleet.dispatchers.mcad.wrapper import Key, Wrapper

__all__ = ["NOT_RUNNABLE", "DispatchDecision", "decide_quota_first", "decide_room_first"]

NOT_RUNNABLE = "AppWrapperNotRunnable."


@dataclass(frozen=True, slots=True)
class DispatchDecision:
    """Whether a wrapper may run; if so, who has to make way, and if not, what its Backoff condition says."""

    fits: bool
    reason: str = ""
    message: str = ""
    victims: tuple[Key, ...] = ()


def _allocate(
    forest: Forest, wrapper: Wrapper, demand: Amounts, preemption: bool
) -> tuple[str, tuple[Key, ...] | None]:
    leaves = forest.leaves_of(wrapper.labels)
    answer = forest.allocate(wrapper.key, leaves, demand, priority=wrapper.priority, preemptable=preemption)
    return answer.message, answer.victims if answer.granted else None


def decide_room_first(
    wrapper: Wrapper, demand: Amounts, terms: Terms, forest: Forest | None, *, preemption: bool
) -> DispatchDecision:
    """The verdict of the older version; the quota of a wrapper that fits is taken."""
    if not demand.fits(terms.available):
        return DispatchDecision(False, NOT_RUNNABLE, NO_ROOM)
    if forest is None:
        return DispatchDecision(True)
    message, victims = _allocate(forest, wrapper, demand, preemption)
    if victims is None:
        return DispatchDecision(False, f"{NOT_RUNNABLE} {message}", NO_QUOTA)
    return DispatchDecision(True, victims=victims)


def decide_quota_first(
    wrapper: Wrapper,
    demand: Amounts,
    terms: Terms,
    forest: Forest | None,
    *,
    preemption: bool,
    demand_of: Callable[[Key], Amounts],
) -> DispatchDecision:
    """The verdict of the newer version; the quota of a wrapper that fits is taken."""
    if forest is None:
        return (
            DispatchDecision(True) if demand.fits(terms.available) else DispatchDecision(False, NOT_RUNNABLE, NO_ROOM)
        )
    before = forest.checkpoint()
    _, victims = _allocate(forest, wrapper, demand, preemption)
    if victims is not None:
        if demand.fits(terms.available.plus(total(map(demand_of, victims)))):
            return DispatchDecision(True, victims=victims)
        forest.restore(before)
    return DispatchDecision(
        False, "quota limit exceeded", "Insufficient quota and/or resources to dispatch AppWrapper."
    )
