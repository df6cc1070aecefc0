"""The allocator: from claims and a node to AllocationResults.

It stands for kube-scheduler's own (k8s.io/dynamic-resource-allocation, 1.36) and finds the same devices. All it knows
is given to it: the slices in an `Inventory`, what is allocated already, the DeviceClasses. An answer is kept for a
node until something changes that it depends on, so that pods of one template, whose claims ask for the same, cost a
search only on nodes that changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ghostfleet.schedulers.dra.allocated import AllocatedDevices
from ghostfleet.schedulers.dra.capacity import fitting_capacity
from ghostfleet.schedulers.dra.constraints import Constraint, constraint
from ghostfleet.schedulers.dra.devices import Device
from ghostfleet.schedulers.dra.errors import AllocationError, NodeAllocationError
from ghostfleet.schedulers.dra.features import Features
from ghostfleet.schedulers.dra.matching import Matcher, Matchers
from ghostfleet.schedulers.dra.pools import Inventory, Pool
from ghostfleet.schedulers.dra.requests import EXACT_COUNT, ClaimSpec, Request, claim_key, claim_spec
from ghostfleet.schedulers.dra.results import allocation_result
from ghostfleet.schedulers.dra.search import MOST_DEVICES, Candidate, Search, SearchedClaim, Wanted

__all__ = ["Allocator", "ClassNotFound", "device_class_named"]

Object = Mapping[str, Any]
Result = dict[str, Any]


class ClassNotFound(LookupError):
    """There is no such DeviceClass; the message is that of the API."""


def device_class_named(classes: Mapping[str, Object]) -> Callable[[str], Object]:
    """Looks up classes by name, as the API server does."""

    def get(name: str) -> Object:
        if name not in classes:
            raise ClassNotFound(f'deviceclass.resource.k8s.io "{name}" not found')
        return classes[name]

    return get


class Allocator:
    """Allocates devices to claims."""

    __slots__ = ("_classes", "_matchers", "allocated", "features", "inventory", "most_steps")

    def __init__(
        self,
        inventory: Inventory,
        allocated: AllocatedDevices,
        classes: Callable[[str], Object],
        *,
        most_steps: int = 0,
    ) -> None:
        self.features: Features = inventory.features
        self.inventory = inventory
        self.allocated = allocated
        #: how many steps a search may take, 0 for as many as it needs
        self.most_steps = most_steps
        self._classes = classes
        self._matchers = Matchers(self.features)

    def allocate(self, node: Object, claims: Sequence[Object], share_id: Callable[[], str]) -> list[Result] | None:
        """One AllocationResult for each claim, or None if the node has not the devices; an AllocationError if
        something is wrong."""
        pools = self.inventory.pools(node)
        specs = [claim_spec(claim_key(claim)) for claim in claims]
        preparation = _Preparation(self, node, pools)
        searched = [preparation.claim(_name(claim), spec) for claim, spec in zip(claims, specs, strict=True)]
        if not Search(searched, pools, self.allocated, self.features, self.most_steps).run():
            if any(pool.invalid for pool in pools):
                raise NodeAllocationError("invalid resource pools were encountered")
            return None
        node_name = node["metadata"]["name"]
        found = []
        for claim, spec, done in zip(claims, specs, searched, strict=True):
            requests = [wanted[place].request for wanted, place in zip(done.requests, done.chosen, strict=True)]
            chosen = [(request, self._classes(request.class_name)) for request in requests]
            try:
                found.append(allocation_result(spec, chosen, done.taken, node_name, self.features, share_id))
            except AllocationError as error:
                raise AllocationError(f"create NodeSelector for claim {claim['metadata']['name']}: {error}") from None
        return found

    def device_class(self, name: str) -> Object:
        return self._classes(name)

    def matcher(self, device_class: Object, request: Request) -> Matcher:
        return self._matchers.get(device_class, request.selectors)


def _name(claim: Object) -> str:
    metadata = claim["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])


class _Preparation:
    """Checks claims and finds out how many devices they need, before any is taken."""

    __slots__ = ("_allocator", "_features", "_node", "_pools")

    def __init__(self, allocator: Allocator, node: Object, pools: Sequence[Pool]) -> None:
        self._allocator = allocator
        self._features = allocator.features
        self._node = node
        self._pools = pools

    def claim(self, name: str, spec: ClaimSpec) -> SearchedClaim:
        requests = []
        least = 0
        for alternatives in spec.requests:
            self._check_gates(name, alternatives)
            wanted = tuple(self._wanted(name, request) for request in alternatives)
            least += min(each.count for each in wanted)
            requests.append(wanted)
        if least > MOST_DEVICES:
            raise AllocationError(
                f"claim {name}: number of requested devices {least} exceeds the claim limit of {MOST_DEVICES}"
            )
        return SearchedClaim(name, requests, self._constraints(name, spec))

    def _constraints(self, name: str, spec: ClaimSpec) -> list[Constraint]:
        found = []
        for place, described in enumerate(spec.constraints):
            made = constraint(described, self._features)
            if made is None:
                raise AllocationError(
                    f"claim {name}, constraint #{place}: empty constraint (unsupported constraint type?)"
                )
            found.append(made)
        return found

    def _check_gates(self, name: str, alternatives: Sequence[Request]) -> None:
        parent = alternatives[0].parent
        if parent and not self._features.prioritized_list:
            raise AllocationError(
                f"claim {name}, request {parent}: has subrequests, but the DRAPrioritizedList feature is disabled"
            )
        if self._features.consumable_capacity or self._features.stable:
            return
        for request in alternatives:
            if request.capacity is not None:
                noun = "subrequest" if parent else "request"
                raise AllocationError(
                    f"claim {name}, {noun} {request.name}: has capacity requests, "
                    "but the DRAConsumableCapacity feature is disabled"
                )

    def _wanted(self, name: str, request: Request) -> Wanted:
        where = f"claim {name}, request {request.name}"
        for place, selector in enumerate(request.selectors):
            if selector.get("cel") is None:
                raise AllocationError(
                    f"{where}, selector #{place}: CEL expression empty (unsupported selector type?)"
                )
        if request.asks_admin and not self._features.admin_access:
            raise AllocationError(f"{where}: admin access is requested, but the feature is disabled")
        if not request.class_name:
            raise AllocationError(f"{where}: missing device class name (unsupported request type?)")
        try:
            device_class = self._allocator.device_class(request.class_name)
        except ClassNotFound as error:
            raise AllocationError(f"{where}: could not retrieve device class {request.class_name}: {error}") from None
        selects = self._selects(name, device_class, request)
        if request.mode == EXACT_COUNT:
            return Wanted(request, request.count, None, selects)
        if not request.all:
            raise AllocationError(f"{where}: unsupported count mode {request.mode}")
        all_ = self._all(where, request, selects)
        return Wanted(request, len(all_), all_, selects)

    def _selects(self, name: str, device_class: Object, request: Request) -> Callable[[Device], bool]:
        matcher = self._allocator.matcher(device_class, request)
        features, node = self._features, self._node

        def selects(device: Device) -> bool:
            if not features.binding_conditions and device.object.get("bindingConditions"):
                return False
            try:
                return matcher.matches(device, name) and (device.fits_node is None or device.fits_node(node))
            except ValueError as error:
                raise AllocationError(str(error)) from None

        return selects

    def _all(self, where: str, request: Request, selects: Callable[[Device], bool]) -> list[Candidate]:
        found: list[Candidate] = []
        for pool in self._pools:
            if not pool.usable:
                state = "being updated" if pool.incomplete else "invalid"
                raise AllocationError(f"{where}: asks for all devices, but resource pool {pool.id} is currently {state}")
            for device in pool.devices:
                if selects(device) and self._has_capacity(request, device):
                    found.append((device, pool))
        return found

    def _has_capacity(self, request: Request, device: Device) -> bool:
        if not self._features.consumable_capacity:
            return True
        held = self._allocator.allocated.capacity.get(device.id)
        return fitting_capacity(request, device, held, ()) is not None
