"""Why the real KAI and ours may differ.

The real one is v0.12.0; ours decides like v0.13, as of commit 72de64fc. What changed between them is named here, and
what we do otherwise on purpose.

A *difference* explains a path of a state. A *rewording* explains what pods are told: with it the words of both are the
same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["explanation"]


class Difference(NamedTuple):
    #: Paths of states, as a regular expression.
    path: str
    reason: str
    #: Only in cases whose name contains one of these; in all when there are none.
    cases: Sequence[str] = ()


class Rewording(NamedTuple):
    words: str
    instead: str
    reason: str


_SHORT_OF_PODS = (
    r"Resources were (?:not found for pod [\w-]+|found for \d+ pods (?:from all sub-groups )?while .*? for gang scheduling\. "
    r"Additional pods cannot be scheduled(?: in this sub-group)?) due to: "
)
_DIFFERENCES = (
    Difference(r"pod groups\..*\.subGroups", "v0.13 has sub groups for the master and the workers of a PyTorchJob"),
    Difference(r".*", "v0.13 takes jobs in a queue that has no parent", ["a queue without a parent"]),
    Difference(
        r"(?:told|pod groups)\.lost.*",
        "v0.13 tells the pod that its queue is missing, and ours also that its parent is; v0.12 tells nothing",
        ["a queue that is not there", "a queue without its parent"],
    ),
    Difference(
        r"(?:told|pod groups)\.above.*",
        "KAI does not say why jobs wait in a queue that has queues below it; ours does, on purpose",
        ["a queue with queues below it"],
    ),
    Difference(
        r"queues\.default-.*",
        "KAI's queue controller finds pod groups by their label, and those in the default queue have none; ours counts them",
        ["a queue by default"],
    ),
)
_REWORDINGS = (
    Rewording(r": \n([\w ]+)\.\n", r": \1: ", "v0.13 puts the reason on a line of its own"),
    Rewording(r", pods: 1\.", ".", "v0.13 counts pods among the resources of a node"),
    Rewording(r"<[\w.]+>: ", "", "v0.13 names the domain that each line is about"),
    Rewording(r" *\n", " ", "v0.13 puts the reason on a line of its own"),
    Rewording(
        _SHORT_OF_PODS, "Resources were not found due to: ", "v0.13 counts the pods of a PyTorchJob by sub group"
    ),
)


def explanation(case: str, path: str, real: Any, ours: Any) -> str:
    """Why a case differs at a path; nothing if that is not known."""
    for each in _DIFFERENCES:
        if re.fullmatch(each.path, path) and (not each.cases or any(part in case for part in each.cases)):
            return each.reason
    return _rewording(real, ours) if path.startswith("told.") and real and ours else ""


def _rewording(real: Sequence[str], ours: Sequence[str]) -> str:
    reasons = []
    for each in _REWORDINGS:
        before = set(real), set(ours)
        real, ours = ([re.sub(each.words, each.instead, words) for words in side] for side in before)
        if (set(real), set(ours)) != before:
            reasons.append(each.reason)
        if set(real) == set(ours):
            return "; ".join(dict.fromkeys(reasons))
    return ""
