"""Device claims and the devices of nodes, from objects to what KAI sees in them.

A device is known as `node/driver/pool/name`. Which devices a class has on a node is worked out once a slice, by the
class's selectors. KAI looks at claims for a number of devices of one class; a claim that asks for more than that has a
*problem*, and so have the pods that use it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ghostfleet.api.deviceselectors import DeviceView, SelectorError, device_selector
from ghostfleet.api.podclaims import CLAIMS, CLASSES, SLICES, ClaimError, claim_names
from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store
from ghostfleet.schedulers.kai.claims import GPU_DEVICE_CLASSES, ResourceClaim

__all__ = ["DeviceBook", "pod_claims"]

Key = tuple[str, str]


def pod_claims(pod: Object) -> tuple[tuple[str, str, bool], ...]:
    """The claims of a pod: the name by which it refers to each, the claim's own, and whether it was made for the pod.

    A ClaimError where one is not made yet."""
    stated = pod["spec"].get("resourceClaims") or ()
    return tuple((each["name"], name, own) for each, (name, own) in zip(stated, claim_names(pod), strict=False))


class DeviceBook:
    """The claims of one store, and the devices that its nodes have by class."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.claims: dict[Key, ResourceClaim] = {}
        #: By claim, why KAI cannot allocate it.
        self.problems: dict[Key, str] = {}
        #: By `node/class`.
        self.devices: dict[str, tuple[str, ...]] = {}
        self._slices: dict[str, Object] = {}

    def read(self) -> None:
        """Read everything anew."""
        self._slices = {each["metadata"]["name"]: each for each in self._store.list(SLICES)}
        self.devices = {}
        for node in dict.fromkeys(each["spec"].get("nodeName") or "" for each in self._slices.values()):
            self._look_at(node)
        self.claims, self.problems = {}, {}
        for claim in self._store.list(CLAIMS):
            self.set_claim(claim)

    def set_slice(self, name: str, resource_slice: Object | None) -> str:
        """Take in a slice, or let go of it; answers the node whose devices may be others now."""
        old = self._slices.pop(name, None)
        if resource_slice is not None:
            self._slices[name] = resource_slice
        known = resource_slice if resource_slice is not None else old
        node: str = (known or {}).get("spec", {}).get("nodeName") or ""
        self._look_at(node)
        return node

    def set_claim(self, claim: Object) -> None:
        own = claim["metadata"]
        key = (own["namespace"], own["name"])
        self.problems.pop(key, None)
        request, problem = _request(claim)
        if problem:
            self.problems[key] = problem
        status = claim.get("status") or {}
        results = (((status.get("allocation") or {}).get("devices") or {}).get("results")) or ()
        self.claims[key] = ResourceClaim(
            *key,
            request.get("deviceClassName", ""),
            request.get("count") or 1,
            own.get("labels") or {},
            tuple(self._known_as(each) for each in results),
            tuple(each["uid"] for each in status.get("reservedFor") or ()),
        )

    def forget_claim(self, key: Key) -> None:
        self.claims.pop(key, None)
        self.problems.pop(key, None)

    def gpus_of(self, node: str) -> int:
        """How many devices of a node are GPUs."""
        return len({each for name in GPU_DEVICE_CLASSES for each in self.devices.get(f"{node}/{name}", ())})

    def asked_gpus(self, namespace: str, claims: Sequence[tuple[str, str, bool]]) -> int:
        """How many GPUs a pod asks for by its claims."""
        found = (self.claims.get((namespace, name)) for _reference, name, _own in claims)
        return sum(claim.count for claim in found if claim is not None and claim.is_gpu)

    def problem_of(self, pod: Object) -> str:
        """Why the claims of a pod let it not be scheduled yet; "" when they do."""
        try:
            claims = pod_claims(pod)
        except ClaimError as error:
            return str(error)
        namespace = pod["metadata"]["namespace"]
        for _reference, name, _own in claims:
            if (namespace, name) not in self.claims:
                return f'failed to get resource claim {namespace}/{name}: "{namespace}/{name}" not found'
            if (namespace, name) in self.problems:
                return f"resource claim {namespace}/{name}: {self.problems[namespace, name]}"
        return ""

    def allocations(self, pod: Object, node: str, allotted: Mapping[str, Sequence[str]]) -> list[Object]:
        """What a bind request says of a pod's claims: the devices that each gets."""
        found = []
        own = {reference: name for reference, name, _own in pod_claims(pod)}
        for reference, devices in allotted.items():
            claim = self._store.find(CLAIMS, pod["metadata"]["namespace"], own.get(reference, ""))
            asked = _request(claim)[0].get("name", "") if claim is not None else ""
            field = {"key": "metadata.name", "operator": "In", "values": [node]}
            selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
            results = [_result(asked, device) for device in devices]
            allocation = {"devices": {"results": results}, "nodeSelector": selector}
            found.append({"name": reference, "allocation": allocation})
        return found

    def _look_at(self, node: str) -> None:
        """Find out anew which devices of a node are of which class."""
        for key in [key for key in self.devices if key.startswith(f"{node}/")]:
            del self.devices[key]
        if not node:
            return
        slices = [each for each in self._slices.values() if each["spec"].get("nodeName") == node]
        for device_class in self._store.list(CLASSES):
            devices = tuple(each for one in slices for each in _of_class(one, device_class))
            if devices:
                self.devices[f"{node}/{device_class['metadata']['name']}"] = devices

    def _known_as(self, result: Object) -> str:
        name = f"{result['driver']}/{result['pool']}/{result['device']}"
        for each in self._slices.values():
            spec = each["spec"]
            if (spec["driver"], spec["pool"]["name"]) == (result["driver"], result["pool"]):
                return f"{spec.get('nodeName') or ''}/{name}"
        return f"{result['pool']}/{name}"


def _of_class(resource_slice: Object, device_class: Object) -> Iterator[str]:
    """The devices of a slice that the selectors of a class match; one that cannot be asked is none."""
    spec = resource_slice["spec"]
    driver, pool = spec["driver"], spec["pool"]["name"]
    stated = (device_class.get("spec") or {}).get("selectors") or ()
    selectors = [device_selector((each.get("cel") or {}).get("expression") or "") for each in stated]
    for device in spec.get("devices") or ():
        view = DeviceView(driver, device)
        try:
            if all(selector.matches(view) for selector in selectors):
                yield f"{spec['nodeName']}/{driver}/{pool}/{device['name']}"
        except SelectorError:
            continue


def _request(claim: Object) -> tuple[Object, str]:
    """What a claim asks for, with the name of the request, and why KAI cannot take it, if so."""
    devices = (claim.get("spec") or {}).get("devices") or {}
    requests = devices.get("requests") or ()
    exactly = (requests[0].get("exactly") or {}) if requests else {}
    found = {**exactly, "name": requests[0]["name"]} if requests else {}
    if len(requests) != 1 or not exactly:
        return found, "KAI takes claims with one request for exactly one class here"
    if devices.get("constraints") or exactly.get("selectors"):
        return found, "KAI takes claims without selectors and constraints of their own here"
    if exactly.get("allocationMode", "ExactCount") != "ExactCount":
        return found, "KAI takes claims for a number of devices here, not for all"
    return found, ""


def _result(request: str, device: str) -> Object:
    _node, driver, pool, name = device.split("/", 3)
    return {"request": request, "driver": driver, "pool": pool, "device": name}
