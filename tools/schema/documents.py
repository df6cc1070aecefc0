"""OpenAPI v3 documents of Kubernetes, turned into facts.

A *fact* says in few words what one schema node says in many: `{"sort": "string"}`, `{"ref": "io.k8s..."}`,
`{"list": <fact>}` or `{"map": <fact>}`, with what else the node states about merging, defaults and formats. Prose is
left behind. The checked-in documents leave enums out, so those come from the Go source the documents are made from.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

__all__ = ["Fact", "function_name", "read_enums", "read_returned", "read_schemas", "type_fact"]

Fact = dict[str, Any]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
#: Types that look like scalars in JSON, or hold whatever they like.
_OPAQUE = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "intorstring",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any",
    _META + "Time": "time",
    _META + "MicroTime": "microtime",
    _META + "Duration": "duration",
    _META + "FieldsV1": "fieldsv1",
    _EXTENSIONS + "JSON": "any",
    _EXTENSIONS + "JSONSchemaPropsOrArray": "any",
    _EXTENSIONS + "JSONSchemaPropsOrBool": "any",
    _EXTENSIONS + "JSONSchemaPropsOrStringArray": "any",
}
#: What OpenAPI calls it, and what the facts call it, where a node states it.
_STATED = {
    "format": "format",
    "default": "default",
    "enum": "enum",
    "x-kubernetes-list-type": "listType",
    "x-kubernetes-list-map-keys": "keys",
    "x-kubernetes-map-type": "mapType",
    "x-kubernetes-patch-merge-key": "mergeKey",
    "x-kubernetes-patch-strategy": "strategy",
}


def read_schemas(folder: Path) -> dict[str, Any]:
    """Every named schema of the v3 documents in a folder."""
    schemas: dict[str, Any] = {}
    for path in sorted(folder.glob("api*_openapi.json")):
        schemas.update(json.loads(path.read_text()).get("components", {}).get("schemas", {}))
    return schemas


def read_returned(folder: Path) -> set[str]:
    """Paths of resources whose deleted objects are the answer to their deletion."""
    returned = set()
    for path in sorted(folder.glob("api*_openapi.json")):
        for route, item in json.loads(path.read_text())["paths"].items():
            if item.get("delete", {}).get("x-kubernetes-action") == "delete":
                answer = item["delete"]["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
                if not answer.endswith(".Status"):
                    returned.add(route.replace("/namespaces/{namespace}", "").removesuffix("/{name}"))
    return returned


def type_fact(name: str, schema: dict[str, Any]) -> Fact:
    """The facts of a named schema; fields in the order of the document."""
    if name in _OPAQUE:
        return {"sort": _OPAQUE[name]}
    fact: Fact = {}
    if kinds := schema.get("x-kubernetes-group-version-kind"):
        fact["kinds"] = [[kind["group"], kind["version"], kind["kind"]] for kind in kinds]
        if name.startswith(_META):
            # Kinds of this package that belong to every group version are listed for all of them; the core one will do.
            fact["kinds"] = fact["kinds"][:1]
    if schema.get("x-kubernetes-map-type") == "atomic":
        fact["mapType"] = "atomic"
    if unions := schema.get("x-kubernetes-unions"):
        fact["unions"] = unions
    if required := schema.get("required"):
        fact["required"] = required
    fact["fields"] = {field: _fact(node) for field, node in schema.get("properties", {}).items()}
    return fact


def _fact(node: dict[str, Any]) -> Fact:
    fact = _shape(node)
    fact.update({ours: node[theirs] for theirs, ours in _STATED.items() if theirs in node})
    return fact


def _shape(node: dict[str, Any]) -> Fact:
    ref = node["$ref"] if "$ref" in node else node["allOf"][0]["$ref"] if "allOf" in node else None
    if ref is not None:
        return {"ref": ref.rpartition("/")[2]}
    if node["type"] == "array":
        return {"list": _fact(node["items"])}
    if node["type"] == "object":
        return {"map": _fact(node["additionalProperties"])} if "additionalProperties" in node else {"sort": "any"}
    if node.get("format") == "byte":
        return {"sort": "bytes"}
    return {"sort": node["type"]}


_FUNCTION = re.compile(r"^func schema_(\w+)\(")
_PROPERTY = re.compile(r'^\t{5}"([^"]+)": \{$')
_ENUM = re.compile(r"^(\t+)Enum: +\[\]interface\{\}\{(.*)\},$")
#: An enum of a field's items or values is nested deeper than one of the field itself.
_DEPTH_OF_FIELD = 7


def read_enums(source: Path) -> dict[str, dict[str, tuple[bool, list[str]]]]:
    """Enums by Go function and field: whether they are about the field's items, and their words."""
    enums: dict[str, dict[str, tuple[bool, list[str]]]] = {}
    function = field = ""
    for line in source.read_text().splitlines():
        if match := _FUNCTION.match(line):
            function = match[1]
        elif match := _PROPERTY.match(line):
            field = match[1]
        elif match := _ENUM.match(line):
            words = json.loads(f"[{match[2]}]")
            enums.setdefault(function, {})[field] = (len(match[1]) > _DEPTH_OF_FIELD, words)
    return enums


def function_name(name: str) -> str:
    """The part of a Go function's name that tells which schema it makes."""
    parts = name.removeprefix("io.k8s.").split(".")
    if "pkg" in parts:
        return "_".join(parts[parts.index("pkg") :])
    return "_".join(["k8sio", *parts])
