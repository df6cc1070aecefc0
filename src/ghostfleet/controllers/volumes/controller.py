"""The volume controller: binds claims and volumes to each other, and provisions volumes where a class says how.

A claim of a class with *delayed* binding waits until a pod that uses it has been given a node, which the scheduler
notes in an annotation. Provisioning takes its time, as the profile says. A volume whose claim is gone is *released*:
deleted or kept, as its reclaim policy says.
"""

from __future__ import annotations

from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.requests import Request, Steps, delete, update_status
from ghostfleet.controllers.routing import PodRoutes
from ghostfleet.controllers.volumes.lookups import ClaimUsers, FreeVolumes
from ghostfleet.controllers.volumes.matching import best_volume, class_of, is_for, misfit
from ghostfleet.controllers.volumes.protection import VOLUME_PROTECTION
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store

__all__ = ["CLAIMS", "CLASSES", "VOLUMES", "VolumeController"]

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"
CLASSES = "storageclasses.storage.k8s.io"
SELECTED_NODE = "volume.kubernetes.io/selected-node"

_BOUND = "pv.kubernetes.io/bind-completed"
_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
_PROVISIONED = "pv.kubernetes.io/provisioned-by"
_PROVISIONERS = ("volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-provisioner")
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"

Key = tuple[str, str]


class VolumeController:
    """Binds the claims and volumes of one store."""

    def __init__(self, store: Store, routes: PodRoutes, profile: Profile) -> None:
        client = profile.api_client("kube-controller-manager", "Volume controller")
        count = profile.number("volume.workers")
        self._store: Reader = store
        self._free = FreeVolumes(store)
        self._users = ClaimUsers(store, routes)
        self._delay = profile.duration("volume.provisioning-delay")
        self._recorder = EventRecorder(store, "persistentvolume-controller", profile, client)
        self._claims: Workers[Key] = Workers(store, self._sync_claim, count=count, client=client)
        self._volumes: Workers[str] = Workers(store, self._sync_volume, count=count, client=client)
        #: Claims that wait for a volume.
        self._waiting: dict[Key, None] = {}
        #: Claims whose volumes are being provisioned, by uid.
        self._provisioning: set[str] = set()
        for claim in store.list(CLAIMS):
            self._claims.add((claim["metadata"]["namespace"], claim["metadata"]["name"]))
        for volume in store.list(VOLUMES):
            self._volumes.add(volume["metadata"]["name"])
        store.listen(CLAIMS, self._notice_claim)
        store.listen(VOLUMES, self._notice_volume)
        store.listen(CLASSES, self._notice_class)

    # -- taking note -------------------------------------------------------------------------------------------------

    def _notice_claim(self, change: Change) -> None:
        key = (change.namespace, change.name)
        if change.new is not None:
            self._claims.add(key)
            return
        assert change.old is not None
        self._waiting.pop(key, None)
        volume = change.old["spec"].get("volumeName")
        if volume:
            self._volumes.add(volume)

    def _notice_volume(self, change: Change) -> None:
        volume = change.new if change.new is not None else change.old
        assert volume is not None
        self._volumes.add(change.name)
        reference = volume["spec"].get("claimRef")
        if reference is not None:
            self._claims.add((reference["namespace"], reference["name"]))
        if change.new is not None and reference is None:
            for key in self._waiting:
                self._claims.add(key)

    def _notice_class(self, _change: Change) -> None:
        for key in self._waiting:
            self._claims.add(key)

    # -- claims ------------------------------------------------------------------------------------------------------

    def _sync_claim(self, key: Key) -> Steps:
        claim = self._store.find(CLAIMS, *key)
        if claim is None:
            return
        if _BOUND in (claim["metadata"].get("annotations") or {}):
            self._waiting.pop(key, None)
            yield from self._keep(claim)
        elif "deletionTimestamp" not in claim["metadata"]:
            self._waiting[key] = None
            yield from self._find_volume(claim)

    def _find_volume(self, claim: Object) -> Steps:
        storage_class = self._store.find(CLASSES, "", class_of(claim))
        delayed = storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        named = claim["spec"].get("volumeName")
        if named:
            volume = self._store.find(VOLUMES, "", named)
            problem = misfit(volume, claim) if volume is not None and not is_for(volume, claim) else ""
            if volume is not None and volume["spec"].get("claimRef") and not is_for(volume, claim):
                self._recorder.warning(claim, "FailedBinding", f'volume "{named}" already bound to a different claim.')
                volume = None
            elif problem:
                message = f'Cannot bind to requested volume "{named}": {problem}'
                self._recorder.warning(claim, "VolumeMismatch", message)
                volume = None
        else:
            volume = best_volume(self._free.for_claim(claim), claim, delayed=delayed)
        if volume is not None:
            yield from self._bind(volume, claim)
        elif not named:
            yield from self._seek(claim, storage_class, delayed=delayed)

    def _seek(self, claim: Object, storage_class: Object | None, *, delayed: bool) -> Steps:
        """No volume is there for the claim: have one made, or tell why none is."""
        annotations = claim["metadata"].get("annotations") or {}
        if "storageClassName" not in claim["spec"] and not class_of(claim):
            default = self._default_class()
            if default is not None:
                yield _change(CLAIMS, claim, spec={"storageClassName": default["metadata"]["name"]})
                return
        if delayed and SELECTED_NODE not in annotations:
            self._recorder.normal(claim, *self._why_delayed(claim))
        elif storage_class is not None:
            yield from self._provision(claim, storage_class)
        elif class_of(claim):
            message = f'storageclass.storage.k8s.io "{class_of(claim)}" not found'
            self._recorder.warning(claim, "ProvisioningFailed", message)
        else:
            message = "no persistent volumes available for this claim and no storage class is set"
            self._recorder.normal(claim, "FailedBinding", message)

    def _default_class(self) -> Object | None:
        """The newest of the classes that are marked as the default."""
        marked = [
            each
            for each in self._store.list(CLASSES)
            if (each["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true"
        ]
        return max(marked, key=lambda each: each["metadata"]["creationTimestamp"], default=None)

    def _why_delayed(self, claim: Object) -> tuple[str, str]:
        for pod in self._users.of(claim):
            return "WaitForPodScheduled", f"waiting for pod {pod['metadata']['name']} to be scheduled"
        return "WaitForFirstConsumer", "waiting for first consumer to be created before binding"

    def _provision(self, claim: Object, storage_class: Object) -> Steps:
        uid = claim["metadata"]["uid"]
        if storage_class["provisioner"] == _NO_PROVISIONER or uid in self._provisioning:
            return
        self._provisioning.add(uid)
        yield Request("update", CLAIMS, self._ask_provisioner, claim, storage_class)

    def _ask_provisioner(self, store: Store, claim: Object, storage_class: Object) -> None:
        """Note on a claim who is to make its volume; the provisioner, another program, makes it in its own time."""
        provisioner = storage_class["provisioner"]
        _write(store, CLAIMS, claim, {}, dict.fromkeys(_PROVISIONERS, provisioner))
        self._recorder.normal(
            claim,
            "ExternalProvisioning",
            f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the "
            "system administrator. If volume creation is delayed, please verify that the provisioner is running and "
            "correctly registered.",
        )
        store.clock.call_later(self._delay, self._deliver, store, claim, storage_class)

    def _deliver(self, store: Store, claim: Object, storage_class: Object) -> None:
        """The provisioner has made a volume."""
        metadata = claim["metadata"]
        self._provisioning.discard(metadata["uid"])
        current = store.current(CLAIMS, claim)
        name = f"pvc-{metadata['uid']}"
        if current is None or store.find(VOLUMES, "", name):
            return
        requested = ((current["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0")
        spec: Object = {
            "capacity": {"storage": requested},
            "accessModes": current["spec"].get("accessModes") or ["ReadWriteOnce"],
            "claimRef": _reference(current),
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
            "storageClassName": storage_class["metadata"]["name"],
            "volumeMode": current["spec"].get("volumeMode", "Filesystem"),
            "csi": {"driver": storage_class["provisioner"], "volumeHandle": name},
        }
        store.create(
            VOLUMES,
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {
                    "name": name,
                    "annotations": {_PROVISIONED: storage_class["provisioner"]},
                    "finalizers": [VOLUME_PROTECTION],
                },
                "spec": spec,
                "status": {"phase": "Pending"},
            },
        )
        self._recorder.normal(current, "ProvisioningSucceeded", f"Successfully provisioned volume {name}")

    # -- binding -----------------------------------------------------------------------------------------------------

    def _bind(self, volume: Object, claim: Object) -> Steps:
        ours = not claim["spec"].get("volumeName") and not is_for(volume, claim)
        reference = _reference(claim)
        if (volume["spec"].get("claimRef") or {}).get("uid") != reference["uid"]:
            notes = {_BY_CONTROLLER: "yes"} if ours else {}
            yield _change(VOLUMES, volume, spec={"claimRef": reference}, annotations=notes)
        if (volume.get("status") or {}).get("phase") != "Bound":
            yield _set_phase(volume, "Bound")
        named = bool(claim["spec"].get("volumeName"))
        notes = {_BOUND: "yes"} if named else {_BOUND: "yes", _BY_CONTROLLER: "yes"}
        yield _change(CLAIMS, claim, spec={"volumeName": volume["metadata"]["name"]}, annotations=notes)
        yield _report(claim, "Bound", volume)
        self._waiting.pop((claim["metadata"]["namespace"], claim["metadata"]["name"]), None)

    def _keep(self, claim: Object) -> Steps:
        """See to a bound claim: it may have lost its volume."""
        volume = self._store.find(VOLUMES, "", claim["spec"].get("volumeName", ""))
        phase = (claim.get("status") or {}).get("phase")
        if volume is not None and is_for(volume, claim):
            if phase != "Bound":
                yield _report(claim, "Bound", volume)
        elif phase != "Lost":
            yield _report(claim, "Lost", None)
            message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            self._recorder.warning(claim, "ClaimLost", message)

    def _sync_volume(self, name: str) -> Steps:
        volume = self._store.find(VOLUMES, "", name)
        if volume is None or "deletionTimestamp" in volume["metadata"]:
            return
        reference = volume["spec"].get("claimRef")
        phase = (volume.get("status") or {}).get("phase")
        if reference is None or not reference.get("uid"):
            if phase != "Available":
                yield _set_phase(volume, "Available")
            return
        claim = self._store.find(CLAIMS, reference["namespace"], reference["name"])
        if claim is not None and claim["metadata"]["uid"] == reference["uid"]:
            # Until the claim knows of it, the binding is under way.
            if phase != "Bound" and claim["spec"].get("volumeName") == name:
                yield _set_phase(volume, "Bound")
            return
        if phase != "Released":
            yield _set_phase(volume, "Released")
        if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            yield delete(VOLUMES, "", name)


def _change(resource: str, obj: Object, *, spec: Object | None = None, annotations: Object | None = None) -> Request:
    """Change fields of the spec and annotations of a claim or volume, if it is still there."""
    return Request("update", resource, _write, resource, obj, spec or {}, annotations)


def _write(store: Store, resource: str, obj: Object, spec: Object, annotations: Object | None) -> None:
    current = store.current(resource, obj)
    if current is None:
        return
    metadata = current["metadata"]
    if annotations:
        metadata = {**metadata, "annotations": {**(metadata.get("annotations") or {}), **annotations}}
    store.update(resource, {**current, "metadata": metadata, "spec": {**current["spec"], **spec}})


def _set_phase(volume: Object, phase: str) -> Request:
    return update_status(VOLUMES, volume, lambda current: {**(current.get("status") or {}), "phase": phase})


def _report(claim: Object, phase: str, volume: Object | None) -> Request:
    status: Object = {"phase": phase}
    if volume is not None:
        status |= {"accessModes": volume["spec"]["accessModes"], "capacity": volume["spec"]["capacity"]}
    return update_status(CLAIMS, claim, status)


def _reference(claim: Object) -> Object:
    metadata = claim["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "uid": metadata["uid"],
        "resourceVersion": metadata["resourceVersion"],
    }
