"""Extended resources that device classes serve: pods ask for `nvidia.com/gpu: 2` and get devices.

A DeviceClass may name an extended resource; besides, each serves `deviceclass.resource.kubernetes.io/NAME`. Where a
node has none of such a resource itself (no device plugin offers it), kube-scheduler makes a claim for the pod with a
request for each container and resource, and tells in the pod's status which container uses which request. Init
containers, which end before the others start, use the devices of containers that come after them, and share what they
need more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ghostfleet.api.podclaims import CLAIMS
from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import value
from ghostfleet.core.store import Store

__all__ = [
    "CLASS_PREFIX",
    "ExtendedResourceClasses",
    "claim_for",
    "device_requests",
    "find_extended_claim",
    "is_extended",
]

#: What the resource that every class serves begins with (resource.k8s.io, ResourceDeviceClassPrefix).
CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"
_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


def is_extended(resource: str) -> bool:
    """Whether devices may stand for a resource."""
    return "/" in resource and ("kubernetes.io/" not in resource or resource.startswith(CLASS_PREFIX))


class _Serving(NamedTuple):
    """A class that serves a resource."""

    name: str
    created: str


class ExtendedResourceClasses:
    """Which class serves a resource: the newest that names it, and by name among those of one time.

    It stands for kube-scheduler's extended resource cache, and forgets as that does: when a class goes, nobody looks
    for another that names the same resource.
    """

    def __init__(self, classes: Iterable[Object] = ()) -> None:
        self._serving: dict[str, _Serving] = {}
        #: Counts changes.
        self.version = 0
        for each in classes:
            self.change(None, each)

    def serving(self, resources: Iterable[str]) -> dict[str, str]:
        """The names of the classes that serve some of these resources."""
        return {each: self._serving[each].name for each in resources if each in self._serving}

    def change(self, old: Object | None, new: Object | None) -> None:
        """A class came, changed or went."""
        if old is not None and new is not None and _named(old) == _named(new):
            return
        self.version += 1
        if new is not None:
            metadata = new["metadata"]
            serving = _Serving(metadata["name"], metadata.get("creationTimestamp") or "")
            rival = self._serving.get(_named(new))
            if rival is not None and (
                serving.created < rival.created or (serving.created == rival.created and serving.name >= rival.name)
            ):
                return
        if old is not None:
            for each in _resources(old):
                self._serving.pop(each, None)
        if new is not None:
            self._serving.update(dict.fromkeys(_resources(new), serving))


def _named(device_class: Object) -> str:
    name: str = (device_class.get("spec") or {}).get("extendedResourceName") or ""
    return name


def _resources(device_class: Object) -> list[str]:
    implicit = CLASS_PREFIX + device_class["metadata"]["name"]
    return [named, implicit] if (named := _named(device_class)) else [implicit]


# -- claims -----------------------------------------------------------------------------------------------------------


def find_extended_claim(store: Store, pod: Object) -> Object | None:
    """The claim that was made for the extended resources of a pod."""
    for _, claim in store.owned_by(pod["metadata"]["uid"], CLAIMS):
        if (claim["metadata"].get("annotations") or {}).get(_ANNOTATION) == "true":
            return claim
    return None


def claim_for(pod: Object, requests: Sequence[Object]) -> Object:
    """The claim for the extended resources of a pod, without a name as long as it is not written."""
    own = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": own["name"], "uid": own["uid"], "controller": True}
    metadata = {
        "name": "<extended-resources>",
        "generateName": f"{own['name']}-extended-resources-",
        "namespace": own["namespace"],
        "annotations": {_ANNOTATION: "true"},
        "ownerReferences": [owner],
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": {"devices": {"requests": list(requests)}},
        "status": {},
    }


def device_requests(spec: Object, classes: Mapping[str, str]) -> tuple[list[Object], list[Object]]:
    """The requests for what a pod asks of these resources (by the names of their classes), and who uses them.

    Both are in kube-scheduler's order.
    """
    first: Sequence[Object] = spec.get("initContainers") or ()
    containers = [*first, *spec["containers"]]
    requests: list[Object] = []
    mappings: list[Object] = []
    for resource, class_name in sorted(classes.items()):
        lasting: list[Object | None] = [None] * len(containers)
        told: list[Object] = []
        for place, container in enumerate(containers):
            if not _ends_early(place, container, len(first)):
                lasting[place] = _request(place, container, resource, class_name, (), told)
        passing: list[Object] = []
        told_early: list[Object] = []
        for place, container in enumerate(first):
            if _ends_early(place, container, len(first)):
                later = [each for each in lasting[place:] if each is not None]
                made = _request(place, container, resource, class_name, later, told_early)
                passing += [made] if made is not None else []
        if passing:
            # They come one after the other, so the largest serves them all.
            largest = max(passing, key=lambda each: each["exactly"]["count"])
            names = {each["name"] for each in passing}
            told_early = [
                {**each, "requestName": largest["name"]} if each["requestName"] in names else each
                for each in told_early
            ]
            requests.append(largest)
        requests += [each for each in lasting if each is not None]
        mappings += told + told_early
    return sorted(requests, key=lambda each: each["name"]), mappings


def _ends_early(place: int, container: Object, first: int) -> bool:
    return place < first and container.get("restartPolicy") != "Always"


def _request(
    place: int, container: Object, resource: str, class_name: str, others: Iterable[Object], mappings: list[Object]
) -> Object | None:
    """What a container needs beyond the requests of others; adds to the mappings which requests it uses."""
    asked = (container.get("resources") or {}).get("requests") or {}
    count = value(asked[resource]) if resource in asked else 0
    if not count:
        return None
    shared = 0
    for other in others:
        shared += other["exactly"]["count"]
        mappings.append(_mapping(container, resource, other["name"]))
        if shared >= count:
            return None
    name = f"container-{place}-request-{sorted(asked).index(resource)}"
    mappings.append(_mapping(container, resource, name))
    exactly = {"deviceClassName": class_name, "allocationMode": "ExactCount", "count": count - shared}
    return {"name": name, "exactly": exactly}


def _mapping(container: Object, resource: str, request: str) -> Object:
    return {"containerName": container["name"], "resourceName": resource, "requestName": request}
