"""Bad claims, classes and slices: each is refused with what kube-apiserver says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ghostfleet.api.options import WriteOptions
from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.core.errors import ApiError

GROUP = "resource.k8s.io"
_LINES = (Path(__file__).parent / "devicevalidation.jsonl").read_text().splitlines()
#: The first line says which version answered.
_FACTS = [json.loads(line) for line in _LINES[1:]]


class Api:
    def __init__(self) -> None:
        self.cluster = Cluster(config=ClusterConfig())

    def create(self, plural: str, kind: str, name: str, spec: Any) -> str:
        """What the API says of an object; "" if it takes it."""
        resource = self.cluster.registry.by_key(f"{plural}.{GROUP}")
        obj = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        try:
            namespace = "default" if resource.namespaced else ""
            self.cluster.api.create(resource, resource.storage, namespace, obj, WriteOptions())
        except ApiError as error:
            return str(error)
        return ""


@pytest.fixture(scope="module")
def api() -> Api:
    return Api()


@pytest.mark.parametrize("fact", _FACTS, ids=lambda fact: fact["name"])
def test_a_bad_object_is_refused_in_kubernetes_words(api: Api, fact: Any) -> None:
    assert api.create(fact["plural"], fact["kind"], fact["name"], fact["spec"]) == fact["said"]


def test_admin_access_needs_a_label_of_the_namespace(api: Api) -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "c", "adminAccess": True}}
    spec = {"devices": {"requests": [request]}}
    assert "admin access to devices requires" in api.create("resourceclaims", "ResourceClaim", "admin", spec)
    store = api.cluster.store
    namespace = store.get("namespaces", "", "default")
    labels = {**namespace["metadata"].get("labels", {}), "resource.kubernetes.io/admin-access": "true"}
    store.replace("namespaces", namespace, {**namespace, "metadata": {**namespace["metadata"], "labels": labels}})
    assert api.create("resourceclaims", "ResourceClaim", "admin", spec) == ""
