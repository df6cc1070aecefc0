"""Volumes: where a pod may go because of the storage it claims.

A claim is *bound* when it has its volume, and then the volume's node affinity and zone labels say where the pod may
be. An unbound claim of a class that binds at once must be waited for. One that waits for its first consumer can take
a free volume that fits the node, or have one made there if its class has a provisioner and allows the node's
topology; when the node is chosen the claim is told (`volume.kubernetes.io/selected-node`, or the volume's claimRef)
and the pod waits until it is bound. A claim for one pod only (ReadWriteOncePod) rules every node out while another
pod uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ghostfleet.controllers.volumes.lookups import FreeVolumes
from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import parse
from ghostfleet.core.selectors import selector_from_object
from ghostfleet.core.store import Store
from ghostfleet.schedulers.kube.facts import Facts
from ghostfleet.schedulers.kube.matching import Matcher
from ghostfleet.schedulers.kube.table import BoolArray, NodeTable

__all__ = ["VolumeVerdict", "Volumes"]

SELECTED_NODE = "volume.kubernetes.io/selected-node"
_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_ZONES = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)
_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
_IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)


class VolumeVerdict(NamedTuple):
    """What a pod's claims mean for its placement."""

    #: The plugin that refuses the pod as a whole, and why.
    refusal: tuple[str, str] | None = None
    #: Plugin, reason, nodes that it allows, whether what it rules out is final.
    rulings: tuple[tuple[str, str, BoolArray, bool], ...] = ()
    #: Nodes that all rulings allow.
    allowed: BoolArray | None = None


class _Refused(Exception):
    """Carries the plugin and the reason."""


class Volumes:
    """The claims, volumes and classes in one store, as the scheduler sees them."""

    def __init__(
        self, store: Store, table: NodeTable, matcher: Matcher, used_by_others: Callable[[str, str], bool]
    ) -> None:
        self._store = store
        self._free = FreeVolumes(store)
        self._table = table
        self._matcher = matcher
        self._used_by_others = used_by_others
        #: Counts changes of anything here.
        self.version = 0

    # -- before ------------------------------------------------------------------------------------------------------

    def verdict(self, pod: Object, facts: Facts) -> VolumeVerdict | None:
        """Where the pod may go; None when it claims nothing."""
        if not facts.claims and not facts.ephemeral:
            return None
        try:
            claims = self._claims(pod, facts)
            rulings = self._rulings(claims, facts.claims)
        except _Refused as refused:
            return VolumeVerdict((refused.args[0], refused.args[1]))
        allowed: BoolArray = np.ones(self._table.capacity, np.bool_)
        for _, _, mask, _ in rulings:
            allowed &= mask
        return VolumeVerdict(None, tuple(rulings), allowed)

    def _claims(self, pod: Object, facts: Facts) -> list[Object]:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        found = []
        for claim_name in facts.claims:
            claim = self._store.find("persistentvolumeclaims", namespace, claim_name)
            if claim is None:
                raise _Refused("VolumeBinding", f'persistentvolumeclaim "{claim_name}" not found')
            found.append(claim)
        for volume in facts.ephemeral:
            claim = self._store.find("persistentvolumeclaims", namespace, f"{name}-{volume}")
            if claim is None:
                waiting = (
                    f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}-{volume}"'
                )
                raise _Refused("VolumeBinding", waiting)
            found.append(claim)
        for claim in found:
            _check_alive(claim)
        return found

    def _rulings(self, claims: Sequence[Object], listed: Sequence[str]) -> list[tuple[str, str, BoolArray, bool]]:
        rulings = []
        everywhere = np.ones(self._table.capacity, np.bool_)
        if any(self._taken(claim) for claim in claims):
            rulings.append(("VolumeRestrictions", _IN_USE, ~everywhere, False))
        bound = [claim for claim in claims if _is_bound(claim)]
        waiting = [claim for claim in claims if not _is_bound(claim)]
        if any(not self._waits_for_consumer(claim) or claim["spec"].get("volumeName") for claim in waiting):
            raise _Refused("VolumeBinding", _IMMEDIATE)
        near, exists, zoned = everywhere.copy(), everywhere.copy(), everywhere.copy()
        for claim in bound:
            name = claim["spec"].get("volumeName", "")
            volume = self._store.find("persistentvolumes", "", name)
            if volume is None and claim["metadata"]["name"] in listed:
                raise _Refused("VolumeZone", f'persistentvolume "{name}" not found')
            if volume is None:
                exists[:] = False
            else:
                near &= self._reaches(volume)
                zoned &= self._in_zone(volume)
        rulings.append(("VolumeBinding", "node(s) didn't match PersistentVolume's node affinity", near, True))
        can_bind = self._can_bind(waiting) if waiting else everywhere
        rulings.append(("VolumeBinding", "node(s) didn't find available persistent volumes to bind", can_bind, True))
        missing = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
        rulings.append(("VolumeBinding", missing, exists, True))
        rulings.append(("VolumeZone", "node(s) had no available volume zone", zoned, True))
        return [each for each in rulings if not each[2].all()]

    def _taken(self, claim: Object) -> bool:
        single = "ReadWriteOncePod" in (claim["spec"].get("accessModes") or ())
        return single and self._used_by_others(claim["metadata"]["namespace"], claim["metadata"]["name"])

    def _class(self, claim: Object) -> Object | None:
        name = _class_name(claim)
        return self._store.find("storageclasses.storage.k8s.io", "", name) if name else None

    def _waits_for_consumer(self, claim: Object) -> bool:
        storage_class = self._class(claim)
        return storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"

    def _reaches(self, volume: Object) -> BoolArray:
        """Nodes that a volume can be used on."""
        required = ((volume["spec"].get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms")
        return np.ones(self._table.capacity, np.bool_) if required is None else self._matcher.any_term(required)

    def _in_zone(self, volume: Object) -> BoolArray:
        labels = volume["metadata"].get("labels") or {}
        asked = [(key, set(labels[key].split("__"))) for key in _ZONES if key in labels]
        mask: BoolArray = np.ones(self._table.capacity, np.bool_)
        for slot, node in enumerate(self._table.nodes) if asked else ():
            own = (node["metadata"].get("labels") or {}) if node is not None else {}
            if any(key in own for key in _ZONES):
                newer = {key: own.get(key, own.get(key.replace("failure-domain.beta", "topology"))) for key, _ in asked}
                mask[slot] = all(newer[key] in values for key, values in asked)
        return mask

    # -- claims that wait for their consumer -------------------------------------------------------------------------

    def _can_bind(self, claims: Sequence[Object]) -> BoolArray:
        """Nodes on which every claim can take a volume or have one made."""
        mask: BoolArray = np.ones(self._table.capacity, np.bool_)
        undecided = []
        for claim in sorted(claims, key=_size):
            made = self._can_be_made(claim)
            chosen = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
            if chosen is None:
                volumes = [(each["metadata"]["name"], self._reaches(each)) for each in self._free_volumes(claim)]
                undecided.append((made, volumes))
                continue
            here = np.zeros(len(mask), np.bool_)
            if chosen in self._table.slots:
                here[self._table.slots[chosen]] = True
            mask &= here & made
        if len(undecided) == 1:
            made, volumes = undecided[0]
            for _, reached in volumes:
                made = made | reached
            return mask & made
        for slot in np.flatnonzero(mask & self._table.present):
            mask[slot] = _enough_for_all(undecided, int(slot))
        return mask

    def _can_be_made(self, claim: Object) -> BoolArray:
        storage_class = self._class(claim) or {}
        mask: BoolArray = np.zeros(self._table.capacity, np.bool_)
        if storage_class.get("provisioner") in (None, "", _NO_PROVISIONER):
            return mask
        terms = storage_class.get("allowedTopologies") or ()
        for term in terms:
            wanted = [{**each, "operator": "In"} for each in term.get("matchLabelExpressions") or ()]
            mask |= self._matcher.any_term([{"matchExpressions": wanted}])
        return mask if terms else ~mask

    def _free_volumes(self, claim: Object) -> list[Object]:
        """Volumes that a claim could take, the smallest first."""
        fitting = [each for each in self._free.for_claim(claim) if _could_take(claim, each)]
        return sorted(fitting, key=lambda volume: (not _is_for(volume, claim), _capacity(volume)))

    # -- after -------------------------------------------------------------------------------------------------------

    def reserve(self, pod: Object, facts: Facts, node: str) -> bool:
        """Tell the pod's claims of its node; true when all of them are bound already."""
        claims = [claim for claim in self._claims_there(pod, facts) if not _is_bound(claim)]
        slot = self._table.slots[node]
        taken: set[str] = set()
        for claim in sorted(claims, key=_size):
            volume = next(
                (
                    each
                    for each in self._free_volumes(claim)
                    if each["metadata"]["name"] not in taken and self._reaches(each)[slot]
                ),
                None,
            )
            if volume is not None:
                taken.add(volume["metadata"]["name"])
                self._store.update("persistentvolumes", _given(volume, claim))
            else:
                annotations = {**(claim["metadata"].get("annotations") or {}), SELECTED_NODE: node}
                told = {**claim, "metadata": {**claim["metadata"], "annotations": annotations}}
                self._store.update("persistentvolumeclaims", told)
        return not claims

    def bound(self, pod: Object, facts: Facts, node: str) -> bool | None:
        """Whether the pod's claims are all bound; None when one of them has lost its node."""
        claims = self._claims_there(pod, facts)
        for claim in claims:
            if not _is_bound(claim) and (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE, node) != node:
                return None
        return len(claims) == len(facts.claims) + len(facts.ephemeral) and all(map(_is_bound, claims))

    def _claims_there(self, pod: Object, facts: Facts) -> list[Object]:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        names = (*facts.claims, *(f"{name}-{volume}" for volume in facts.ephemeral))
        found = (self._store.find("persistentvolumeclaims", namespace, each) for each in names)
        return [claim for claim in found if claim is not None]


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
        raise _Refused(
            "VolumeBinding", f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{gone}"'
        )
    if "deletionTimestamp" in claim["metadata"]:
        raise _Refused("VolumeBinding", f'persistentvolumeclaim "{name}" is being deleted')


def _is_bound(claim: Object) -> bool:
    completed = _BIND_COMPLETED in (claim["metadata"].get("annotations") or {})
    return bool(claim["spec"].get("volumeName")) and (completed or (claim.get("status") or {}).get("phase") == "Bound")


def _class_name(claim: Object) -> str:
    old = (claim["metadata"].get("annotations") or {}).get("volume.beta.kubernetes.io/storage-class")
    name: str = old if old is not None else claim["spec"].get("storageClassName") or ""
    return name


def _size(claim: Object) -> int:
    return parse(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", 0)).nano


def _capacity(volume: Object) -> int:
    return parse((volume["spec"].get("capacity") or {}).get("storage", 0)).nano


def _is_for(volume: Object, claim: Object) -> bool:
    reference = volume["spec"].get("claimRef") or {}
    metadata = claim["metadata"]
    same = reference.get("name") == metadata["name"] and reference.get("namespace") == metadata["namespace"]
    return same and reference.get("uid", "") in ("", metadata["uid"])


def _could_take(claim: Object, volume: Object) -> bool:
    spec, wanted = volume["spec"], claim["spec"]
    if spec.get("claimRef") is not None and not _is_for(volume, claim):
        return False
    if _capacity(volume) < _size(claim) or "deletionTimestamp" in volume["metadata"]:
        return False
    if spec.get("volumeMode", "Filesystem") != wanted.get("volumeMode", "Filesystem"):
        return False
    if (spec.get("volumeAttributesClassName") or "") != (wanted.get("volumeAttributesClassName") or ""):
        return False
    if _is_for(volume, claim):
        return True
    selector = wanted.get("selector")
    return (
        (volume.get("status") or {}).get("phase") == "Available"
        and (spec.get("storageClassName") or "") == _class_name(claim)
        and set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ())
        and (selector is None or selector_from_object(selector).matches(volume["metadata"].get("labels")))
    )


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
    if not _is_for(volume, claim):
        annotations = {**annotations, _BOUND_BY_CONTROLLER: "yes"}
    return {
        **volume,
        "metadata": {**own, "annotations": annotations} if annotations else own,
        "spec": {**volume["spec"], "claimRef": reference},
    }
