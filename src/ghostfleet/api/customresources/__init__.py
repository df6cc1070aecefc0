"""Custom resources: kinds that a CustomResourceDefinition adds to the API.

`validate_definition` says whether a definition is right and `resource_of` makes a resource of it; the other functions
do for its objects what schemas, defaults and validation in code do for built-in kinds: `normalise` prunes,
`apply_defaults` fills in, `prepare_for_create` and `prepare_for_update` keep the halves of an object apart, `validate`
judges. Definitions may ask for conversion by webhook; here all versions of an object have the same fields.
"""

from __future__ import annotations

from ghostfleet.api.customresources.defaulting import apply_defaults
from ghostfleet.api.customresources.definition import definition_warnings, validate_definition
from ghostfleet.api.customresources.objects import finalizer_warnings, validate
from ghostfleet.api.customresources.pruning import normalise
from ghostfleet.api.customresources.resource import resource_of
from ghostfleet.api.customresources.strategy import prepare_for_create, prepare_for_update

__all__ = [
    "apply_defaults",
    "definition_warnings",
    "finalizer_warnings",
    "normalise",
    "prepare_for_create",
    "prepare_for_update",
    "resource_of",
    "validate",
    "validate_definition",
]
