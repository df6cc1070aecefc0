"""Items: the objects that a wrapper stands for, created and deleted in its name.

A created object is owned by its wrapper and labelled with the wrapper's name and its own; where it has a pod template
with labels, the template gets all labels of the object too, so that its pods can be counted. It is created in the
wrapper's namespace; the older version took the one in the template. An object that is there already is as good as
created.
"""

from __future__ import annotations

from collections.abc import Iterator

from ghostfleet.api.kinds import Resource, Version, storage_key
from ghostfleet.api.options import DeleteOptions, WriteOptions
from ghostfleet.api.verbs import Api
from ghostfleet.controllers.pods import owner_reference
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError
from ghostfleet.core.profile import Profile
from ghostfleet.dispatchers.mcad.wrapper import Item, Wrapper

__all__ = ["Items", "completes", "item_labels", "item_object"]

_LONGEST_NAME = 63
_OLD, _NEW = "mcad.ibm.com", "workload.codeflare.dev"


def item_labels(wrapper: Wrapper, name: str, style: str) -> dict[str, str]:
    """The labels of an object of a wrapper, in the `style` of a group's time or of `both`."""
    namespace, owner = wrapper.key
    name = name[:_LONGEST_NAME]
    labels: dict[str, str] = {}
    if style in (_OLD, "both"):
        labels |= {"appwrapper.mcad.ibm.com": owner, "resourceName": name}
    if style in (_NEW, "both"):
        labels |= {
            f"{_NEW}/appwrapper": owner,
            f"{_NEW}/appwrapper-namespace": namespace,
            f"{_NEW}/resourceName": name,
        }
    return labels


def item_object(wrapper: Wrapper, item: Item, namespace: str, style: str) -> Object:
    """The object to be created for an item."""
    template = item.template
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), **item_labels(wrapper, item.name, style)}
    owners = [*(metadata.get("ownerReferences") or ()), owner_reference(wrapper.object)]
    made = {
        **template,
        "metadata": {
            **metadata,
            "name": item.name[:_LONGEST_NAME],
            "namespace": namespace,
            "labels": labels,
            "ownerReferences": owners,
        },
    }
    if not namespace:
        del made["metadata"]["namespace"]
    spec: Object = template["spec"] if isinstance(template.get("spec"), dict) else {}
    pods = spec.get("template")
    given = pods.get("metadata") if isinstance(pods, dict) else None
    if isinstance(pods, dict) and isinstance(given, dict) and isinstance(given.get("labels"), dict):
        merged = {**pods, "metadata": {**given, "labels": {**given["labels"], **labels}}}
        made["spec"] = {**spec, "template": merged}
    return made


class Items:
    """The objects of all wrappers of one cluster."""

    def __init__(self, api: Api, profile: Profile) -> None:
        self._api = api
        self._style = str(profile.figure("items.labels"))
        self._own_namespace = profile.switch("items.own-namespace")

    def create(self, wrapper: Wrapper, item: Item) -> str:
        """Create the object of an item; answers what went wrong, in MCAD's words."""
        found = self._resource(item)
        if found is None:
            return _no_match(item)
        resource, version = found
        namespace = self._namespace(wrapper, item, resource)
        if namespace is None:
            stated = item.template["metadata"]["namespace"]
            return (
                f'[SyncQueueJob] resource namespace "{stated}" is different from '
                f'AppWrapper namespace "{wrapper.key[0]}"'
            )
        try:
            obj = item_object(wrapper, item, namespace, self._style)
            self._api.create(resource, version, namespace, obj, WriteOptions())
        except ApiError as error:
            return "" if error.reason == "AlreadyExists" else error.message
        return ""

    def delete(self, wrapper: Wrapper, item: Item) -> None:
        """Delete the object of an item, and let its own objects follow it."""
        place = self._place(wrapper, item)
        if place is None:
            return
        resource, version, namespace, name = place
        try:
            self._api.delete(resource, version, namespace, name, DeleteOptions(propagation="Background"))
        except ApiError as error:
            if error.code != 404:
                raise

    def is_complete(self, wrapper: Wrapper, item: Item) -> bool:
        """Whether the object has a condition that completes the item, whatever the condition's status."""
        obj = self.find(wrapper, item)
        return obj is not None and completes(item, obj)

    def find(self, wrapper: Wrapper, item: Item) -> Object | None:
        """The object of an item, if it is there and the wrapper's own."""
        place = self._place(wrapper, item)
        if place is None:
            return None
        resource, _, namespace, name = place
        obj = self._api.store.find(storage_key(resource), namespace, name)
        if obj is None:
            return None
        owners = obj["metadata"].get("ownerReferences") or ()
        return obj if any(owner["name"] == wrapper.name for owner in owners) else None

    def resources(self, wrapper: Wrapper) -> Iterator[str]:
        """The store's names of the resources that a wrapper's items are of."""
        for item in wrapper.items:
            found = self._resource(item)
            if found is not None:
                yield storage_key(found[0])

    def _resource(self, item: Item) -> tuple[Resource, Version] | None:
        return self._api.registry.of_kind(str(item.template.get("apiVersion", "")), item.kind)

    def _place(self, wrapper: Wrapper, item: Item) -> tuple[Resource, Version, str, str] | None:
        found = self._resource(item)
        if found is None:
            return None
        namespace = self._namespace(wrapper, item, found[0])
        return None if namespace is None else (*found, namespace, item.name[:_LONGEST_NAME])

    def _namespace(self, wrapper: Wrapper, item: Item, resource: Resource) -> str | None:
        """Where the object of an item belongs; None when it may not be there."""
        if not resource.namespaced:
            return ""
        stated = (item.template.get("metadata") or {}).get("namespace")
        if not self._own_namespace:
            return stated or "default"
        return wrapper.key[0] if stated in (None, "", wrapper.key[0]) else None


def completes(item: Item, obj: Object) -> bool:
    """Whether an object's conditions complete the item; a part of a condition's type is enough."""
    types = [str(each.get("type", "")).lower() for each in (obj.get("status") or {}).get("conditions") or ()]
    return any(text.lower() in kind for kind in types for text in item.completion)


def _no_match(item: Item) -> str:
    api_version = str(item.template.get("apiVersion", ""))
    if not item.kind:
        return "Object 'Kind' is missing in the generic template"
    return f'no matches for kind "{item.kind}" in version "{api_version}"'
