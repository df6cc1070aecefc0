"""The expiry of events: none lives for more than an hour, and there are never too many."""

from __future__ import annotations

import pytest

from ghostfleet.cluster import BARE, Cluster
from ghostfleet.controllers.eventexpiry import EventExpiry
from ghostfleet.controllers.events import EventRecorder


@pytest.fixture
def told(world):
    world.node("n0")
    return world


def reasons(told) -> list[str]:
    return sorted(each["reason"] for each in told.store.list("events"))


def test_events_go_an_hour_after_they_were_told_last(told):
    EventExpiry(told.store, told.profile)
    recorder = EventRecorder(told.store, "tester", told.profile)
    node = told.get("nodes", "n0")
    recorder.normal(node, "Old", "news")
    recorder.normal(node, "Tick", "tock")
    told.advance(1800)
    recorder.normal(node, "Tick", "tock")
    told.advance(1800)
    assert reasons(told) == ["Tick"]
    told.advance(1800)
    assert reasons(told) == []


def test_past_their_bound_the_oldest_events_go_early(told):
    EventExpiry(told.store, told.profile.replaced(events__kept=5, events__burst=100))
    recorder = EventRecorder(told.store, "tester", told.profile.replaced(events__burst=100))
    node = told.get("nodes", "n0")
    for number in range(9):
        recorder.normal(node, f"Reason{number}", "message")
    recorder.normal(node, "Reason0", "message")
    told.clock.settle()
    assert reasons(told) == ["Reason0", "Reason5", "Reason6", "Reason7", "Reason8"]


def test_an_event_that_is_told_for_ever_is_remembered_once(told):
    expiry = EventExpiry(told.store, told.profile)
    recorder = EventRecorder(told.store, "tester", told.profile.replaced(events__burst=10_000))
    node = told.get("nodes", "n0")
    for _ in range(1000):
        recorder.normal(node, "Tick", "tock")
    assert len(expiry._waiting) == 1
    told.store.delete("events", "default", told.store.list("events")[0]["metadata"]["name"])
    assert expiry._waiting == {}


def test_events_that_somebody_holds_do_not_hold_up_the_rest(told):
    EventExpiry(told.store, told.profile.replaced(events__kept=2))
    for number in range(6):
        metadata = {"name": f"e{number}", "namespace": "default", "finalizers": ["example.com/mine"]}
        told.store.create("events", {"kind": "Event", "apiVersion": "v1", "metadata": metadata, "reason": "Held"})
    told.clock.settle()
    told.advance(10_000)
    assert len(reasons(told)) == 6
    assert all("deletionTimestamp" in each["metadata"] for each in told.store.list("events"))


def test_events_expire_even_where_the_api_stands_alone():
    cluster = Cluster(config=BARE)
    metadata = {"name": "e", "namespace": "default"}
    cluster.store.create("events", {"kind": "Event", "apiVersion": "v1", "metadata": metadata})
    cluster.clock.advance(3601 * 1_000_000)
    assert cluster.store.count("events") == 0
