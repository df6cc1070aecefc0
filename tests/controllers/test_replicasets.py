"""Replica sets and replication controllers: as many pods as asked for."""

from __future__ import annotations

import pytest

from ghostfleet.controllers.replicasets import REPLICASETS, REPLICATION_CONTROLLERS, ReplicaController

LABELS = {"app": "web"}


@pytest.fixture
def sets(world):
    ReplicaController(world.store, world.routes, world.creator, world.profile)
    ReplicaController(world.store, world.routes, world.creator, world.profile, REPLICATION_CONTROLLERS)
    return world


def start(world, pod_template, replicas=3, **spec):
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": pod_template(LABELS), **spec}
    return world.create(REPLICASETS, "web", spec=spec)


def test_a_replica_set_makes_its_pods_and_says_how_many_are_ready(sets, pod_template):
    start(sets, pod_template)
    assert sets.get(REPLICASETS, "web")["status"] == {
        "replicas": 3,
        "fullyLabeledReplicas": 3,
        "terminatingReplicas": 0,
        "observedGeneration": 1,
    }
    sets.run()
    status = sets.get(REPLICASETS, "web")["status"]
    assert (status["readyReplicas"], status["availableReplicas"]) == (3, 3)
    assert [reason for reason, _ in sets.events("web")] == ["SuccessfulCreate"] * 3


def test_ready_pods_are_available_after_a_while(sets, pod_template):
    start(sets, pod_template, minReadySeconds=30)
    sets.run()
    sets.advance(29)
    assert "availableReplicas" not in sets.get(REPLICASETS, "web")["status"]
    sets.advance(1)
    assert sets.get(REPLICASETS, "web")["status"]["availableReplicas"] == 3


def test_pods_that_fail_or_go_are_replaced(sets, pod_template):
    start(sets, pod_template)
    sets.run()
    failed, gone, _ = sets.pods()
    sets.set_phase(failed, "Failed")
    sets.delete("pods", gone["metadata"]["name"])
    assert len(sets.pods("Running")) + len(sets.pods("Pending")) == 3


def test_scaling_down_takes_pods_that_do_not_run_first_and_heeds_their_cost(sets, pod_template):
    start(sets, pod_template, 2)
    sets.run()
    cheap, dear = sets.pods()
    for pod, cost in ((cheap, "-5"), (dear, "10")):
        metadata = {**pod["metadata"], "annotations": {"controller.kubernetes.io/pod-deletion-cost": cost}}
        sets.store.update("pods", {**pod, "metadata": metadata})
    sets.update(REPLICASETS, "web", replicas=4)
    sets.update(REPLICASETS, "web", replicas=2)
    assert sets.names() == [cheap["metadata"]["name"], dear["metadata"]["name"]]
    sets.update(REPLICASETS, "web", replicas=1)
    assert sets.get(REPLICASETS, "web")["status"]["terminatingReplicas"] == 1
    sets.advance(2)
    assert sets.names() == [dear["metadata"]["name"]]


def test_a_pod_that_no_longer_fits_is_released_and_one_that_fits_is_adopted(sets, pod_template):
    start(sets, pod_template, 1)
    (pod,) = sets.pods()
    sets.store.update("pods", {**pod, "metadata": {**pod["metadata"], "labels": {"app": "debug"}}})
    sets.clock.settle()
    released = sets.get("pods", pod["metadata"]["name"])
    assert "ownerReferences" not in released["metadata"]
    assert len(sets.pods()) == 2
    sets.store.update("pods", {**released, "metadata": {**released["metadata"], "labels": LABELS}})
    sets.clock.settle()
    sets.advance(2)
    assert len(sets.pods()) == 1
    assert sets.pods()[0]["metadata"]["ownerReferences"][0]["name"] == "web"


def test_pods_left_behind_by_a_deleted_set_are_adopted_by_the_next(sets, pod_template):
    start(sets, pod_template)
    names = sets.names()
    sets.delete(REPLICASETS, "web", finalizer="orphan")
    assert sets.names() == names
    start(sets, pod_template)
    assert sets.names() == names


def test_what_cannot_be_made_is_a_condition_until_it_can(sets, pod_template):
    template = pod_template(LABELS, priorityClassName="high")
    start(sets, pod_template, template=template)
    (condition,) = sets.get(REPLICASETS, "web")["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
    sets.create("priorityclasses.scheduling.k8s.io", "high", value=5)
    sets.advance(60)
    assert "conditions" not in sets.get(REPLICASETS, "web")["status"]
    assert len(sets.pods()) == 3


def test_a_replication_controller_does_the_same_without_a_count_of_leaving_pods(sets, pod_template):
    spec = {"replicas": 2, "selector": LABELS, "template": pod_template(LABELS)}
    sets.create(REPLICATION_CONTROLLERS, "old", spec=spec)
    sets.run()
    status = sets.get(REPLICATION_CONTROLLERS, "old")["status"]
    assert status == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "observedGeneration": 1,
    }
