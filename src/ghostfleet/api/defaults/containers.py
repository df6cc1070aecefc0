"""Containers: defaults of the containers of a pod, their probes and hooks.

Ordinary, init and ephemeral containers share one table. Containers of a pod differ from those of a pod template in one
thing: what is limited but not requested is requested in full.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ghostfleet.api.defaults.filling import ObjectRule, each, rule
from ghostfleet.api.defaults.images import pull_policy
from ghostfleet.api.defaults.resources import fill_pod_requirements, fill_requirements
from ghostfleet.api.defaults.volumes import REFERENCES
from ghostfleet.core.changes import Object

__all__ = ["fill_container", "fill_pod_container"]

_fill_request = rule(zero={"path": "/", "scheme": "HTTP"})
_fill_probe = rule(
    zero={"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    parts={"httpGet": _fill_request, "grpc": rule(absent={"service": ""})},
)
_fill_hook = rule(parts={"httpGet": _fill_request})
_fill_lifecycle = rule(parts={"postStart": _fill_hook, "preStop": _fill_hook})
_fill_variable = rule(parts={"valueFrom": rule(parts={**REFERENCES, "fileKeyRef": rule(absent={"optional": False})})})

_PARTS: dict[str, Callable[[Any], Any]] = {
    "ports": each(rule(zero={"protocol": "TCP"})),
    "env": each(_fill_variable),
    "livenessProbe": _fill_probe,
    "readinessProbe": _fill_probe,
    "startupProbe": _fill_probe,
    "lifecycle": _fill_lifecycle,
}
_FIXED = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}


def _pulled(container: Object) -> Object:
    if container.get("imagePullPolicy"):
        return container
    return {**container, "imagePullPolicy": pull_policy(container.get("image") or "")}


def _container_rule(fill_resources: ObjectRule) -> ObjectRule:
    parts = {**_PARTS, "resources": fill_resources}
    return rule(zero=_FIXED, absent={"resources": {}}, parts=parts, last=_pulled)


fill_container = _container_rule(fill_requirements)
fill_pod_container = _container_rule(fill_pod_requirements)
