"""NVIDIA's DRA driver: GPUs and, where they can be cut, their MIG partitions.

A GPU that cannot be cut is a device with the attributes and the capacity that the driver publishes. One that can is a
*counter set*, of which the whole GPU uses everything and each partition a part; every partition that could be made, by
its profile and where on the GPU it starts, is a device of its own. As in the driver there is one slice with the
counters of a node and one for each GPU. Names of capacities are camelCase, those of counters have dashes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from ghostfleet.stages.dradrivers.slices import Object, device_class, device_uuid, resource_slice, string, version
from ghostfleet.stages.gpumodels import Product, find_product

__all__ = ["nvidia_classes", "nvidia_slices"]

_DRIVER = "gpu.nvidia.com"
_DATA = Path(__file__).parents[1] / "data" / "mig.yaml"
_PRODUCT_LABEL = "nvidia.com/gpu.product"
_MIG_LABEL = "nvidia.com/mig.capable"
_DEFAULT_PRODUCT = "NVIDIA-H100-80GB-HBM3"
#: what a current driver reports of itself (the same as in the labels of nodes)
_DRIVER_VERSION, _CUDA_VERSION = "580.95.05", "13.0"
_ENGINES = ("multiprocessors", "copyEngines", "decoders", "encoders", "jpegEngines", "ofaEngines")
_COUNTERS = {
    "copyEngines": "copy-engines",
    "jpegEngines": "jpeg-engines",
    "ofaEngines": "ofa-engines",
}
_MEBIBYTE = 1 << 20


def nvidia_classes() -> list[dict[str, Any]]:
    """The classes that come with the driver."""
    return [
        device_class(name, f"device.driver == '{_DRIVER}' && device.attributes['{_DRIVER}'].type == '{type_}'", **more)
        for name, type_, more in (
            ("gpu.nvidia.com", "gpu", {"extendedResourceName": "nvidia.com/gpu"}),
            ("mig.nvidia.com", "mig", {}),
        )
    ]


def nvidia_slices(node: Object, devices: int) -> list[dict[str, Any]]:
    """The slices of a node with so many GPUs of the product that its labels name."""
    metadata = node["metadata"]
    wanted = (metadata.get("labels") or {}).get(_PRODUCT_LABEL, _DEFAULT_PRODUCT)
    product = find_product(wanted) or find_product(_DEFAULT_PRODUCT)
    assert product is not None
    name = metadata["name"]
    gpus = [_Gpu(product, name, place) for place in range(devices)]
    cut = _cut(product)
    if cut is None:
        whole = [gpu.whole({"memory": {"value": gpu.memory(1, 1)}}) for gpu in gpus]
        return [resource_slice(f"{name}-{_DRIVER}", _DRIVER, node, whole)]
    count = 1 + devices
    counters = [{"name": gpu.counter_set, "counters": _counters(gpu.all_of(cut), range(cut["slices"]))} for gpu in gpus]
    return [
        resource_slice(f"{name}-{_DRIVER}-counters", _DRIVER, node, [], count=count, sharedCounters=counters),
        *(
            resource_slice(f"{name}-{_DRIVER}-{gpu.place}", _DRIVER, node, gpu.partitions(cut), count=count)
            for gpu in gpus
        ),
    ]


@lru_cache(maxsize=1)
def _cuts() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(_DATA.read_text())
    return found


def _cut(product: Product) -> dict[str, Any] | None:
    """How a product can be cut; None if it cannot, or that is not known."""
    if not product.mig:
        return None
    return next((each for each in _cuts() if any(product.product.endswith(name) for name in each["products"])), None)


class _Gpu:
    """One GPU of a node."""

    def __init__(self, product: Product, node: str, place: int) -> None:
        self.product = product
        self.place = place
        self.uuid = device_uuid("GPU-", node, place)
        self.counter_set = f"gpu-{place}-counter-set"
        self._about = {
            "productName": string(product.product.replace("-", " ")),
            "brand": string("Tesla" if product.product.startswith("Tesla") else "Nvidia"),
            "architecture": string(product.family.title()),
            "cudaComputeCapability": version(product.compute),
            "driverVersion": version(_DRIVER_VERSION),
            "cudaDriverVersion": version(_CUDA_VERSION),
            "resource.kubernetes.io/pciBusID": string(f"0000:{place + 1:02x}:00.0"),
        }

    def memory(self, part: int, whole: int) -> str:
        return str(self.product.memory * _MEBIBYTE * part // whole)

    def all_of(self, cut: Mapping[str, Any]) -> dict[str, Any]:
        return _capacity(cut["whole"], self.memory(1, 1))

    def whole(self, capacity: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        attributes = {"type": string("gpu"), "uuid": string(self.uuid), **self._about}
        return {"name": f"gpu-{self.place}", "attributes": attributes, "capacity": capacity, **more}

    def partitions(self, cut: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The whole GPU, and every part of it that there could be."""
        everything = self.all_of(cut)
        found = [self.whole(everything, consumesCounters=self._uses(everything, range(cut["slices"])))]
        for profile in cut["profiles"]:
            capacity = _capacity(profile, self.memory(profile["size"], cut["slices"]))
            found += [self._partition(profile, start, capacity) for start in profile["starts"]]
        return found

    def _partition(self, profile: Mapping[str, Any], start: int, capacity: Mapping[str, Any]) -> dict[str, Any]:
        end = start + profile["size"]
        where = str(start) if profile["size"] == 1 else f"{start}-{end - 1}"
        own = {"type": string("mig"), "parentUUID": string(self.uuid), "profile": string(profile["name"])}
        return {
            "name": f"gpu-{self.place}-mig-{profile['name'].replace('.', '')}-{where}",
            "attributes": {**own, "parentMinor": {"int": self.place}, **self._about},
            "capacity": capacity,
            "consumesCounters": self._uses(capacity, range(start, end)),
        }

    def _uses(self, capacity: Mapping[str, Any], slices: range) -> list[dict[str, Any]]:
        return [{"counterSet": self.counter_set, "counters": _counters(capacity, slices)}]


def _capacity(engines: Mapping[str, Any], memory: str) -> dict[str, Any]:
    return {**{name: {"value": str(engines.get(name, 0))} for name in _ENGINES}, "memory": {"value": memory}}


def _counters(capacity: Mapping[str, Any], slices: range) -> dict[str, Any]:
    counted = {_COUNTERS.get(name, name): amount for name, amount in capacity.items()}
    return counted | {f"memory-slice-{place}": {"value": "1"} for place in slices}
