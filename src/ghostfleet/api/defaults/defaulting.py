"""Defaulting: one table of rules for all kinds."""

from __future__ import annotations

from ghostfleet.api.defaults import (
    administration,
    autoscaling,
    cluster,
    extension,
    pods,
    resourceclaims,
    services,
    storage,
    workloads,
)
from ghostfleet.api.defaults.filling import ObjectRule
from ghostfleet.core.changes import Object

__all__ = ["apply_defaults"]

_RULES: dict[str, ObjectRule] = {
    **pods.DEFAULTS,
    **workloads.DEFAULTS,
    **services.DEFAULTS,
    **storage.DEFAULTS,
    **cluster.DEFAULTS,
    **administration.DEFAULTS,
    **autoscaling.DEFAULTS,
    **extension.DEFAULTS,
    **resourceclaims.DEFAULTS,
}


def apply_defaults(resource_key: str, obj: Object) -> Object:
    """`obj`, an object of the resource `resource_key` (`pods`, `jobs.batch`), with what it leaves unsaid."""
    fill = _RULES.get(resource_key)
    return obj if fill is None else fill(obj)
