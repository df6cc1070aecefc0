"""Protection: claims and volumes that are in use outlive their deletion.

A claim or volume with the protecting finalizer that is marked goes only when nothing uses it: no pod that has not ended
names the claim, no claim is bound to the volume.
"""

from __future__ import annotations

from ghostfleet.controllers.pods import is_terminal
from ghostfleet.controllers.requests import Request, Steps
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.subscription import Subscription

__all__ = ["CLAIM_PROTECTION", "VOLUME_PROTECTION", "StorageProtection"]

CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION = "kubernetes.io/pv-protection"
_FINALIZERS = {"persistentvolumeclaims": CLAIM_PROTECTION, "persistentvolumes": VOLUME_PROTECTION}


class StorageProtection:
    """Lets marked claims and volumes of one store go when they are not in use any more."""

    def __init__(self, store: Store, profile: Profile) -> None:
        self._store: Reader = store
        self._workers: Workers[tuple[str, str, str]] = Workers(
            store, self._sync, client=profile.api_client("kube-controller-manager", "Volume protection controller")
        )
        #: Marked claims and volumes that are held.
        self._held: dict[tuple[str, str, str], None] = {}
        self._subscription = Subscription(lambda: store.listen("pods", self._notice_pod))
        for resource in _FINALIZERS:
            for obj in store.list(resource):
                self._consider(resource, obj)
            store.listen(resource, self._notice)

    def _notice(self, change: Change) -> None:
        if change.new is not None:
            self._consider(change.resource, change.new)
        else:
            self._held.pop((change.resource, change.namespace, change.name), None)
            self._subscription.subscribe_if(self._held)
        if change.resource == "persistentvolumeclaims":
            self._look_again("persistentvolumes")

    def _consider(self, resource: str, obj: Object) -> None:
        metadata = obj["metadata"]
        if "deletionTimestamp" in metadata and _FINALIZERS[resource] in metadata.get("finalizers", ()):
            key = (resource, metadata.get("namespace", ""), metadata["name"])
            self._held[key] = None
            self._subscription.subscribe_if(self._held)
            self._workers.add(key)

    def _notice_pod(self, change: Change) -> None:
        if change.new is None or is_terminal(change.new):
            self._look_again("persistentvolumeclaims")

    def _look_again(self, resource: str) -> None:
        for key in self._held:
            if key[0] == resource:
                self._workers.add(key)

    def _sync(self, key: tuple[str, str, str]) -> Steps:
        resource = key[0]
        obj = self._store.find(*key)
        if obj is None or "deletionTimestamp" not in obj["metadata"] or self._in_use(resource, obj):
            return
        yield Request("update", resource, self._release, key)

    def _release(self, store: Store, key: tuple[str, str, str]) -> None:
        resource = key[0]
        current = store.find(*key)
        if current is None:
            return
        finalizers = current["metadata"].get("finalizers", [])
        left = [each for each in finalizers if each != _FINALIZERS[resource]]
        metadata = {**current["metadata"], "finalizers": left}
        if not left:
            del metadata["finalizers"]
        self._held.pop(key, None)
        self._subscription.subscribe_if(self._held)
        store.update(resource, {**current, "metadata": metadata})

    def _in_use(self, resource: str, obj: Object) -> bool:
        name = obj["metadata"]["name"]
        if resource == "persistentvolumes":
            return bool((obj.get("status") or {}).get("phase") == "Bound")
        return any(
            (volume.get("persistentVolumeClaim") or {}).get("claimName") == name
            for pod in self._store.list("pods", obj["metadata"]["namespace"])
            if not is_terminal(pod)
            for volume in pod["spec"].get("volumes") or ()
        )
