"""Schemas: what an object of a kind may hold, as a tree of types.

One `Type` is one node of that tree. Built-in kinds get theirs from the data file of Kubernetes' own API, custom
resources from the structural schema in their definition; everything that walks objects by their types (strategic merge,
server-side apply, unknown fields, pruning, protobuf, OpenAPI) walks this one model.

Words: an *object* has named fields, a *map* has free keys with values of one type, a *list* has items of one type. A
list's *topology* is `atomic`, `set` or `map`, and says how server-side apply merges it; its *merge key* is what
strategic merge patch matches items by. Types may refer to themselves (JSONSchemaProps does), so fields are filled after
construction, once; after that a type is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

__all__ = ["ANY", "MISSING", "Sort", "Type"]

Sort = Literal[
    "object",
    "map",
    "list",
    "string",
    "integer",
    "number",
    "boolean",
    "any",  # any JSON value, kept as it is (RawExtension, x-kubernetes-preserve-unknown-fields)
    "quantity",  # string or number in JSON; a message in protobuf
    "time",  # RFC 3339 with seconds
    "microtime",  # RFC 3339 with microseconds
    "duration",  # Go duration string
    "intorstring",
    "bytes",  # base64 text in JSON
    "fieldsv1",  # managedFields' tree of paths
]

MISSING: Any = object()


class Type:
    """One node of a schema, with its fields or items, and how they merge."""

    __slots__ = (
        "atomic",
        "defaults",
        "enum",
        "fields",
        "format",
        "inlines",
        "items",
        "map_keys",
        "merge_key",
        "merges",
        "name",
        "nullable",
        "numbers",
        "omits",
        "preserve",
        "raw",
        "replaces",
        "required",
        "retain_keys",
        "sort",
        "topology",
        "wrapped",
    )

    def __init__(self, sort: Sort, name: str = "") -> None:
        self.sort = sort
        #: Full name of a built-in type, such as `io.k8s.api.core.v1.PodSpec`; empty for anonymous ones.
        self.name = name
        #: object: its fields, in the order Kubernetes declares them.
        self.fields: Mapping[str, Type] = {}
        #: object: names of the fields that must be there.
        self.required: tuple[str, ...] = ()
        #: object: default of a field that is absent, where the schema (not code) states it and it is not just zero.
        self.defaults: Mapping[str, Any] = {}
        #: object: protobuf field numbers by field name.
        self.numbers: Mapping[str, int] = {}
        #: object: protobuf messages that JSON does not show, by field number: their fields stand in this object itself
        #: (Volume's VolumeSource, Probe's ProbeHandler) and are in `fields` too, but not in `numbers`. They may nest.
        self.inlines: Mapping[int, Type] = {}
        #: object: scalar fields whose zero value means absence and is not kept (hostNetwork, but not replicas).
        self.omits: frozenset[str] = frozenset()
        #: object: fields whose patch strategy is retainKeys (unions such as Deployment's strategy).
        self.retain_keys: frozenset[str] = frozenset()
        #: object: fields whose patch strategy is replace: a strategic merge patch sets them whole, even objects.
        self.replaces: frozenset[str] = frozenset()
        #: list: type of an item; map: type of a value.
        self.items: Type | None = None
        #: list: how server-side apply sees it.
        self.topology: Literal["atomic", "set", "map"] = "atomic"
        #: list: a message of its own in protobuf, the items being its field 1 (ExtraValue).
        self.wrapped = False
        #: list with topology map: the fields that together identify an item.
        self.map_keys: tuple[str, ...] = ()
        #: list: strategic merge merges items (patchStrategy=merge) ...
        self.merges = False
        #: ... matched by this field; None for lists of scalars.
        self.merge_key: str | None = None
        #: object or map: server-side apply owns it as one value.
        self.atomic = False
        #: string: allowed values, if the schema lists them.
        self.enum: tuple[str, ...] = ()
        #: OpenAPI format (int32, int64, byte, date-time ...), if any.
        self.format = ""
        #: custom resources: null is a value here.
        self.nullable = False
        #: object: unknown fields are kept (x-kubernetes-preserve-unknown-fields).
        self.preserve = False
        #: custom resources: the OpenAPI node this type was made from, for value validation.
        self.raw: Mapping[str, Any] | None = None

    def child(self, key: str) -> Type | None:
        """Type of what is found under `key` of an object or map; None when the schema does not know it."""
        if self.sort == "object":
            known = self.fields.get(key)
            if known is None and self.preserve:
                return ANY
            return known
        if self.sort == "map":
            return self.items
        return ANY if self.sort == "any" else None

    def __repr__(self) -> str:
        return f"Type({self.sort!r}, {self.name!r})"


#: The type of whatever has no schema.
ANY = Type("any")
