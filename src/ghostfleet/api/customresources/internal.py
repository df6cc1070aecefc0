"""Internal forms: definitions as Kubernetes keeps them in memory, for messages that quote them.

Some findings show a version or a schema whole, and then not as the user wrote it but with Go's field names, in Go's
order and with every zero value. What all versions have in common stands beside them, not in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from ghostfleet.api.customresources.nodes import Raw
from ghostfleet.core.errors import FieldError

__all__ = ["QuotedValue", "internal_schema", "internal_version"]

#: JSON name, Go name and zero value of every field of a schema, in Go's order.
_SCHEMA: tuple[tuple[str, str, Any], ...] = (
    ("id", "ID", ""),
    ("$schema", "Schema", ""),
    ("$ref", "Ref", None),
    ("description", "Description", ""),
    ("type", "Type", ""),
    ("nullable", "Nullable", False),
    ("format", "Format", ""),
    ("title", "Title", ""),
    ("default", "Default", None),
    ("maximum", "Maximum", None),
    ("exclusiveMaximum", "ExclusiveMaximum", False),
    ("minimum", "Minimum", None),
    ("exclusiveMinimum", "ExclusiveMinimum", False),
    ("maxLength", "MaxLength", None),
    ("minLength", "MinLength", None),
    ("pattern", "Pattern", ""),
    ("maxItems", "MaxItems", None),
    ("minItems", "MinItems", None),
    ("uniqueItems", "UniqueItems", False),
    ("multipleOf", "MultipleOf", None),
    ("enum", "Enum", None),
    ("maxProperties", "MaxProperties", None),
    ("minProperties", "MinProperties", None),
    ("required", "Required", None),
    ("items", "Items", None),
    ("allOf", "AllOf", None),
    ("oneOf", "OneOf", None),
    ("anyOf", "AnyOf", None),
    ("not", "Not", None),
    ("properties", "Properties", None),
    ("additionalProperties", "AdditionalProperties", None),
    ("patternProperties", "PatternProperties", None),
    ("dependencies", "Dependencies", None),
    ("additionalItems", "AdditionalItems", None),
    ("definitions", "Definitions", None),
    ("externalDocs", "ExternalDocs", None),
    ("example", "Example", None),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields", None),
    ("x-kubernetes-embedded-resource", "XEmbeddedResource", False),
    ("x-kubernetes-int-or-string", "XIntOrString", False),
    ("x-kubernetes-list-map-keys", "XListMapKeys", None),
    ("x-kubernetes-list-type", "XListType", None),
    ("x-kubernetes-map-type", "XMapType", None),
    ("x-kubernetes-validations", "XValidations", None),
)
_RULE = ("rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")
_LISTS_OF_SCHEMAS = frozenset({"allOf", "oneOf", "anyOf"})
_MAPS_OF_SCHEMAS = frozenset({"properties", "patternProperties", "definitions"})


class QuotedValue(FieldError):
    """A bad value that is JSON text already, in an order that means something."""

    __slots__ = ()

    @classmethod
    def invalid(cls, field: str, value: Any, detail: str) -> FieldError:
        text = orjson.dumps(value).decode().replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
        return cls("Invalid value", field, text, detail)

    @property
    def body(self) -> str:
        return f"{self.sort}: {self.value}: {self.detail}"


def internal_schema(raw: Raw) -> dict[str, Any]:
    return {name: _part(key, raw[key]) if raw.get(key) is not None else zero for key, name, zero in _SCHEMA}


def _part(key: str, value: Any) -> Any:
    if key in _LISTS_OF_SCHEMAS:
        return [internal_schema(each) for each in value]
    if key in _MAPS_OF_SCHEMAS:
        return {name: internal_schema(value[name]) for name in sorted(value)}
    if key == "not":
        return internal_schema(value)
    if key == "items":
        if isinstance(value, Mapping):
            return {"Schema": internal_schema(value), "JSONSchemas": None}
        return {"Schema": None, "JSONSchemas": [internal_schema(each) for each in value]}
    if key in ("additionalProperties", "additionalItems"):
        if isinstance(value, Mapping):
            return {"Allows": True, "Schema": internal_schema(value)}
        return {"Allows": value, "Schema": None}
    if key == "externalDocs":
        return {"Description": value.get("description", ""), "URL": value.get("url", "")}
    if key == "x-kubernetes-validations":
        return [_rule(each) for each in value]
    return value


def _rule(rule: Raw) -> dict[str, Any]:
    pointers = ("reason", "optionalOldSelf")
    return {name[0].upper() + name[1:]: rule.get(name, None if name in pointers else "") for name in _RULE}


def internal_version(version: Raw, shared: frozenset[str]) -> dict[str, Any]:
    """A version without what it has in common with all others."""
    own = {key: value for key, value in version.items() if key not in shared}
    columns, fields = own.get("additionalPrinterColumns"), own.get("selectableFields")
    return {
        "Name": version.get("name", ""),
        "Served": version.get("served", False),
        "Storage": version.get("storage", False),
        "Deprecated": version.get("deprecated", False),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": _validation(own.get("schema")),
        "Subresources": _subresources(own.get("subresources")),
        "AdditionalPrinterColumns": None if not columns else [_column(each) for each in columns],
        "SelectableFields": None if not fields else [{"JSONPath": each.get("jsonPath", "")} for each in fields],
    }


def _validation(schema: Raw | None) -> dict[str, Any] | None:
    if schema is None:
        return None
    raw = schema.get("openAPIV3Schema")
    return {"OpenAPIV3Schema": None if raw is None else internal_schema(raw)}


def _subresources(parts: Raw | None) -> dict[str, Any] | None:
    if parts is None:
        return None
    scale = parts.get("scale")
    return {
        "Status": None if parts.get("status") is None else {},
        "Scale": None
        if scale is None
        else {
            "SpecReplicasPath": scale.get("specReplicasPath", ""),
            "StatusReplicasPath": scale.get("statusReplicasPath", ""),
            "LabelSelectorPath": scale.get("labelSelectorPath"),
        },
    }


def _column(column: Raw) -> dict[str, Any]:
    return {
        "Name": column.get("name", ""),
        "Type": column.get("type", ""),
        "Format": column.get("format", ""),
        "Description": column.get("description", ""),
        "Priority": column.get("priority", 0),
        "JSONPath": column.get("jsonPath", ""),
    }
