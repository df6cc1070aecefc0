"""Scheduling with devices: a scenario given to a scheduler, one pod at a time, and what its claims hold afterwards.

A *verdict* is that of `scheduling`, with the claims of all pods as they are then: what is allocated to them, and for
whom they are reserved; where devices serve extended resources, also which. `replay_devices` follows the recorded scheduler: after each verdict pods and claims are put as
they were there, so that every pod meets the same cluster. A pod that ours would put on another of the best nodes is
given to ours again for the node of the recorded one, so that their devices can be compared.
"""

from __future__ import annotations

import json
import re

from parity_material.scheduling import Place, Verdict, differences

from ghostfleet.api.podclaims import CLAIMS, CLASSES, SLICES, TEMPLATES, consumer
from ghostfleet.controllers.resourceclaims import ResourceClaimController
from ghostfleet.core.changes import Object
from ghostfleet.core.profile import load_profile

__all__ = ["DEALLOCATED", "NAMESPACE_LABELS", "device_differences", "is_tried", "replay_devices", "seen_claims"]

#: How the message says that a claim was given back, after which the pod is tried again.
DEALLOCATED = "deallocation of ResourceClaim completed"
#: What lets claims of the namespace ask for admin access.
NAMESPACE_LABELS = {"resource.kubernetes.io/admin-access": "true"}
_POD_CLAIM = "resource.kubernetes.io/pod-claim-name"
_EXTENDED_CLAIM = "resource.kubernetes.io/extended-resource-claim"
_EXTENDED = "extended resources"
_GATES = [{"name": "example.com/parity"}]
_WRONG = 'running "DynamicResources" filter plugin: '
_DEVICE = re.compile(r"[\w.]+\.example\.com/\S+")
#: What is compared on the node of the recorded scheduler.
_OF_NODE = ("claims", "served")


def is_tried(pod: Object) -> bool:
    """Whether the claims that a pod names are there, without which it is not tried at all."""
    return all(each.get("resourceClaimName") != "missing" for each in pod["spec"].get("resourceClaims", ()))


def seen_claims(verdict: Verdict, pod: Object, claims: list[Object], events: list[Object]) -> Verdict:
    """A verdict with what claims hold then; those made for a pod are named by it, and what is random is left out."""
    message = verdict["message"]
    for claim in claims if message else ():
        message = message.replace(claim["metadata"]["name"], _name(claim))
    told = {**verdict, "message": message, "claims": {_name(claim): _told(claim) for claim in claims}}
    if served := pod["status"].get("extendedResourceClaimStatus", {}).get("requestMappings"):
        told["served"] = served
    if given_back := sorted({each["message"] for each in events if DEALLOCATED in each["message"]}):
        # Scores are of one attempt or another.
        told |= {"givenBack": given_back, "scores": {}}
    return told


def _name(claim: Object) -> str:
    metadata = claim["metadata"]
    owners = metadata.get("ownerReferences")
    if not owners:
        return str(metadata["name"])
    return f"{owners[0]['name']}/{(metadata.get('annotations') or {}).get(_POD_CLAIM, _EXTENDED)}"


def _told(claim: Object) -> Object:
    status = claim.get("status") or {}
    told: Object = {"reservedFor": sorted(each["name"] for each in status.get("reservedFor") or ())}
    if _name(claim).endswith(f"/{_EXTENDED}"):
        told["spec"] = claim["spec"]
    if allocation := status.get("allocation"):
        devices = dict(allocation["devices"])
        devices["results"] = [
            {**each, "shareID": "any"} if "shareID" in each else each for each in devices.get("results") or ()
        ]
        told["allocation"] = {**allocation, "devices": devices}
        told["allocation"].pop("allocationTimestamp", None)
    return told


def replay_devices(scenario: Object, recorded: list[Verdict]) -> list[Verdict]:
    """What our scheduler says to each pod, in the footsteps of the recorded one."""
    place = _DevicePlace(scenario)
    return [place.judge(pod, real) for pod, real in zip(scenario["arrivals"], recorded, strict=False)]


class _DevicePlace(Place):
    """A cluster with a scheduler and the controller of claims."""

    def __init__(self, scenario: Object) -> None:
        super().__init__()
        self._controller = ResourceClaimController(self.store, load_profile("instant"))
        self.patch("namespaces", "default", {"metadata": {"labels": NAMESPACE_LABELS}})
        for key, objects in ((CLASSES, "classes"), (SLICES, "slices"), (TEMPLATES, "templates"), (CLAIMS, "claims")):
            for each in scenario[objects]:
                self.create(key, {name: value for name, value in each.items() if name != "status"})
        for node in scenario["nodes"]:
            self.add_node(node)
        for pod in scenario["residents"]:
            self.settle(pod)
        self._put({each["metadata"]["name"]: each["status"] for each in scenario["claims"] if "status" in each})

    def judge(self, pod: Object, real: Verdict) -> Verdict:
        verdict = self._judged(pod)
        self.remove(pod)
        if real["node"] is None:
            return verdict
        if verdict["node"] not in (None, real["node"]):
            again = self._judged(_only_on(pod, real["node"]))
            verdict |= {what: again.get(what) for what in _OF_NODE}
            self.remove(pod)
        self.settle({**pod, "spec": {**pod["spec"], "nodeName": real["node"]}})
        self._serve(pod["metadata"]["name"], real)
        self._put(real["claims"])
        return verdict

    def _judged(self, pod: Object) -> Verdict:
        if is_tried(pod):
            # While it is gated its claims are made, and what nodes are worth can be asked.
            self.create("pods", {**pod, "spec": {**pod["spec"], "schedulingGates": _GATES}})
            name = pod["metadata"]["name"]
            scores = self.scores(self.store.get("pods", "default", name))
            self.patch("pods", name, {"spec": {"schedulingGates": None}})
            self.clock.settle()
        else:
            scores = {}
            self.create("pods", pod)
        seen = self.store.get("pods", "default", pod["metadata"]["name"])
        uid, node = seen["metadata"]["uid"], seen["spec"].get("nodeName")
        events = [each for each in self.store.list("events") if each["involvedObject"]["uid"] == uid]
        verdict = self.verdict(pod, scores if node else {})
        verdict = seen_claims(verdict, seen, self.store.list(CLAIMS), events)
        return {**verdict, "scores": verdict["scores"] or ({node: 0} if node else {})}

    def _serve(self, name: str, real: Verdict) -> None:
        """Make the claim by which devices serve the extended resources of a pod, if it has got one."""
        told = real["claims"].get(f"{name}/{_EXTENDED}")
        if told is None:
            return
        pod = self.store.get("pods", "default", name)
        owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod["metadata"]["uid"], "controller": True}
        about = {"generateName": f"{name}-extended-resources-", "annotations": {_EXTENDED_CLAIM: "true"}}
        head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
        claim = self.create(CLAIMS, {**head, "metadata": {**about, "ownerReferences": [owner]}, "spec": told["spec"]})
        served = {"resourceClaimName": claim["metadata"]["name"], "requestMappings": real["served"]}
        self.patch("pods", name, {"status": {"extendedResourceClaimStatus": served}}, "status")

    def _put(self, told: dict[str, Object]) -> None:
        """Let claims hold what they are told to."""
        pods = {pod["metadata"]["name"]: pod for pod in self.store.list("pods")}
        for claim in self.store.list(CLAIMS):
            status = told.get(_name(claim), {})
            held = {"allocation": status["allocation"]} if "allocation" in status else {}
            if users := status.get("reservedFor"):
                held["reservedFor"] = [consumer(pods[name]) for name in users]
            self.store.set_status(CLAIMS, claim, held)
        self.clock.settle()


def _only_on(pod: Object, node: str) -> Object:
    there = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [there]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {**pod, "spec": {**pod["spec"], "affinity": affinity}}


def _on_any_node(message: str | None) -> str | None:
    """A message without the device that showed an error: nodes are looked at all at once, and any may be the first."""
    return _DEVICE.sub("DEVICE", message) if message and _WRONG in message else message


def device_differences(real: Verdict, ours: Verdict) -> list[str]:
    """How a verdict of ours is not that of the real scheduler; claims are those on the node that it chose."""
    told = differences(*({**each, "message": _on_any_node(each["message"])} for each in (real, ours)))
    for what in ("givenBack", "served"):
        if real.get(what) != ours.get(what):
            told.append(f"{what}: real {real.get(what)}, ours {ours.get(what)}")
    names = sorted({*real["claims"], *ours["claims"]})
    differing = (name for name in names if real["claims"].get(name) != ours["claims"].get(name))
    both = (
        (name, *(json.dumps(each["claims"].get(name), sort_keys=True) for each in (real, ours))) for name in differing
    )
    return told + [f"{name}: real {theirs}, ours {own}" for name, theirs, own in both]
