"""OpenAPI documents, as kubectl and code generators read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from ghostfleet.api import builtin
from ghostfleet.api.kinds import Resource, Version
from ghostfleet.core.schema import Type
from ghostfleet.server.openapi import OpenApi
from ghostfleet.server.openapi_docs import Docs, docs_of
from ghostfleet.server.openapi_schemas import references

POD = "io.k8s.api.core.v1.Pod"
CONTAINER = "io.k8s.api.core.v1.Container"
WIDGET: dict[str, Any] = {
    "description": "A widget.",
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "description": "What it should be.",
            "properties": {
                "size": {"type": "integer", "format": "int32", "default": 1, "description": "How big."},
                "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "note": {"type": "string", "nullable": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "inner": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "parts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
                },
            },
        }
    },
}


@pytest.fixture(scope="module")
def openapi() -> OpenApi:
    return OpenApi(builtin.load_registry())


def widgets(schema: dict[str, Any]) -> Resource:
    kind = Type("object")
    kind.raw = schema
    return Resource(
        group="example.com",
        plural="widgets",
        singular="widget",
        kind="Widget",
        namespaced=True,
        storage_version="v1",
        versions={"v1": Version("v1", kind)},
        list_kind="WidgetList",
        subresources={"status": ("example.com", "v1", "Widget", ("get", "patch", "update"))},
        custom=True,
    )


def document(openapi: OpenApi, group_version: str) -> dict[str, Any]:
    content = openapi.v3_document(group_version)
    assert content is not None
    loaded: dict[str, Any] = orjson.loads(content)
    return loaded


def schema(openapi: OpenApi, group_version: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = document(openapi, group_version)["components"]["schemas"][name]
    return found


def operations(paths: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
    """Every operation with its method and the names of all its parameters."""
    for item in paths.values():
        shared = [parameter["name"] for parameter in item.get("parameters", ())]
        for method, operation in item.items():
            if method != "parameters":
                own = [parameter["name"] for parameter in operation.get("parameters", ())]
                yield method, operation, shared + own


def test_the_index_lists_every_group_version_with_a_hash(openapi: OpenApi):
    paths = openapi.v3_index()["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/resource.k8s.io/v1", "apis/resource.k8s.io/v1beta2"} <= paths.keys()
    for path, entry in paths.items():
        url, _, digest = entry["serverRelativeURL"].partition("?hash=")
        assert url == f"/openapi/v3/{path}"
        assert len(digest) == 64


def test_every_document_resolves_its_own_references(openapi: OpenApi):
    for group_version in openapi.v3_index()["paths"]:
        whole = document(openapi, group_version)
        assert set(references(whole)) <= set(whole["components"]["schemas"])
    swagger = openapi.v2_document()
    assert set(references(swagger)) <= set(swagger["definitions"])


def test_a_group_version_that_is_not_served_has_no_document(openapi: OpenApi):
    assert openapi.v3_document("apis/batch/v1beta1") is None
    assert openapi.v3_document("") is None


def test_operations_have_names_of_their_own(openapi: OpenApi):
    for group_version in openapi.v3_index()["paths"]:
        names = [operation["operationId"] for _, operation, _ in operations(document(openapi, group_version)["paths"])]
        assert len(names) == len(set(names))


def test_kubectl_learns_that_the_server_validates_fields_and_can_dry_run(openapi: OpenApi):
    for group_version in openapi.v3_index()["paths"]:
        for method, operation, parameters in operations(document(openapi, group_version)["paths"]):
            if method in ("post", "patch", "put"):
                assert {"fieldValidation", "dryRun"} <= set(parameters)
                assert set(operation["x-kubernetes-group-version-kind"]) == {"group", "version", "kind"}


def test_kubectl_of_old_learns_the_same_from_swagger(openapi: OpenApi):
    patched = set()
    for method, operation, parameters in operations(openapi.v2_document()["paths"]):
        if method == "patch":
            kind = operation["x-kubernetes-group-version-kind"]
            patched.add((kind["group"], kind["version"], kind["kind"]))
            assert "dryRun" in parameters
    assert {("", "v1", "Pod"), ("apps", "v1", "Deployment"), ("batch", "v1", "Job")} <= patched


def test_built_in_kinds_can_be_patched_in_four_ways_and_custom_ones_in_three(openapi: OpenApi):
    registry = builtin.load_registry()
    registry.add(widgets(WIDGET))
    pods = document(openapi, "api/v1")["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    custom = document(OpenApi(registry), "apis/example.com/v1")["paths"]
    widget = custom["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
    common = {"application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"}
    assert set(pods["requestBody"]["content"]) == common | {"application/strategic-merge-patch+json"}
    assert set(widget["requestBody"]["content"]) == common


def test_schemas_say_how_lists_merge(openapi: OpenApi):
    for container in (schema(openapi, "api/v1", CONTAINER), openapi.v2_document()["definitions"][CONTAINER]):
        ports = container["properties"]["ports"]
        assert ports["x-kubernetes-list-type"] == "map"
        assert ports["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]
        assert ports["x-kubernetes-patch-merge-key"] == "containerPort"
        assert ports["x-kubernetes-patch-strategy"] == "merge"
        assert container["required"] == ["name"]


def test_kinds_are_marked_on_their_schemas(openapi: OpenApi):
    marked = schema(openapi, "api/v1", POD)["x-kubernetes-group-version-kind"]
    assert marked == [{"group": "", "version": "v1", "kind": "Pod"}]
    options = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
    groups = [kind["group"] for kind in schema(openapi, "apis/batch/v1", options)["x-kubernetes-group-version-kind"]]
    assert groups == ["", "batch"]


def test_v3_says_defaults_and_alternatives_that_v2_cannot(openapi: OpenApi):
    quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity"
    port = "io.k8s.api.core.v1.ContainerPort"
    definitions = openapi.v2_document()["definitions"]
    assert schema(openapi, "api/v1", port)["properties"]["protocol"]["default"] == "TCP"
    assert "default" not in definitions[port]["properties"]["protocol"]
    assert schema(openapi, "api/v1", quantity)["oneOf"] == [{"type": "string"}, {"type": "number"}]
    assert definitions[quantity]["type"] == "string"


def test_fields_come_with_the_real_documentation(openapi: OpenApi):
    resources = schema(openapi, "api/v1", CONTAINER)["properties"]["resources"]
    assert resources["description"].startswith("Compute Resources required by this container. Cannot be updated.")
    assert resources["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.core.v1.ResourceRequirements"}]
    policy = schema(openapi, "api/v1", CONTAINER)["properties"]["imagePullPolicy"]
    assert policy["description"].endswith(' - `"Always"`\n - `"IfNotPresent"`\n - `"Never"`')


def test_wrapped_lines_of_documentation_are_joined_and_paragraphs_kept():
    meta = docs_of("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
    assert "represented in RFC3339 form and is in UTC.\n\nPopulated by the system." in meta.fields["creationTimestamp"]
    assert "external tools to store and retrieve arbitrary metadata" in meta.fields["annotations"]


def test_fields_that_are_no_python_names_are_documented_under_their_own():
    props = docs_of("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    assert "x-kubernetes-list-type" in props.fields
    assert "except" in docs_of("io.k8s.api.networking.v1.IPBlock").fields


def test_types_nobody_documents_have_no_words():
    assert docs_of("io.k8s.metrics.pkg.apis.metrics.v1beta1.NodeMetrics") == Docs()
    assert docs_of("io.k8s.api.core.v1.Gizmo") == Docs()


def test_a_custom_resource_is_documented_by_its_definition():
    registry = builtin.load_registry()
    registry.add(widgets(WIDGET))
    openapi = OpenApi(registry)
    found = schema(openapi, "apis/example.com/v1", "com.example.v1.Widget")
    spec = found["properties"]["spec"]
    assert found["description"] == "A widget."
    assert spec["properties"]["size"]["description"] == "How big."
    assert spec["properties"]["parts"] == WIDGET["properties"]["spec"]["properties"]["parts"]
    assert set(spec["properties"]["inner"]["properties"]) == {"apiVersion", "kind", "metadata"}
    assert found["properties"]["metadata"]["allOf"][0]["$ref"].endswith("meta.v1.ObjectMeta")
    assert found["x-kubernetes-group-version-kind"] == [{"group": "example.com", "version": "v1", "kind": "Widget"}]


def test_swagger_leaves_out_what_it_cannot_say_of_a_custom_resource():
    registry = builtin.load_registry()
    registry.add(widgets(WIDGET))
    definition = OpenApi(registry).v2_document()["definitions"]["com.example.v1.Widget"]
    properties = definition["properties"]["spec"]["properties"]
    assert properties["size"] == {"type": "integer", "format": "int32", "description": "How big."}
    assert properties["port"] == {"x-kubernetes-int-or-string": True}
    assert properties["note"] == {}
    assert properties["free"] == {"x-kubernetes-preserve-unknown-fields": True}


def test_documents_follow_the_registry_and_keep_what_has_not_changed():
    registry = builtin.load_registry()
    openapi = OpenApi(registry)
    before, core, swagger = openapi.v3_index(), openapi.v3_document("api/v1"), openapi.v2_document()
    registry.add(widgets(WIDGET))
    added = openapi.v3_index()
    assert set(added["paths"]) - set(before["paths"]) == {"apis/example.com/v1"}
    assert openapi.v3_document("api/v1") is core
    assert "com.example.v1.Widget" in openapi.v2_document()["definitions"]
    registry.add(widgets({"type": "object"}))
    assert openapi.v3_index() != added
    assert "description" not in schema(openapi, "apis/example.com/v1", "com.example.v1.Widget")
    found = registry.by_key("widgets.example.com")
    assert found is not None
    registry.remove(found)
    assert openapi.v3_index() == before
    assert openapi.v3_document("apis/example.com/v1") is None
    assert openapi.v2_document() == swagger


def test_documents_are_kept_until_something_changes(openapi: OpenApi):
    assert openapi.v3_document("apis/apps/v1") is openapi.v3_document("apis/apps/v1")
    assert openapi.v2_document() is openapi.v2_document()


def test_two_clusters_publish_the_same_documents(openapi: OpenApi):
    other = OpenApi(builtin.load_registry())
    assert other.v3_index() == openapi.v3_index()
    assert other.v3_document("api/v1") == openapi.v3_document("api/v1")
    assert orjson.dumps(other.v2_document()) == orjson.dumps(openapi.v2_document())
