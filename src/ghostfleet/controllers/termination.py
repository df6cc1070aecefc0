"""Termination: pods that were asked to go, go.

A pod on a node is deleted in two steps: the API marks it and gives it its grace period, then the node stops its
containers and removes it. Where nobody plays the nodes, this controller stands in for the second step: containers that
do not exist stop as quickly as well-behaved ones do. Where somebody does, it only ends what is still there when its
grace is over, which happens on nodes that have failed; unlike in a real cluster, such pods do not stay for ever.
"""

from __future__ import annotations

from ghostfleet.controllers.queue import WorkQueue
from ghostfleet.core.changes import Change
from ghostfleet.core.clock import SECOND
from ghostfleet.core.store import Store

__all__ = ["STOPPING", "PodTerminator"]

#: How long well-behaved containers take to stop.
STOPPING = SECOND


class PodTerminator:
    """Removes marked pods from one store when their containers have stopped."""

    def __init__(self, store: Store, stopping: int | None = STOPPING) -> None:
        """Pods have `stopping` microseconds to stop, or all of their grace when it is None."""
        self._store = store
        self._stopping = stopping
        self._queue: WorkQueue[tuple[str, str, str]] = WorkQueue(store.clock, self._work)
        store.listen("pods", self._notice, status=False)

    def _notice(self, change: Change) -> None:
        if change.new is None or "deletionTimestamp" not in change.new["metadata"]:
            return
        if change.old is not None and "deletionTimestamp" in change.old["metadata"]:
            return
        metadata = change.new["metadata"]
        grace = metadata.get("deletionGracePeriodSeconds", 0) * SECOND
        if grace:
            delay = grace if self._stopping is None else min(grace, self._stopping)
            self._queue.add_after((change.namespace, change.name, metadata["uid"]), delay)

    def _work(self, key: tuple[str, str, str]) -> None:
        namespace, name, uid = key
        pod = self._store.find("pods", namespace, name)
        if pod is not None and pod["metadata"]["uid"] == uid:
            self._store.delete("pods", namespace, name, grace=0)
