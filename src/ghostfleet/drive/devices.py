"""DRA devices of a served cluster: what the drivers of fake nodes publish, and devices that are tainted or fail.

A *driver* is a profile and a number of devices a node. The slices of a node belong to it and go with it. Whenever
devices of a pool change, all slices of the pool get the next generation. Where a real driver publishes slices, it would
undo such changes; there a device is tainted by a DeviceTaintRule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ghostfleet.core.changes import Object
from ghostfleet.drive.connection import Connection
from ghostfleet.drive.interface import Refused
from ghostfleet.stages.dradrivers import DriverProfile, find_profile
from ghostfleet.stages.nodes import NodeShape

__all__ = [
    "Driver",
    "driver_of",
    "publish_classes",
    "publish_slices",
    "taint",
    "taint_by_rule",
    "taint_rules",
    "untaint",
    "untaint_by_rule",
    "withdraw",
]

_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
_SLICES = "/apis/resource.k8s.io/v1/resourceslices"
_RULES = "/apis/resource.k8s.io/v1beta2/devicetaintrules"
_CONFLICT, _NOT_FOUND = 409, 404


class Driver(NamedTuple):
    """What offers the devices of a node."""

    profile: DriverProfile
    devices: int


def driver_of(shape: NodeShape) -> Driver | None:
    """The driver that nodes of a shape have; None if they have none."""
    return Driver(find_profile(shape.dra), shape.devices) if shape.dra else None


def publish_classes(connection: Connection, driver: Driver) -> None:
    """Create the classes of a driver, unless they are there."""
    for device_class in driver.profile.classes():
        try:
            connection.create(_CLASSES, device_class)
        except Refused as error:
            if error.code != _CONFLICT:
                raise


def publish_slices(connection: Connection, driver: Driver, node: Object) -> None:
    """Create the slices of a node, as it was stored."""
    for resource_slice in driver.profile.slices(node, driver.devices):
        connection.create(_SLICES, resource_slice)


def taint(connection: Connection, node: str, device: str, added: Object) -> None:
    """Taint a device, in the place of any taint with the same key and effect."""

    def tainted(found: Object) -> Object:
        return {**found, "taints": [*_other_taints(found, added), added]}

    _change(connection, node, device, tainted)


def untaint(connection: Connection, node: str, device: str, taken: Object) -> None:
    """Take a taint from a device."""

    def freed(found: Object) -> Object:
        return {**found, "taints": _other_taints(found, taken)}

    _change(connection, node, device, freed)


def taint_by_rule(connection: Connection, node: str, device: str, added: Object) -> None:
    """Taint a device by a DeviceTaintRule for each driver of the node that has it."""
    for holder in _holders(_slices_of(connection, node), node, device):
        spec = holder["spec"]
        selector = {"driver": spec["driver"], "pool": spec["pool"]["name"], "device": device}
        rule = {
            "apiVersion": "resource.k8s.io/v1beta2",
            "kind": "DeviceTaintRule",
            "metadata": {"name": _rule_name(spec["driver"], node, device)},
            "spec": {"deviceSelector": selector, "taint": added},
        }
        connection.create(_RULES, rule)


def untaint_by_rule(connection: Connection, node: str, device: str) -> None:
    """Take away the rules that taint a device."""
    for holder in _holders(_slices_of(connection, node), node, device):
        connection.delete(f"{_RULES}/{_rule_name(holder['spec']['driver'], node, device)}")


def taint_rules(connection: Connection) -> list[Object]:
    """The DeviceTaintRules of a cluster, none if it does not serve them."""
    try:
        return connection.items(_RULES)
    except Refused as error:
        if error.code != _NOT_FOUND:
            raise
        return []


def _rule_name(driver: str, node: str, device: str) -> str:
    return f"{node}.{device}.{driver}"


def withdraw(connection: Connection, node: str, device: str) -> None:
    """A device fails so that its driver does not publish it any more."""
    _change(connection, node, device, lambda _: None)


def _other_taints(device: Object, taint: Object) -> list[Object]:
    same = (taint["key"], taint["effect"])
    return [each for each in device.get("taints") or () if (each["key"], each["effect"]) != same]


def _change(connection: Connection, node: str, device: str, change: Callable[[Object], Object | None]) -> None:
    """Change or take away a device of a node; a LookupError in one line if there is none."""
    slices = _slices_of(connection, node)
    for holder in _holders(slices, node, device):
        pool = holder["spec"]["pool"]
        devices = [change(one) if one["name"] == device else one for one in holder["spec"]["devices"]]
        left = [one for one in devices if one is not None]
        for each in slices:
            spec = each["spec"]
            if (spec["driver"], spec["pool"]["name"]) == (holder["spec"]["driver"], pool["name"]):
                patch: Object = {"pool": {"generation": pool["generation"] + 1}}
                if each is holder:
                    patch["devices"] = left
                connection.patch(f"{_SLICES}/{each['metadata']['name']}", {"spec": patch})


def _slices_of(connection: Connection, node: str) -> list[Object]:
    slices = [each for each in connection.items(_SLICES) if each["spec"].get("nodeName") == node]
    if not slices:
        raise LookupError(f"no ResourceSlice is for a node {node}")
    return slices


def _holders(slices: list[Object], node: str, device: str) -> list[Object]:
    """The slices of a node that a device is in."""
    holders = [each for each in slices if any(one["name"] == device for one in each["spec"].get("devices") or ())]
    if not holders:
        names = sorted(one["name"] for each in slices for one in each["spec"].get("devices") or ())
        raise LookupError(f"the node {node} has no device {device}; it has {', '.join(names[:8]) or 'none'}")
    return holders
