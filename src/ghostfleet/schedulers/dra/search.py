"""The search for devices: one claim of a pod after the other, one request after the other, one device at a time.

Candidates are tried in the order of pools, slices and devices; each that may be taken is, and the search goes on with
what is left to find. If that fails the device is given back and the next one is tried, so that the first solution in
this order is found if there is any. Within a request only combinations are tried, not permutations: each device comes
from a place after the one before. A request with subrequests takes the first of these that leads to a solution. A claim
can hold at most 32 devices; a request that would get over that is not tried at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ghostfleet.api.devicetaints import tolerated
from ghostfleet.schedulers.dra.allocated import AllocatedDevices
from ghostfleet.schedulers.dra.capacity import Consumed, fitting_capacity
from ghostfleet.schedulers.dra.constraints import Constraint
from ghostfleet.schedulers.dra.counters import Counting
from ghostfleet.schedulers.dra.devices import Device, DeviceID
from ghostfleet.schedulers.dra.errors import AllocationError, AllocationTimeout
from ghostfleet.schedulers.dra.features import Features
from ghostfleet.schedulers.dra.pools import Candidate, Pool
from ghostfleet.schedulers.dra.requests import Request

__all__ = ["MOST_DEVICES", "Search", "SearchedClaim", "Taken", "Wanted"]

#: how many devices one claim can hold (resource.k8s.io, AllocationResultsMaxSize)
MOST_DEVICES = 32
#: calls within calls of a search: Python has an end to them, at 1,000 unless it is told otherwise
_DEEPEST = 700


class Wanted:
    """A request or subrequest that is to be allocated: how many devices, and which may be selected."""

    __slots__ = ("all", "count", "request", "selects")

    def __init__(
        self, request: Request, count: int, all_: list[Candidate] | None, selects: Callable[[Device], bool]
    ) -> None:
        self.request = request
        self.count = count
        #: for a request of all devices, which ones these are
        self.all = all_
        self.selects = selects


class Taken(NamedTuple):
    """A device that is taken for a request."""

    request: Request
    device: Device
    #: what it consumes of the device's capacity, if others may use the device as well
    consumed: Consumed | None
    #: the pool whose counters it uses
    counted: Pool | None


class _TooMany(Exception):
    """The claim would hold more devices than it can."""


class SearchedClaim:
    """A claim while devices are looked for."""

    __slots__ = ("chosen", "constraints", "name", "requests", "taken")

    def __init__(self, name: str, requests: list[tuple[Wanted, ...]], constraints: list[Constraint]) -> None:
        self.name = name
        #: each request as the alternatives it has
        self.requests = requests
        self.constraints = constraints
        self.taken: list[Taken] = []
        #: which alternative of each request was taken
        self.chosen = [0] * len(requests)

    @property
    def depth(self) -> int:
        """How many calls within calls the search for it may take."""
        return 2 + sum(2 + max(wanted.count for wanted in alternatives) for alternatives in self.requests)


class Search:
    """One search, for the claims of one pod on one node."""

    __slots__ = ("_allocated", "_candidates", "_claims", "_counting", "_features", "_left", "_marked", "_sharing")

    def __init__(
        self,
        claims: Sequence[SearchedClaim],
        candidates: list[Candidate],
        allocated: AllocatedDevices,
        features: Features,
        most_steps: int = 0,
    ) -> None:
        self._claims = claims
        self._candidates = candidates
        self._allocated = allocated
        self._features = features
        self._counting = Counting(allocated, features)
        #: steps that are left, if there is a limit
        self._left = most_steps or -1
        #: which claims of the pod have taken a device as a whole
        self._marked: dict[DeviceID, list[int]] = {}
        #: what shares that were taken consume
        self._sharing: dict[DeviceID, list[Consumed]] = {}

    def run(self) -> bool:
        """Whether devices were found for all claims; they are in `taken` of each then."""
        if sum(claim.depth for claim in self._claims) > _DEEPEST:
            raise AllocationTimeout("too many devices are asked for at once")
        try:
            return self._claim(0)
        except _TooMany:
            raise AllocationError("allocation max size exceeded") from None

    def _claim(self, claim_index: int) -> bool:
        return claim_index == len(self._claims) or self._request(claim_index, 0)

    def _request(self, claim_index: int, request_index: int) -> bool:
        """Finds devices for a request and all that follow."""
        claim = self._claims[claim_index]
        if request_index == len(claim.requests):
            try:
                return self._claim(claim_index + 1)
            except _TooMany:
                # Not this claim's problem: with other devices here, the next one may do with fewer.
                return False
        alternatives = claim.requests[request_index]
        if not alternatives[0].request.parent:
            return self._devices(claim_index, request_index, alternatives[0], 0, 0)
        too_many = 0
        for place, alternative in enumerate(alternatives):
            try:
                if self._devices(claim_index, request_index, alternative, 0, 0):
                    claim.chosen[request_index] = place
                    return True
            except _TooMany:
                too_many += 1
        if too_many == len(alternatives):
            raise _TooMany
        return False

    def _devices(self, claim_index: int, request_index: int, wanted: Wanted, number: int, start: int) -> bool:
        """Finds the devices of a request from this number on, among the candidates from `start` on, and all that
        follows."""
        self._left -= 1
        if self._left == 0:
            raise AllocationTimeout("timed out trying to allocate devices")
        if wanted.all is not None and not wanted.all:
            return False
        if number >= wanted.count:
            return self._request(claim_index, request_index + 1)
        if len(self._claims[claim_index].taken) + wanted.count - number > MOST_DEVICES:
            raise _TooMany
        candidates = self._candidates
        if wanted.all is not None:
            # There is but one candidate for each place.
            candidates, start = wanted.all[: number + 1], number
        for place in range(start, len(candidates)):
            device, pool = candidates[place]
            if not self._take(claim_index, wanted, device, pool):
                continue
            try:
                if self._devices(claim_index, request_index, wanted, number + 1, place + 1):
                    return True
            except _TooMany:
                self._give_back(claim_index)
                raise
            self._give_back(claim_index)
        return False

    def _take(self, claim_index: int, wanted: Wanted, device: Device, pool: Pool) -> bool:
        """Takes a device for a request, if that may be."""
        features, request, must = self._features, wanted.request, wanted.all is not None
        if self._is_in_use(device, claim_index, request) or not wanted.selects(device):
            return False
        shared = features.consumable_capacity and device.multiple
        consumed = self._consumed(request, device) if features.consumable_capacity else None
        has_room = consumed is not None or not features.consumable_capacity
        if not (has_room or must) or (device.consumes and not features.partitionable_devices):
            return False
        counted = pool if device.consumes and not (shared and self._is_shared(device)) else None
        if counted is not None and not self._counting.take(device, pool):
            return False
        if not self._is_tolerated(device, request) or not self._is_in_constraints(
            claim_index, wanted, device, has_room
        ):
            if counted is not None:
                self._counting.give_back(device, pool)
            return False
        if shared:
            self._sharing.setdefault(device.id, []).append(consumed or {})
        else:
            self._marked.setdefault(device.id, []).append(claim_index)
        self._claims[claim_index].taken.append(Taken(request, device, consumed if shared else None, counted))
        return True

    def _give_back(self, claim_index: int) -> None:
        """Undoes the latest take of a claim."""
        claim = self._claims[claim_index]
        taken = claim.taken.pop()
        id = taken.device.id
        (self._sharing if taken.consumed is not None else self._marked)[id].pop()
        for constraint in reversed(claim.constraints):
            constraint.remove(taken.request, taken.device)
        if taken.counted is not None:
            self._counting.give_back(taken.device, taken.counted)

    def _is_in_use(self, device: Device, claim_index: int, request: Request) -> bool:
        marks = self._marked.get(device.id)
        if request.admin:
            return marks is not None and claim_index in marks
        return bool(marks) or device.id in self._allocated.devices

    def _is_tolerated(self, device: Device, request: Request) -> bool:
        if not device.preventing or not self._features.device_taints:
            return True
        return tolerated(device.preventing, request.tolerations)

    def _is_in_constraints(self, claim_index: int, wanted: Wanted, device: Device, has_room: bool) -> bool:
        """Whether all constraints of the claim allow the device; an error if it would have to be this one."""
        claim = self._claims[claim_index]
        for place, constraint in enumerate(claim.constraints):
            if not constraint.add(wanted.request, device):
                _remove(claim.constraints[:place], wanted.request, device)
                if wanted.all is None:
                    return False
                raise AllocationError(
                    f"claim {claim.name}, request {wanted.request.name}: cannot add device {device.id}"
                    " because a claim constraint would not be satisfied"
                )
        if not has_room:
            _remove(claim.constraints, wanted.request, device)
        return has_room

    def _is_shared(self, device: Device) -> bool:
        """Whether some of its capacity is consumed, and its counters are so too."""
        return device.id in self._allocated.capacity or bool(self._sharing.get(device.id))

    def _consumed(self, request: Request, device: Device) -> Consumed | None:
        """What a request consumes of a device, None if that is more than is left."""
        held, taken = self._allocated.capacity.get(device.id), self._sharing.get(device.id)
        return fitting_capacity(request, device, held, taken or ())


def _remove(constraints: Sequence[Constraint], request: Request, device: Device) -> None:
    for constraint in reversed(constraints):
        constraint.remove(request, device)
