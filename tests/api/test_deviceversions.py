"""resource.k8s.io in its versions: what is written in one is read in the others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.api.deviceversions import from_v1, to_v1
from ghostfleet.api.options import WriteOptions
from ghostfleet.cluster import Cluster, ClusterConfig

GROUP = "resource.k8s.io"


class Versions:
    """The API of a cluster without nodes, asked in any version."""

    def __init__(self) -> None:
        self.cluster = Cluster(config=ClusterConfig())

    def _resource(self, plural: str, version: str) -> Any:
        resource = self.cluster.registry.by_key(f"{plural}.{GROUP}")
        return resource, resource.versions[version]

    def create(self, plural: str, version: str, kind: str, name: str, spec: Any) -> Any:
        obj = {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": {"name": name}, "spec": spec}
        resource, found = self._resource(plural, version)
        namespace = "default" if resource.namespaced else ""
        return self.cluster.api.create(resource, found, namespace, obj, WriteOptions(manager="test"))

    def get(self, plural: str, version: str, name: str) -> Any:
        resource, found = self._resource(plural, version)
        return self.cluster.api.get(resource, found, "default" if resource.namespaced else "", name)

    def patch(self, plural: str, version: str, name: str, kind: str, patch: Any) -> Any:
        resource, found = self._resource(plural, version)
        options = WriteOptions(manager="test", force=True)
        changed, _ = self.cluster.api.patch(resource, found, "default", name, kind, patch, options)
        return changed


@pytest.fixture(scope="module")
def versions() -> Versions:
    return Versions()


OLD = {"name": "gpu", "deviceClassName": "gpu", "count": 2, "selectors": [{"cel": {"expression": "true"}}]}
NEW = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": 2, "selectors": [{"cel": {"expression": "true"}}]}}


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_a_claim_of_any_version_is_read_in_all_of_them(versions: Versions, version: str) -> None:
    written = {"devices": {"requests": [OLD if version == "v1beta1" else NEW]}}
    made = versions.create("resourceclaims", version, "ResourceClaim", f"claim-{version}", written)
    assert made["apiVersion"] == f"{GROUP}/{version}"
    for each in ("v1", "v1beta2", "v1beta1"):
        found = versions.get("resourceclaims", each, f"claim-{version}")
        [request] = found["spec"]["devices"]["requests"]
        exactly = request if each == "v1beta1" else request["exactly"]
        assert (exactly["deviceClassName"], exactly["count"], exactly["allocationMode"]) == ("gpu", 2, "ExactCount")
        assert ("exactly" in request) is (each != "v1beta1")


def test_alternatives_are_the_same_in_all_versions(versions: Versions) -> None:
    listed = [{"name": "a", "deviceClassName": "gpu"}]
    spec = {"devices": {"requests": [{"name": "gpu", "firstAvailable": listed}]}}
    versions.create("resourceclaims", "v1beta1", "ResourceClaim", "alternatives", spec)
    [request] = versions.get("resourceclaims", "v1", "alternatives")["spec"]["devices"]["requests"]
    assert request["firstAvailable"][0]["count"] == 1
    assert "exactly" not in request


def test_a_template_is_converted_too(versions: Versions) -> None:
    versions.create(
        "resourceclaimtemplates", "v1beta1", "ResourceClaimTemplate", "t", {"spec": {"devices": {"requests": [OLD]}}}
    )
    [request] = versions.get("resourceclaimtemplates", "v1", "t")["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"]["deviceClassName"] == "gpu"


def test_devices_of_a_slice_are_basic_in_v1beta1(versions: Versions) -> None:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    device = {
        "name": "gpu-0",
        "basic": {"attributes": {"model": {"string": "x"}}, "capacity": {"memory": {"value": "1Gi"}}},
    }
    spec = {"driver": "d.example.com", "pool": pool, "nodeName": "n", "allNodes": False, "devices": [device]}
    versions.create("resourceslices", "v1beta1", "ResourceSlice", "s", spec)
    stored = versions.get("resourceslices", "v1", "s")["spec"]
    assert stored["devices"] == [{"name": "gpu-0", **device["basic"]}]
    assert "allNodes" not in stored
    assert versions.get("resourceslices", "v1beta1", "s")["spec"]["devices"] == [device]


def test_a_claim_can_be_patched_and_applied_in_the_older_version(versions: Versions) -> None:
    versions.create("resourceclaims", "v1", "ResourceClaim", "patched", {"devices": {"requests": [NEW]}})
    merge = {"metadata": {"labels": {"a": "b"}}}
    changed = versions.patch("resourceclaims", "v1beta1", "patched", "merge", merge)
    assert changed["spec"]["devices"]["requests"][0]["deviceClassName"] == "gpu"
    applied = {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "ResourceClaim",
        "metadata": {"name": "patched", "labels": {"c": "d"}},
    }
    changed = versions.patch("resourceclaims", "v1beta1", "patched", "apply", applied)
    assert changed["metadata"]["labels"] == {"a": "b", "c": "d"}
    assert versions.get("resourceclaims", "v1", "patched")["spec"]["devices"]["requests"][0]["exactly"]["count"] == 2


def test_fields_are_owned_as_the_clients_version_has_them(versions: Versions) -> None:
    made = versions.create("resourceclaims", "v1beta1", "ResourceClaim", "owned", {"devices": {"requests": [OLD]}})
    [entry] = made["metadata"]["managedFields"]
    requests = entry["fieldsV1"]["f:spec"]["f:devices"]["f:requests"]
    assert entry["apiVersion"] == f"{GROUP}/v1beta1"
    assert "f:deviceClassName" in str(requests) or requests == {}
    assert "f:exactly" not in str(requests)


def test_old_versions_warn_that_they_go(versions: Versions) -> None:
    served = versions.cluster.registry.by_key(f"resourceclaims.{GROUP}").versions
    assert served["v1beta1"].deprecated == (
        "resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+"
    )
    assert not served["v1"].deprecated


exact = st.fixed_dictionaries(
    {"deviceClassName": st.just("gpu")},
    optional={"count": st.integers(1, 9), "allocationMode": st.just("ExactCount"), "adminAccess": st.just(True)},
)
requests = st.lists(
    st.one_of(
        st.builds(lambda each: {"name": "r", "exactly": each}, exact),
        st.builds(lambda each: {"name": "r", "firstAvailable": [{"name": "s", **each}]}, exact),
    )
)
devices = st.lists(
    st.fixed_dictionaries(
        {"name": st.just("d")}, optional={"nodeName": st.just("n"), "taints": st.just([{"key": "k"}])}
    )
)


@given(requests)
def test_a_claim_comes_back_as_it_was(listed: list[Any]) -> None:
    claim = {"spec": {"devices": {"requests": listed}}}
    assert to_v1("resourceclaims", from_v1("resourceclaims", claim)) == claim


@given(devices)
def test_a_slice_comes_back_as_it_was(listed: list[Any]) -> None:
    found = {"spec": {"nodeName": "n", "devices": listed}}
    assert to_v1("resourceslices", from_v1("resourceslices", found)) == found
