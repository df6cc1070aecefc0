"""Definitions: custom resources come and go with their CustomResourceDefinition.

A definition that has been given all its names is *established*: its resource joins the registry and is served from
then on, always under the names it has. A deleted definition takes its objects with it: they are deleted first, and
when the last one is gone the definition's finalizer is dropped and the resource leaves the registry; others of its
group may then take over its names.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from ghostfleet.api import customresources
from ghostfleet.api.deleting import CRD_FINALIZER
from ghostfleet.api.kinds import Registry, Resource
from ghostfleet.controllers.definitionnames import Names, give_names, waits_for_names
from ghostfleet.controllers.queue import WorkQueue
from ghostfleet.controllers.repairing import wake_when_overwritten
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store
from ghostfleet.core.subscription import Subscription
from ghostfleet.core.timestamps import rfc3339

__all__ = ["DEFINITIONS", "DefinitionController"]

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_APPROVAL = "api-approved.kubernetes.io"


class DefinitionController:
    """Registers and removes the custom resources of one store."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry
        self._queue: WorkQueue[str] = WorkQueue(store.clock, self._work)
        store.listen(DEFINITIONS, self._notice)
        wake_when_overwritten(store, DEFINITIONS, lambda place: self._queue.add(place[1]))
        #: Definitions on their way out.
        self._ending: dict[str, None] = {}
        self._instances = Subscription(lambda: store.listen_to_all(self._notice_instance, status=False))

    def _notice(self, change: Change) -> None:
        if change.new is None:
            self._ending.pop(change.name, None)
        elif "deletionTimestamp" in change.new["metadata"]:
            self._ending[change.name] = None
        self._instances.subscribe_if(self._ending)
        if (
            change.new is not None
            and change.old is not None
            and change.old.get("spec") == change.new.get("spec")
            and change.old["metadata"].get("annotations") == change.new["metadata"].get("annotations")
            and "deletionTimestamp" not in change.new["metadata"]
        ):
            return
        self._queue.add(change.name)

    def _notice_instance(self, change: Change) -> None:
        # A definition's name is the store's key of its resource.
        if change.new is None and change.resource in self._ending and self._store.count(change.resource) == 0:
            self._queue.add(change.resource)

    def _work(self, name: str) -> None:
        definition = self._store.find(DEFINITIONS, "", name)
        if definition is None:
            resource = self._registry.by_key(name)
            if resource is not None and resource.custom:
                self._registry.remove(resource)
            self._wake_group(name)
        elif "deletionTimestamp" in definition["metadata"]:
            self._end(definition)
        else:
            self._establish(definition)

    def _group(self, name: str) -> list[Object]:
        """All definitions of the group that is in a definition's name."""
        group = name.partition(".")[2]
        return [each for each in self._store.list(DEFINITIONS) if each["spec"]["group"] == group]

    def _wake_group(self, name: str) -> None:
        for other in self._group(name):
            if other["metadata"]["name"] != name and waits_for_names(other):
                self._queue.add(other["metadata"]["name"])

    # -- life --------------------------------------------------------------------------------------------------------

    def _establish(self, definition: Object) -> None:
        name = definition["metadata"]["name"]
        names, reason, message = give_names(definition, self._group(name))
        status = _Status(definition, rfc3339(self._store.clock.now()))
        status.set("NamesAccepted", not reason, reason or "NoConflicts", message or "no conflicts found")
        established = not reason or status.is_true("Established")
        problem = self._serve(definition, names) if established else ""
        if not established:
            status.set("Established", False, "NotAccepted", "not all names are accepted")
        elif not status.is_true("Established"):
            status.set("Established", True, "InitialNamesAccepted", "the initial names have been accepted")
        if problem:
            status.set("NonStructuralSchema", True, "Violations", problem)
        else:
            status.drop("NonStructuralSchema")
        status.judge_approval()
        changed = status.to_object(names)
        self._store.patch_status(DEFINITIONS, "", name, changed)
        if changed["acceptedNames"] != (definition.get("status") or {}).get("acceptedNames"):
            self._wake_group(name)

    def _serve(self, definition: Object, names: Names) -> str:
        """Put the resource into the registry; answers why that was not possible."""
        try:
            resource = customresources.resource_of({**definition, "spec": {**definition["spec"], "names": names}})
        except ApiError as error:
            return error.message
        self._store.register(resource.key)
        self._registry.add(resource)
        return ""

    def _end(self, definition: Object) -> None:
        name = definition["metadata"]["name"]
        status = _Status(definition, rfc3339(self._store.clock.now()))
        status.set("Terminating", True, "InstanceDeletionInProgress", "CustomResource deletion is in progress")
        definition = self._store.patch_status(DEFINITIONS, "", name, status.to_object())
        resource = self._registry.by_key(name)
        if resource is not None and resource.custom:
            self._delete_instances(resource)
        if self._store.count(name) == 0:
            metadata = definition["metadata"]
            left = [each for each in metadata.get("finalizers", []) if each != CRD_FINALIZER]
            if left != metadata.get("finalizers", []):
                status.set("Terminating", False, "InstanceDeletionCompleted", "removed all instances")
                after = {**definition, "metadata": {**metadata, "finalizers": left}, "status": status.to_object()}
                self._store.update(DEFINITIONS, after)

    def _delete_instances(self, resource: Resource) -> None:
        for obj in self._store.list(resource.key):
            metadata = obj["metadata"]
            if "deletionTimestamp" not in metadata:
                self._store.delete(resource.key, metadata.get("namespace", ""), metadata["name"])


class _Status:
    """The status of a definition, being rewritten."""

    def __init__(self, definition: Object, now: str) -> None:
        self._definition = definition
        self._now = now
        self._before: Object = definition.get("status") or {}
        self._conditions = {each["type"]: each for each in self._before.get("conditions") or ()}

    def is_true(self, kind: str) -> bool:
        return kind in self._conditions and self._conditions[kind]["status"] == "True"

    def set(self, kind: str, value: bool, reason: str, message: str) -> None:
        text = "True" if value else "False"
        before = self._conditions.get(kind)
        since = before["lastTransitionTime"] if before is not None and before["status"] == text else self._now
        self._conditions[kind] = {
            "type": kind, "status": text, "lastTransitionTime": since, "reason": reason, "message": message
        }  # fmt: skip

    def drop(self, kind: str) -> None:
        self._conditions.pop(kind, None)

    def judge_approval(self) -> None:
        """Groups of Kubernetes' own community carry a note about who approved their API."""
        group = self._definition["spec"]["group"]
        if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
            return
        approval = self._definition["metadata"].get("annotations", {}).get(_APPROVAL, "")
        kind, address = "KubernetesAPIApprovalPolicyConformant", urlsplit(approval)
        if address.scheme and address.netloc:
            self.set(kind, True, "ApprovedAnnotation", f"approved in {approval}")
        else:
            self.set(kind, False, "UnapprovedAnnotation", f'not approved: "{approval}"')

    def to_object(self, names: Names | None = None) -> Object:
        stored = list(self._before.get("storedVersions") or ())
        storage = next(each["name"] for each in self._definition["spec"]["versions"] if each.get("storage"))
        return {
            **self._before,
            "conditions": list(self._conditions.values()),
            "acceptedNames": names or self._before.get("acceptedNames") or {"plural": "", "kind": ""},
            "storedVersions": stored if storage in stored else [*stored, storage],
        }
