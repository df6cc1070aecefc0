"""Scenarios of dynamic resource allocation: small clusters with devices, and the pods with claims that come to them.

A scenario has *nodes*, the *slices* and *classes* of three drivers (whole GPUs, partitions with shared counters, and
network devices that several nodes see), *templates* and *claims*, *residents* (pods that are bound, some with devices)
and *arrivals*, pods that come one after the other. Everything is drawn by a seed from few values, so that devices run
short, constraints bind and scores tie. In scenarios of *extended resources* a class also serves a resource that pods ask
for as they always did.
"""

from __future__ import annotations

from random import Random
from typing import Any

from parity_material.device_requests import claim_spec
from parity_material.scenarios import CLASSES

__all__ = ["COUNT", "device_scenario"]

Object = dict[str, Any]
#: How many scenarios there are; every so many is about extended resources.
COUNT, _EVERY = 280, 7
_GPU, _MIG, _NIC = "gpu.example.com", "mig.example.com", "nic.example.com"
_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_RESOURCE = "example.com/gpu"
_API = "resource.k8s.io/v1"
_LONG_AGO = "2026-01-01T00:00:00Z"
_FINALIZER = "resource.kubernetes.io/delete-protection"


def device_scenario(number: int) -> Object:
    """The scenario of a number, the same on every machine."""
    rng = Random(f"device parity {number}")
    extended = number % _EVERY == 0
    names = [f"node-{index}" for index in range(rng.randint(1, 5))]
    slices = [each for name in names for each in _slices(rng, name)] + _fabric(rng, names)
    # Where pods of low priority fill the nodes, others may have to drive them out.
    crowded = rng.random() < 0.3
    made = _Made(rng, names, slices, crowded=crowded)
    residents = [made.resident(index) for index in range(len(names) + 2 if crowded else rng.randint(0, 5))]
    for _ in range(rng.randint(0, 3)):
        made.idle_claim()
    arrivals = [made.arrival(index, extended=extended) for index in range(rng.randint(1, 3))]
    nodes = [_node(rng, name, plugin=extended and rng.random() < 0.2) for name in names]
    return {
        "nodes": nodes,
        "classes": _classes(rng, extended=extended),
        "slices": slices,
        "templates": made.templates,
        "claims": made.claims,
        "residents": residents,
        "arrivals": arrivals,
    }


def _node(rng: Random, name: str, *, plugin: bool) -> Object:
    labels = {_HOST: name, _ZONE: rng.choice(("zone-a", "zone-b"))}
    amounts = {"cpu": str(rng.choice((4, 8))), "memory": f"{rng.choice((8, 16))}Gi", "pods": "110"}
    if plugin:
        amounts[_RESOURCE] = str(rng.randint(1, 2))
    spec: Object = {}
    if rng.random() < 0.1:
        spec["taints"] = [{"key": "gpu", "value": "only", "effect": "NoSchedule"}]
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": status,
    }


def _named(kind: str, name: str, **parts: Any) -> Object:
    return {"apiVersion": _API, "kind": kind, "metadata": {"name": name}, **parts}


# -- devices ----------------------------------------------------------------------------------------------------------


def _classes(rng: Random, *, extended: bool) -> list[Object]:
    expressions = {
        "gpu": [f"device.driver == '{_GPU}'"],
        "h100": [f"device.driver == '{_GPU}'", f"device.attributes['{_GPU}'].model == 'H100'"],
        "mig": [f"device.driver == '{_MIG}'"],
        "nic": [f"device.driver == '{_NIC}'"],
    }
    made = []
    for name, selectors in expressions.items():
        spec: Object = {"selectors": [{"cel": {"expression": each}} for each in selectors]}
        if rng.random() < 0.2:
            spec["config"] = [{"opaque": {"driver": _GPU, "parameters": {"of": name}}}]
        if extended and name == "gpu":
            spec["extendedResourceName"] = _RESOURCE
        made.append(_named("DeviceClass", name, spec=spec))
    return made


def _slice(name: str, driver: str, pool: str, count: int, **spec: Any) -> Object:
    about = {"name": pool, "generation": 1, "resourceSliceCount": count}
    return _named("ResourceSlice", name, spec={"driver": driver, "pool": about, **spec})


def _slices(rng: Random, node: str) -> list[Object]:
    """What the drivers of a node publish; some have not published all of it yet, or the same device twice."""
    devices = [_gpu(rng, f"gpu-{index}") for index in range(rng.choice((0, 1, 2, 3, 4, 5)))]
    cut = rng.randint(0, len(devices)) if rng.random() < 0.25 else len(devices)
    parts = [part for part in (devices[:cut], devices[cut:]) if part]
    fate = rng.random()
    count = len(parts) + (fate < 0.04)
    if 0.04 < fate < 0.07 and len(parts) > 1:
        parts[1] = [*parts[1], parts[0][0]]
    made = [
        _slice(f"{node}-gpu-{place}", _GPU, node, count, nodeName=node, devices=part)
        for place, part in enumerate(parts)
    ]
    return made + (_partitions(rng, node) if rng.random() < 0.5 else [])


def _gpu(rng: Random, name: str) -> Object:
    attributes: Object = {"model": {"string": rng.choice(("A100", "H100"))}, "numa": {"int": rng.randint(0, 1)}}
    if rng.random() < 0.7:
        attributes["rack"] = {"string": rng.choice(("r1", "r2"))}
    device: Object = {"name": name, "attributes": attributes}
    memory: Object = {"value": rng.choice(("40Gi", "80Gi"))}
    if rng.random() < 0.2:
        device["allowMultipleAllocations"] = True
        memory["requestPolicy"] = rng.choice(
            (
                {"default": "10Gi", "validValues": ["10Gi", "20Gi"]},
                {"default": "8Gi", "validRange": {"min": "4Gi", "max": "32Gi", "step": "4Gi"}},
            )
        )
    device["capacity"] = {"memory": memory}
    if rng.random() < 0.15:
        effect = rng.choice(("NoSchedule", "NoExecute", "None"))
        device["taints"] = [{"key": "broken", "value": "x", "effect": effect, "timeAdded": _LONG_AGO}]
    return device


def _partitions(rng: Random, node: str) -> list[Object]:
    """One card in parts that share its slices and its memory."""
    pool = f"{node}-mig"
    counters = {"name": "card", "counters": {"slices": {"value": "7"}, "memory": {"value": "40Gi"}}}
    devices = []
    for place in range(rng.randint(2, 4)):
        size = rng.choice((1, 2, 3, 4, 7))
        used = {"slices": {"value": str(size)}, "memory": {"value": f"{5 * size}Gi"}}
        attributes = {"profile": {"string": f"{size}g"}, "numa": {"int": 0}}
        consumed = [{"counterSet": "card", "counters": used}]
        devices.append({"name": f"part-{place}", "attributes": attributes, "consumesCounters": consumed})
    return [
        _slice(f"{pool}-counters", _MIG, pool, 2, nodeName=node, sharedCounters=[counters]),
        _slice(f"{pool}-parts", _MIG, pool, 2, nodeName=node, devices=devices),
    ]


def _fabric(rng: Random, names: list[str]) -> list[Object]:
    """What several nodes see."""
    devices: list[Object] = [
        {"name": f"nic-{place}", "attributes": {"numa": {"int": place % 2}}} for place in range(rng.randint(1, 3))
    ]
    zone = {"key": _ZONE, "operator": "In", "values": [rng.choice(("zone-a", "zone-b"))]}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}
    how = rng.randint(0, 4)
    if how == 0:
        return []
    where: Object = {"allNodes": True} if how == 1 else {"nodeSelector": selector}
    if how == 4:
        for device in devices:
            device.update(rng.choice(({"allNodes": True}, {"nodeName": rng.choice(names)}, {"nodeSelector": selector})))
        where = {"perDeviceNodeSelection": True}
    return [_slice("fabric", _NIC, "fabric", 1, devices=devices, **where)]


# -- claims and pods --------------------------------------------------------------------------------------------------


class _Made:
    """Claims, templates and pods of one scenario, and which devices residents hold."""

    def __init__(self, rng: Random, nodes: list[str], slices: list[Object], *, crowded: bool) -> None:
        self._rng = rng
        self._crowded = crowded
        self._nodes = nodes
        self.templates: list[Object] = []
        self.claims: list[Object] = []
        #: The names of claims that others may share.
        self._shared: list[str] = []
        #: Claims that are allocated to no one, and their nodes.
        self._idle: list[tuple[str, str]] = []
        self._free: dict[str, list[str]] = {}
        for each in slices:
            spec = each["spec"]
            if spec["driver"] == _GPU:
                whole = [one["name"] for one in spec["devices"] if not one.get("allowMultipleAllocations")]
                self._free.setdefault(spec["nodeName"], []).extend(dict.fromkeys(whole))

    def resident(self, index: int) -> Object:
        rng, node = self._rng, self._rng.choice(self._nodes)
        pod = self._pod(f"resident-{index}", 0.2)
        if self._crowded:
            node = self._nodes[index % len(self._nodes)]
            pod["spec"]["priorityClassName"] = rng.choice(("low", "low", "normal"))
        pod["spec"]["nodeName"] = node
        if rng.random() < 0.6:
            claim = self._allocated(node)
            if claim is not None:
                claim["status"]["reservedFor"] = [pod["metadata"]["name"]]
                _use(pod, [{"name": "own", "resourceClaimName": claim["metadata"]["name"]}])
        return pod

    def idle_claim(self) -> None:
        """A claim that no pod uses; it may be allocated all the same."""
        node = self._rng.choice(self._nodes)
        if self._rng.random() < 0.7 and (claim := self._allocated(node)) is not None:
            self._idle.append((claim["metadata"]["name"], node))
        else:
            self._claim(claim_spec(self._rng))

    def _allocated(self, node: str) -> Object | None:
        """A claim that holds a device of a node; None when it has none left."""
        free = self._free.get(node)
        if not free:
            return None
        result = {"request": "held", "driver": _GPU, "pool": node, "device": free.pop(0)}
        there = {"key": "metadata.name", "operator": "In", "values": [node]}
        selector = {"nodeSelectorTerms": [{"matchFields": [there]}]}
        spec = {"devices": {"requests": [{"name": "held", "exactly": {"deviceClassName": "gpu"}}]}}
        claim = self._claim(spec)
        claim["metadata"]["finalizers"] = [_FINALIZER]
        allocation = {"devices": {"results": [result]}, "nodeSelector": selector, "allocationTimestamp": _LONG_AGO}
        claim["status"] = {"allocation": allocation}
        return claim

    def _claim(self, spec: Object) -> Object:
        name = f"claim-{len(self.claims)}"
        self.claims.append(_named("ResourceClaim", name, spec=spec))
        self._shared.append(name)
        return self.claims[-1]

    def arrival(self, index: int, *, extended: bool) -> Object:
        pod, rng = self._pod(f"arrival-{index}", 0.5), self._rng
        if extended and rng.random() < 0.85:
            resources = pod["spec"]["containers"][0].setdefault("resources", {})
            resources["limits"] = {_RESOURCE: str(rng.choice((1, 1, 2, 3)))}
            if rng.random() < 0.7:
                return pod
        if self._idle and len(self._nodes) > 1 and rng.random() < 0.3:
            # It can only go where the claim is not, which is given back then.
            name, there = self._idle.pop()
            pod["spec"]["nodeSelector"] = {_HOST: rng.choice([node for node in self._nodes if node != there])}
            _use(pod, [{"name": "c0", "resourceClaimName": name}])
            return pod
        uses = [self._used(place) for place in range(rng.choice((1, 1, 1, 2, 3)))]
        # A claim can be named but once.
        seen = {each.get("resourceClaimName", each["name"]): each for each in uses}
        _use(pod, list(seen.values()))
        return pod

    def _used(self, place: int) -> Object:
        rng, name = self._rng, f"c{place}"
        draw = rng.random()
        if draw < 0.02:
            return {"name": name, "resourceClaimName": "missing"}
        if draw < 0.3 and self._shared:
            return {"name": name, "resourceClaimName": rng.choice(self._shared)}
        if draw < 0.45:
            return {"name": name, "resourceClaimName": self._claim(claim_spec(rng))["metadata"]["name"]}
        if self.templates and rng.random() < 0.4:
            return {"name": name, "resourceClaimTemplateName": rng.choice(self.templates)["metadata"]["name"]}
        template = _named("ResourceClaimTemplate", f"template-{len(self.templates)}", spec={"spec": claim_spec(rng)})
        self.templates.append(template)
        return {"name": name, "resourceClaimTemplateName": template["metadata"]["name"]}

    def _pod(self, name: str, urgent: float) -> Object:
        rng = self._rng
        container: Object = {"name": "main", "image": "busybox:1"}
        requests: Object = {}
        if self._crowded or rng.random() < 0.6:
            requests["cpu"] = rng.choice(("3", "3500m") if self._crowded else ("500m", "1", "3"))
        if rng.random() < 0.3:
            requests["memory"] = rng.choice(("1Gi", "5Gi"))
        if requests:
            container["resources"] = {"requests": requests}
        spec: Object = {"automountServiceAccountToken": False, "containers": [container]}
        if rng.random() < 0.12:
            spec["nodeSelector"] = {_ZONE: rng.choice(("zone-a", "zone-b"))}
        if rng.random() < 0.3:
            spec["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
        if rng.random() < urgent:
            spec["priorityClassName"] = "high" if self._crowded else rng.choice(tuple(CLASSES))
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def _use(pod: Object, uses: list[Object]) -> None:
    pod["spec"]["resourceClaims"] = uses
    resources = pod["spec"]["containers"][0].setdefault("resources", {})
    resources["claims"] = [{"name": each["name"]} for each in uses]
