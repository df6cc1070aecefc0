"""Heartbeats: which nodes are alive without having to show it.

Fake nodes have no kubelet. Where a fleet plays them, it knows which of them are alive, and its word is taken for the
leases they do not renew. Without a fleet, every node is alive that is marked as fake and not as failed.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.core.changes import Object
from ghostfleet.stages.fleet import Fleet
from ghostfleet.stages.nodes import FAILED_ANNOTATION, FAKE_ANNOTATION

__all__ = ["vouching"]


def vouching(fleet: Fleet | None = None) -> Callable[[Object], bool]:
    """Who says of a node whether it is alive."""
    if fleet is None:
        return _is_fake_and_well
    alive = fleet.leases.alive

    def plays(node: Object) -> bool:
        return alive(node["metadata"]["name"])

    return plays


def _is_fake_and_well(node: Object) -> bool:
    annotations = node["metadata"].get("annotations") or {}
    return bool(annotations.get(FAKE_ANNOTATION) == "fake") and FAILED_ANNOTATION not in annotations
