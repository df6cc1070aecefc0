"""Volumes: claims and volumes find each other."""

from __future__ import annotations

import pytest

from ghostfleet.controllers.volumes import (
    CLAIMS,
    CLASSES,
    VOLUMES,
    EphemeralVolumeController,
    StorageProtection,
    VolumeController,
)
from ghostfleet.controllers.volumes.controller import SELECTED_NODE


@pytest.fixture
def storage(world):
    VolumeController(world.store, world.routes, world.profile)
    StorageProtection(world.store, world.profile)
    return world


def volume(world, name, size, **spec):
    fields = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"}}
    return world.create(VOLUMES, name, spec={**fields, "storageClassName": "manual", **spec})


def claim(world, name="claim", size="2Gi", storage_class="manual", **fields):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    return world.create(CLAIMS, name, spec={**spec, **fields.pop("spec", {})}, **fields)


def storage_class(world, name="fast", mode="Immediate", **fields):
    return world.create(CLASSES, name, provisioner="disk.example.com", volumeBindingMode=mode, **fields)


def phase(world, resource, name):
    return world.get(resource, name)["status"]["phase"]


def test_a_claim_is_bound_to_the_smallest_volume_that_is_large_enough(storage):
    for name, size in (("large", "10Gi"), ("small", "1Gi"), ("right", "3Gi")):
        volume(storage, name, size)
    claim(storage)
    bound = storage.get(CLAIMS, "claim")
    assert bound["spec"]["volumeName"] == "right"
    assert bound["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "3Gi"}}
    assert bound["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    assert storage.get(VOLUMES, "right")["spec"]["claimRef"]["uid"] == bound["metadata"]["uid"]
    assert phase(storage, VOLUMES, "right") == "Bound"
    assert phase(storage, VOLUMES, "large") == "Available"


def test_class_mode_and_labels_must_fit(storage):
    volume(storage, "other-class", "5Gi", storageClassName="other")
    volume(storage, "read-only", "5Gi", accessModes=["ReadOnlyMany"])
    volume(storage, "raw", "5Gi", volumeMode="Block")
    claim(storage)
    assert phase(storage, CLAIMS, "claim") == "Pending"
    storage.create(
        VOLUMES,
        "unlabelled",
        spec={
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "manual",
        },
    )
    assert storage.get(CLAIMS, "claim")["spec"]["volumeName"] == "unlabelled"


def test_a_claim_without_a_class_or_a_volume_says_what_it_lacks(storage):
    claim(storage, storage_class="")
    message = "no persistent volumes available for this claim and no storage class is set"
    assert storage.events("claim") == [("FailedBinding", message)]
    claim(storage, "lost", storage_class="nope")
    assert storage.events("lost") == [("ProvisioningFailed", 'storageclass.storage.k8s.io "nope" not found')]


def test_a_class_provisions_a_volume_after_its_delay(new_world):
    world = new_world("kubernetes")
    VolumeController(world.store, world.routes, world.profile)
    storage_class(world)
    made = claim(world, storage_class="fast")
    world.advance(1.5)
    assert phase(world, CLAIMS, "claim") == "Pending"
    assert world.events("claim")[0][0] == "ExternalProvisioning"
    world.advance(1)
    name = f"pvc-{made['metadata']['uid']}"
    assert world.get(CLAIMS, "claim")["spec"]["volumeName"] == name
    assert phase(world, CLAIMS, "claim") == phase(world, VOLUMES, name) == "Bound"


def test_delayed_binding_waits_for_the_node_of_the_first_pod(storage):
    storage_class(storage, "slow", "WaitForFirstConsumer")
    claim(storage, storage_class="slow")
    message = "waiting for first consumer to be created before binding"
    assert storage.events("claim") == [("WaitForFirstConsumer", message)]
    assert phase(storage, CLAIMS, "claim") == "Pending"
    waiting = storage.get(CLAIMS, "claim")
    metadata = {**waiting["metadata"], "annotations": {SELECTED_NODE: "n0"}}
    storage.store.update(CLAIMS, {**waiting, "metadata": metadata})
    storage.clock.settle()
    assert phase(storage, CLAIMS, "claim") == "Bound"


def test_a_claim_that_names_no_class_gets_the_default_one(storage):
    marked = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    claim(storage, storage_class=None)
    storage_class(storage, metadata=marked)
    assert storage.get(CLAIMS, "claim")["spec"]["storageClassName"] == "fast"
    assert phase(storage, CLAIMS, "claim") == "Bound"


def test_a_volume_that_was_made_for_its_claim_goes_with_it(storage):
    storage_class(storage)
    made = claim(storage, storage_class="fast")
    name = f"pvc-{made['metadata']['uid']}"
    assert phase(storage, VOLUMES, name) == "Bound"
    storage.delete(CLAIMS, "claim")
    assert storage.store.find(VOLUMES, "", name) is None


def test_a_volume_to_be_retained_is_released_and_not_given_to_others(storage):
    volume(storage, "kept", "5Gi")
    claim(storage)
    storage.delete(CLAIMS, "claim")
    assert phase(storage, VOLUMES, "kept") == "Released"
    claim(storage, "next")
    assert phase(storage, CLAIMS, "next") == "Pending"


def test_a_claim_whose_volume_is_gone_is_lost(storage):
    volume(storage, "doomed", "5Gi")
    claim(storage)
    storage.delete(VOLUMES, "doomed")
    assert phase(storage, CLAIMS, "claim") == "Lost"
    assert storage.events("claim")[-1][0] == "ClaimLost"


def test_a_protected_claim_goes_when_the_last_pod_that_uses_it_has_ended(storage):
    claim(storage, metadata={"finalizers": ["kubernetes.io/pvc-protection"]})
    container = {"name": "main", "image": "registry.example/app:1"}
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "claim"}}]
    pod = storage.create("pods", "pod", spec={"containers": [container], "volumes": volumes})
    storage.bind(pod)
    storage.set_phase(pod, "Running")
    storage.delete(CLAIMS, "claim")
    assert "deletionTimestamp" in storage.get(CLAIMS, "claim")["metadata"]
    storage.set_phase(pod, "Succeeded")
    assert storage.store.find(CLAIMS, "default", "claim") is None


def with_ephemeral_volume(world, name):
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}}
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    return world.create("pods", name, spec={"containers": [{"name": "main", "image": "x"}], "volumes": volumes})


def test_a_pod_gets_a_claim_of_its_own_for_each_volume_that_it_brings_along(storage):
    EphemeralVolumeController(storage.store, storage.routes, storage.profile)
    pod = with_ephemeral_volume(storage, "p")
    made = storage.get(CLAIMS, "p-scratch")
    assert made["spec"]["resources"] == {"requests": {"storage": "1Mi"}}
    assert made["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]


def test_a_claim_that_is_somebody_elses_is_left_alone(storage):
    EphemeralVolumeController(storage.store, storage.routes, storage.profile)
    before = claim(storage, "p-scratch")
    with_ephemeral_volume(storage, "p")
    assert storage.get(CLAIMS, "p-scratch")["metadata"]["uid"] == before["metadata"]["uid"]
    assert "pod is not owner" in storage.store.list("events")[-1]["message"]
