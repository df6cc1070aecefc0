"""NodeInfo of all nodes, as columns: one row a node, one column a resource, label or property.

A node has a *slot*, its index in all columns, as long as it is there or pods are on it. Amounts are kept twice: in
Python lists, for looking at one node, and in numpy columns, for looking at all; the columns catch up when somebody
asks for them (`flush`). Every slot whose amounts changed goes into the *log*, so that whoever keeps something
computed from the table only looks again at what is new. `version` counts changes of nodes themselves: they came,
went, or got other labels, taints or images.

A *label column* holds for one label key the *code* of each node's value, -1 where the node has none. A *taint class*
is a list of taints that some nodes share.

Nodes are looked at in the order of the *node tree*, zone by zone in turns. A *zone* is a node's region and zone labels
together. Each round takes one node of every zone, so that pods which take the first nodes that fit are spread over
zones. The order lasts until a node comes, goes or changes its zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import milli, value
from ghostfleet.schedulers.framework.podinfo import CPU, MEMORY, PODS, STORAGE, SpecInfo, is_scalar

__all__ = ["BoolArray", "IntArray", "NodeTable"]

_ZONE, _OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
_REGION, _OLD_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"
IntArray = np.ndarray[Any, np.dtype[np.int64]]
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
#: Columns that every table has; the last two are CPU and memory as counted in scores.
CPU_COLUMN, MEMORY_COLUMN, STORAGE_COLUMN, PODS_COLUMN, NONZERO_CPU, NONZERO_MEMORY = range(6)
_FIXED = (CPU, MEMORY, STORAGE, PODS, "", "")
_FIRST_CAPACITY = 16
_LOG_LIMIT = 1 << 17


class NodeTree:
    """Slots of nodes by zone."""

    def __init__(self) -> None:
        self._zones: dict[str, dict[str, int]] = {}
        self._zone_of: dict[str, str] = {}
        self._order: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self._zone_of)

    def put(self, name: str, slot: int, labels: Mapping[str, str]) -> None:
        """A node came, or its labels changed."""
        zone = _zone(labels)
        known = self._zone_of.get(name)
        if known == zone:
            return
        if known is not None:
            self.remove(name)
        self._zone_of[name] = zone
        self._zones.setdefault(zone, {})[name] = slot
        self._order = None

    def remove(self, name: str) -> None:
        """A node went."""
        zone = self._zone_of.pop(name)
        members = self._zones[zone]
        del members[name]
        if not members:
            del self._zones[zone]
        self._order = None

    def order(self) -> NDArray[np.int64]:
        """All slots in turns of zones, twice over, so that a walk from any start needs no wrapping."""
        if self._order is None:
            zones = [np.fromiter(members.values(), np.int64, len(members)) for members in self._zones.values()]
            slots = np.concatenate(zones) if zones else np.empty(0, np.int64)
            if len(zones) > 1:
                turn = np.concatenate([np.arange(len(zone)) for zone in zones])
                rank = np.repeat(np.arange(len(zones)), [len(zone) for zone in zones])
                slots = slots[np.lexsort((rank, turn))]
            self._order = np.concatenate([slots, slots])
        return self._order


def _zone(labels: Mapping[str, str]) -> str:
    zone = labels[_OLD_ZONE] if _OLD_ZONE in labels else labels.get(_ZONE, "")
    region = labels[_OLD_REGION] if _OLD_REGION in labels else labels.get(_REGION, "")
    return f"{region}:\0:{zone}" if region or zone else ""


class LabelColumn:
    """The values of one label on all nodes."""

    __slots__ = ("codes", "values")

    def __init__(self, capacity: int) -> None:
        self.codes: IntArray = np.full(capacity, -1, np.int64)
        self.values: dict[str, int] = {}

    def set(self, slot: int, value: str | None) -> None:
        if value is None:
            self.codes[slot] = -1
        else:
            self.codes[slot] = self.values.setdefault(value, len(self.values))


class NodeTable:
    """All nodes of a cluster."""

    def __init__(self) -> None:
        self.version = 0
        self.tree = NodeTree()
        #: The node at each slot; None where a slot is free, or only pods of a node that is gone are left.
        self.objects: list[Object | None] = []
        self.names: list[str] = []
        self.slots: dict[str, int] = {}
        self._free: list[int] = []
        self.resources: dict[str, int] = {CPU: 0, MEMORY: 1, STORAGE: 2, PODS: 3}
        #: Amounts by slot and column: what the node has, what its pods asked for.
        self.allocatable: list[list[int]] = []
        self.used: list[list[int]] = []
        self.present: BoolArray = np.zeros(_FIRST_CAPACITY, np.bool_)
        self.unschedulable: BoolArray = np.zeros(_FIRST_CAPACITY, np.bool_)
        self.taint_class: IntArray = np.zeros(_FIRST_CAPACITY, np.int64)
        self.taints: list[list[Object]] = [[]]
        self._taint_classes: dict[bytes, int] = {b"[]": 0}
        self._labels: dict[str, LabelColumn] = {}
        #: Sizes of images by name and slot.
        self.images: dict[str, dict[int, int]] = {}
        self._allocatable: IntArray = np.zeros((len(_FIXED), _FIRST_CAPACITY), np.int64)
        self._used: IntArray = np.zeros((len(_FIXED), _FIRST_CAPACITY), np.int64)
        self._behind: set[int] = set()
        self.log: list[int] = []
        #: How many entries of the log have been thrown away.
        self.log_start = 0

    @property
    def capacity(self) -> int:
        return len(self.present)

    def __len__(self) -> int:
        return len(self.tree)

    # -- nodes -------------------------------------------------------------------------------------------------------

    def put(self, node: Object) -> int:
        """A node came or changed; answers its slot."""
        name = node["metadata"]["name"]
        slot = self.slot(name)
        old = self.objects[slot]
        self.objects[slot] = node
        if old is None or not _same_place(old, node):
            self.version += 1
            self._place(slot, name, node)
            self._set_images(slot, old, node)
        status = node.get("status") or {}
        if old is None or (old.get("status") or {}).get("allocatable") != status.get("allocatable"):
            self._set_allocatable(slot, status.get("allocatable") or {})
        return slot

    def _place(self, slot: int, name: str, node: Object) -> None:
        labels = node["metadata"].get("labels") or {}
        spec = node.get("spec") or {}
        self.present[slot] = True
        self.unschedulable[slot] = bool(spec.get("unschedulable"))
        taints = spec.get("taints") or []
        key = orjson.dumps([[taint.get("key"), taint.get("value"), taint.get("effect")] for taint in taints])
        number = self._taint_classes.get(key)
        if number is None:
            number = self._taint_classes[key] = len(self.taints)
            self.taints.append(taints)
        self.taint_class[slot] = number
        self.tree.put(name, slot, labels)
        for label, column in self._labels.items():
            column.set(slot, labels.get(label))

    def remove(self, name: str) -> int | None:
        """A node went; its slot, which stays while pods are on it."""
        slot = self.slots.get(name)
        if slot is None or self.objects[slot] is None:
            return None
        self.version += 1
        self._set_images(slot, self.objects[slot], None)
        self.objects[slot] = None
        self.present[slot] = False
        self.tree.remove(name)
        self._set_allocatable(slot, {})
        for column in self._labels.values():
            column.set(slot, None)
        self._release_if_empty(slot)
        return slot

    def slot(self, name: str) -> int:
        """The slot of a node by name, made for it if it is not known yet."""
        slot = self.slots.get(name)
        if slot is not None:
            return slot
        if self._free:
            slot = self._free.pop()
            self.names[slot] = name
        else:
            slot = len(self.names)
            self._grow(slot + 1)
            self.names.append(name)
            self.objects.append(None)
            width = len(self._used)
            self.allocatable.append([0] * width)
            self.used.append([0] * width)
        self.slots[name] = slot
        return slot

    def _release_if_empty(self, slot: int) -> None:
        if self.objects[slot] is None and not self.used[slot][PODS_COLUMN]:
            del self.slots[self.names[slot]]
            self._free.append(slot)

    def _grow(self, needed: int) -> None:
        if needed <= self.capacity:
            return
        self.version += 1
        more = max(needed, 2 * self.capacity) - self.capacity
        self.present = np.concatenate([self.present, np.zeros(more, np.bool_)])
        self.unschedulable = np.concatenate([self.unschedulable, np.zeros(more, np.bool_)])
        self.taint_class = np.concatenate([self.taint_class, np.zeros(more, np.int64)])
        for column in self._labels.values():
            column.codes = np.concatenate([column.codes, np.full(more, -1, np.int64)])
        self._used = np.pad(self._used, ((0, 0), (0, more)))
        self._allocatable = np.pad(self._allocatable, ((0, 0), (0, more)))

    def labels(self, key: str) -> LabelColumn:
        """The column of a label."""
        column = self._labels.get(key)
        if column is None:
            column = self._labels[key] = LabelColumn(self.capacity)
            for slot, node in enumerate(self.objects):
                if node is not None:
                    column.set(slot, (node["metadata"].get("labels") or {}).get(key))
        return column

    def _set_images(self, slot: int, old: Object | None, new: Object | None) -> None:
        for image in ((old or {}).get("status") or {}).get("images") or ():
            for name in image.get("names") or ():
                sizes = self.images.get(name, {})
                sizes.pop(slot, None)
                if not sizes:
                    self.images.pop(name, None)
        for image in ((new or {}).get("status") or {}).get("images") or ():
            for name in image.get("names") or ():
                self.images.setdefault(name, {})[slot] = image.get("sizeBytes") or 0

    # -- amounts -----------------------------------------------------------------------------------------------------

    def column(self, resource: str) -> int:
        """The column of a resource, made for it if it is new."""
        column = self.resources.get(resource)
        if column is None:
            column = self.resources[resource] = len(self._used)
            self._used = np.pad(self._used, ((0, 1), (0, 0)))
            self._allocatable = np.pad(self._allocatable, ((0, 1), (0, 0)))
            for row in (*self.used, *self.allocatable):
                row.append(0)
        return column

    def delta(self, info: SpecInfo) -> tuple[tuple[int, int], ...]:
        """What a pod of this spec adds to the columns of its node."""
        if not info.delta:
            requests = info.requests
            amounts = [(self.column(name), amount) for name, amount in requests.asked.items() if amount]
            nonzero = [(NONZERO_CPU, requests.nonzero_cpu), (NONZERO_MEMORY, requests.nonzero_memory)]
            info.delta = (*amounts, (PODS_COLUMN, 1), *nonzero)
        return info.delta

    def charge(self, slot: int, info: SpecInfo) -> None:
        """A pod is on the node."""
        row = self.used[slot]
        for column, amount in info.delta or self.delta(info):
            row[column] += amount
        # The same as `touch`, which is not called for the sake of speed.
        self._behind.add(slot)
        self.log.append(slot)
        if len(self.log) > _LOG_LIMIT:
            self._shorten_log()

    def discharge(self, slot: int, info: SpecInfo) -> None:
        """A pod is no longer on the node."""
        self.take(slot, self.delta(info), -1)

    def take(self, slot: int, amounts: Iterable[tuple[int, int]], sign: int = 1) -> None:
        """Count amounts by column as used on a node, or with -1 no longer."""
        row = self.used[slot]
        for column, amount in amounts:
            row[column] += sign * amount
        self.touch(slot)
        self._release_if_empty(slot)

    def imagine(self, slot: int, info: SpecInfo, sign: int) -> None:
        """Count a pod on a node, or with -1 no longer, for a while: whoever keeps something computed is not told."""
        row = self.used[slot]
        for column, amount in info.delta or self.delta(info):
            row[column] += sign * amount
        self._behind.add(slot)

    def restore(self, slot: int, used: list[int]) -> None:
        """End what was imagined on a node: it is used as it was before."""
        # Columns may have been added since.
        self.used[slot] = used + [0] * (len(self._used) - len(used))
        self._behind.add(slot)

    def _set_allocatable(self, slot: int, listed: Mapping[str, Any]) -> None:
        row = [0] * len(self._used)
        for name, amount in listed.items():
            if name == CPU:
                row[CPU_COLUMN] = milli(amount)
            elif name in self.resources or is_scalar(name):
                column = self.column(name)
                row.extend([0] * (column + 1 - len(row)))
                row[column] = value(amount)
        self.allocatable[slot] = row
        self._allocatable[:, slot] = row
        self.touch(slot)

    def touch(self, slot: int) -> None:
        """Note that the amounts of a slot changed."""
        self._behind.add(slot)
        self.log.append(slot)
        if len(self.log) > _LOG_LIMIT:
            self._shorten_log()

    def _shorten_log(self) -> None:
        half = len(self.log) // 2
        self.log_start += half
        del self.log[:half]

    def log_end(self) -> int:
        return self.log_start + len(self.log)

    def flush(self) -> tuple[IntArray, IntArray]:
        """The columns (allocatable, used), up to date."""
        if self._behind:
            used = self._used
            for slot in self._behind:
                used[:, slot] = self.used[slot]
            self._behind.clear()
        return self._allocatable, self._used


def _same_place(old: Object, new: Object) -> bool:
    """Whether two states of a node differ in nothing that decides which pods may be there."""
    old_spec, new_spec = old.get("spec") or {}, new.get("spec") or {}
    return (
        old["metadata"].get("labels") == new["metadata"].get("labels")
        and old_spec.get("taints") == new_spec.get("taints")
        and old_spec.get("unschedulable") == new_spec.get("unschedulable")
        and (old.get("status") or {}).get("images") == (new.get("status") or {}).get("images")
    )
