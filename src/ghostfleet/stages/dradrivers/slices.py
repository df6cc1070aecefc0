"""ResourceSlices and DeviceClasses, put together."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Object", "device_class", "device_uuid", "resource_slice", "string", "version"]

Object = Mapping[str, Any]
API_VERSION = "resource.k8s.io/v1"


def resource_slice(
    name: str, driver: str, node: Object, devices: Sequence[Object], *, pool: str = "", count: int = 1, **more: Any
) -> dict[str, Any]:
    """One of `count` slices of a pool, which has the name of the node unless it is given another; the node owns it."""
    metadata = node["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": metadata["name"], "controller": True}
    if "uid" in metadata:
        owner["uid"] = metadata["uid"]
    about = {"name": pool or metadata["name"], "generation": 1, "resourceSliceCount": count}
    spec: dict[str, Any] = {"driver": driver, "nodeName": metadata["name"], "pool": about, **more}
    if devices:
        spec["devices"] = list(devices)
    return {
        "apiVersion": API_VERSION,
        "kind": "ResourceSlice",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": spec,
    }


def device_class(name: str, expression: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}], **spec},
    }


def string(value: str) -> dict[str, str]:
    """An attribute that is a text."""
    return {"string": value}


def version(value: str) -> dict[str, str]:
    """An attribute that is a semantic version, of a text with as many numbers as there are."""
    numbers = [str(int(each)) for each in value.split(".")[:3]]
    return {"version": ".".join([*numbers, "0", "0"][:3])}


def device_uuid(prefix: str, node: str, place: int) -> str:
    """The ID of a device: the same for the same place on the same node."""
    digest = hashlib.sha256(f"{node}/{place}".encode()).hexdigest()
    return f"{prefix}{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"
