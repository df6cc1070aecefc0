"""The allocator: from claims and a node to AllocationResults.

It stands for kube-scheduler's own (k8s.io/dynamic-resource-allocation, 1.36) and finds the same devices. All it knows
is given to it: the slices in an `Inventory`, what is allocated already, the DeviceClasses. An answer is kept for a
node until something changes that it depends on, so that pods of one template, whose claims ask for the same, cost a
search only on nodes that changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ghostfleet.schedulers.dra.allocated import AllocatedDevices
from ghostfleet.schedulers.dra.capacity import fitting_capacity
from ghostfleet.schedulers.dra.constraints import Constraint, constraint
from ghostfleet.schedulers.dra.devices import Device
from ghostfleet.schedulers.dra.errors import AllocationError, NodeAllocationError
from ghostfleet.schedulers.dra.features import Features
from ghostfleet.schedulers.dra.matching import Matcher, Matchers
from ghostfleet.schedulers.dra.pools import Candidate, Inventory, NodePools, Pool
from ghostfleet.schedulers.dra.requests import EXACT_COUNT, ClaimSpec, PodClaims, Request
from ghostfleet.schedulers.dra.results import allocation_result
from ghostfleet.schedulers.dra.search import MOST_DEVICES, Search, SearchedClaim, Taken, Wanted

__all__ = ["Allocator", "ClassNotFound", "device_class_named"]

Object = Mapping[str, Any]
Result = dict[str, Any]
#: how many answers are kept for a node
_MOST_ANSWERS = 64


class ClassNotFound(LookupError):
    """There is no such DeviceClass; the message is that of the API."""


def device_class_named(classes: Mapping[str, Object]) -> Callable[[str], Object]:
    """Looks up classes by name, as the API server does."""

    def get(name: str) -> Object:
        if name not in classes:
            raise ClassNotFound(f'deviceclass.resource.k8s.io "{name}" not found')
        return classes[name]

    return get


class _Found(NamedTuple):
    """What was found for a claim: the requests that were taken with their classes, and the devices."""

    spec: ClaimSpec
    chosen: list[tuple[Request, Object]]
    taken: list[Taken]


class _Answer:
    """What was found on a node, and what that depends on."""

    __slots__ = ("_classes", "_pools", "_versions", "found", "results")

    def __init__(
        self,
        pools: Sequence[Pool],
        versions: Sequence[int],
        classes: Mapping[str, Object],
        found: list[_Found] | None,
    ) -> None:
        self._pools = pools
        self._versions = versions
        self._classes = classes
        self.found = found
        #: these can be given again, unless they have share IDs, which are new each time
        self.results: list[Result] | None = None

    def holds(self, pools: Sequence[Pool], versions: Sequence[int], classes: Callable[[str], Object]) -> bool:
        if self._pools is not pools or self._versions != versions:
            return False
        return all(classes(name) is known for name, known in self._classes.items())


class Allocator:
    """Allocates devices to claims."""

    __slots__ = ("_answers", "_classes", "_matchers", "allocated", "features", "inventory", "most_steps")

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
        #: answers by the name of the node and what claims ask for
        self._answers: dict[str, dict[tuple[bytes, ...], _Answer]] = {}

    def allocate(self, node: Object, claims: PodClaims, share_id: Callable[[], str]) -> list[Result] | None:
        """One AllocationResult for each claim, or None if the node has not the devices; an AllocationError if
        something is wrong."""
        pools = self.inventory.pools(node)
        versions = [self.allocated.version(pool.id) for pool in pools]
        name = node["metadata"]["name"]
        known = self._answers.setdefault(name, {})
        answer = known.get(claims.key)
        if answer is None or not self._still_holds(answer, pools, versions):
            if len(known) >= _MOST_ANSWERS:
                known.clear()
            found = self._search(node, pools, claims)
            answer = known[claims.key] = _Answer(pools, versions, self._classes_of(claims), found)
        if answer.found is None or answer.results is not None:
            return answer.results
        results = [
            self._result(name, each, share_id, *found) for each, found in zip(claims.names, answer.found, strict=True)
        ]
        if not any(taken.consumed is not None for found in answer.found for taken in found.taken):
            answer.results = results
        return results

    def forget(self, node_name: str) -> None:
        """Lets go of what is known of a node that is gone."""
        self._answers.pop(node_name, None)

    def _still_holds(self, answer: _Answer, pools: Sequence[Pool], versions: Sequence[int]) -> bool:
        try:
            return answer.holds(pools, versions, self._classes)
        except ClassNotFound:
            return False

    def _classes_of(self, claims: PodClaims) -> dict[str, Object]:
        requests = (request for spec in claims.specs for alternatives in spec.requests for request in alternatives)
        return {request.class_name: self._classes(request.class_name) for request in requests}

    def _search(self, node: Object, pools: NodePools, claims: PodClaims) -> list[_Found] | None:
        preparation = _Preparation(self, node, pools)
        searched = [preparation.claim(*each) for each in zip(claims.names, claims.specs, strict=True)]
        if not Search(searched, pools.candidates, self.allocated, self.features, self.most_steps).run():
            if any(pool.invalid for pool in pools):
                raise NodeAllocationError("invalid resource pools were encountered")
            return None
        found = []
        for spec, done in zip(claims.specs, searched, strict=True):
            requests = [wanted[place].request for wanted, place in zip(done.requests, done.chosen, strict=True)]
            found.append(_Found(spec, [(each, self._classes(each.class_name)) for each in requests], done.taken))
        return found

    def _result(
        self,
        node_name: str,
        claim: str,
        share_id: Callable[[], str],
        spec: ClaimSpec,
        chosen: list[tuple[Request, Object]],
        taken: list[Taken],
    ) -> Result:
        try:
            return allocation_result(spec, chosen, taken, node_name, self.features, share_id)
        except AllocationError as error:
            raise AllocationError(f"create NodeSelector for claim {claim.rpartition('/')[2]}: {error}") from None

    def device_class(self, name: str) -> Object:
        return self._classes(name)

    def matcher(self, device_class: Object, request: Request) -> Matcher:
        return self._matchers.get(device_class, request)


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
                raise AllocationError(f"{where}, selector #{place}: CEL expression empty (unsupported selector type?)")
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
                raise AllocationError(
                    f"{where}: asks for all devices, but resource pool {pool.id} is currently {state}"
                )
            fitting = (each for each in pool.devices if selects(each) and self._has_capacity(request, each))
            found += [(device, pool) for device in fitting]
        return found

    def _has_capacity(self, request: Request, device: Device) -> bool:
        if not self._features.consumable_capacity:
            return True
        held = self._allocator.allocated.capacity.get(device.id)
        return fitting_capacity(request, device, held, ()) is not None
