"""Schemas as OpenAPI writes them, in both of its dialects.

OpenAPI v3 can say everything there is to say. v2 (swagger) knows no defaults, no `oneOf` and no null, so a schema says
less there, in the same places where a real API server says less. Built-in types are written from their facts and their
documentation, custom resources from the schema in their definition, which is OpenAPI already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ghostfleet.api.builtin import kind_type_name, type_facts
from ghostfleet.api.kinds import Resource, Version
from ghostfleet.server.openapi_docs import Docs, docs_of

__all__ = [
    "Dialect",
    "builtin_schema",
    "custom_list_schema",
    "custom_schema",
    "list_schema_name",
    "references",
    "schema_name",
]

_Node = dict[str, Any]
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
#: Types that are a kind of every group version.
_EVERYWHERE = frozenset({_META + "DeleteOptions", _META + "WatchEvent"})
_OPAQUE_V3: Mapping[str, _Node] = {
    "quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "intorstring": {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"},
}
_OPAQUE: Mapping[str, _Node] = {
    "quantity": {"type": "string"},
    "intorstring": {"type": "string", "format": "int-or-string"},
    "time": {"type": "string", "format": "date-time"},
    "microtime": {"type": "string", "format": "date-time"},
    "duration": {"type": "string"},
    "fieldsv1": {"type": "object"},
    "any": {},
}
_STATED = {
    "format": "format",
    "enum": "enum",
    "listType": "x-kubernetes-list-type",
    "keys": "x-kubernetes-list-map-keys",
    "mapType": "x-kubernetes-map-type",
    "mergeKey": "x-kubernetes-patch-merge-key",
    "strategy": "x-kubernetes-patch-strategy",
}
#: Parts of a custom resource's schema that v2 cannot say.
_V3_ONLY = frozenset({"default", "nullable", "oneOf", "anyOf", "allOf", "not"})
#: What a v2 schema leaves out where it cannot tell the truth about the shape.
_SHAPE = frozenset({"type", "items", "properties", "required", "additionalProperties"})


class Dialect:
    """One of OpenAPI's two ways to write a schema."""

    def __init__(self, prefix: str, *, full: bool) -> None:
        self.prefix = prefix
        #: says defaults, alternatives and null
        self.full = full

    def reference(self, name: str, **beside: Any) -> _Node:
        """A node that is another schema, with what is said beside it; v3 ignores what stands beside a bare `$ref`."""
        link = {"$ref": self.prefix + name}
        return {"allOf": [link], **beside} if beside and self.full else {**link, **beside}


def schema_name(resource: Resource, version: str) -> str:
    """The name of a resource's schema: the built-in type's, or the reversed group's, as `com.example.v1.Widget`."""
    return _named(resource, version, resource.kind)


def list_schema_name(resource: Resource, version: str) -> str:
    return _named(resource, version, resource.list_kind or f"{resource.kind}List")


def _named(resource: Resource, version: str, kind: str) -> str:
    known = None if resource.custom else kind_type_name(resource.group, version, kind)
    return known or ".".join([*reversed(resource.group.split(".")), version, kind])


def references(node: Any) -> Iterator[str]:
    """Names of all schemas that a node refers to."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value.rpartition("/")[2]
            else:
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def builtin_schema(name: str, dialect: Dialect, group_versions: Iterable[tuple[str, str]]) -> _Node:
    """The schema of a built-in type; `group_versions` are those that the document is about."""
    facts, docs = type_facts(name), docs_of(name)
    schema: _Node = {"description": docs.text} if docs.text else {}
    sort = facts.get("sort", "object")
    if sort != "object":
        schema |= (_OPAQUE_V3.get(sort) if dialect.full else None) or _OPAQUE[sort]
        return schema | {"type": "object"} if name.endswith(".RawExtension") else schema
    schema["type"] = "object"
    if fields := facts["fields"]:
        schema["properties"] = {field: _field(field, fact, docs, dialect) for field, fact in fields.items()}
    if "required" in facts:
        schema["required"] = facts["required"]
    if "mapType" in facts:
        schema["x-kubernetes-map-type"] = facts["mapType"]
    if "unions" in facts:
        schema["x-kubernetes-unions"] = facts["unions"]
    if "kinds" in facts:
        kinds = facts["kinds"]
        if name in _EVERYWHERE:
            kinds = [*kinds, *([*each, kinds[0][2]] for each in sorted(group_versions) if each != ("", "v1"))]
        schema["x-kubernetes-group-version-kind"] = [_kind(*kind) for kind in kinds]
    return schema


def _kind(group: str, version: str, kind: str) -> dict[str, str]:
    return {"group": group, "version": version, "kind": kind}


def _field(name: str, fact: Mapping[str, Any], docs: Docs, dialect: Dialect) -> _Node:
    text = docs.fields.get(name, "")
    if words := fact.get("enum"):
        listed = "".join(f'\n - `"{word}"`' for word in words)
        text = f"{text}\n\nPossible enum values:{listed}".strip()
    return _node(fact, dialect, {"description": text} if text else {})


def _node(fact: Mapping[str, Any], dialect: Dialect, beside: _Node) -> _Node:
    beside |= {theirs: fact[ours] for ours, theirs in _STATED.items() if ours in fact}
    if dialect.full and "default" in fact:
        beside["default"] = fact["default"]
    if "ref" in fact:
        return dialect.reference(fact["ref"], **beside)
    if "list" in fact:
        return {"type": "array", "items": _node(fact["list"], dialect, {}), **beside}
    if "map" in fact:
        return {"type": "object", "additionalProperties": _node(fact["map"], dialect, {}), **beside}
    return {"type": {"bytes": "string"}.get(fact["sort"], fact["sort"]), **beside}


def custom_schema(resource: Resource, version: Version, dialect: Dialect) -> _Node:
    """The schema of a custom resource in one of its versions."""
    raw = dict(version.schema.raw or {})
    whole = dialect.full or not raw.get("x-kubernetes-preserve-unknown-fields")
    schema = _custom_node(raw, dialect) if whole else {}
    schema["type"] = "object"
    if whole:
        schema["properties"] = schema.get("properties", {}) | _type_meta(dialect)
    schema["x-kubernetes-group-version-kind"] = [_kind(resource.group, version.name, resource.kind)]
    return schema


def custom_list_schema(resource: Resource, version: Version, dialect: Dialect) -> _Node:
    """The schema of a list of custom resources."""
    words = docs_of("io.k8s.api.core.v1.PodList").fields.get("metadata", "")
    item = dialect.reference(schema_name(resource, version.name))
    list_kind = resource.list_kind or f"{resource.kind}List"
    properties = _type_meta(dialect) | {
        "items": {"description": f"List of {resource.plural}.", "type": "array", "items": item},
        "metadata": dialect.reference(_META + "ListMeta", **({"description": words} if words else {})),
    }
    return {
        "description": f"{list_kind} is a list of {resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": properties,
        "x-kubernetes-group-version-kind": [_kind(resource.group, version.name, list_kind)],
    }


def _type_meta(dialect: Dialect) -> dict[str, _Node]:
    """The fields that every object has."""
    words = docs_of("io.k8s.api.core.v1.Pod").fields
    said = {name: {"description": words[name]} if name in words else {} for name in ("apiVersion", "kind", "metadata")}
    return {
        "apiVersion": {"type": "string", **said["apiVersion"]},
        "kind": {"type": "string", **said["kind"]},
        "metadata": dialect.reference(_META + "ObjectMeta", **said["metadata"]),
    }


def _custom_node(raw: Mapping[str, Any], dialect: Dialect) -> _Node:
    node = {key: _custom_value(key, value, dialect) for key, value in raw.items()}
    if dialect.full:
        if raw.get("x-kubernetes-embedded-resource"):
            node["properties"] = node.get("properties", {}) | _type_meta(dialect)
            node["required"] = sorted({*node.get("required", ()), "apiVersion", "kind"})
        return node
    blurred = raw.get("nullable") or raw.get("x-kubernetes-preserve-unknown-fields")
    left_out = _V3_ONLY | _SHAPE if blurred or raw.get("x-kubernetes-int-or-string") else _V3_ONLY
    return {key: value for key, value in node.items() if key not in left_out}


def _custom_value(key: str, value: Any, dialect: Dialect) -> Any:
    if key == "properties":
        return {name: _custom_node(child, dialect) for name, child in value.items()}
    if key in ("items", "additionalProperties") and isinstance(value, Mapping):
        return _custom_node(value, dialect)
    return value
