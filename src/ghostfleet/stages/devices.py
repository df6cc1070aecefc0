"""Devices: extended resources that are added to a running node.

Tests give nodes GPUs they do not have by patching `status.capacity`. A kubelet then counts them as allocatable too; the
nodes of a fleet do the same. Only what changes in a node that is there is looked at: a node that is made with a
capacity alone is as its maker wants it.
"""

from __future__ import annotations

from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Store

__all__ = ["Devices"]


class Devices:
    """Follows the capacities of nodes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        store.listen("nodes", self._notice)

    def _notice(self, change: Change) -> None:
        if change.old is None or change.new is None:
            return
        before, now = _capacity(change.old), _capacity(change.new)
        if now is before or now == before:
            return
        changed = {
            name for name in before.keys() | now.keys() if _is_extended(name) and before.get(name) != now.get(name)
        }
        if changed:
            self._store.clock.call_soon(self._offer, change.name, frozenset(changed))

    def _offer(self, name: str, resources: frozenset[str]) -> None:
        """Make allocatable what the node has now."""
        node = self._store.find("nodes", "", name)
        if node is None:
            return
        status = node["status"]
        capacity, before = _capacity(node), status.get("allocatable") or {}
        allocatable = {each: amount for each, amount in before.items() if each not in resources or each in capacity}
        allocatable |= {each: capacity[each] for each in sorted(resources) if each in capacity}
        if allocatable != before:
            self._store.set_status("nodes", node, {**status, "allocatable": allocatable})


def _capacity(node: Object) -> Object:
    return (node.get("status") or {}).get("capacity") or {}


def _is_extended(resource: str) -> bool:
    return "/" in resource and "kubernetes.io/" not in resource
