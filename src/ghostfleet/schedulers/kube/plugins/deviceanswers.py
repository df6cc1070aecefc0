"""What DynamicResources answers for the claims of a pod: which nodes have devices for them, and how good these are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ghostfleet.api.podclaims import allocation_of
from ghostfleet.core.changes import Object
from ghostfleet.schedulers.dra import (
    AllocationError,
    NodeAllocationError,
    PodClaims,
    RequestCensus,
    first_available_score,
)
from ghostfleet.schedulers.framework.nodetable import BoolArray, IntArray
from ghostfleet.schedulers.framework.plugin import Filter, Objection, Scope, Score, Slots
from ghostfleet.schedulers.framework.snapshot import Snapshot
from ghostfleet.schedulers.kube.plugins.bindingconditions import has_failed
from ghostfleet.schedulers.kube.plugins.devices import DeviceManager
from ghostfleet.schedulers.kube.plugins.normalising import as_share

__all__ = ["DevicesFilter", "FirstAvailableScore"]

_NONE_FREE = "cannot allocate all claims"
_ELSEWHERE = "resourceclaim not available on the node"


class DevicesFilter(Filter):
    """Rules out nodes without devices for claims, and those that allocated claims cannot be used from."""

    scope = Scope.PODS

    def __init__(
        self,
        snapshot: Snapshot,
        devices: DeviceManager,
        claims: Sequence[Object],
        found_wrong: Callable[[tuple[bytes, ...]], None],
        *,
        sequential: bool,
    ) -> None:
        self.sequential = sequential
        self._nodes = snapshot.nodes
        self._devices = devices
        missing = [claim for claim in claims if allocation_of(claim) is None]
        #: The claims that are to be allocated.
        self.claims = PodClaims(missing) if missing else None
        self._allocated = [(claim, near) for claim in claims if (near := _near(snapshot, claim)) is not None]
        self._near: BoolArray = np.ones(snapshot.nodes.capacity, np.bool_)
        for _, near in self._allocated:
            self._near = self._near & near
        #: Told what claims ask for when something is wrong with it.
        self._found_wrong = found_wrong
        #: What is wrong, by the slot that showed it.
        self._errors: dict[int, str] = {}

    @property
    def error(self) -> str:  # type: ignore[override]
        return next(iter(self._errors.values()), "")

    def census(self) -> list[RequestCensus]:
        """How many devices there are for each request of the claims that are to be allocated."""
        if self.claims is None:
            return []
        try:
            return self._devices.census(self.claims)
        except AllocationError:
            # It is told as what is wrong.
            return []

    def unavailable(self) -> list[Object]:
        """Claims that are allocated and cannot be used from some node."""
        present = self._nodes.present
        return [claim for claim, near in self._allocated if not near[present].all()]

    def reason(self, slot: int) -> str:
        """Why a node is ruled out; "" if it is not."""
        self._errors.pop(slot, None)
        if self.claims is not None and self._nodes.present[slot]:
            try:
                if self._devices.allocate(slot, self.claims) is None:
                    return _NONE_FREE
            except NodeAllocationError as error:
                return str(error)
            except AllocationError as error:
                self._found_wrong(self.claims.key)
                self._errors[slot] = f'running "DynamicResources" filter plugin: {error}'
                return str(error)
        return "" if self._near[slot] else _ELSEWHERE

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

    def __init__(self, devices: DeviceManager, claims: Sequence[Object]) -> None:
        self._devices = devices
        missing = [claim for claim in claims if allocation_of(claim) is None]
        self._missing = PodClaims(missing)
        there = [claim for claim in claims if allocation_of(claim) is not None]
        #: What claims that are allocated count on any node.
        self._always = sum(
            first_available_score(spec, allocation_of(claim) or {})
            for claim, spec in zip(there, PodClaims(there).specs, strict=True)
        )

    @property
    def active(self) -> bool:
        return bool(self._missing.specs)

    def many(self, slots: Slots) -> IntArray:
        return np.array([self._score(int(slot)) for slot in slots], np.int64)

    def _score(self, slot: int) -> int:
        try:
            results = self._devices.allocate(slot, self._missing)
        except AllocationError:
            return 0
        if results is None:
            return 0
        found = zip(self._missing.specs, results, strict=True)
        return self._always + sum(first_available_score(spec, result) for spec, result in found)

    def normalise(self, scores: IntArray) -> IntArray:
        return as_share(scores)


def _near(snapshot: Snapshot, claim: Object) -> BoolArray | None:
    """The nodes that a claim can be used from; None for all."""
    if has_failed(claim):
        return np.zeros(snapshot.nodes.capacity, np.bool_)
    selector = (allocation_of(claim) or {}).get("nodeSelector")
    return snapshot.matcher.any_term(selector.get("nodeSelectorTerms") or ()) if selector is not None else None
