"""Validation: whether an object may be stored, told with Kubernetes' own field paths and words.

First its *shape* (JSON types, known fields), which needs only a schema; then, after defaulting, its *meaning*: required
fields, bad values, and what may not change once it is set.
"""

from __future__ import annotations

from ghostfleet.api.validation.dispatch import (
    validate_create,
    validate_metadata,
    validate_subresource,
    validate_update,
)
from ghostfleet.api.validation.shape import normalise, strict_error, unknown_field_warnings

__all__ = [
    "normalise",
    "strict_error",
    "unknown_field_warnings",
    "validate_create",
    "validate_metadata",
    "validate_subresource",
    "validate_update",
]
