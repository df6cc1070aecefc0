"""Pods that were asked to go, and pods that nobody else would remove."""

from __future__ import annotations

import pytest

from ghostfleet.controllers.podgarbage import PodGarbageCollector
from ghostfleet.core.clock import SECOND
from ghostfleet.core.profile import Figure, Profile

SPEC = {"nodeName": "n1", "containers": [{"name": "a", "image": "b"}]}


@pytest.fixture
def collected(world):
    figures = {**world.profile.figures(), "pod-garbage.terminated-limit": Figure(3, "this test")}
    PodGarbageCollector(world.store, Profile("small", {}, figures))
    world.node("n0")
    return world


def pod(world, name, **metadata):
    spec = {"containers": [{"name": "main", "image": "registry.example/app:1"}]}
    return world.create("pods", name, metadata=metadata, spec=spec)


def test_of_too_many_ended_pods_the_oldest_go(collected):
    for number in range(5):
        each = pod(collected, f"p{number}")
        collected.bind(each)
        collected.set_phase(each, "Succeeded")
        collected.advance(1)
    assert len(collected.pods()) == 5
    collected.advance(20)
    assert collected.names() == ["p2", "p3", "p4"]


def test_pods_of_a_node_that_is_gone_fail_and_go_after_a_quarantine(collected):
    each = pod(collected, "p", finalizers=["example.com/hold"])
    collected.bind(each)
    collected.set_phase(each, "Running")
    collected.store.delete("nodes", "", "n0")
    collected.advance(39)
    assert "deletionTimestamp" not in collected.get("pods", "p")["metadata"]
    collected.advance(30)
    gone = collected.get("pods", "p")
    assert gone["status"]["phase"] == "Failed"
    assert gone["status"]["conditions"][-1]["reason"] == "DeletionByPodGC"
    assert "deletionTimestamp" in gone["metadata"]


def test_a_node_that_comes_back_during_the_quarantine_keeps_its_pods(collected):
    each = pod(collected, "p")
    collected.bind(each)
    collected.store.delete("nodes", "", "n0")
    collected.advance(10)
    collected.node("n0")
    collected.advance(100)
    assert collected.names() == ["p"]


def test_marked_pods_without_a_node_fail_so_that_their_owners_can_count_them(collected):
    pod(collected, "p", finalizers=["example.com/hold"])
    collected.delete("pods", "p")
    collected.advance(20)
    assert collected.get("pods", "p")["status"]["phase"] == "Failed"


def test_pods_bound_to_a_node_that_never_was_go_too(collected):
    collected.bind(pod(collected, "p"), "nowhere")
    collected.advance(80)
    assert collected.names() == []


def test_a_pod_on_a_node_stops_before_it_goes(lab):
    lab.create("pods", {"metadata": {"name": "p"}, "spec": SPEC})
    answer, gone = lab.delete("pods", "p")
    assert not gone
    assert answer["metadata"]["deletionGracePeriodSeconds"] == 30
    assert lab.names("pods") == ["p"]
    lab.clock.advance(2 * SECOND)
    assert lab.names("pods") == []


def test_a_pod_without_a_node_goes_at_once(lab):
    lab.create("pods", {"metadata": {"name": "p"}, "spec": {**SPEC, "nodeName": ""}})
    _, gone = lab.delete("pods", "p")
    assert gone


def test_a_forced_deletion_does_not_wait(lab):
    lab.create("pods", {"metadata": {"name": "p"}, "spec": SPEC})
    lab.delete("pods", "p")
    _, gone = lab.delete("pods", "p", grace_seconds=0)
    assert gone


def test_a_pod_of_the_same_name_made_meanwhile_is_left_alone(lab):
    lab.create("pods", {"metadata": {"name": "p"}, "spec": SPEC})
    lab.delete("pods", "p")
    lab.delete("pods", "p", grace_seconds=0)
    lab.create("pods", {"metadata": {"name": "p"}, "spec": SPEC})
    lab.clock.advance(60 * SECOND)
    assert lab.names("pods") == ["p"]
