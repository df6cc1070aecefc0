"""Bare pods that come back after an eviction.

Evicting is deleting, so a pod that nobody owns is lost. A demonstration may wish otherwise: here such a pod is made
anew as soon as it is gone, under its name and as it was before it was bound. No program of a real cluster does that.
"""

from __future__ import annotations

from ghostfleet.api.admission import Admission
from ghostfleet.api.strategy import prepare_for_create
from ghostfleet.controllers.kai.constants import GPU_GROUP, POD_GROUP_ANNOTATION, RECEIVED_RESOURCE_TYPE
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store

__all__ = ["BarePods"]

_OWN_NOTES = (POD_GROUP_ANNOTATION, RECEIVED_RESOURCE_TYPE)


class BarePods:
    """Makes evicted pods of one store anew; `expect` tells it which are to come back."""

    def __init__(self, store: Store, admission: Admission) -> None:
        self._store = store
        self._admission = admission
        self._evicted: set[str] = set()
        store.listen("pods", self._notice, status=False)

    def expect(self, pod: Object) -> None:
        """A pod without an owner is being evicted."""
        self._evicted.add(pod["metadata"]["uid"])

    def _notice(self, change: Change) -> None:
        if change.new is None and change.old is not None and change.old["metadata"]["uid"] in self._evicted:
            self._evicted.discard(change.old["metadata"]["uid"])
            # Nothing acts inside a write.
            self._store.clock.call_soon(self._make, change.old)

    def _make(self, old: Object) -> None:
        pod = prepare_for_create("pods", _as_new(old))
        try:
            self._admission.review("pods", None, pod)
            self._admission.charge("pods", pod)
            self._store.create("pods", pod)
        except ApiError:
            # Another took its name, or its quota, in the meantime.
            return


def _as_new(pod: Object) -> Object:
    own = pod["metadata"]
    labels = {key: value for key, value in (own.get("labels") or {}).items() if not key.startswith(GPU_GROUP)}
    notes = {key: value for key, value in (own.get("annotations") or {}).items() if key not in _OWN_NOTES}
    metadata = {"name": own["name"], "namespace": own["namespace"]}
    metadata |= {field: value for field, value in (("labels", labels), ("annotations", notes)) if value}
    spec = {field: value for field, value in pod["spec"].items() if field != "nodeName"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
