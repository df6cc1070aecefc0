"""Validation of the API group scheduling.k8s.io: PriorityClasses."""

from __future__ import annotations

from ghostfleet.api.validation.checks import Errors, Object, immutable, one_of
from ghostfleet.api.validation.rules import Rules
from ghostfleet.core.errors import FieldError

__all__ = ["RULES"]

_HIGHEST_PRIORITY = 1_000_000_000
_SYSTEM = "system-"
_SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


def _priority_class(errors: Errors, found: Object) -> None:
    name, value = (found.get("metadata") or {}).get("name", ""), found.get("value", 0)
    if name.startswith(_SYSTEM):
        if problem := _system_class_problem(name, value, bool(found.get("globalDefault"))):
            why = f"priority class names with '{_SYSTEM}' prefix are reserved for system use only. error: {problem}"
            errors.append(FieldError.forbidden("metadata.name", why))
    elif value > _HIGHEST_PRIORITY:
        why = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        errors.append(FieldError.forbidden("value", why))
    if "preemptionPolicy" in found:
        one_of(errors, "preemptionPolicy", found["preemptionPolicy"], ("PreemptLowerPriority", "Never"))


def _system_class_problem(name: str, value: int, is_default: bool) -> str:
    if name not in _SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM_CLASSES[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM_CLASSES[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


def _priority_class_update(errors: Errors, new: Object, old: Object) -> None:
    if new.get("value", 0) != old.get("value", 0):
        errors.append(FieldError.forbidden("value", "may not be changed in an update."))
    immutable(errors, "preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy"))


RULES: dict[str, Rules] = {
    "priorityclasses.scheduling.k8s.io": Rules(
        _priority_class, namespaced=False, update=_priority_class_update, again_on_update=False
    ),
}
