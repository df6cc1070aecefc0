"""What clients are told about groups, versions and resources."""

from __future__ import annotations

import dataclasses

import orjson
import pytest

from ghostfleet.api.builtin import load_registry
from ghostfleet.api.kinds import Resource, Version
from ghostfleet.core.schema import ANY
from ghostfleet.server.discovery import Discovery, aggregated_version
from ghostfleet.server.groups import maturity

QUEUES = Resource(
    "a.example.com",
    "queues",
    "queue",
    "Queue",
    namespaced=True,
    storage_version="v1",
    versions={name: Version(name, ANY) for name in ("v1beta1", "v2alpha1", "v1")},
    short_names=("q",),
    categories=("all", "fleet"),
    subresources={
        "scale": ("autoscaling", "v1", "Scale", ("get", "patch", "update")),
        "status": ("a.example.com", "v1", "Queue", ("get", "patch", "update")),
    },
    custom=True,
)


@pytest.fixture
def registry():
    return load_registry()


@pytest.fixture
def discovery(registry):
    return Discovery(registry)


def test_groups_come_in_the_order_of_the_real_server(discovery):
    names = [group["name"] for group in discovery.all_groups()["groups"]]
    expected = [
        "apps",
        "events.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "networking.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "scheduling.k8s.io",
        "coordination.k8s.io",
        "node.k8s.io",
        "discovery.k8s.io",
        "resource.k8s.io",
    ]
    assert [name for name in names if name in expected] == expected
    assert names[-1] == "metrics.k8s.io"


def test_a_resource_is_listed_with_all_its_names_and_parts(discovery):
    listed = {entry["name"]: entry for entry in discovery.resources("", "v1")["resources"]}
    assert listed["pods"] == {
        "name": "pods",
        "singularName": "pod",
        "namespaced": True,
        "kind": "Pod",
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        "shortNames": ["po"],
        "categories": ["all"],
        "storageVersionHash": "xPOwRZ+Yhw8=",
    }
    assert listed["pods/eviction"] == {
        "name": "pods/eviction",
        "singularName": "",
        "namespaced": True,
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
        "verbs": ["create"],
    }
    assert listed["configmaps"]["storageVersionHash"] == "qFsyl6wFWjQ="
    assert "storageVersionHash" not in listed["bindings"]


def test_the_core_group_has_a_document_of_its_own_form(discovery):
    assert discovery.core("host:1") == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "host:1"}],
    }
    assert "apiVersion" not in discovery.resources("", "v1")
    assert discovery.resources("batch", "v1")["apiVersion"] == "v1"


def test_a_custom_resource_appears_and_goes(registry, discovery):
    assert discovery.group("a.example.com") is None
    registry.add(QUEUES)
    assert discovery.group("a.example.com") == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "a.example.com",
        "versions": [
            {"groupVersion": f"a.example.com/{version}", "version": version}
            for version in ("v1", "v1beta1", "v2alpha1")
        ],
        "preferredVersion": {"groupVersion": "a.example.com/v1", "version": "v1"},
    }
    assert [entry["name"] for entry in discovery.resources("a.example.com", "v1")["resources"]] == [
        "queues",
        "queues/status",
        "queues/scale",
    ]
    registry.remove(QUEUES)
    assert discovery.group("a.example.com") is None
    assert discovery.resources("a.example.com", "v1") is None


def test_a_group_whose_resources_have_a_better_name_comes_last(registry, discovery):
    other = dataclasses.replace(QUEUES, group="z.example.com")
    for secondary, first in ((QUEUES, "z.example.com"), (other, "a.example.com")):
        for resource in (QUEUES, other):
            registry.add(dataclasses.replace(resource, secondary=resource is secondary))
        names = [group["name"] for group in discovery.all_groups()["groups"]]
        assert next(name for name in names if name.endswith(".example.com")) == first
        for resource in (QUEUES, other):
            registry.remove(resource)


def test_a_version_that_is_not_served_is_not_shown(registry, discovery):
    hidden = dataclasses.replace(QUEUES.versions["v1beta1"], served=False)
    registry.add(dataclasses.replace(QUEUES, versions={**QUEUES.versions, "v1beta1": hidden}))
    assert discovery.resources("a.example.com", "v1beta1") is None
    assert list(discovery.groups["a.example.com"].versions) == ["v1", "v2alpha1"]


def test_aggregated_discovery_has_everything_in_two_documents(registry, discovery):
    registry.add(QUEUES)
    core = orjson.loads(discovery.aggregated("v2", core=True)[0])
    rest = orjson.loads(discovery.aggregated("v2", core=False)[0])
    assert core["apiVersion"] == "apidiscovery.k8s.io/v2"
    assert [group["metadata"] for group in core["items"]] == [{}]
    groups = {group["metadata"]["name"]: group for group in rest["items"]}
    version = groups["a.example.com"]["versions"][0]
    assert (version["version"], version["freshness"]) == ("v1", "Current")
    resource = version["resources"][0]
    assert resource["responseKind"] == {"group": "a.example.com", "version": "v1", "kind": "Queue"}
    assert resource["subresources"][1]["responseKind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    deployments = next(r for r in groups["apps"]["versions"][0]["resources"] if r["resource"] == "deployments")
    assert deployments["responseKind"] == {"group": "", "version": "", "kind": "Deployment"}


def test_the_etag_changes_with_the_registry_only(registry, discovery):
    before = discovery.aggregated("v2", core=False)[1]
    assert discovery.aggregated("v2", core=False)[1] == before
    registry.add(QUEUES)
    assert discovery.aggregated("v2", core=False)[1] != before
    registry.remove(QUEUES)
    assert discovery.aggregated("v2", core=False)[1] == before


@pytest.mark.parametrize(
    ("accept", "version"),
    [
        ("", ""),
        ("application/json", ""),
        ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json", "v2"),
        ("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json", "v2beta1"),
        ("application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList,application/json", ""),
        ("application/json;g=apidiscovery.k8s.io;v=v2;as=Foo", ""),
        ("*/*", ""),
    ],
)
def test_aggregated_discovery_is_for_those_who_ask(accept, version):
    assert aggregated_version(accept) == version


def test_versions_are_ordered_by_maturity():
    names = ["v1alpha1", "v10", "v1beta2", "foo", "v2", "v1", "v11beta1", "v1beta1", "v2alpha1"]
    assert sorted(names, key=maturity) == [
        "v10",
        "v2",
        "v1",
        "v11beta1",
        "v1beta2",
        "v1beta1",
        "v2alpha1",
        "v1alpha1",
        "foo",
    ]
