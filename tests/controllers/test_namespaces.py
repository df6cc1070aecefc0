"""Namespaces: their first object, and their end."""

from __future__ import annotations

import pytest

from ghostfleet.core.clock import SECOND
from ghostfleet.core.errors import ApiError


def test_every_namespace_gets_a_default_service_account_again_and_again(lab):
    lab.create("namespaces", {"metadata": {"name": "team"}})
    assert lab.names("serviceaccounts", "team") == ["default"]
    lab.delete("serviceaccounts", "default", "team")
    assert lab.names("serviceaccounts", "team") == ["default"]


def test_a_deleted_namespace_is_emptied_and_then_gone(lab):
    lab.create("namespaces", {"metadata": {"name": "team"}})
    lab.create("configmaps", {"metadata": {"name": "c"}}, "team")
    lab.create("secrets", {"metadata": {"name": "s"}}, "team")
    answer, gone = lab.delete("namespaces", "team")
    assert not gone
    assert answer["status"]["phase"] == "Terminating"
    assert "team" not in lab.names("namespaces")
    assert lab.names("configmaps", "team") == []


def test_a_terminating_namespace_says_what_holds_it_and_takes_nothing_new(lab):
    lab.create("namespaces", {"metadata": {"name": "team"}})
    lab.create("configmaps", {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}, "team")
    lab.delete("namespaces", "team")
    conditions = {each["type"]: each for each in lab.get("namespaces", "team")["status"]["conditions"]}
    assert conditions["NamespaceContentRemaining"]["message"] == (
        "Some resources are remaining: configmaps. has 1 resource instances"
    )
    assert "example.com/hold in 1 resource instances" in conditions["NamespaceFinalizersRemaining"]["message"]
    with pytest.raises(ApiError, match="because it is being terminated") as caught:
        lab.create("configmaps", {"metadata": {"name": "new"}}, "team")
    assert caught.value.code == 403
    lab.patch("configmaps", "held", {"metadata": {"finalizers": None}}, namespace="team")
    assert "team" not in lab.names("namespaces")


def test_running_pods_keep_a_namespace_until_they_have_stopped(lab):
    lab.create("namespaces", {"metadata": {"name": "team"}})
    spec = {"nodeName": "n1", "containers": [{"name": "a", "image": "b"}]}
    lab.create("pods", {"metadata": {"name": "p"}, "spec": spec}, "team")
    lab.delete("namespaces", "team")
    assert lab.names("pods", "team") == ["p"]
    lab.clock.advance(60 * SECOND)
    assert "team" not in lab.names("namespaces")


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_namespaces_of_the_system_cannot_be_deleted(lab, name):
    with pytest.raises(ApiError, match="this namespace may not be deleted"):
        lab.delete("namespaces", name)


def test_nothing_can_be_made_in_a_namespace_that_is_not_there(lab):
    with pytest.raises(ApiError, match='namespaces "nowhere" not found'):
        lab.create("configmaps", {"metadata": {"name": "c"}}, "nowhere")
