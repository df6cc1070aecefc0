"""The queues of Run:ai's projects: a project is a namespace with the label runai/queue, and has a queue of that name.

A queue that is there already stays as it is. A new one hangs below the default parent queue, with no quota of its own
and no limit, as the default queue does.
"""

from __future__ import annotations

from ghostfleet.controllers.kai.constants import QUEUES
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Store

__all__ = ["ProjectQueues"]

_LABEL = "runai/queue"
_PARENT = "default-parent-queue"


class ProjectQueues:
    """Makes the queues of projects of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        store.listen("namespaces", self._notice)
        for namespace in store.list("namespaces"):
            self._ensure(namespace)

    def _notice(self, change: Change) -> None:
        if change.new is not None and change.type != "MODIFIED":
            self._ensure(change.new)

    def _ensure(self, namespace: Object) -> None:
        name = (namespace["metadata"].get("labels") or {}).get(_LABEL)
        if not name or self._store.find(QUEUES, "", name) is not None:
            return
        free = {"quota": 0, "limit": -1, "overQuotaWeight": 1}
        spec = {"parentQueue": _PARENT, "resources": {"cpu": free, "gpu": free, "memory": free}}
        metadata = {"name": name, "generation": 1}
        queue = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": metadata, "spec": spec}
        self._store.create(QUEUES, queue)
