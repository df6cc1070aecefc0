"""The claims that kube-scheduler makes for the extended resources of pods.

A claim is *planned* when a pod gets a node, and written when the pod is bound; then the pod's status tells which
container uses which of its requests. A claim that is left over from an attempt to bind its pod is deleted.
"""

from __future__ import annotations

from ghostfleet.api.extendedresources import claim_for, device_requests, find_extended_claim
from ghostfleet.api.podclaims import CLAIMS, unprotected
from ghostfleet.core.changes import Object
from ghostfleet.schedulers.framework.podinfo import SpecInfo
from ghostfleet.schedulers.framework.snapshot import Snapshot
from ghostfleet.schedulers.kube.plugins.extendedresources import ExtendedResources

__all__ = ["ExtendedClaims"]


class ExtendedClaims:
    """Claims for extended resources in one store."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._store = snapshot.store
        self._resources = ExtendedResources.of(snapshot)
        #: Claims that are not written yet, and which containers use their requests, by the uids of pods.
        self._planned: dict[str, tuple[Object, list[Object]]] = {}

    def find(self, pod: Object, info: SpecInfo) -> Object | None:
        """The claim that was written for a pod."""
        return find_extended_claim(self._store, pod) if self._resources.serving(info) else None

    def plan(self, pod: Object, info: SpecInfo, slot: int) -> Object | None:
        """The claim that a pod needs on a node, with a uid for the time being; None if it needs none."""
        by_devices = self._resources.on(slot, self._resources.serving(info))
        if not by_devices:
            return None
        requests, mappings = device_requests(pod["spec"], by_devices)
        claim = claim_for(pod, requests)
        claim["metadata"]["uid"] = f"extended-resources-of-{pod['metadata']['uid']}"
        self._planned[pod["metadata"]["uid"]] = claim, mappings
        return claim

    def planned(self, pod: Object) -> Object | None:
        """The claim that is to be written for a pod."""
        found = self._planned.get(pod["metadata"]["uid"])
        return found[0] if found is not None else None

    def write(self, pod: Object) -> Object:
        """Write the claim that was planned, and tell the pod of it."""
        planned, mappings = self._planned.pop(pod["metadata"]["uid"])
        metadata = {key: value for key, value in planned["metadata"].items() if key != "uid"}
        namespace = metadata["namespace"]
        metadata["name"] = self._store.generate_name(CLAIMS, namespace, metadata["generateName"])
        claim = self._store.add(CLAIMS, {**planned, "metadata": metadata})
        current = self._store.get("pods", namespace, pod["metadata"]["name"])
        told = {"requestMappings": mappings, "resourceClaimName": metadata["name"]}
        self._store.set_status("pods", current, {**current["status"], "extendedResourceClaimStatus": told})
        return claim

    def forget(self, pod: Object) -> None:
        """The claim of a pod is not going to be written."""
        self._planned.pop(pod["metadata"]["uid"], None)

    def delete(self, claim: Object) -> None:
        """A claim goes, whatever it holds."""
        metadata = claim["metadata"]
        current = self._store.find(CLAIMS, metadata["namespace"], metadata["name"])
        if current is None or current["metadata"]["uid"] != metadata["uid"]:
            return
        self._store.update(CLAIMS, unprotected(current))
        if self._store.find(CLAIMS, metadata["namespace"], metadata["name"]) is not None:
            self._store.delete(CLAIMS, metadata["namespace"], metadata["name"])
