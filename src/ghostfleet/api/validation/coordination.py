"""Validation of the API group coordination.k8s.io: Leases."""

from __future__ import annotations

from ghostfleet.api.validation.checks import Errors, Object
from ghostfleet.api.validation.rules import Rules
from ghostfleet.core.errors import FieldError

__all__ = ["RULES"]


def _lease(errors: Errors, lease: Object) -> None:
    spec = lease.get("spec") or {}
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        errors.append(FieldError.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        why = "must be greater than or equal to 0"
        errors.append(FieldError.invalid("spec.leaseTransitions", transitions, why))
    if spec.get("preferredHolder") and not spec.get("strategy"):
        why = "may only be specified if `strategy` is defined"
        errors.append(FieldError.forbidden("spec.preferredHolder", why))


RULES: dict[str, Rules] = {"leases.coordination.k8s.io": Rules(_lease)}
