"""The states a pod can have in KAI's eyes, as bits, and the sets of states that its accounting asks for.

*Active used* pods hold something on a node, *active allocated* ones hold it and are not about to leave, *allocated*
ones count against their queue, *alive* ones are or may yet come to be there. A *pipelined* pod has a place that
somebody else must leave first.
"""

from __future__ import annotations

__all__ = [
    "ACTIVE_ALLOCATED",
    "ACTIVE_USED",
    "ALIVE",
    "ALLOCATED",
    "ALLOCATED_STATUSES",
    "BINDING",
    "BOUND",
    "DELETED",
    "FAILED",
    "GATED",
    "NAMES",
    "PENDING",
    "PIPELINED",
    "RELEASING",
    "RUNNING",
    "STATUSES",
    "SUCCEEDED",
    "UNKNOWN",
]

PENDING = 1
GATED = 2
ALLOCATED = 4
PIPELINED = 8
BINDING = 16
BOUND = 32
RUNNING = 64
RELEASING = 128
SUCCEEDED = 256
FAILED = 512
UNKNOWN = 1024
DELETED = 2048

ACTIVE_USED = ALLOCATED | PIPELINED | BINDING | BOUND | RUNNING | RELEASING
ACTIVE_ALLOCATED = ALLOCATED | PIPELINED | BINDING | BOUND | RUNNING
ALIVE = ACTIVE_ALLOCATED | PENDING | GATED
ALLOCATED_STATUSES = ALLOCATED | BOUND | BINDING | RUNNING

NAMES = {
    PENDING: "Pending",
    GATED: "Gated",
    ALLOCATED: "Allocated",
    PIPELINED: "Pipelined",
    BINDING: "Binding",
    BOUND: "Bound",
    RUNNING: "Running",
    RELEASING: "Releasing",
    SUCCEEDED: "Succeeded",
    FAILED: "Failed",
    UNKNOWN: "Unknown",
    DELETED: "Deleted",
}
STATUSES = {name: status for status, name in NAMES.items()}
