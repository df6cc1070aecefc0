"""Keeping replica sets: making, numbering, sizing and removing those of a Deployment, and writing its status.

All of it reads the newest state right before it writes, so that what others changed meanwhile stays.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from ghostfleet.api.quotas import charge_quotas
from ghostfleet.controllers.deployments.amounts import DESIRED, MOST, max_surge, new_set_size, replicas_of
from ghostfleet.controllers.deployments.revisions import REVISION, draft_set, highest, numbered, revision_of
from ghostfleet.controllers.deployments.status import has_deadline, put_condition
from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.pods import condition_of
from ghostfleet.controllers.replicasets import REPLICASETS
from ghostfleet.controllers.requests import Request, Step, Steps, delete
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Reader, Store

__all__ = ["DEPLOYMENTS", "SetKeeper"]

DEPLOYMENTS = "deployments.apps"


class SetKeeper:
    """Keeps the replica sets of all Deployments of one store."""

    def __init__(self, store: Reader, recorder: EventRecorder) -> None:
        self._store = store
        self._recorder = recorder

    def number(self, deployment: Object, sets: list[Object], new: Object) -> Generator[Step, Any, Object]:
        """Give the new set the highest number, and the Deployment that number."""
        old = [each for each in sets if each is not new]
        annotations = numbered(deployment, new, highest(old) + 1)
        seconds = deployment["spec"].get("minReadySeconds", 0)
        if (
            annotations != (new["metadata"].get("annotations") or {})
            or new["spec"].get("minReadySeconds", 0) != seconds
        ):
            changes = ({"annotations": annotations}, {"minReadySeconds": seconds})
            new = yield Request("update", REPLICASETS, _update, new, *changes)
        status = deployment.get("status") or {}
        if has_deadline(deployment) and condition_of(deployment, "Progressing") is None:
            message = f'Found new replica set "{new["metadata"]["name"]}"'
            now = self._store.clock.now()
            status = put_condition(status, now, "Progressing", "True", "FoundNewReplicaSet", message)
        yield from self.write_status(deployment, status, revision=revision_of(new))
        return new

    def create(self, deployment: Object, old: list[Object]) -> Generator[Step, Any, Object]:
        size = new_set_size(deployment, old, 0)
        draft = draft_set(deployment, size, highest(old) + 1)
        name = draft["metadata"]["name"]
        status = deployment.get("status") or {}
        now = self._store.clock.now()
        try:
            new: Object = yield Request("create", REPLICASETS, _create, draft)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                yield from self.write_status(
                    deployment, {**status, "collisionCount": status.get("collisionCount", 0) + 1}
                )
                raise
            message = f'Failed to create new replica set "{name}": {error.message}'
            self._recorder.warning(deployment, "ReplicaSetCreateError", message)
            if has_deadline(deployment):
                failed = put_condition(status, now, "Progressing", "False", "ReplicaSetCreateError", message)
                yield from self.write_status(deployment, failed)
            raise
        if size:
            message = f"Scaled up replica set {name} from 0 to {size}"
            self._recorder.normal(deployment, "ScalingReplicaSet", message)
        if has_deadline(deployment):
            message = f'Created new replica set "{name}"'
            status = put_condition(status, now, "Progressing", "True", "NewReplicaSetCreated", message)
        yield from self.write_status(deployment, status, revision=highest(old) + 1)
        return new

    def scale(self, deployment: Object, replica_set: Object, size: int, *, force: bool = False) -> Steps:
        before = replicas_of(replica_set)
        if size == before and not force:
            return
        desired = deployment["spec"]["replicas"]
        notes = {DESIRED: str(desired), MOST: str(desired + max_surge(deployment))}
        annotations = replica_set["metadata"].get("annotations") or {}
        if size == before and all(annotations.get(key) == value for key, value in notes.items()):
            return
        changes = ({"annotations": {**annotations, **notes}}, {"replicas": size})
        yield Request("update", REPLICASETS, _update, replica_set, *changes)
        if size != before:
            way, name = ("up" if size > before else "down"), replica_set["metadata"]["name"]
            message = f"Scaled {way} replica set {name} from {before} to {size}"
            self._recorder.normal(deployment, "ScalingReplicaSet", message)

    def clean_up(self, deployment: Object, old: list[Object]) -> Steps:
        """Delete the oldest empty sets beyond the history that is to be kept."""
        limit = deployment["spec"].get("revisionHistoryLimit")
        alive = sorted((each for each in old if "deletionTimestamp" not in each["metadata"]), key=revision_of)
        if limit is None:
            return
        for each in alive[: max(len(alive) - limit, 0)]:
            status = each.get("status") or {}
            seen = status.get("observedGeneration", 0) >= each["metadata"].get("generation", 1)
            if not replicas_of(each) and not status.get("replicas") and seen:
                yield delete(REPLICASETS, each["metadata"]["namespace"], each["metadata"]["name"])

    def write_status(self, deployment: Object, status: Object, *, revision: int | None = None) -> Steps:
        """Write a status, and the revision that the Deployment is at, if they differ from what is stored."""
        if _written(self._store, deployment, status, revision) is not None:
            yield Request("update", f"{DEPLOYMENTS}/status", _write, deployment, status, revision)


def _create(store: Store, draft: Object) -> Object:
    charge_quotas(store, REPLICASETS, draft)
    return store.create(REPLICASETS, draft)


def _update(store: Store, replica_set: Object, metadata: Object, spec: Object) -> Object:
    """Change a stored set; what others changed meanwhile stays."""
    place = replica_set["metadata"]
    current = store.get(REPLICASETS, place["namespace"], place["name"])
    changed = {**current["spec"], **spec}
    if not changed.get("minReadySeconds"):
        changed.pop("minReadySeconds", None)
    own = {**current["metadata"], **metadata}
    if changed != current["spec"]:
        own["generation"] = own.get("generation", 0) + 1
    return store.update(REPLICASETS, {**current, "metadata": own, "spec": changed})


def _write(store: Store, deployment: Object, status: Object, revision: int | None) -> None:
    written = _written(store, deployment, status, revision)
    if written is not None:
        store.update(DEPLOYMENTS, written)


def _written(store: Reader, deployment: Object, status: Object, revision: int | None) -> Object | None:
    current = store.current(DEPLOYMENTS, deployment)
    if current is None:
        return None
    own = current["metadata"]
    if revision is not None and revision_of(current) != revision:
        own = {**own, "annotations": {**(own.get("annotations") or {}), REVISION: str(revision)}}
    if own is current["metadata"] and status == (current.get("status") or {}):
        return None
    return {**current, "metadata": own, "status": status}
