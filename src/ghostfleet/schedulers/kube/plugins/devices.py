"""The devices of a cluster as DynamicResources sees them: slices, classes, and what is allocated of them.

It stands for kube-scheduler's DRA manager. All of it is kept by the events of the store. An allocation that was decided
on is *pending* until it is written: its devices are taken from then on. Where devices come, go or change hands, the
nodes that see their pool are told to the snapshot as touched; what concerns any node raises the *version*, by which
answers for all of them are forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ghostfleet.api.devicetaints import rule_matches, with_rules
from ghostfleet.api.podclaims import CLAIMS, CLASSES, SLICES, TAINT_RULES, allocation_of
from ghostfleet.core.changes import Change, Object
from ghostfleet.schedulers.dra import (
    AllocatedDevices,
    Allocator,
    Features,
    Inventory,
    PodClaims,
    PoolID,
    RequestCensus,
    census,
    device_class_named,
)
from ghostfleet.schedulers.framework.index import Index
from ghostfleet.schedulers.framework.snapshot import Snapshot

__all__ = ["DeviceManager"]


class _Pending(NamedTuple):
    allocation: Object
    #: The pod that it was made for.
    pod: str


class DeviceManager(Index):
    """All devices that the pods of one snapshot can be given."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.classes: dict[str, Object] = {}
        self.inventory = Inventory(Features())
        self.allocated = AllocatedDevices()
        self._allocator = Allocator(self.inventory, self.allocated, device_class_named(self.classes))
        #: Counts changes that concern all nodes.
        self.version = 0
        #: Allocations that are written, and those that are not yet, by the uids of their claims.
        self._written: dict[str, Object] = {}
        self._pending: dict[str, _Pending] = {}
        #: How many slices of a pool are for a node; "" stands for slices of no particular node.
        self._pools: dict[PoolID, dict[str, int]] = {}
        store = snapshot.store
        self._seen = store.revision
        #: DeviceTaintRules by name.
        self._rules = {rule["metadata"]["name"]: rule for rule in store.list(TAINT_RULES)}
        for device_class in store.list(CLASSES):
            self.classes[device_class["metadata"]["name"]] = device_class
        for resource_slice in store.list(SLICES):
            self._put_slice(resource_slice)
        for claim in store.list(CLAIMS):
            self._look_at(claim, allocation_of(claim))

    # -- events ------------------------------------------------------------------------------------------------------

    def notice(self, change: Change) -> None:
        """A claim, slice or class changed; several plugins may tell of it."""
        if change.revision <= self._seen:
            return
        self._seen = change.revision
        if change.resource == CLAIMS:
            claim = change.new if change.new is not None else change.old
            assert claim is not None
            self._look_at(claim, allocation_of(change.new) if change.new is not None else None)
            if change.new is None:
                self.release(claim)
            return
        if change.resource == SLICES:
            self._change_slice(change.old, change.new)
            return
        if change.resource == TAINT_RULES:
            self._change_rule(change)
            return
        if change.new is not None:
            self.classes[change.name] = change.new
        else:
            self.classes.pop(change.name, None)
        self._touch_all()

    def _change_rule(self, change: Change) -> None:
        """Look at the devices again that a rule is for, or was."""
        if change.old is not None and change.new is not None and change.old["spec"] == change.new["spec"]:
            return
        if change.new is not None:
            self._rules[change.name] = change.new
        else:
            del self._rules[change.name]
        rules = [rule for rule in (change.old, change.new) if rule is not None]
        for resource_slice in self._snapshot.store.list(SLICES):
            if any(rule_matches(rule, *_pool_of(resource_slice)[0]) for rule in rules):
                self._change_slice(resource_slice, resource_slice)

    def _change_slice(self, old: Object | None, new: Object | None) -> None:
        if old is not None:
            pool, node = _pool_of(old)
            self.inventory.remove(old["metadata"]["name"])
            self._touch([pool])
            nodes = self._pools[pool]
            nodes[node] -= 1
            if not nodes[node]:
                del nodes[node]
                self._allocator.forget(node)
            if not nodes:
                del self._pools[pool]
        if new is not None:
            self._touch([self._put_slice(new)])

    def _put_slice(self, resource_slice: Object) -> PoolID:
        pool, node = _pool_of(resource_slice)
        rules = [self._rules[name] for name in sorted(self._rules)]
        self.inventory.put(with_rules(resource_slice, rules) if rules else resource_slice)
        nodes = self._pools.setdefault(pool, {})
        nodes[node] = nodes.get(node, 0) + 1
        return pool

    def _look_at(self, claim: Object, allocation: Object | None) -> None:
        """Take note of what a claim holds now."""
        uid = claim["metadata"]["uid"]
        before = self._written.get(uid)
        if before is allocation:
            return
        pending = self._pending.get(uid)
        if pending is not None and allocation is not None and allocation["devices"] is pending.allocation["devices"]:
            del self._pending[uid]
            self._written[uid] = allocation
            return
        if before is not None:
            del self._written[uid]
            self._give_back(before)
        if allocation is not None:
            self._written[uid] = allocation
            self._take(allocation)

    # -- allocations -------------------------------------------------------------------------------------------------

    @staticmethod
    def claims(claims: Sequence[Object]) -> PodClaims:
        """Claims as they are to be allocated together."""
        return PodClaims(claims)

    def allocate(self, slot: int, claims: PodClaims) -> list[Object] | None:
        """What claims would get on a node, None if it has not the devices."""
        node = self._snapshot.nodes.objects[slot]
        return self._allocator.allocate(node, claims, self._snapshot.store.new_uid) if node is not None else None

    def census(self, claims: PodClaims) -> list[RequestCensus]:
        """How many devices there are for each request of claims."""
        nodes = [node for node in self._snapshot.nodes.objects if node is not None]
        return census(self._allocator, nodes, claims)

    def assume(self, claim: Object, allocation: Object, pod: Object) -> None:
        """A claim is going to have these devices."""
        self._pending[claim["metadata"]["uid"]] = _Pending(allocation, pod["metadata"]["uid"])
        self._take(allocation)

    def written_as(self, before: Object, claim: Object) -> None:
        """A claim that was not there yet has been written, and has its uid now."""
        self._pending[claim["metadata"]["uid"]] = self._pending.pop(before["metadata"]["uid"])

    def pending(self, claim: Object) -> Object | None:
        """The devices that a claim is going to have."""
        found = self._pending.get(claim["metadata"]["uid"])
        return found.allocation if found is not None else None

    def release(self, claim: Object, pod: Object | None = None) -> None:
        """A claim is not going to have the devices that were chosen for it, by this pod or by any."""
        uid = claim["metadata"]["uid"]
        found = self._pending.get(uid)
        if found is not None and (pod is None or found.pod == pod["metadata"]["uid"]):
            del self._pending[uid]
            self._give_back(found.allocation)

    def _take(self, allocation: Object) -> None:
        self.allocated.add(allocation)
        self._touch(_pools_in(allocation))

    def _give_back(self, allocation: Object) -> None:
        self.allocated.remove(allocation)
        self._touch(_pools_in(allocation))

    def _touch(self, pools: Iterable[PoolID]) -> None:
        """Devices of pools changed, or changed hands: look again at the nodes that see them."""
        nodes = self._snapshot.nodes
        for pool in pools:
            seen_by = self._pools.get(pool, {})
            if "" in seen_by:
                self._touch_all()
            for name in seen_by:
                slot = nodes.slots.get(name)
                if slot is not None:
                    nodes.touch(slot)
        self._snapshot.version += 1

    def _touch_all(self) -> None:
        self.version += 1
        self._snapshot.version += 1


def _pool_of(resource_slice: Object) -> tuple[PoolID, str]:
    spec = resource_slice["spec"]
    return PoolID(spec["driver"], spec["pool"]["name"]), spec.get("nodeName") or ""


def _pools_in(allocation: Object) -> set[PoolID]:
    results = (allocation.get("devices") or {}).get("results") or ()
    return {PoolID(result["driver"], result["pool"]) for result in results}
