"""DynamicResources: pods with claims go where devices for them are, and get these.

A pod whose claims are not there is not tried. A claim that is allocated says by itself which nodes it can be used from;
all claims of a pod that are not are solved together, node by node, by the allocator (`schedulers/dra`). On the node
that is chosen the devices are taken at once, and written to the claims before the pod is bound. A claim that is
allocated where the pod cannot go is given back if nobody else uses it.

Extended resources that device classes serve (`api/extendedresources.py`) are one more claim of a pod, which is made
when the pod is bound, and deleted if it is not bound after all.

Pods whose claims were made for them alone, and ask for the same, are alike; claims that others may share make a pod
one of its own, which waits until what is written for those before it is seen.

The allocator takes long to load; that is left until there is a pod with claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ghostfleet.api.podclaims import (
    CLAIMS,
    CLASSES,
    FINALIZER,
    MOST_CONSUMERS,
    SLICES,
    TAINT_RULES,
    ClaimError,
    allocation_of,
    consumer,
    consumers_of,
    find_claims,
    is_made_for,
    is_reserved_for,
)
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.schedulers.framework.cyclestate import CycleState
from ghostfleet.schedulers.framework.diagnosis import Diagnosis
from ghostfleet.schedulers.framework.plugin import Aborted, Filter, Plugin, PostFilterResult, Rejected, Score
from ghostfleet.schedulers.framework.podinfo import PodInfo, SpecInfo
from ghostfleet.schedulers.framework.snapshot import Snapshot
from ghostfleet.schedulers.kube.plugins.bindingconditions import BindingConditions, DynamicResourcesArguments
from ghostfleet.schedulers.kube.plugins.extendedclaims import ExtendedClaims
from ghostfleet.schedulers.kube.plugins.extendedresources import ExtendedResources

if TYPE_CHECKING:
    from ghostfleet.schedulers.kube.plugins.deviceanswers import DevicesFilter
    from ghostfleet.schedulers.kube.plugins.devices import DeviceManager

__all__ = ["DynamicResources"]


class DynamicResources(Plugin):
    """Gives devices to the claims of pods."""

    name = "DynamicResources"
    fields = frozenset(("resourceClaims", "extendedResources"))
    weight = 2
    kinds = (CLAIMS, SLICES, CLASSES, TAINT_RULES)
    events = frozenset(("nodes", *kinds))
    signs_labels = False
    arguments: DynamicResourcesArguments

    @classmethod
    def read_arguments(cls, path: str, given: Mapping[str, Any]) -> DynamicResourcesArguments:
        return DynamicResourcesArguments.read(path, given)

    @classmethod
    def default_arguments(cls) -> DynamicResourcesArguments:
        return DynamicResourcesArguments()

    def __init__(self, snapshot: Snapshot, arguments: Any = None) -> None:
        super().__init__(snapshot, arguments)
        self._store = snapshot.store
        self._conditions = BindingConditions(snapshot.store, self.arguments.binding_timeout)
        self._manager: DeviceManager | None = None
        self._extended = ExtendedResources.of(snapshot)
        self._extended_claims = ExtendedClaims(snapshot)
        #: What claims ask for that something is wrong with: pods with these are told apart by the claims' names.
        self._wrong: set[tuple[bytes, ...]] = set()

    @property
    def _devices(self) -> DeviceManager:
        if self._manager is None:
            from ghostfleet.schedulers.kube.plugins.devices import DeviceManager

            self._manager = self.snapshot.index(DeviceManager, lambda: DeviceManager(self.snapshot))
        return self._manager

    @property
    def asked_with(self) -> frozenset[str]:
        # Its arguments are about pods with claims only.
        return self.fields

    def skips(self, info: SpecInfo) -> bool:
        return not info.resource_claims and not self._extended.serving(info)

    # -- events ------------------------------------------------------------------------------------------------------

    def notice(self, change: Change) -> None:
        if self._manager is not None:
            self._manager.notice(change)
        if change.resource == CLASSES:
            self._wrong.clear()
            self._extended.notice(change)

    def helps(self, change: Change) -> bool:
        """Claims help when they come, give devices back or report of them; those that may be shared by any change."""
        old, new = change.old, change.new
        if change.resource != CLAIMS or old is None:
            return True
        if new is None or (allocation_of(old) is not None and allocation_of(new) is None):
            return True
        reports = (new.get("status") or {}).get("devices") is not (old.get("status") or {}).get("devices")
        return reports or not new["metadata"].get("ownerReferences")

    # -- before ------------------------------------------------------------------------------------------------------

    def pre_enqueue(self, pod: Object) -> bool:
        try:
            find_claims(self._store, pod)
        except ClaimError:
            return False
        return True

    def sign(self, pod: Object, info: SpecInfo) -> tuple[object, ...] | None:
        serving = self._extended.serving(info)
        if not info.resource_claims and not serving:
            return None
        try:
            claims = find_claims(self._store, pod)
        except ClaimError as error:
            return self.name, str(error)
        sign: tuple[object, ...] = (self.name, self._devices.version, self._extended.version)
        if serving and (stale := self._extended_claims.find(pod, info)) is not None:
            return (*sign, *_versions([stale]))
        if all(allocation_of(claim) is None and is_made_for(claim, pod) for claim in claims):
            key = self._devices.claims(claims).key
            return (*sign, key) if key not in self._wrong else (*sign, key, *_versions(claims))
        # Whatever can be told from these is told for one pod, and for the nodes and the time as they are.
        usable = (self._conditions.is_usable(claim) for claim in claims)
        return (*sign, pod["metadata"]["uid"], self.snapshot.nodes.version, *_versions(claims), *usable)

    def pre_filter(self, pod: PodInfo) -> Filter | None:
        serving = self._extended.serving(pod.info)
        try:
            claims = find_claims(self._store, pod.pod)
        except ClaimError as error:
            raise Rejected(str(error)) from None
        for claim in claims:
            if allocation_of(claim) is None:
                self._check(claim)
            elif len(consumers_of(claim)) >= MOST_CONSUMERS and not is_reserved_for(claim, pod.pod):
                raise Aborted(_too_many(claim))
        shared = any(allocation_of(claim) is not None or not is_made_for(claim, pod.pod) for claim in claims)
        if not claims and not serving:
            return None
        from ghostfleet.schedulers.kube.plugins.deviceanswers import DevicesFilter, PodDevices

        needed = PodDevices(claims, pod.pod, self._extended, serving)
        stale = self._extended_claims.find(pod.pod, pod.info)
        unusable = [claim for claim in claims if not self._conditions.is_usable(claim)]
        return DevicesFilter(
            self.snapshot, self._devices, claims, unusable, needed, self._wrong.add, sequential=shared, stale=stale
        )

    def _check(self, claim: Object) -> None:
        """Whether a claim can be allocated at all."""
        metadata = claim["metadata"]
        name = f"{metadata['namespace']}/{metadata['name']}"
        if self._devices.pending(claim) is not None:
            raise Rejected(f"resource claim {name} is in the process of being allocated")
        for request in claim["spec"].get("devices", {}).get("requests") or ():
            for wanted, named in _requests(name, request):
                if not named:
                    raise Aborted(
                        f'running PreFilter plugin "DynamicResources": request {wanted}: unsupported request type'
                    )
                if named not in self._devices.classes:
                    raise Rejected(f"request {wanted}: device class {named} does not exist")

    def pre_score(self, pod: PodInfo) -> Score | None:
        try:
            claims = find_claims(self._store, pod.pod)
        except ClaimError:
            return None
        listed = (request for claim in claims for request in claim["spec"].get("devices", {}).get("requests") or ())
        if not any(request.get("firstAvailable") for request in listed):
            return None
        from ghostfleet.schedulers.kube.plugins.deviceanswers import FirstAvailableScore, PodDevices

        needed = PodDevices(claims, pod.pod, self._extended, self._extended.serving(pod.info))
        return FirstAvailableScore(self._devices, claims, needed)

    def post_filter(self, cycle: CycleState, pod: Object, found: Diagnosis, now: int) -> PostFilterResult:  # noqa: ARG002
        if cycle.rejection is not None and cycle.rejection[0] != self.name:
            # It was never asked about the pod, stumbles over that, and so keeps preemption from its turn.
            return PostFilterResult("not found", nominate=None, final=True)
        asked = next((each for name, each in cycle.filters if name == self.name), None)
        if asked is None:
            return PostFilterResult("no new claims to deallocate")
        uid = pod["metadata"]["uid"]
        for claim in cast("DevicesFilter", asked).unavailable(cycle.refusal):
            if all(each["uid"] == uid for each in consumers_of(claim)):
                # Only then others can have its devices, or the pod other ones.
                message = "deallocation of ResourceClaim completed"
                return PostFilterResult(message, write=partial(self._deallocate, claim))
        stale = cast("DevicesFilter", asked).stale
        if stale is not None:
            message = "deletion of ResourceClaim completed"
            return PostFilterResult(message, write=partial(self._extended_claims.delete, stale))
        return PostFilterResult("still not schedulable")

    def _deallocate(self, claim: Object) -> None:
        metadata = claim["metadata"]
        if self._store.is_current(CLAIMS, metadata["namespace"], metadata["name"], claim):
            gone = ("allocation", "reservedFor", "devices")
            status = {key: value for key, value in claim["status"].items() if key not in gone}
            self._store.set_status(CLAIMS, claim, status)

    # -- after -------------------------------------------------------------------------------------------------------

    def reserve(self, pod: Object, info: SpecInfo, node: str) -> bool | None:
        try:
            claims = find_claims(self._store, pod)
        except ClaimError:
            return None
        slot = self.snapshot.nodes.slots[node]
        missing = [claim for claim in claims if allocation_of(claim) is None]
        planned = self._extended_claims.plan(pod, info, slot)
        if planned is not None:
            missing.append(planned)
        if missing:
            results = self._devices.allocate(slot, self._devices.claims(missing))
            if results is None:
                self.snapshot.nodes.touch(slot)
                return None
            for claim, result in zip(missing, results, strict=True):
                self._devices.assume(claim, result, pod)
        return not claims and planned is None

    def requests(self, info: SpecInfo) -> int:
        # The finalizer, and the status; before that a claim for extended resources, after it the pod's status.
        return 2 * len(info.resource_claims) + (4 if self._extended.serving(info) else 0)

    def pre_bind(self, pod: Object, info: SpecInfo, node: str) -> bool | None:
        """Write the devices to the pod's claims; None when somebody else was faster."""
        try:
            claims = find_claims(self._store, pod)
        except ClaimError:
            return None
        if (extended := self._written_extended(pod, info)) is not None:
            claims.append(extended)
        bound = []
        for claim in claims:
            written = claim if is_reserved_for(claim, pod) else self._bind(claim, pod)
            if written is None:
                return None
            bound.append(written)
        return self._conditions.are_met(pod, node, bound)

    def next_look(self, pod: Object) -> int | None:
        return self._conditions.next_look(pod)

    def _written_extended(self, pod: Object, info: SpecInfo) -> Object | None:
        """The claim for a pod's extended resources, written if it was planned only."""
        planned = self._extended_claims.planned(pod)
        if planned is None:
            return self._extended_claims.find(pod, info)
        claim = self._extended_claims.write(pod)
        self._devices.written_as(planned, claim)
        return claim

    def _bind(self, claim: Object, pod: Object) -> Object | None:
        """The claim with its devices, reserved for a pod."""
        allocation, pending = allocation_of(claim), self._devices.pending(claim)
        if (allocation is None) == (pending is None) or len(consumers_of(claim)) >= MOST_CONSUMERS:
            return None
        if pending is not None:
            claim = self._with_finalizer(claim)
            allocation = pending
        assert allocation is not None
        if "allocationTimestamp" not in allocation:
            allocation = {**allocation, "allocationTimestamp": rfc3339(self._store.clock.now())}
        reserved = [*consumers_of(claim), consumer(pod)]
        status = {**(claim.get("status") or {}), "allocation": allocation, "reservedFor": reserved}
        return self._store.set_status(CLAIMS, claim, status)

    def _with_finalizer(self, claim: Object) -> Object:
        finalizers = claim["metadata"].get("finalizers") or []
        if FINALIZER in finalizers:
            return claim
        metadata = {**claim["metadata"], "finalizers": [*finalizers, FINALIZER]}
        return self._store.replace(CLAIMS, claim, {**claim, "metadata": metadata})

    def unreserve(self, pod: Object, info: SpecInfo, node: str) -> None:  # noqa: ARG002
        self._conditions.forget(pod)
        if (planned := self._extended_claims.planned(pod)) is not None:
            self._devices.release(planned, pod)
            self._extended_claims.forget(pod)
        elif (extended := self._extended_claims.find(pod, info)) is not None:
            self._extended_claims.delete(extended)
        try:
            claims = find_claims(self._store, pod)
        except ClaimError:
            # A claim that goes takes along what it was going to have.
            return
        for claim in claims:
            self._devices.release(claim, pod)
            if is_reserved_for(claim, pod):
                uid = pod["metadata"]["uid"]
                left = [each for each in consumers_of(claim) if each["uid"] != uid]
                self._store.set_status(CLAIMS, claim, {**claim["status"], "reservedFor": left})


def _versions(claims: list[Object]) -> Iterator[tuple[str, str]]:
    return ((claim["metadata"]["uid"], claim["metadata"]["resourceVersion"]) for claim in claims)


def _requests(claim: str, request: Object) -> Iterator[tuple[str, str]]:
    """The names of a request, or of its subrequests, and of their classes."""
    if request.get("exactly") is not None:
        yield request["name"], request["exactly"].get("deviceClassName") or ""
    elif request.get("firstAvailable"):
        for each in request["firstAvailable"]:
            yield f"{request['name']}/{each['name']}", each.get("deviceClassName") or ""
    else:
        raise Rejected(f"resource claim {claim}, request {request['name']}: unknown request type")


def _too_many(claim: Object) -> str:
    metadata = claim["metadata"]
    return (
        f'running PreBind plugin "DynamicResources": add reservation to claim {metadata["namespace"]}/'
        f'{metadata["name"]}: ResourceClaim.resource.k8s.io "{metadata["name"]}" is invalid: status.reservedFor: '
        f"Too many: {MOST_CONSUMERS + 1}: must have at most {MOST_CONSUMERS} items"
    )
