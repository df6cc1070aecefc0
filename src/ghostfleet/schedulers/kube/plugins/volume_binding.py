"""VolumeBinding: where a pod may go because of the volumes that its claims have, or could have.

The node affinity of a bound claim's volume says where the pod may be. A claim that waits for its first consumer can
take a free volume that fits the node, or have one made there if its class has a provisioner and allows the node's
topology; when the node is chosen the claim is told (`volume.kubernetes.io/selected-node`, or the volume's claimRef)
and the pod waits until it is bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ghostfleet.controllers.volumes.lookups import FreeVolumes
from ghostfleet.core.changes import Object
from ghostfleet.schedulers.framework.arguments import plugin_fields
from ghostfleet.schedulers.framework.nodetable import BoolArray
from ghostfleet.schedulers.framework.plugin import Filter, Objection, Plugin, Rejected, Slots
from ghostfleet.schedulers.framework.podinfo import PodInfo, SpecInfo
from ghostfleet.schedulers.framework.snapshot import Snapshot
from ghostfleet.schedulers.kube.plugins.claims import (
    KINDS,
    claim_names,
    class_name,
    could_take,
    find_claims,
    has_claims,
    is_bound,
    is_for,
    size_of,
    volume_size,
)

__all__ = ["VolumeBinding"]

SELECTED_NODE = "volume.kubernetes.io/selected-node"
_BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_NOT_NEAR = "node(s) didn't match PersistentVolume's node affinity"
_NONE_FREE = "node(s) didn't find available persistent volumes to bind"
_MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class VolumeBinding(Plugin):
    """Rules out nodes that a pod's volumes cannot be used on, and binds claims that wait for their first consumer."""

    name = "VolumeBinding"
    fields = frozenset(("volumes",))
    events = frozenset(("nodes", *KINDS))

    @classmethod
    def read_arguments(cls, path: str, given: Mapping[str, Any]) -> None:
        plugin_fields(path, given, "bindTimeoutSeconds", "shape")

    def __init__(self, snapshot: Snapshot, arguments: Any = None) -> None:
        super().__init__(snapshot, arguments)
        self._free = FreeVolumes(snapshot.store)

    def sign(self, pod: Object, info: SpecInfo) -> tuple[object, ...] | None:
        if not has_claims(info):
            return None
        name = pod["metadata"]["name"] if info.ephemeral else ""
        return self.name, name, self.snapshot.revision(KINDS), self.snapshot.nodes.version

    def concerns(self, info: SpecInfo) -> bool:
        return has_claims(info)

    # -- before ------------------------------------------------------------------------------------------------------

    def pre_filter(self, pod: PodInfo) -> Filter | None:
        if not has_claims(pod.info):
            return None
        claims = self._claims(pod)
        waiting = [claim for claim in claims if not is_bound(claim)]
        if any(not self._waits_for_consumer(claim) or claim["spec"].get("volumeName") for claim in waiting):
            raise Rejected("pod has unbound immediate PersistentVolumeClaims")
        everywhere: BoolArray = np.ones(self.snapshot.nodes.capacity, np.bool_)
        near, exists = everywhere.copy(), everywhere.copy()
        for claim in claims:
            if is_bound(claim):
                volume = self.snapshot.store.find("persistentvolumes", "", claim["spec"].get("volumeName", ""))
                if volume is None:
                    exists[:] = False
                else:
                    near &= reaches(self.snapshot, volume)
        can_bind = self._can_bind(waiting) if waiting else everywhere
        return VolumesFilter({_NOT_NEAR: near, _NONE_FREE: can_bind, _MISSING: exists})

    def _claims(self, pod: PodInfo) -> list[Object]:
        """The claims of a pod, all of them there and well."""
        found = find_claims(self.snapshot.store, pod.pod, pod.info)
        there = {claim["metadata"]["name"] for claim in found}
        for name in claim_names(pod.pod, pod.info):
            if name not in there and name in pod.info.claims:
                raise Rejected(f'persistentvolumeclaim "{name}" not found')
            if name not in there:
                raise Rejected(f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"')
        for claim in found:
            _check_alive(claim)
        return found

    def _class(self, claim: Object) -> Object | None:
        name = class_name(claim)
        return self.snapshot.store.find("storageclasses.storage.k8s.io", "", name) if name else None

    def _waits_for_consumer(self, claim: Object) -> bool:
        storage_class = self._class(claim)
        return storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"

    # -- claims that wait for their consumer -------------------------------------------------------------------------

    def _can_bind(self, claims: Sequence[Object]) -> BoolArray:
        """Nodes on which every claim can take a volume or have one made."""
        mask: BoolArray = np.ones(self.snapshot.nodes.capacity, np.bool_)
        undecided = []
        for claim in sorted(claims, key=size_of):
            made = self._can_be_made(claim)
            chosen = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
            if chosen is None:
                volumes = [
                    (each["metadata"]["name"], reaches(self.snapshot, each)) for each in self._available_volumes(claim)
                ]
                undecided.append((made, volumes))
                continue
            here = np.zeros(len(mask), np.bool_)
            if chosen in self.snapshot.nodes.slots:
                here[self.snapshot.nodes.slots[chosen]] = True
            mask &= here & made
        if len(undecided) == 1:
            made, volumes = undecided[0]
            for _, reached in volumes:
                made = made | reached
            return mask & made
        for slot in np.flatnonzero(mask & self.snapshot.nodes.present):
            mask[slot] = _enough_for_all(undecided, int(slot))
        return mask

    def _can_be_made(self, claim: Object) -> BoolArray:
        storage_class = self._class(claim) or {}
        mask: BoolArray = np.zeros(self.snapshot.nodes.capacity, np.bool_)
        if storage_class.get("provisioner") in (None, "", _NO_PROVISIONER):
            return mask
        terms = storage_class.get("allowedTopologies") or ()
        for term in terms:
            wanted = [{**each, "operator": "In"} for each in term.get("matchLabelExpressions") or ()]
            mask |= self.snapshot.matcher.any_term([{"matchExpressions": wanted}])
        return mask if terms else ~mask

    def _available_volumes(self, claim: Object) -> list[Object]:
        """Volumes that a claim could take, the smallest first."""
        fitting = [each for each in self._free.for_claim(claim) if could_take(claim, each)]
        return sorted(fitting, key=lambda volume: (not is_for(volume, claim), volume_size(volume)))

    # -- after -------------------------------------------------------------------------------------------------------

    def reserve(self, pod: Object, info: SpecInfo, node: str) -> bool:
        """Tell the pod's claims of its node; true when all of them are bound already."""
        claims = [claim for claim in find_claims(self.snapshot.store, pod, info) if not is_bound(claim)]
        slot = self.snapshot.nodes.slots[node]
        taken: set[str] = set()
        for claim in sorted(claims, key=size_of):
            volume = next(
                (
                    each
                    for each in self._available_volumes(claim)
                    if each["metadata"]["name"] not in taken and reaches(self.snapshot, each)[slot]
                ),
                None,
            )
            if volume is not None:
                taken.add(volume["metadata"]["name"])
                self.snapshot.store.update("persistentvolumes", _given(volume, claim))
            else:
                annotations = {**(claim["metadata"].get("annotations") or {}), SELECTED_NODE: node}
                told = {**claim, "metadata": {**claim["metadata"], "annotations": annotations}}
                self.snapshot.store.update("persistentvolumeclaims", told)
        return not claims

    def pre_bind(self, pod: Object, info: SpecInfo, node: str) -> bool | None:
        """Whether the pod's claims are all bound; None when one of them has lost its node."""
        claims = find_claims(self.snapshot.store, pod, info)
        for claim in claims:
            if not is_bound(claim) and (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE, node) != node:
                return None
        return len(claims) == len(info.claims) + len(info.ephemeral) and all(map(is_bound, claims))


class VolumesFilter(Filter):
    """Nodes that a pod's volumes allow, by the reason why others are not; all that is ruled out is so for good.

    A pod's signature changes with its volumes and with nodes, so that these need not be looked at again.
    """

    sequential = True

    def __init__(self, allowed: Mapping[str, BoolArray]) -> None:
        self._allowed = allowed

    def objections(self, slots: Slots) -> Sequence[Objection]:
        return [Objection(reason, ~mask[slots], False) for reason, mask in self._allowed.items()]


def reaches(snapshot: Snapshot, volume: Object) -> BoolArray:
    """Nodes that a volume can be used on."""
    required = ((volume["spec"].get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms")
    return np.ones(snapshot.nodes.capacity, np.bool_) if required is None else snapshot.matcher.any_term(required)


def _enough_for_all(claims: Sequence[tuple[BoolArray, list[tuple[str, BoolArray]]]], slot: int) -> bool:
    """Whether claims do on a node without wanting the same volume."""
    taken: set[str] = set()
    for made, volumes in claims:
        found = next((name for name, reached in volumes if name not in taken and reached[slot]), None)
        if found is not None:
            taken.add(found)
        elif not made[slot]:
            return False
    return True


def _check_alive(claim: Object) -> None:
    name = claim["metadata"]["name"]
    if (claim.get("status") or {}).get("phase") == "Lost":
        gone = claim["spec"].get("volumeName", "")
        raise Rejected(f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{gone}"')
    if "deletionTimestamp" in claim["metadata"]:
        raise Rejected(f'persistentvolumeclaim "{name}" is being deleted')


def _given(volume: Object, claim: Object) -> Object:
    metadata = claim["metadata"]
    reference: dict[str, Any] = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "resourceVersion": metadata["resourceVersion"],
    }
    own = volume["metadata"]
    annotations = own.get("annotations") or {}
    if not is_for(volume, claim):
        annotations = {**annotations, _BOUND_BY_CONTROLLER: "yes"}
    return {
        **volume,
        "metadata": {**own, "annotations": annotations} if annotations else own,
        "spec": {**volume["spec"], "claimRef": reference},
    }
