"""Garbage collection: dependents follow their owners."""

from __future__ import annotations

from typing import Any

import pytest


def config(name: str, *owners: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    references = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": True,
        }
        for owner in owners
    ]
    return {"metadata": {"name": name, "ownerReferences": references, **metadata}}


@pytest.fixture
def owner(lab):
    return lab.create("configmaps", {"metadata": {"name": "owner"}})


def test_background_deletion_takes_dependents_of_dependents_along(lab, owner):
    child = lab.create("configmaps", config("child", owner))
    lab.create("secrets", config("grandchild", child))
    _, gone = lab.delete("configmaps", "owner", propagation="Background")
    assert gone
    assert lab.names("configmaps", "default") == []
    assert lab.names("secrets", "default") == []


def test_foreground_deletion_waits_for_dependents_that_are_held(lab, owner):
    lab.create("configmaps", config("child", owner, finalizers=["example.com/hold"]))
    _, gone = lab.delete("configmaps", "owner", propagation="Foreground")
    assert not gone
    assert lab.get("configmaps", "owner")["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert "deletionTimestamp" in lab.get("configmaps", "child")["metadata"]
    lab.patch("configmaps", "child", {"metadata": {"finalizers": None}})
    assert lab.names("configmaps", "default") == []


def test_foreground_deletion_does_not_wait_for_dependents_that_do_not_block(lab, owner):
    child = config("child", owner, finalizers=["example.com/hold"])
    child["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = False
    lab.create("configmaps", child)
    lab.delete("configmaps", "owner", propagation="Foreground")
    assert lab.names("configmaps", "default") == ["child"]


def test_orphaned_dependents_forget_their_owner_and_stay(lab, owner):
    lab.create("configmaps", config("child", owner))
    lab.delete("configmaps", "owner", propagation="Orphan")
    assert lab.names("configmaps", "default") == ["child"]
    assert "ownerReferences" not in lab.get("configmaps", "child")["metadata"]


def test_a_job_orphans_its_pods_unless_told_otherwise(lab):
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}
    job = lab.create("jobs.batch", {"metadata": {"name": "job"}, "spec": {"suspend": True, "template": template}})
    lab.create("configmaps", config("child", job))
    lab.delete("jobs.batch", "job")
    assert lab.names("configmaps", "default") == ["child"]


def test_a_dependent_of_two_owners_stays_with_the_one_that_is_left(lab, owner):
    other = lab.create("configmaps", {"metadata": {"name": "other"}})
    lab.create("configmaps", config("child", owner, other))
    lab.delete("configmaps", "owner")
    references = lab.get("configmaps", "child")["metadata"]["ownerReferences"]
    assert [each["name"] for each in references] == ["other"]
    lab.delete("configmaps", "other")
    assert lab.names("configmaps", "default") == []


def test_an_object_whose_owner_never_was_is_collected(lab, owner):
    ghost = {**owner, "metadata": {**owner["metadata"], "name": "ghost", "uid": "no-such-uid"}}
    lab.create("configmaps", config("child", ghost))
    assert lab.names("configmaps", "default") == ["owner"]


def test_an_owner_of_the_same_name_but_another_uid_is_not_the_owner(lab, owner):
    lab.create("configmaps", config("child", owner))
    lab.delete("configmaps", "owner", propagation="Orphan")
    again = lab.create("configmaps", {"metadata": {"name": "owner"}})
    assert again["metadata"]["uid"] != owner["metadata"]["uid"]
    lab.create("configmaps", config("late", owner))
    assert lab.names("configmaps", "default") == ["child", "owner"]


def test_an_owner_of_a_kind_that_is_not_served_is_left_alone(lab):
    reference = {"apiVersion": "unknown.example.com/v1", "kind": "Thing", "name": "t", "uid": "u"}
    lab.create("configmaps", {"metadata": {"name": "child", "ownerReferences": [reference]}})
    assert lab.names("configmaps", "default") == ["child"]


def test_a_cluster_wide_owner_keeps_namespaced_dependents(lab):
    node = lab.create("nodes", {"metadata": {"name": "n1"}})
    lab.create("configmaps", config("child", node))
    assert lab.names("configmaps", "default") == ["child"]
    lab.delete("nodes", "n1")
    assert lab.names("configmaps", "default") == []
