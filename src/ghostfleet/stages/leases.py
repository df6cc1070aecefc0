"""Leases: how nodes show that they are alive.

Each node has a Lease that its kubelet *renews* every ten seconds; a node whose lease is old is taken for dead. Ten
thousand nodes renew a thousand times a second, so all nodes renew at the same *ticks*, with one timer for all, or not
at all: on a virtual clock leases are *lazy*. Then nothing is written at a tick, for whoever asks here (`renewed`) can
be told what a lease would say; the object shows it when the node fails, and when `write_all` is called. A node can
*fail*: it stops renewing until it *recovers*, and those who listen are told of both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND, Handle
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339_micro

__all__ = ["LEASES", "Leases", "Mode"]

LEASES = "leases.coordination.k8s.io"
_NAMESPACE = "kube-node-lease"
#: live: written at each tick; lazy: on demand; off: there are none, and every node that did not fail counts as alive
Mode = Literal["live", "lazy", "off"]


class Leases:
    """The leases of all nodes of one fleet."""

    def __init__(self, store: Store, mode: Mode = "lazy", *, period: int = 10 * SECOND, duration: int = 40) -> None:
        self._store = store
        self._mode = mode
        self._period = period
        self._duration = duration
        self._start = store.clock.now()
        self._alive: dict[str, None] = {}
        self._last: dict[str, int] = {}
        self._listeners: list[Callable[[str, bool], None]] = []
        self._noted: dict[str, None] = {}
        self._handle: Handle | None = None
        self._paused = False
        if mode != "off":
            store.listen(LEASES, self._notice, status=False)

    def listen(self, listener: Callable[[str, bool], None]) -> None:
        """Tell `listener(name, alive)` when a node fails or recovers."""
        self._listeners.append(listener)

    def add(self, node: Object) -> None:
        """A node has come; its lease is made soon."""
        name = node["metadata"]["name"]
        if name in self._alive or name in self._last:
            return
        self._alive[name] = None
        self._note(name)
        if self._mode == "live" and self._handle is None:
            self._handle = self._store.clock.call_at(self._tick() + self._period, self._renew)

    def remove(self, name: str) -> None:
        """A node is gone; its lease belongs to it and is collected with it."""
        self._alive.pop(name, None)
        self._last.pop(name, None)

    def alive(self, name: str) -> bool:
        return name in self._alive

    def renewed(self, name: str) -> int | None:
        """When the node last renewed its lease; None for a node that is not here."""
        if name in self._alive:
            return self._store.clock.now() if self._mode == "off" else self._tick()
        return self._last.get(name)

    def fail(self, name: str) -> None:
        """The node stops renewing."""
        if name in self._alive:
            self._last[name] = self.renewed(name) or 0
            del self._alive[name]
            self._note(name)
            self._tell(name, False)

    def recover(self, name: str) -> None:
        """The node renews again."""
        if name in self._last:
            del self._last[name]
            self._alive[name] = None
            self._note(name)
            self._tell(name, True)

    def pause(self, paused: bool) -> None:
        """Leave the writing of leases to somebody else, or take it up again."""
        self._paused = paused
        self.write_all()

    def write_all(self) -> None:
        """Let every lease show what it should."""
        for name in self._alive:
            self._write(name)

    def _tell(self, name: str, alive: bool) -> None:
        for listener in self._listeners:
            listener(name, alive)

    def _tick(self) -> int:
        """The last tick; a lease is as old as that."""
        now = self._store.clock.now()
        return now - (now - self._start) % self._period

    def _renew(self) -> None:
        self._handle = self._store.clock.call_later(self._period, self._renew) if self._alive else None
        self.write_all()

    def _notice(self, change: Change) -> None:
        """A lease that somebody has deleted or set back is right again when it would be renewed."""
        lost = change.old is not None and (change.new is None or _renewal(change.new) < _renewal(change.old))
        if lost and change.namespace == _NAMESPACE and change.name in self._alive:
            self._store.clock.call_later(self._period, self._note, change.name)

    def _note(self, name: str) -> None:
        """Write a lease soon: whoever calls here may have been told of a change just now."""
        if self._mode != "off":
            if not self._noted:
                self._store.clock.call_soon(self._write_noted)
            self._noted[name] = None

    def _write_noted(self) -> None:
        noted, self._noted = self._noted, {}
        for name in noted:
            self._write(name)

    def _write(self, name: str) -> None:
        """Let a lease show when it was renewed; one that is not there, or not this node's, is made."""
        node = self._store.find("nodes", "", name)
        renewed = self.renewed(name)
        if self._paused or node is None or renewed is None:
            return
        lease = self._store.find(LEASES, _NAMESPACE, name)
        if lease is None:
            if self._has_place():
                self._store.create(LEASES, self._lease(node))
            elif self._mode == "lazy":
                self._store.clock.call_later(self._period, self._note, name)
            return
        time = rfc3339_micro(renewed)
        owners = lease["metadata"].get("ownerReferences") or []
        if all(owner["uid"] != node["metadata"]["uid"] for owner in owners):
            fresh = self._lease(node)
            fresh["metadata"] = {**lease["metadata"], "ownerReferences": fresh["metadata"]["ownerReferences"]}
            self._store.update(LEASES, fresh)
        elif _renewal(lease) < time:
            self._store.update(LEASES, {**lease, "spec": {**(lease.get("spec") or {}), "renewTime": time}})

    def _has_place(self) -> bool:
        """Whether the namespace of the leases is there to stay, which somebody may have deleted."""
        space = self._store.find("namespaces", "", _NAMESPACE)
        return space is not None and "deletionTimestamp" not in space["metadata"]

    def _lease(self, node: Object) -> Object:
        metadata = node["metadata"]
        owner = {"apiVersion": "v1", "kind": "Node", "name": metadata["name"], "uid": metadata["uid"]}
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": metadata["name"], "namespace": _NAMESPACE, "ownerReferences": [owner]},
            "spec": {
                "holderIdentity": metadata["name"],
                "leaseDurationSeconds": self._duration,
                "renewTime": rfc3339_micro(self._store.clock.now()),
            },
        }


def _renewal(lease: Object) -> str:
    time: str = (lease.get("spec") or {}).get("renewTime") or ""
    return time
