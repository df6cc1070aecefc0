"""Scheduling conditions: where a pod group's status says why it waits, one condition for each node pool.

The newest is the last, and has the highest transition ID. A condition that says what the newest says already is not
written again.
"""

from __future__ import annotations

from collections.abc import Sequence

from ghostfleet.core.changes import Object

__all__ = ["with_scheduling_condition"]


def with_scheduling_condition(
    status: Object, message: str, reasons: Sequence[Object], *, now: str, pool: str = "default"
) -> Object | None:
    """A pod group's status that says that it finds no place in a node pool, and why; None if it says so already.

    A reason is `{reason, message}`, with `details.queueDetails` where a queue is full.
    """
    before = status.get("schedulingConditions") or []
    condition: Object = {
        "type": "UnschedulableOnNodePool",
        "nodePool": pool,
        "reason": "Unschedulable",
        "message": message,
        "status": "True",
    }
    newest = max(before, key=_transition, default=None)
    if newest is not None and newest is before[-1] and condition.items() <= newest.items():
        return None
    condition["transitionID"] = str(max(_transition(newest), 0) + 1 if newest is not None else 1)
    condition["lastTransitionTime"] = now
    if reasons:
        condition["reasons"] = list(reasons)
    others = [each for each in before if each.get("nodePool") != pool]
    return {**status, "schedulingConditions": [*others, condition]}


def _transition(condition: Object) -> int:
    stated = condition.get("transitionID", "")
    return int(stated) if stated.isascii() and stated.isdigit() else -1
