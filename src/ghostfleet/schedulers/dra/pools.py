"""Pools of devices as seen from a node.

A driver publishes a *pool* as slices of one *generation*; while it writes a new one, slices of the old are out of date.
A pool is *incomplete* until all of its slices are there: nothing is taken from it, and a request for all devices has to
wait. It is *invalid* if device names are not unique or counters do not add up.

Slices are put into and taken out of an `Inventory` one by one; what a node sees is gathered on demand and kept until
a slice that matters to the node changes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from ghostfleet.schedulers.dra.devices import Device, PoolID, Slice
from ghostfleet.schedulers.dra.errors import AllocationError
from ghostfleet.schedulers.dra.features import Features

__all__ = ["Candidate", "Inventory", "NodePools", "Pool"]

Object = Mapping[str, Any]


class Pool:
    """What a node sees of a pool."""

    __slots__ = ("counters", "devices", "elsewhere", "id", "incomplete", "invalid")

    def __init__(self, id: PoolID, *, incomplete: bool = False, invalid: str = "") -> None:
        self.id = id
        self.incomplete = incomplete
        #: why it is invalid, empty if it is not
        self.invalid = invalid
        #: in the order in which they are tried
        self.devices: list[Device] = []
        #: devices of the pool that are not for this node, but use its counters
        self.elsewhere: list[Device] = []
        self.counters: dict[str, dict[str, int]] = {}

    @property
    def usable(self) -> bool:
        return not (self.incomplete or self.invalid)

    @property
    def waits_for_binding(self) -> bool:
        return any(device.object.get("bindingConditions") is not None for device in self.devices)


Candidate = tuple[Device, Pool]


class NodePools(tuple[Pool, ...]):
    """The pools that a node sees, in the order in which they are tried."""

    candidates: list[Candidate]

    def __new__(cls, pools: Iterable[Pool]) -> NodePools:
        made = super().__new__(cls, pools)
        made.candidates = [(device, pool) for pool in made if pool.usable for device in pool.devices]
        return made


class _Gathered:
    """What a node saw, as long as its labels and the slices of no particular node stay as they were."""

    __slots__ = ("labels", "pools", "version")

    def __init__(self, pools: NodePools, labels: Any, version: int) -> None:
        self.pools = pools
        self.labels = labels
        self.version = version


class _Members:
    """All slices of a pool: by node, and those of no particular node or with counters."""

    __slots__ = ("by_node", "counting", "shared", "slices")

    def __init__(self) -> None:
        self.slices: dict[Hashable, Slice] = {}
        self.by_node: dict[str, dict[Hashable, Slice]] = {}
        self.shared: dict[Hashable, Slice] = {}
        #: how many slices hold counters
        self.counting = 0


class Inventory:
    """All slices, by pool and node."""

    def __init__(self, features: Features, slices: Iterable[Object] = ()) -> None:
        self.features = features
        self._slices: dict[Hashable, Slice] = {}
        #: when each slice came first
        self._order: dict[Hashable, int] = {}
        self._count = 0
        self._pools: dict[PoolID, _Members] = {}
        self._on_node: dict[str, dict[PoolID, int]] = {}
        #: pools with slices of no particular node, which have to be asked about every node
        self._asked: dict[PoolID, int] = {}
        #: pools with counters as a node sees them that none of their devices is for, where that is of interest
        self._troubled: dict[PoolID, Pool] = {}
        self._gathered: dict[str, _Gathered] = {}
        self._version = 0
        for place, resource_slice in enumerate(slices):
            self.put(resource_slice, place)

    def __len__(self) -> int:
        return len(self._slices)

    def slices(self) -> Iterable[Slice]:
        return self._slices.values()

    def put(self, resource_slice: Object, key: Hashable = None) -> None:
        """Adds a slice, or replaces the one of this key, which is its name if none is given."""
        slice_ = Slice(resource_slice, key)
        self._take_out(slice_.key)
        if slice_.key not in self._order:
            self._count += 1
            self._order[slice_.key] = self._count
        self._slices[slice_.key] = slice_
        members = self._pools.setdefault(slice_.pool, _Members())
        members.slices[slice_.key] = slice_
        if self._is_ignored(slice_):
            pass
        elif slice_.counters:
            members.shared[slice_.key] = slice_
            members.counting += 1
        elif slice_.node_name:
            members.by_node.setdefault(slice_.node_name, {})[slice_.key] = slice_
            _count(self._on_node.setdefault(slice_.node_name, {}), slice_.pool, 1)
        else:
            members.shared[slice_.key] = slice_
            _count(self._asked, slice_.pool, 1)
        self._forget(members, slice_)

    def remove(self, key: Hashable) -> None:
        self._take_out(key)
        self._order.pop(key, None)

    def _take_out(self, key: Hashable) -> None:
        slice_ = self._slices.pop(key, None)
        if slice_ is None:
            return
        members = self._pools[slice_.pool]
        del members.slices[key]
        if members.shared.pop(key, None) is not None:
            if slice_.counters:
                members.counting -= 1
            else:
                _count(self._asked, slice_.pool, -1)
        elif slice_.node_name in members.by_node and members.by_node[slice_.node_name].pop(key, None) is not None:
            _count(self._on_node[slice_.node_name], slice_.pool, -1)
        self._forget(members, slice_)

    def _is_ignored(self, slice_: Slice) -> bool:
        if not self.features.partitionable_devices and (slice_.per_device is not None or slice_.counters):
            return True
        return not slice_.counters and slice_.fits_node is None

    def _forget(self, members: _Members, slice_: Slice) -> None:
        """Lets go of what was gathered for all nodes that may see the pool of a slice that changed."""
        everywhere = self._look_for_trouble(slice_.pool, members)
        if everywhere or slice_.pool in self._asked or not (slice_.node_name or slice_.counters):
            self._version += 1
        else:
            for node_name in (*members.by_node, slice_.node_name):
                self._gathered.pop(node_name, None)
        if not members.slices:
            del self._pools[slice_.pool]

    def _look_for_trouble(self, id: PoolID, members: _Members) -> bool:
        """Looks at a pool with counters as nodes do that it has no devices for; whether that view changed."""
        before = self._troubled.pop(id, None)
        counting = [each for each in members.shared.values() if each.counters] if members.counting else []
        pool = self._pool(id, members, counting) if counting else None
        if pool is None or pool.usable:
            return before is not None
        self._troubled[id] = pool
        return before is None or (before.incomplete, before.invalid) != (pool.incomplete, pool.invalid)

    def pools(self, node: Object) -> NodePools:
        """The pools with devices for a node, and those that a request for all devices has to wait for, in the order in
        which they are tried."""
        metadata = node["metadata"]
        name, labels = metadata["name"], metadata.get("labels")
        found = self._gathered.get(name)
        if found is None or found.version != self._version or (found.labels is not labels and found.labels != labels):
            found = self._gathered[name] = _Gathered(self._gather(node), labels, self._version)
        return found.pools

    def _gather(self, node: Object) -> NodePools:
        name = node["metadata"]["name"]
        found: list[tuple[Any, Pool]] = []
        for id in {**self._on_node.get(name, {}), **self._asked, **self._troubled}:
            members = self._pools[id]
            relevant = list(members.by_node.get(name, {}).values())
            relevant += [each for each in members.shared.values() if each.counters or _fits(each, node)]
            pool = self._pool(id, members, relevant) if relevant else None
            if pool is None:
                continue
            if self.features.stable:
                # There the order is that of a map in Go, mostly that of the first slices.
                found.append((min(self._order[each.key] for each in relevant), pool))
            else:
                found.append(((pool.waits_for_binding, id), pool))
        return NodePools(pool for _, pool in sorted(found, key=lambda each: each[0]))

    def _pool(self, id: PoolID, members: _Members, relevant: list[Slice]) -> Pool | None:
        """What a node for which these slices are relevant sees; None if they are out of date."""
        generation = max(each.generation for each in relevant)
        current = [each for each in relevant if each.generation == generation]
        current.sort(key=lambda each: self._order[each.key])
        whole: list[Slice] = []
        if len(current) != current[0].size:
            if any(each.generation > generation for each in members.slices.values()):
                return None
            whole = [each for each in members.slices.values() if each.generation == generation]
            if len(whole) != current[0].size:
                return Pool(id, incomplete=True)
        if not self.features.stable:
            current.sort(key=lambda each: each.name)
        return self._built(id, current, whole)

    def _built(self, id: PoolID, current: list[Slice], whole: list[Slice]) -> Pool:
        pool = Pool(id)
        partitions = self.features.partitionable_devices
        pool.devices = [device for each in current if not (partitions and each.counters) for device in each.devices]
        pool.invalid = _repeated(pool.devices)
        if not partitions or pool.invalid:
            return pool if not pool.invalid else Pool(id, invalid=pool.invalid)
        names = {each.name for each in current}
        pool.elsewhere = [device for each in whole if each.name not in names for device in each.devices]
        for name, counters in (item for each in current for item in each.counters):
            if name in pool.counters:
                return Pool(id, invalid=f"duplicate counter set name {name}")
            pool.counters[name] = counters
        consumers = [device for each in current for device in each.devices]
        invalid = _unknown_counter(consumers, pool.counters) or _unknown_counter(pool.elsewhere, pool.counters)
        return Pool(id, invalid=invalid) if invalid else pool


def _count(counts: dict[PoolID, int], id: PoolID, change: int) -> None:
    counts[id] = counts.get(id, 0) + change
    if not counts[id]:
        del counts[id]


def _fits(slice_: Slice, node: Object) -> bool:
    try:
        return slice_.fits_node is not None and slice_.fits_node(node)
    except ValueError as error:
        raise AllocationError(
            f"gather pool information: failed to perform node selection for slice {slice_.name}: {error}"
        ) from None


def _repeated(devices: Iterable[Device]) -> str:
    names: set[str] = set()
    for device in devices:
        if device.name in names:
            return f"duplicate device name {device.name}"
        names.add(device.name)
    return ""


def _unknown_counter(devices: Iterable[Device], known: Mapping[str, Mapping[str, int]]) -> str:
    for device in devices:
        for counter_set, counters in device.consumes.items():
            if counter_set not in known:
                return f"counter set {counter_set} not found"
            for name in counters:
                if name not in known[counter_set]:
                    return f"counter {name} not found in counter set {counter_set}"
    return ""
