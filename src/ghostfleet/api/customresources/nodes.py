"""Nodes: the schema of a custom resource as a tree of types.

A definition states its schema as OpenAPI; every part of it that says what a value *is* (its type, fields, items)
becomes one `Node`, a `Type` that also knows what only custom resources have: a default, an embedded resource, values
for unknown keys. What the schema says about *values* (bounds, patterns, alternatives) stays in the node's `raw` form,
for those who judge values. A node keeps the functions that others compile for it, so that they live exactly as long as
it does.

Words: a node is *open* when unknown fields are kept, *embedded* when its value is a whole Kubernetes object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from ghostfleet.api.builtin import type_named
from ghostfleet.core.schema import ANY, MISSING, Sort, Type

__all__ = ["META_FIELDS", "OBJECT_META", "Raw", "SchemaNode", "root_node"]

Raw = Mapping[str, Any]

META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
OBJECT_META = type_named("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")

_STRING = Type("string")
_TYPE_META: Mapping[str, Type] = {"apiVersion": _STRING, "kind": _STRING, "metadata": OBJECT_META}
_SORTS: Mapping[str, Sort] = {
    "object": "object",
    "array": "list",
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}


class SchemaNode(Type):
    """One node of a custom resource's schema, with its default and what is compiled for it."""

    __slots__ = (
        "additional",
        "clean",
        "default",
        "embedded",
        "fill",
        "fills",
        "has_rules",
        "known",
        "member",
        "open",
        "special",
        "table",
    )

    def __init__(self, sort: Sort) -> None:
        super().__init__(sort)
        #: nodes of the fields that the schema itself names
        self.known: Mapping[str, SchemaNode] = {}
        #: node of the values under any other key, if other keys are allowed
        self.additional: SchemaNode | None = None
        #: node of a list's items
        self.member: SchemaNode | None = None
        self.open = False
        self.embedded = False
        self.default: Any = MISSING
        #: whether there is a default here or below
        self.fills = False
        #: whether there are CEL rules here or below
        self.has_rules = False
        #: compiled by pruning: whether a value has nothing to prune
        self.clean: Callable[[Any], bool] | None = None
        #: compiled by defaulting: the value with its defaults
        self.fill: Callable[[Any], Any] | None = None
        #: compiled by fitting: tests by Python type
        self.table: Mapping[type, Callable[[Any], bool] | bool] | None = None
        #: found by contents: the places below that need a closer look, or that there are none
        self.special: Any = MISSING


#: The node of a value about which a schema says only that it may be there: objects inside it lose all their fields.
_UNSAID = SchemaNode("any")
_UNSAID.nullable = True


def root_node(raw: Raw | None) -> SchemaNode:
    """The tree of a version's whole schema; the fields that every object has are always known."""
    node = _node(raw or {"type": "object"})
    node.sort = "object"
    node.embedded = True
    node.fields = {**_TYPE_META, **{key: child for key, child in node.known.items() if key not in META_FIELDS}}
    return node


def _node(raw: Raw) -> SchemaNode:
    node = SchemaNode(_sort(raw))
    node.raw = raw
    node.format = raw.get("format", "")
    node.nullable = raw.get("nullable", False)
    node.embedded = raw.get("x-kubernetes-embedded-resource", False)
    node.open = raw.get("x-kubernetes-preserve-unknown-fields", False)
    node.atomic = raw.get("x-kubernetes-map-type") == "atomic"
    node.required = tuple(raw.get("required") or ())
    if raw.get("default") is not None:
        node.default = raw["default"]
        node.fills = True
    node.has_rules = bool(raw.get("x-kubernetes-validations"))
    if "properties" in raw or node.sort == "object":
        _set_fields(node, raw)
    if "additionalProperties" in raw:
        _set_additional(node, raw["additionalProperties"])
    if isinstance(raw.get("items"), dict):
        _set_items(node, raw)
    if node.sort == "string" and "enum" in raw:
        node.enum = tuple(value for value in raw["enum"] if isinstance(value, str))
    return node


def _sort(raw: Raw) -> Sort:
    if raw.get("x-kubernetes-int-or-string"):
        return "intorstring"
    sort = _SORTS.get(raw.get("type", ""), "any")
    return "map" if sort == "object" and raw.get("additionalProperties") and not raw.get("properties") else sort


def _set_fields(node: SchemaNode, raw: Raw) -> None:
    known = {key: _node(child) for key, child in (raw.get("properties") or {}).items()}
    node.known = known
    node.fields = {**_TYPE_META, **known} if node.embedded else known
    node.preserve = node.open or raw.get("additionalProperties") is True
    node.defaults = {key: child.default for key, child in known.items() if child.default is not MISSING}
    for child in known.values():
        _inherit(node, child)


def _set_additional(node: SchemaNode, raw: Raw | bool) -> None:
    node.additional = _node(raw) if isinstance(raw, Mapping) else _UNSAID
    node.items = node.additional if isinstance(raw, Mapping) else ANY
    _inherit(node, node.additional)


def _set_items(node: SchemaNode, raw: Raw) -> None:
    node.member = _node(raw["items"])
    node.items = node.member
    topology: Literal["atomic", "set", "map"] = raw.get("x-kubernetes-list-type") or "atomic"
    node.topology = topology
    node.map_keys = tuple(raw.get("x-kubernetes-list-map-keys") or ())
    _inherit(node, node.member)


def _inherit(node: SchemaNode, child: SchemaNode) -> None:
    node.fills = node.fills or child.fills
    node.has_rules = node.has_rules or child.has_rules
