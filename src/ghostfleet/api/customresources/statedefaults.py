"""Stated defaults: whether the defaults in a schema are values that the schema itself would take.

A default must have no unknown fields and must be right in its place; one in an embedded object's metadata is only
judged by its values.
"""

from __future__ import annotations

from dataclasses import replace

from ghostfleet.api.customresources.contents import embedded_object_errors, special_places
from ghostfleet.api.customresources.nodes import META_FIELDS, Raw, SchemaNode, root_node
from ghostfleet.api.customresources.past import same_json
from ghostfleet.api.customresources.pruning import prune
from ghostfleet.api.customresources.values import judge
from ghostfleet.core.errors import FieldError
from ghostfleet.core.schema import MISSING

__all__ = ["default_errors"]


def default_errors(raw: Raw, path: str) -> list[FieldError]:
    """What is wrong with the defaults of a structural schema."""
    errors: list[FieldError] = []
    _check(errors, root_node(raw), path, in_metadata=False)
    return errors


def _check(errors: list[FieldError], node: SchemaNode, path: str, *, in_metadata: bool) -> None:
    if not node.fills:
        return
    if node.default is not MISSING:
        errors += _own_errors(node, f"{path}.default", in_metadata=in_metadata)
    # Values of maps have no defaults of their own: there is no field to be absent.
    if node.member is not None:
        _check(errors, node.member, f"{path}.items", in_metadata=in_metadata)
    for key, child in node.known.items():
        inside = in_metadata or (node.embedded and key in META_FIELDS)
        _check(errors, child, f"{path}.properties[{key}]", in_metadata=inside)


def _own_errors(node: SchemaNode, path: str, *, in_metadata: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if not in_metadata:
        try:
            pruned = prune(node.default, node)
        except ValueError as problem:
            return [FieldError.invalid(path, node.default, str(problem))]
        if not same_json(pruned, node.default):
            errors.append(FieldError.invalid(path, node.default, "must not have unknown fields"))
        special = special_places(node)
        found = [] if special is None else embedded_object_errors(special, node.default, path)
        if found:
            return errors + found
    judged = judge(node.raw or {}, node.default, "").errors.values()
    return errors + [replace(error, field=_below(path, error.field)) for error in judged]


def _below(path: str, field: str) -> str:
    return path if field == "<nil>" else f"{path}.{field}"
