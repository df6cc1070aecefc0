"""Records: what the DaemonSet controller knows of a set on every node, without looking at all nodes again.

Only nodes where something changed (*dirty* ones) are looked at; what the status says of all nodes is summed up as they
change.
"""

from __future__ import annotations

from typing import NamedTuple

from ghostfleet.controllers.daemonsets.placement import may_run
from ghostfleet.controllers.pods import is_available, is_ready, is_terminal
from ghostfleet.core.changes import Object

__all__ = ["DaemonRecord", "NodeTally", "target_of"]


def target_of(pod: Object) -> str:
    """The node that a daemon is on, or is meant for."""
    bound: str = pod["spec"].get("nodeName") or ""
    if bound:
        return bound
    affinity = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    for term in affinity.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == "metadata.name" and len(field.get("values") or ()) == 1:
                name: str = field["values"][0]
                return name
    return ""


class NodeTally(NamedTuple):
    """What one node adds to a set's status."""

    desired: int = 0
    current: int = 0
    misplaced: int = 0
    ready: int = 0
    available: int = 0
    updated: int = 0


class DaemonRecord:
    """One DaemonSet."""

    __slots__ = ("_tallies", "dirty", "fits", "key", "not_before", "pods", "sums")

    def __init__(self, key: tuple[str, str]) -> None:
        self.key = key
        #: Pods by node and uid.
        self.pods: dict[str, dict[str, Object]] = {}
        self.fits: dict[str, tuple[bool, bool]] = {}
        self.dirty: dict[str, None] = {}
        #: When a failed pod of a node may be replaced again.
        self.not_before: dict[str, int] = {}
        self._tallies: dict[str, NodeTally] = {}
        self.sums = NodeTally()

    def note_pod(self, old: Object | None, new: Object | None) -> None:
        for pod in (old, new):
            if pod is not None:
                node = target_of(pod)
                self.dirty[node] = None
                held = self.pods.setdefault(node, {})
                held.pop(pod["metadata"]["uid"], None)
        if new is not None:
            self.pods[target_of(new)][new["metadata"]["uid"]] = new

    def note_node(self, name: str, owner: Object, node: Object | None) -> bool:
        """Take note of a node; true when it makes a difference to the set."""
        fits = may_run(owner, node) if node is not None else None
        if fits == self.fits.get(name):
            return False
        if fits is None:
            del self.fits[name]
        else:
            self.fits[name] = fits
        self.dirty[name] = None
        return True

    def active(self, node: str) -> list[Object]:
        """Pods on a node that are not on their way out, the oldest first."""
        pods = [pod for pod in self.pods.get(node, {}).values() if "deletionTimestamp" not in pod["metadata"]]
        return sorted(pods, key=lambda pod: (not pod["spec"].get("nodeName"), pod["metadata"]["creationTimestamp"]))

    def count(self, node: str, mark: str, seconds: int, now: int) -> None:
        """Bring what a node adds to the sums up to date. `mark` is the hash of the newest revision."""
        tally = self._tally(node, mark, seconds, now)
        before = self._tallies.get(node, NodeTally())
        if tally != before:
            self._tallies[node] = tally
            self.sums = NodeTally(
                *(total + new - old for total, new, old in zip(self.sums, tally, before, strict=True))
            )

    def _tally(self, node: str, mark: str, seconds: int, now: int) -> NodeTally:
        fits = self.fits.get(node)
        pods = [pod for pod in self.active(node) if not is_terminal(pod)]
        if fits is None or not fits[0]:
            return NodeTally(misplaced=1) if fits is not None and pods else NodeTally()
        if not pods:
            return NodeTally(desired=1)
        oldest = pods[0]
        labels = oldest["metadata"].get("labels") or {}
        ready = is_ready(oldest)
        return NodeTally(
            desired=1,
            current=1,
            ready=int(ready),
            available=int(ready and is_available(oldest, seconds, now)),
            updated=int(labels.get("controller-revision-hash") == mark),
        )
