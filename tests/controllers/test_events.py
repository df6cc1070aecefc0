"""Events: told once, counted, combined; none lives for more than an hour, and there are never too many."""

from __future__ import annotations

import pytest

from ghostfleet.cluster import BARE, Cluster
from ghostfleet.controllers.events import EventExpiry, EventRecorder
from ghostfleet.core.latency import Client
from ghostfleet.core.ratelimit import TokenBucket


@pytest.fixture
def told(world):
    world.node("n0")
    return world


def events(world):
    found = world.store.list("events")
    found.sort(key=lambda each: each["metadata"]["name"])
    return [(each["reason"], each["message"], each["count"]) for each in found]


def test_an_event_says_who_tells_what_about_whom(told):
    node = told.get("nodes", "n0")
    EventRecorder(told.store, "tester", told.profile).warning(node, "Tired", "needs a rest")
    (event,) = told.store.list("events")
    assert event["involvedObject"]["uid"] == node["metadata"]["uid"]
    assert event["metadata"]["namespace"] == "default"
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "Tired", "needs a rest")
    assert event["source"] == {"component": "tester"}
    assert event["reportingComponent"] == "tester"


def test_the_same_event_again_raises_its_count(told):
    recorder = EventRecorder(told.store, "tester", told.profile)
    node = told.get("nodes", "n0")
    for _ in range(3):
        recorder.normal(node, "Tick", "tock")
        told.advance(10)
    (event,) = told.store.list("events")
    assert event["count"] == 3
    assert (event["firstTimestamp"], event["lastTimestamp"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:20Z")


def test_many_similar_events_are_combined_and_too_many_are_not_told(told):
    recorder = EventRecorder(told.store, "tester", told.profile)
    node = told.get("nodes", "n0")
    for number in range(40):
        recorder.normal(node, "Made", f"thing {number}")
    found = events(told)
    assert len(found) == 10
    combined = [event for event in found if event[1].startswith("(combined from similar events): ")]
    assert combined == [("Made", "(combined from similar events): thing 24", 16)]


def test_events_of_several_recorders_at_one_moment_do_not_collide(told):
    node = told.get("nodes", "n0")
    for component in ("one", "two"):
        recorder = EventRecorder(told.store, component, told.profile)
        recorder.normal(node, "Made", "a thing")
        recorder.normal(node, "Made", "another thing")
    assert len(told.store.list("events")) == 4


def test_with_a_limited_client_events_wait_for_their_turn(told):
    recorder = EventRecorder(told.store, "tester", told.profile, Client(TokenBucket(1, 2)))
    node = told.get("nodes", "n0")
    for number in range(5):
        recorder.normal(node, f"Reason{number}", "message")
    told.clock.settle()
    assert len(events(told)) == 2
    told.advance(3)
    assert [reason for reason, _, _ in events(told)] == [f"Reason{number}" for number in range(5)]
    assert {each["firstTimestamp"] for each in told.store.list("events")} == {"2026-01-01T00:00:00Z"}


# -- expiry ------------------------------------------------------------------------------------------------------------


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
