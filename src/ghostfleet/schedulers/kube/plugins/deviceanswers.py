"""What DynamicResources answers for the claims of a pod: which nodes have devices for them, and how good these are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ghostfleet.api.extendedresources import claim_for, device_requests
from ghostfleet.api.podclaims import allocation_of
from ghostfleet.core.changes import Object
from ghostfleet.schedulers.dra import (
    AllocationError,
    NodeAllocationError,
    PodClaims,
    RequestCensus,
    first_available_score,
)
from ghostfleet.schedulers.framework.cyclestate import Refusal
from ghostfleet.schedulers.framework.nodetable import BoolArray, IntArray
from ghostfleet.schedulers.framework.plugin import Filter, Objection, Scope, Score, Slots
from ghostfleet.schedulers.framework.snapshot import Snapshot
from ghostfleet.schedulers.kube.plugins.devices import DeviceManager
from ghostfleet.schedulers.kube.plugins.extendedresources import ExtendedResources
from ghostfleet.schedulers.kube.plugins.normalising import as_share

__all__ = ["DevicesFilter", "FirstAvailableScore", "PodDevices"]

_NONE_FREE = "cannot allocate all claims"
_ELSEWHERE = "resourceclaim not available on the node"
_STALE = "cannot schedule extended resource claim"


class PodDevices:
    """What a pod needs devices for: its claims that are to be allocated, and extended resources.

    Which of the resources these are differs from node to node.
    """

    __slots__ = ("_by_resources", "_extended", "_pod", "_serving", "missing")

    def __init__(
        self, claims: Sequence[Object], pod: Object, extended: ExtendedResources, serving: dict[str, str]
    ) -> None:
        self.missing = [claim for claim in claims if allocation_of(claim) is None]
        self._pod = pod
        self._extended = extended
        self._serving = serving
        self._by_resources: dict[tuple[str, ...], PodClaims | None] = {
            (): PodClaims(self.missing) if self.missing else None
        }

    @property
    def most(self) -> PodClaims | None:
        """What it needs where devices stand for all of the resources."""
        return self._needed(self._serving)

    def on(self, slot: int) -> PodClaims | None:
        """What it needs on a node; None for nothing."""
        return self._needed(self._extended.on(slot, self._serving) if self._serving else {})

    def _needed(self, serving: dict[str, str]) -> PodClaims | None:
        key = tuple(serving)
        if key not in self._by_resources:
            requests, _ = device_requests(self._pod["spec"], serving)
            self._by_resources[key] = PodClaims([*self.missing, claim_for(self._pod, requests)])
        return self._by_resources[key]


class DevicesFilter(Filter):
    """Rules out nodes without devices for claims, and those that allocated claims cannot be used from."""

    scope = Scope.PODS

    def __init__(
        self,
        snapshot: Snapshot,
        devices: DeviceManager,
        claims: Sequence[Object],
        unusable: Sequence[Object],
        needed: PodDevices,
        found_wrong: Callable[[tuple[bytes, ...]], None],
        *,
        sequential: bool,
        stale: Object | None = None,
    ) -> None:
        self.sequential = sequential
        #: A claim for extended resources from an earlier attempt, which has to go first.
        self.stale = stale
        self._nodes = snapshot.nodes
        self._devices = devices
        self._needed = needed
        nowhere: BoolArray = np.zeros(snapshot.nodes.capacity, np.bool_)
        places = [(claim, nowhere if claim in unusable else _near(snapshot, claim)) for claim in claims]
        self._allocated = [(claim, near) for claim, near in places if near is not None]
        self._near: BoolArray = np.ones(snapshot.nodes.capacity, np.bool_)
        for _, near in self._allocated:
            self._near = self._near & near
        #: Told what claims ask for when something is wrong with it.
        self._found_wrong = found_wrong
        #: What is wrong, by the slot that showed it.
        self._errors: dict[int, str] = {}

    def errors(self) -> Mapping[int, str]:
        return self._errors

    def census(self) -> list[RequestCensus]:
        """How many devices there are for each request of the claims that are to be allocated."""
        claims = self._needed.most
        if claims is None:
            return []
        try:
            return self._devices.census(claims)
        except AllocationError:
            # It is told as what is wrong.
            return []

    def unavailable(self, refused: Callable[[int], Refusal | None]) -> list[Object]:
        """Claims that are allocated and keep the pod from a node, which nothing else does."""
        if not self._allocated:
            return []
        slots = [int(slot) for slot in self._nodes.present.nonzero()[0] if not self._near[slot]]
        kept = [slot for slot in slots if (found := refused(slot)) is not None and found.reasons == (_ELSEWHERE,)]
        return [claim for claim, near in self._allocated if not near[kept].all()]

    def reason(self, slot: int) -> str:
        """Why a node is ruled out; "" if it is not."""
        self._errors.pop(slot, None)
        if self.stale is not None:
            return _STALE
        claims = self._needed.on(slot) if self._nodes.present[slot] else None
        if claims is not None:
            try:
                if self._devices.allocate(slot, claims) is None:
                    return _NONE_FREE
            except NodeAllocationError as error:
                return str(error)
            except AllocationError as error:
                self._found_wrong(claims.key)
                self._errors[slot] = f'running "DynamicResources" filter plugin: {error}'
                return str(error)
        # Without claims that are allocated the filter may be older than the node.
        return "" if not self._allocated or self._near[slot] else _ELSEWHERE

    def objections(self, slots: Slots) -> Sequence[Objection]:
        reasons = [self.reason(int(slot)) for slot in slots]
        told = dict.fromkeys(reason for reason in reasons if reason)
        return [Objection(each, np.array([reason == each for reason in reasons]), False) for each in told]

    def allowed(self, slots: Slots) -> BoolArray:
        return np.array([not self.reason(int(slot)) for slot in slots], np.bool_)

    def allows(self, slot: int) -> bool:
        return not self.reason(slot)


class FirstAvailableScore(Score):
    """Prefers nodes where requests with alternatives get the earlier ones."""

    local = False

    def __init__(self, devices: DeviceManager, claims: Sequence[Object], needed: PodDevices) -> None:
        self._devices = devices
        self._needed = needed
        there = [claim for claim in claims if allocation_of(claim) is not None]
        #: What claims that are allocated count on any node.
        self._always = sum(
            first_available_score(spec, allocation_of(claim) or {})
            for claim, spec in zip(there, PodClaims(there).specs, strict=True)
        )

    @property
    def active(self) -> bool:
        return bool(self._needed.missing)

    def many(self, slots: Slots) -> IntArray:
        return np.array([self._score(int(slot)) for slot in slots], np.int64)

    def _score(self, slot: int) -> int:
        claims = self._needed.on(slot)
        try:
            results = self._devices.allocate(slot, claims) if claims is not None else None
        except AllocationError:
            return 0
        if claims is None or results is None:
            return 0
        found = zip(claims.specs, results, strict=True)
        return self._always + sum(first_available_score(spec, result) for spec, result in found)

    def normalise(self, scores: IntArray) -> IntArray:
        return as_share(scores)


def _near(snapshot: Snapshot, claim: Object) -> BoolArray | None:
    """The nodes that a claim can be used from; None for all."""
    selector = (allocation_of(claim) or {}).get("nodeSelector")
    return snapshot.matcher.any_term(selector.get("nodeSelectorTerms") or ()) if selector is not None else None
