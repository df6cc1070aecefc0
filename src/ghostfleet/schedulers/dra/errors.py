"""Why claims are not allocated, where that is more than "no devices".

An `AllocationError` is fatal for the pod: something is wrong with its claims, or a class, and other nodes would not
help. A `NodeAllocationError` is about one node only; it is told if no other node will do either.
"""

from __future__ import annotations

__all__ = ["AllocationError", "AllocationTimeout", "NodeAllocationError"]


class AllocationError(Exception):
    """The claims cannot be allocated anywhere; the message is Kubernetes' own."""


class NodeAllocationError(AllocationError):
    """The claims cannot be allocated for one node, for a reason worth telling."""


class AllocationTimeout(AllocationError):
    """The search took more steps than it may."""
