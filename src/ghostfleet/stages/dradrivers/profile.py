"""Profiles of fake drivers, by name or from a file of one's own.

A file is a Go template of manifests, rendered for each node with `.Node`, the node, and `.Devices`, how many devices it
is to have. The ResourceSlices in it are the node's; the DeviceClasses are the cluster's, and must not depend on a node.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ghostfleet.core.manifests import load_documents
from ghostfleet.languages.errors import EvaluationError, Unsupported
from ghostfleet.languages.gotemplate import Template, compile_template
from ghostfleet.stages.dradrivers.nvidia import nvidia_classes, nvidia_slices
from ghostfleet.stages.dradrivers.slices import Object, device_class, device_uuid, resource_slice, string, version

__all__ = ["DriverProfile", "built_in_profiles", "find_profile"]

_KWOK, _EXAMPLE = "cl2-gpu.kwok.x-k8s.io", "gpu.example.com"
_KINDS = ("ResourceSlice", "DeviceClass")
#: for rendering what does not depend on a node
_NO_NODE: Object = {"metadata": {"name": "", "labels": {}, "annotations": {}}, "spec": {}, "status": {}}


class DriverProfile(NamedTuple):
    """What a driver publishes."""

    name: str
    classes: Callable[[], list[dict[str, Any]]]
    #: the slices of a node with so many devices
    slices: Callable[[Object, int], list[dict[str, Any]]]


def _kwok_slices(node: Object, devices: int) -> list[dict[str, Any]]:
    """The slices of the kwok-dra dependency of ClusterLoader2 (kubernetes/perf-tests, pull request 3491).

    Its README and its code differ: the attributes are the code's, since those of the README are no legal names, and the
    capacity is the README's, since the code has none.
    """
    name = node["metadata"]["name"]
    number = name.removeprefix("kwok-")
    made = [
        {
            "name": f"gpu{place}",
            "attributes": {
                "name": string(f"gpu_{place}"),
                "gpu_type": string("kwok_gpu"),
                "memory": string("8Gi"),
                "compute_capability": string("7.5"),
            },
            "capacity": {f"{_KWOK}/gpu": {"value": "1"}},
        }
        for place in range(devices)
    ]
    found = resource_slice(f"kwok-gpu-{number}", _KWOK, node, made, pool=f"kwok-gpu-pool-{number}")
    found["metadata"]["labels"] = {"resource.k8s.io/driver": _KWOK}
    return [found]


def _example_slices(node: Object, devices: int) -> list[dict[str, Any]]:
    """The slice of kubernetes-sigs/dra-example-driver."""
    name = node["metadata"]["name"]
    made = [
        {
            "name": f"gpu-{place}",
            "attributes": {
                "driverVersion": version("1.0.0"),
                "index": {"int": place},
                "model": string("LATEST-GPU-MODEL"),
                "uuid": string(device_uuid("gpu-", name, place)),
            },
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for place in range(devices)
    ]
    return [resource_slice(f"{name}-{_EXAMPLE}", _EXAMPLE, node, made)]


def _class_of(driver: str) -> Callable[[], list[dict[str, Any]]]:
    return lambda: [device_class(driver, f"device.driver == '{driver}'")]


_BUILT_IN = {
    "nvidia": DriverProfile("nvidia", nvidia_classes, nvidia_slices),
    "kwok": DriverProfile("kwok", _class_of(_KWOK), _kwok_slices),
    "example": DriverProfile("example", _class_of(_EXAMPLE), _example_slices),
}


def built_in_profiles() -> list[str]:
    """The names of profiles that need no file."""
    return sorted(_BUILT_IN)


def find_profile(name: str) -> DriverProfile:
    """The profile of this name, or in this file; a ValueError in one line if there is none."""
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    path = Path(name)
    try:
        template = compile_template(path.read_text())
    except OSError as error:
        known = ", ".join(built_in_profiles())
        raise ValueError(f"no DRA profile {name!r}: expected {known}, or a file ({error.strerror})") from None
    except (Unsupported, UnicodeDecodeError) as error:
        raise ValueError(f"{name}: not a Go template of manifests: {error}") from None
    own = _Own(name, template)
    return DriverProfile(path.stem, own.classes, own.slices)


class _Own:
    """A profile from a file."""

    def __init__(self, source: str, template: Template) -> None:
        self._source = source
        self._template = template

    def classes(self) -> list[dict[str, Any]]:
        return [each for each in self._rendered(_NO_NODE, 0) if each["kind"] == "DeviceClass"]

    def slices(self, node: Object, devices: int) -> list[dict[str, Any]]:
        return [each for each in self._rendered(node, devices) if each["kind"] == "ResourceSlice"]

    def _rendered(self, node: Object, devices: int) -> list[dict[str, Any]]:
        try:
            text = "".join(map(str, self._template.pieces({"Node": node, "Devices": devices})))
        except EvaluationError as error:
            raise ValueError(f"{self._source}: {error}") from None
        found = []
        for document in load_documents(text, self._source):
            kind = document.object.get("kind")
            if kind not in _KINDS:
                raise ValueError(f"{self._source}: found kind {kind!r}, expected {' or '.join(_KINDS)}")
            found.append(document.object)
        return found
