"""Owners of a pod: who made it, who made that one, and so on up to the *top owner*.

An owner whose kind is not served here cannot be looked up; what its reference says of it must do.
"""

from __future__ import annotations

from ghostfleet.api.kinds import Registry, storage_key
from ghostfleet.controllers.kai.grouping.metadata import GroupingError
from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store

__all__ = ["Owners", "is_stand_in"]

#: Marks an owner of which only the reference is known.
_STAND_IN = "ghostfleet.dev/reference-only"


def is_stand_in(owner: Object) -> bool:
    return _STAND_IN in owner


class Owners:
    """Finds the owners of pods in one store."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry

    def of(self, pod: Object) -> list[Object]:
        """All owners of a pod, nearest first; none for a pod of its own."""
        references = pod["metadata"].get("ownerReferences") or []
        namespace = pod["metadata"]["namespace"]
        owners: list[Object] = []
        while references:
            # Of several owners of a pod the first counts; others have one or are refused.
            owner = self._owner(references[0], namespace)
            if any(each["metadata"]["uid"] == owner["metadata"]["uid"] for each in owners):
                raise GroupingError(f"{owner['kind']} {namespace}/{owner['metadata']['name']} owns itself")
            owners.append(owner)
            above = owner["metadata"].get("ownerReferences") or []
            if len(above) > 1:
                named = ", ".join(f"{each['kind']}/{each['name']}" for each in above)
                kind, name = owner["kind"], owner["metadata"]["name"]
                raise GroupingError(f"found {kind} <{name} in namespace {namespace}> with multiple owners: {named}")
            references = above
        return owners

    def find(self, api_version: str, kind: str, namespace: str, name: str) -> Object | None:
        """An object by its kind."""
        resource = self._registry.by_group_kind(api_version.rpartition("/")[0], kind)
        if resource is None:
            return None
        return self._store.find(storage_key(resource), namespace if resource.namespaced else "", name)

    def _owner(self, reference: Object, namespace: str) -> Object:
        api_version, kind, name, uid = (reference[field] for field in ("apiVersion", "kind", "name", "uid"))
        if self._registry.by_group_kind(api_version.rpartition("/")[0], kind) is None:
            metadata = {"name": name, "namespace": namespace, "uid": uid}
            return {"apiVersion": api_version, "kind": kind, "metadata": metadata, _STAND_IN: True}
        found = self.find(api_version, kind, namespace, name)
        if found is None:
            why = f'{kind} "{name}" not found'
        elif found["metadata"]["uid"] != uid:
            why = f"Owner resource with uid {uid} not found"
        else:
            return found
        raise GroupingError(f"failed to find {kind}: <{namespace}/{name}>, uid: <{uid}>: {why}")
