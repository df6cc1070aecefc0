"""The ephemeral volume controller: a claim for each volume that a pod brings along.

A pod's *ephemeral* volume is a template of a claim. The claim is named after pod and volume and belongs to the pod, so
that it goes with it. A claim of that name that belongs to somebody else is left alone, and the pod waits.
"""

from __future__ import annotations

from ghostfleet.api.strategy import apply_defaults, prepare_for_create
from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.pods import is_terminal, owner_reference
from ghostfleet.controllers.requests import Steps, create
from ghostfleet.controllers.routing import PodRoutes
from ghostfleet.controllers.volumes.protection import CLAIM_PROTECTION
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store

__all__ = ["EphemeralVolumeController"]

_CLAIMS = "persistentvolumeclaims"
Key = tuple[str, str]


class EphemeralVolumeController:
    """Makes the claims of pods of one store."""

    def __init__(self, store: Store, routes: PodRoutes, profile: Profile) -> None:
        client = profile.api_client("kube-controller-manager", "Ephemeral volume controller")
        self._store: Reader = store
        self._recorder = EventRecorder(store, "ephemeral_volume", profile, client)
        count = profile.number("ephemeral-volume.workers")
        self._workers: Workers[Key] = Workers(store, self._sync, count=count, client=client)
        for pod in store.list("pods"):
            self._consider(pod)
        routes.with_volumes(self._notice)

    def _notice(self, change: Change) -> None:
        if change.new is not None:
            self._consider(change.new)

    def _consider(self, pod: Object) -> None:
        if any("ephemeral" in volume for volume in pod["spec"].get("volumes") or ()):
            self._workers.add((pod["metadata"]["namespace"], pod["metadata"]["name"]))

    def _sync(self, key: Key) -> Steps:
        pod = self._store.find("pods", *key)
        if pod is None or "deletionTimestamp" in pod["metadata"] or is_terminal(pod):
            return
        for volume in pod["spec"]["volumes"]:
            if "ephemeral" not in volume:
                continue
            name = f"{key[1]}-{volume['name']}"
            there = self._store.find(_CLAIMS, key[0], name)
            if there is None:
                yield create(_CLAIMS, _claim(pod, name, volume["ephemeral"]["volumeClaimTemplate"]))
            elif not _belongs(there, pod):
                problem = f'PVC "{key[0]}/{name}" was not created for pod "{key[0]}/{key[1]}" (pod is not owner)'
                self._recorder.warning(pod, "FailedBinding", f"ephemeral volume {volume['name']}: {problem}")


def _claim(pod: Object, name: str, template: Object) -> Object:
    given = template.get("metadata") or {}
    metadata: Object = {
        "name": name,
        "namespace": pod["metadata"]["namespace"],
        "ownerReferences": [owner_reference({"apiVersion": "v1", "kind": "Pod", **pod})],
        "finalizers": [CLAIM_PROTECTION],
    }
    metadata |= {part: given[part] for part in ("labels", "annotations") if given.get(part)}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": template["spec"]}
    return prepare_for_create(_CLAIMS, apply_defaults(_CLAIMS, claim))


def _belongs(claim: Object, pod: Object) -> bool:
    uid = pod["metadata"]["uid"]
    return any(owner["uid"] == uid for owner in claim["metadata"].get("ownerReferences") or ())
