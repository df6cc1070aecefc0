"""Pods that were asked to go."""

from __future__ import annotations

from ghostfleet.core.clock import SECOND

SPEC = {"nodeName": "n1", "containers": [{"name": "a", "image": "b"}]}


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
