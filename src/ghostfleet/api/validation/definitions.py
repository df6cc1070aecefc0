"""Custom resource definitions: their rules are with all else about custom resources, and join the others here."""

from __future__ import annotations

# The module, not its names: custom resources need the rules about metadata, so that each side imports the other.
import ghostfleet.api.customresources.definition as definition
from ghostfleet.api.validation.checks import Errors, Object
from ghostfleet.api.validation.rules import Rules

__all__ = ["RULES"]


def _create(errors: Errors, new: Object) -> None:
    errors += definition.definition_errors(new, None)


def _update(errors: Errors, new: Object, old: Object) -> None:
    errors += definition.definition_errors(new, old)


def _status(errors: Errors, new: Object, _old: Object) -> None:
    errors += definition.status_errors(new)


RULES = {
    "customresourcedefinitions.apiextensions.k8s.io": Rules(
        _create, namespaced=False, update=_update, again_on_update=False, status=_status
    ),
}
