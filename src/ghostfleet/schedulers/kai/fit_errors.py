"""Why a job was not placed, in KAI's words: errors of the job, and of a pod on the nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "DEFAULT_POD_ERROR",
    "POD_SCHEDULING_ERRORS",
    "UNSCHEDULABLE_WORKLOAD",
    "JobFitError",
    "detailed_message",
    "nodes_message",
]

DEFAULT_POD_ERROR = "Unable to schedule pod"
DEFAULT_POD_GROUP_ERROR = "Unable to schedule podgroup"
POD_SCHEDULING_ERRORS = "PodSchedulingErrors"
UNSCHEDULABLE_WORKLOAD = "Not enough resources for the workload"
NO_NODES = "no nodes with enough resources were found"


@dataclass(frozen=True)
class JobFitError:
    """A reason with messages; `node_group` names the topology domain it is about, `details` the queue's figures."""

    reason: str
    messages: Sequence[str]
    node_group: str = ""
    sub_group: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    detailed: Sequence[str] = ()

    @property
    def detailed_message(self) -> str:
        text = ", ".join(self.detailed or self.messages)
        if self.sub_group and self.sub_group != "default":
            text = f"subgroup {self.sub_group}: {text}"
        return f"<{self.node_group}>: {text}" if self.node_group else text


def detailed_message(errors: Sequence[JobFitError]) -> str:
    """All that is known, a line each, under one reason."""
    reason = errors[0].reason if len(errors) == 1 else DEFAULT_POD_GROUP_ERROR
    lines = sorted(f"\n{error.detailed_message}." for error in errors)
    return f"\n{reason}." + "".join(lines)


def nodes_message(reasons: Iterable[tuple[str, int]]) -> str:
    """How many nodes refused a pod for which reason."""
    told = sorted(f"{count} {reason}" for reason, count in reasons)
    return f"{NO_NODES}: " + ". \n".join(told) + "." if told else DEFAULT_POD_ERROR
