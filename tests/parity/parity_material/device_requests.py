"""What claims of the device scenarios ask for: exact requests and lists of alternatives, selectors, constraints."""

from __future__ import annotations

from random import Random
from typing import Any

__all__ = ["claim_spec"]

Object = dict[str, Any]
_GPU = "gpu.example.com"
#: By class: what devices of it may be selected by.
_SELECTORS = {
    "gpu": (
        f"device.attributes['{_GPU}'].model == 'H100'",
        f"device.attributes['{_GPU}'].numa == 0",
        f"device.capacity['{_GPU}'].memory.compareTo(quantity('80Gi')) >= 0",
        f"has(device.attributes['{_GPU}'].rack)",
    ),
    "h100": (f"device.attributes['{_GPU}'].numa == 1",),
    "mig": ("device.attributes['mig.example.com'].profile == '1g'", "true"),
    "nic": ("device.attributes['nic.example.com'].numa < 1",),
}
#: Fails on devices without this attribute.
_RISKY = f"device.attributes['{_GPU}'].rack == 'r1'"
_CLASSES = ("gpu", "gpu", "gpu", "gpu", "h100", "mig", "nic")


def claim_spec(rng: Random) -> Object:
    """What one claim asks for."""
    requests = [_request(rng, f"r{place}") for place in range(rng.choice((1, 1, 1, 1, 2, 3)))]
    devices: Object = {"requests": requests}
    if rng.random() < 0.25:
        devices["constraints"] = [_constraint(rng, requests)]
    if rng.random() < 0.15:
        config: Object = {"opaque": {"driver": _GPU, "parameters": {"of": "claim"}}}
        if rng.random() < 0.6:
            config["requests"] = [rng.choice(requests)["name"]]
        devices["config"] = [config]
    return {"devices": devices}


def _request(rng: Random, name: str) -> Object:
    if rng.random() < 0.2:
        listed = [{"name": f"s{place}", **_asked(rng)} for place in range(rng.randint(1, 3))]
        return {"name": name, "firstAvailable": listed}
    exactly = _asked(rng)
    if rng.random() < 0.06:
        exactly["adminAccess"] = True
    return {"name": name, "exactly": exactly}


def _asked(rng: Random) -> Object:
    named = rng.choice(_CLASSES)
    asked: Object = {"deviceClassName": named if rng.random() < 0.98 else "missing"}
    if rng.random() < 0.08:
        asked["allocationMode"] = "All"
    else:
        asked |= {"allocationMode": "ExactCount", "count": rng.choice((1, 1, 1, 1, 1, 2, 3))}
    if rng.random() < 0.35:
        expression = _RISKY if named == "gpu" and rng.random() < 0.08 else rng.choice(_SELECTORS[named])
        asked["selectors"] = [{"cel": {"expression": expression}}]
    if rng.random() < 0.2:
        asked["tolerations"] = [
            rng.choice(({"operator": "Exists"}, {"key": "broken", "operator": "Equal", "value": "x"}))
        ]
    if named == "gpu" and rng.random() < 0.12:
        asked["capacity"] = {"requests": {"memory": rng.choice(("6Gi", "10Gi", "50Gi"))}}
    return asked


def _constraint(rng: Random, requests: list[Object]) -> Object:
    kind = rng.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
    made: Object = {kind: f"{_GPU}/{rng.choice(('model', 'numa', 'rack'))}"}
    if rng.random() < 0.4:
        made["requests"] = [rng.choice(requests)["name"]]
    return made
