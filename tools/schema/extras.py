"""Schemas that Kubernetes' OpenAPI documents do not hold.

The metrics kinds belong to metrics-server; options of requests are query parameters in OpenAPI but objects to clients
that send them; the three unions of a CustomResourceDefinition's schema are any value in JSON and messages in protobuf.
"""

from __future__ import annotations

from typing import Any

__all__ = ["EXTRA_SCHEMAS", "UNION_FIELDS"]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_METRICS = "io.k8s.metrics.pkg.apis.metrics.v1beta1."
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"

_STRING: dict[str, Any] = {"type": "string"}
_BOOLEAN: dict[str, Any] = {"type": "boolean"}
_INT64: dict[str, Any] = {"type": "integer", "format": "int64"}
_STRINGS: dict[str, Any] = {"type": "array", "items": {"type": "string", "default": ""}}
_TYPE_META = {"kind": _STRING, "apiVersion": _STRING}


def _ref(name: str, **more: Any) -> dict[str, Any]:
    return {"allOf": [{"$ref": f"#/components/schemas/{name}"}], **more}


def _object(
    properties: dict[str, Any], required: tuple[str, ...] = (), kind: str = "", group: str = ""
) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    if kind:
        version = "v1beta1" if group == "metrics.k8s.io" else "v1"
        schema["x-kubernetes-group-version-kind"] = [{"group": group, "version": version, "kind": kind}]
    return schema


def _list_of(item: str, kind: str, group: str) -> dict[str, Any]:
    items = {"type": "array", "items": _ref(item, default={})}
    properties = {**_TYPE_META, "metadata": _ref(_META + "ListMeta", default={}), "items": items}
    return _object(properties, ("items",), kind, group)


_USAGE = {"type": "object", "additionalProperties": _ref(_QUANTITY)}
_MEASURED = {
    **_TYPE_META,
    "metadata": _ref(_META + "ObjectMeta", default={}),
    "timestamp": _ref(_META + "Time"),
    "window": _ref(_META + "Duration"),
}
_CONTAINERS = {
    "type": "array",
    "items": _ref(_METRICS + "ContainerMetrics", default={}),
    "x-kubernetes-list-type": "atomic",
}
_DRY_RUN = {**_STRINGS, "x-kubernetes-list-type": "atomic"}
_WRITE = {**_TYPE_META, "dryRun": _DRY_RUN, "fieldManager": _STRING, "fieldValidation": _STRING}
_LIST = {
    **_TYPE_META,
    **dict.fromkeys(("labelSelector", "fieldSelector", "resourceVersion", "resourceVersionMatch"), _STRING),
    **dict.fromkeys(("continue", "shardSelector"), _STRING),
    **dict.fromkeys(("watch", "allowWatchBookmarks", "sendInitialEvents"), _BOOLEAN),
    **dict.fromkeys(("timeoutSeconds", "limit"), _INT64),
}
_PARTIAL = {**_TYPE_META, "metadata": _ref(_META + "ObjectMeta", default={})}

EXTRA_SCHEMAS: dict[str, Any] = {
    _META + "Duration": _STRING,
    _META + "CreateOptions": _object(_WRITE, kind="CreateOptions"),
    _META + "UpdateOptions": _object(_WRITE, kind="UpdateOptions"),
    _META + "PatchOptions": _object({**_WRITE, "force": _BOOLEAN}, kind="PatchOptions"),
    _META + "GetOptions": _object({**_TYPE_META, "resourceVersion": _STRING}, kind="GetOptions"),
    _META + "ListOptions": _object(_LIST, kind="ListOptions"),
    _META + "PartialObjectMetadata": _object(_PARTIAL, kind="PartialObjectMetadata", group="meta.k8s.io"),
    _META + "PartialObjectMetadataList": _list_of(
        _META + "PartialObjectMetadata", "PartialObjectMetadataList", "meta.k8s.io"
    ),
    _METRICS + "ContainerMetrics": _object({"name": {**_STRING, "default": ""}, "usage": _USAGE}, ("name", "usage")),
    _METRICS + "NodeMetrics": _object(
        {**_MEASURED, "usage": _USAGE}, ("timestamp", "window", "usage"), "NodeMetrics", "metrics.k8s.io"
    ),
    _METRICS + "PodMetrics": _object(
        {**_MEASURED, "containers": _CONTAINERS}, ("timestamp", "window", "containers"), "PodMetrics", "metrics.k8s.io"
    ),
    _METRICS + "NodeMetricsList": _list_of(_METRICS + "NodeMetrics", "NodeMetricsList", "metrics.k8s.io"),
    _METRICS + "PodMetricsList": _list_of(_METRICS + "PodMetrics", "PodMetricsList", "metrics.k8s.io"),
}

_SCHEMA: dict[str, Any] = {"ref": _EXTENSIONS + "JSONSchemaProps"}
#: Fields of the messages that stand for these types in protobuf, in facts.
UNION_FIELDS: dict[str, Any] = {
    _EXTENSIONS + "JSONSchemaPropsOrArray": {"schema": _SCHEMA, "jSONSchemas": {"list": dict(_SCHEMA)}},
    _EXTENSIONS + "JSONSchemaPropsOrBool": {"allows": {"sort": "boolean"}, "schema": _SCHEMA},
    _EXTENSIONS + "JSONSchemaPropsOrStringArray": {"schema": _SCHEMA, "property": {"list": {"sort": "string"}}},
}
