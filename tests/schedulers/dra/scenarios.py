"""Scenarios of DRA drawn at random: nodes, slices, classes, claims, and what is allocated already.

They are small, and full of what decides between devices: pools in several slices and generations, slices of one node,
of some or of all, partitions that share counters, shared devices with request policies, taints, missing attributes,
constraints, subrequests, admin access, requests for all devices. The schema is that of `cases.dra`.
"""

from __future__ import annotations

from random import Random
from typing import Any

__all__ = ["ALL_FEATURES", "STABLE_FEATURES", "scenario"]

STABLE_FEATURES = ("DRAAdminAccess", "DRADeviceTaints", "DRAPartitionableDevices", "DRAPrioritizedList")
ALL_FEATURES = (
    *STABLE_FEATURES,
    "DRAConsumableCapacity",
    "DRADeviceBindingConditions+DRAResourceClaimDeviceStatus",
    "DRAListTypeAttributes",
)
_DRIVER, _NIC = "gpu.example.com", "nic.example.com"
_SELECTORS = (
    f"device.attributes['{_DRIVER}'].model == 'H100'",
    f"device.attributes['{_DRIVER}'].numa < 2",
    f"device.driver == '{_DRIVER}' && 'rack' in device.attributes['{_DRIVER}']",
    f"has(device.attributes['{_DRIVER}'].rack)",
    f"device.attributes['{_DRIVER}'].?numa.orValue(0) == 0",
    f"device.attributes['{_DRIVER}'].version.isGreaterThan(semver('1.9.0'))",
    f"device.capacity['{_DRIVER}'].memory.compareTo(quantity('40Gi')) >= 0",
    f"device.driver == '{_NIC}' || device.attributes['{_DRIVER}'].model in ['A100', 'L4']",
    f"cel.bind(a, device.attributes['{_DRIVER}'], a.model.startsWith('H') || a.numa > 1)",
    "device.allowMultipleAllocations",
    "device.driver.endsWith('example.com')",
    f"device.attributes['{_DRIVER}'].healthy",
)
_WRONG = ("device.nope == 1", "device.driver", "device.driver ==", f"device.attributes['{_DRIVER}'].model + 1 == 2")


def scenario(rng: Random, features: tuple[str, ...] = ALL_FEATURES) -> dict[str, Any]:
    """One scenario, with these gates or some of them on."""
    on = [each for each in features if rng.random() < 0.85]
    names = [f"node-{place}" for place in range(rng.randint(1, 3))]
    slices = [each for name in names for each in _of_node(rng, name, on)]
    if rng.random() < 0.5:
        slices += _network(rng, names, on)
    rng.shuffle(slices)
    for place, each in enumerate(slices):
        each["metadata"] = {"name": f"slice-{rng.randint(0, 99):02d}-{place}"}
    return {
        "features": on,
        "nodes": [
            {"metadata": {"name": name, "labels": {"zone": f"z{place % 2}"}}} for place, name in enumerate(names)
        ],
        "classes": _classes(rng),
        "slices": slices,
        "claims": [_claim(rng, place, on) for place in range(rng.choice((1, 1, 2, 3)))],
        **_allocated(rng, slices),
    }


def _of_node(rng: Random, node: str, on: list[str]) -> list[dict[str, Any]]:
    devices = [_device(rng, f"gpu-{place}", on) for place in range(rng.randint(1, 5))]
    cut = rng.randint(0, len(devices)) if rng.random() < 0.4 else len(devices)
    parts = [each for each in (devices[:cut], devices[cut:]) if each]
    made = [_slice(node, _DRIVER, part, len(parts), nodeName=node) for part in parts]
    fate = rng.random()
    if fate < 0.06:
        made.pop()
    elif fate < 0.1:
        made[-1]["spec"]["pool"]["generation"] = 2
    elif fate < 0.13:
        made[-1]["spec"]["devices"].append(dict(made[0]["spec"]["devices"][0]))
    if rng.random() < 0.4:
        made += _partitions(rng, node)
    return made


def _slice(pool: str, driver: str, devices: list[dict[str, Any]], count: int, **where: Any) -> dict[str, Any]:
    about = {"name": pool, "generation": 1, "resourceSliceCount": count}
    return {"spec": {"driver": driver, "pool": about, "devices": devices, **where}}


def _device(rng: Random, name: str, on: list[str]) -> dict[str, Any]:
    device: dict[str, Any] = {"name": name, "attributes": _attributes(rng, on)}
    if rng.random() < 0.8:
        device["capacity"] = {"memory": _capacity(rng, rng.choice(("40Gi", "80Gi", "24G")))}
    if rng.random() < 0.3:
        device["allowMultipleAllocations"] = rng.random() < 0.8
    if rng.random() < 0.2:
        device["taints"] = [_taint(rng) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.1:
        device["bindingConditions"], device["bindingFailureConditions"] = ["ready"], ["failed"]
        device["bindsToNode"] = rng.random() < 0.5
    return device


def _attributes(rng: Random, on: list[str]) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if rng.random() < 0.95:
        attributes["model"] = {"string": rng.choice(("A100", "H100", "L4"))}
    if rng.random() < 0.9:
        attributes["numa"] = {"int": rng.randint(0, 2)}
    if rng.random() < 0.6:
        attributes["rack"] = {"string": f"r{rng.randint(1, 2)}"}
    if rng.random() < 0.9:
        attributes["version"] = {"version": rng.choice(("1.2.3", "1.10.0", "2.0.0-rc.1"))}
    if rng.random() < 0.9:
        attributes[f"{_DRIVER}/healthy"] = {"bool": rng.random() < 0.8}
    if "DRAListTypeAttributes" in on and rng.random() < 0.5:
        attributes["links"] = {"strings": rng.sample(("a", "b", "c"), rng.randint(1, 2))}
    return attributes


def _capacity(rng: Random, value: str) -> dict[str, Any]:
    policies = (
        None,
        None,
        {"default": "10Gi"},
        {"default": "4Gi", "validRange": {"min": "4Gi", "max": "32Gi", "step": "4Gi"}},
        {"default": "2Gi", "validRange": {"min": "1Gi"}},
        {"default": "8Gi", "validValues": ["8Gi", "16Gi", "24G"]},
    )
    policy = rng.choice(policies)
    return {"value": value} if policy is None else {"value": value, "requestPolicy": policy}


def _taint(rng: Random) -> dict[str, Any]:
    effect = rng.choice(("NoSchedule", "NoExecute", "None"))
    return {"key": rng.choice(("broken", "busy")), "value": rng.choice(("x", "y")), "effect": effect}


def _partitions(rng: Random, node: str) -> list[dict[str, Any]]:
    """A card cut into parts that share its memory, with the counters in a slice of their own."""
    pool = f"{node}-mig"
    counters = {"name": "card", "counters": {"slices": {"value": "7"}, "memory": {"value": "40Gi"}}}
    devices = []
    for place in range(rng.randint(2, 5)):
        size = rng.choice((1, 2, 3, 7))
        used = {"slices": {"value": str(size)}, "memory": {"value": f"{5 * size}Gi"}}
        wrong = rng.random() < 0.01
        device = {"name": f"part-{place}-{size}", "attributes": {"model": {"string": "A100"}, "numa": {"int": 0}}}
        device["consumesCounters"] = [{"counterSet": "nope" if wrong else "card", "counters": used}]
        if rng.random() < 0.2:
            device["allowMultipleAllocations"] = True
        devices.append(device)
    count = 3 if rng.random() < 0.05 else 2
    shared = {"spec": {**_slice(pool, _DRIVER, [], count, nodeName=node)["spec"], "sharedCounters": [counters]}}
    del shared["spec"]["devices"]
    return [shared, _slice(pool, _DRIVER, devices, count, nodeName=node)]


def _network(rng: Random, names: list[str], on: list[str]) -> list[dict[str, Any]]:
    devices = [
        {"name": f"nic-{place}", "attributes": {"model": {"string": "NIC"}}} for place in range(rng.randint(1, 3))
    ]
    how = rng.randint(0, 3)
    if how == 0:
        return [_slice("fabric", _NIC, devices, 1, allNodes=True)]
    zone = {"key": "zone", "operator": "In", "values": [f"z{rng.randint(0, 1)}"]}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}
    if how == 1:
        return [_slice("fabric", _NIC, devices, 1, nodeSelector=selector)]
    if how == 2:
        more = [{"name": "nic-x", "attributes": {}}]
        return [
            _slice("fabric", _NIC, devices, 2, nodeSelector=selector),
            _slice("fabric", _NIC, more, 2, nodeName=rng.choice(names)),
        ]
    for device in devices:
        device.update(rng.choice(({"allNodes": True}, {"nodeName": rng.choice(names)}, {"nodeSelector": selector})))
    return [_slice("fabric", _NIC, devices, 1, perDeviceNodeSelection=True)]


def _classes(rng: Random) -> list[dict[str, Any]]:
    configured = [{"opaque": {"driver": _DRIVER, "parameters": {"kind": "class"}}}]
    classes = {
        "gpu": [f"device.driver == '{_DRIVER}'"],
        "h100": [f"device.driver == '{_DRIVER}'", f"device.attributes['{_DRIVER}'].?model.orValue('') == 'H100'"],
        "nic": [f"device.driver == '{_NIC}'"],
        "any": [],
    }
    made = []
    for name, selectors in classes.items():
        spec: dict[str, Any] = {"selectors": [{"cel": {"expression": each}} for each in selectors]}
        if rng.random() < 0.3:
            spec["config"] = configured
        made.append({"metadata": {"name": name}, "spec": spec})
    return made


def _claim(rng: Random, place: int, on: list[str]) -> dict[str, Any]:
    requests = [_request(rng, number, on) for number in range(rng.choice((1, 1, 2, 3)))]
    devices: dict[str, Any] = {"requests": requests}
    if rng.random() < 0.4:
        devices["constraints"] = [_constraint(rng, requests, on) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.3:
        config: dict[str, Any] = {"opaque": {"driver": _DRIVER, "parameters": {"kind": "claim"}}}
        if rng.random() < 0.6:
            config["requests"] = [rng.choice(_names(requests))]
        devices["config"] = [config]
    return {"metadata": {"name": f"claim-{place}", "namespace": "default"}, "spec": {"devices": devices}}


def _names(requests: list[dict[str, Any]]) -> list[str]:
    subs = [f"{each['name']}/{sub['name']}" for each in requests for sub in each.get("firstAvailable", ())]
    return [each["name"] for each in requests] + subs


def _constraint(rng: Random, requests: list[dict[str, Any]], on: list[str]) -> dict[str, Any]:
    attributes = ["model", "numa", "rack", *(["links"] if "DRAListTypeAttributes" in on else [])]
    kind = "distinctAttribute" if "DRAConsumableCapacity" in on and rng.random() < 0.4 else "matchAttribute"
    constraint: dict[str, Any] = {kind: f"{_DRIVER}/{rng.choice(attributes)}"}
    if rng.random() < 0.5:
        constraint["requests"] = rng.sample(_names(requests), 1)
    return constraint


def _request(rng: Random, number: int, on: list[str]) -> dict[str, Any]:
    name = f"req-{number}"
    if "DRAPrioritizedList" in on and rng.random() < 0.3:
        subs = [{"name": f"sub-{place}", **_exact(rng, on)} for place in range(rng.randint(1, 3))]
        return {"name": name, "firstAvailable": subs}
    exactly = _exact(rng, on)
    if "DRAAdminAccess" in on and rng.random() < 0.1:
        exactly["adminAccess"] = rng.random() < 0.9
    return {"name": name, "exactly": exactly}


def _exact(rng: Random, on: list[str]) -> dict[str, Any]:
    known = rng.random() < 0.995
    exact: dict[str, Any] = {"deviceClassName": rng.choice(("gpu", "gpu", "h100", "nic", "any")) if known else "nope"}
    if rng.random() < 0.15:
        exact["allocationMode"] = "All"
    else:
        exact |= {"allocationMode": "ExactCount", "count": rng.choice((1, 1, 1, 2, 3))}
    if rng.random() < 0.4:
        source = _WRONG if rng.random() < 0.03 else _SELECTORS
        exact["selectors"] = [{"cel": {"expression": rng.choice(source)}} for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.2:
        exact["tolerations"] = [
            rng.choice(({"operator": "Exists"}, {"key": "busy", "operator": "Equal", "value": "x"}))
        ]
    if "DRAConsumableCapacity" in on and rng.random() < 0.3:
        name = "memory" if rng.random() < 0.95 else "nope"
        exact["capacity"] = {"requests": {name: rng.choice(("1Gi", "6Gi", "10G", "16Gi", "50Gi", "1500M"))}}
    return exact


def _allocated(rng: Random, slices: list[dict[str, Any]]) -> dict[str, Any]:
    devices: list[str] = []
    shared: list[str] = []
    capacity: dict[str, Any] = {}
    for each in slices:
        for device in each["spec"].get("devices", ()):
            text = f"{each['spec']['driver']}/{each['spec']['pool']['name']}/{device['name']}"
            if rng.random() > 0.2 or text in devices or text in capacity:
                continue
            if device.get("allowMultipleAllocations"):
                shared.append(f"{text}/share-{len(shared)}")
                if device.get("capacity"):
                    capacity[text] = {"memory": rng.choice(("1Gi", "8Gi", "16Gi"))}
            else:
                devices.append(text)
    return {"allocatedDevices": devices, "allocatedSharedDeviceIDs": shared, "allocatedCapacity": capacity}
