"""Watches: what a watcher is told is exactly what happened, from any moment on."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ghostfleet.core import changes
from ghostfleet.core.changes import Event
from ghostfleet.core.clock import VirtualClock
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store
from ghostfleet.core.watch import Watch

State = dict[tuple[str, str], dict[str, Any]]


def config(name: str, namespace: str = "default", **labels: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace, "labels": labels}}


def told(watch: Watch) -> list[tuple[str, str]]:
    return [(event.type, event.object["metadata"]["name"]) for event in watch.drain()]


def is_red(obj: dict[str, Any]) -> bool:
    return bool(obj["metadata"].get("labels", {}).get("color") == "red")


@pytest.fixture
def store() -> Store:
    return Store(VirtualClock(), history=50)


def test_a_watch_begins_with_the_present_and_goes_on_with_changes(store: Store) -> None:
    store.create("configmaps", config("a"))
    watch = Watch(store, "configmaps")
    store.update("configmaps", config("a", new="1"))
    store.delete("configmaps", "default", "a")
    assert told(watch) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    assert told(watch) == []


def test_a_watch_from_a_revision_tells_only_what_came_after_it(store: Store) -> None:
    store.create("configmaps", config("a"))
    store.create("configmaps", config("b"))
    assert told(Watch(store, "configmaps", since=1)) == [("ADDED", "b")]
    assert told(Watch(store, "configmaps", since=2)) == []


def test_initial_events_end_at_a_known_revision(store: Store) -> None:
    store.create("configmaps", config("a"))
    watch = Watch(store, "configmaps", initial_events=True, since=1)
    assert watch.initial_done == 1
    assert told(watch) == [("ADDED", "a")]


def test_objects_come_and_go_with_the_selector(store: Store) -> None:
    watch = Watch(store, "configmaps", matches=is_red)
    store.create("configmaps", config("a", color="blue"))
    store.update("configmaps", config("a", color="red"))
    store.update("configmaps", config("a", color="red", more="1"))
    store.update("configmaps", config("a", color="blue"))
    store.delete("configmaps", "default", "a")
    events = watch.drain()
    assert [event.type for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    # What left the selection is shown as it was last seen, with the revision at which it left.
    assert events[2].object["metadata"]["labels"]["color"] == "red"
    assert events[2].object["metadata"]["resourceVersion"] == "4"


def test_a_watch_of_a_namespace_hears_nothing_of_others(store: Store) -> None:
    watch = Watch(store, "configmaps", "mine")
    store.create("configmaps", config("a", "mine"))
    store.create("configmaps", config("b", "other"))
    assert told(watch) == [("ADDED", "a")]
    assert watch.revision == 2


def test_a_watch_from_before_the_history_is_gone(store: Store) -> None:
    for number in range(60):
        store.create("configmaps", config(f"c{number}"))
    with pytest.raises(ApiError, match=r"too old resource version: 3 \(11\)") as caught:
        Watch(store, "configmaps", since=3)
    assert (caught.value.code, caught.value.reason) == (410, "Expired")
    assert len(told(Watch(store, "configmaps", since=10))) == 50


@pytest.mark.replaces
def test_many_busy_resources_keep_less_history_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "ALL_HISTORIES", 10)
    store = Store(VirtualClock(), history=4)
    for number in range(6):
        store.create("configmaps", config(f"c{number}"))
    store.create("secrets", config("s"))
    for number in range(6):
        store.create("services", config(f"s{number}"))
    with pytest.raises(ApiError, match=r"too old resource version: 2 \("):
        Watch(store, "configmaps", since=2)
    assert told(Watch(store, "configmaps", since=3)) == [("ADDED", "c3"), ("ADDED", "c4"), ("ADDED", "c5")]
    assert told(Watch(store, "services", since=9)) == [("ADDED", f"s{number}") for number in range(2, 6)]
    for number in range(20):
        store.create("services", config(f"t{number}"))
    # One that is quiet can be watched from its last change on, whatever others do.
    assert told(Watch(store, "secrets", since=7)) == []
    assert told(Watch(store, "configmaps", since=6)) == []


def test_a_reader_too_slow_for_its_buffer_misses_nothing_that_the_history_has(store: Store) -> None:
    watch = Watch(store, "configmaps", matches=is_red, capacity=3)
    for number in range(40):
        store.create("configmaps", config(f"c{number}", color="red" if number % 3 else "blue"))
    seen: list[tuple[str, str]] = []
    while some := told(watch):
        assert len(some) <= 3, "no more is held for it than its buffer"
        seen += some
    assert seen == [("ADDED", f"c{number}") for number in range(40) if number % 3]
    store.create("configmaps", config("last", color="red"))
    assert told(watch) == [("ADDED", "last")]


def test_a_reader_too_slow_for_the_history_is_cut_off(store: Store) -> None:
    watch = Watch(store, "configmaps", capacity=3)
    woken: list[bool] = []
    watch.wake = lambda: woken.append(True)
    for number in range(60):
        store.create("configmaps", config(f"c{number}"))
    assert told(watch) == [("ADDED", "c0"), ("ADDED", "c1"), ("ADDED", "c2")]
    assert not watch.closed
    assert watch.drain() == []
    assert watch.closed
    assert watch.error is not None
    assert (watch.error.code, watch.error.message) == (410, "too old resource version: 3 (11)")
    assert len(woken) == 2, "once for the first event, once for the end"


def test_bytes_of_old_events_are_not_kept_for_late_readers() -> None:
    store = Store(VirtualClock())
    late, prompt = Watch(store, "configmaps", capacity=5000), Watch(store, "configmaps")
    encoded: list[int] = []
    for number in range(3000):
        store.create("configmaps", config(f"c{number}"))
        for event in prompt.drain():
            event.line("v1", lambda event: encoded.append(event.revision) or b"line")
    assert len(encoded) == 3000
    for event in late.drain():
        event.line("v1", lambda event: encoded.append(event.revision) or b"line")
    assert encoded[3000] == 1, "the oldest was encoded anew"
    assert len(encoded) < 6000, "the newest were not"


def test_a_closed_watch_hears_nothing_more(store: Store) -> None:
    watch = Watch(store, "configmaps")
    watch.close()
    watch.close()
    store.create("configmaps", config("a"))
    assert told(watch) == []
    assert watch.error is None


def test_an_event_is_encoded_once_however_many_watch_it(store: Store) -> None:
    encoded: list[Event] = []

    def encode(event: Event) -> bytes:
        encoded.append(event)
        return b"line"

    watches = [Watch(store, "configmaps") for _ in range(5)]
    store.create("configmaps", config("a"))
    lines = [event.line("v1", encode) for watch in watches for event in watch.drain()]
    assert lines == [b"line"] * 5
    assert len(encoded) == 1


class Replay(RuleBasedStateMachine):
    """Whatever is written, every watcher that replays its events ends up with exactly the store's state."""

    names = st.sampled_from(["a", "b", "c", "d"])
    spaces = st.sampled_from(["one", "two"])
    colors = st.sampled_from(["red", "blue"])

    @initialize()
    def start(self) -> None:
        self.store = Store(VirtualClock(), history=1000)
        self.watchers: list[tuple[Watch, State, str | None, Any]] = []
        self.past: dict[int, State] = {0: {}}
        self.newest = 0

    def write(self, act: Any) -> None:
        # A name that is taken or not there is no write.
        with suppress(ApiError):
            act()
        assert self.store.revision in (self.newest, self.newest + 1), "one revision a write, always rising"
        self.newest = self.store.revision
        self.past[self.newest] = self.present(None, None)

    def present(self, namespace: str | None, matches: Any) -> State:
        return {
            (obj["metadata"]["namespace"], obj["metadata"]["name"]): obj
            for obj in self.store.list("configmaps", namespace)
            if matches is None or matches(obj)
        }

    @rule(name=names, namespace=spaces, color=colors, held=st.booleans())
    def create(self, name: str, namespace: str, color: str, held: bool) -> None:
        obj = config(name, namespace, color=color)
        if held:
            obj["metadata"]["finalizers"] = ["x/y"]
        self.write(lambda: self.store.create("configmaps", obj))

    @rule(name=names, namespace=spaces, color=colors)
    def recolor(self, name: str, namespace: str, color: str) -> None:
        self.write(lambda: self.store.update("configmaps", config(name, namespace, color=color)))

    @rule(name=names, namespace=spaces)
    def delete(self, name: str, namespace: str) -> None:
        self.write(lambda: self.store.delete("configmaps", namespace, name))

    @rule(namespace=st.sampled_from([None, "one"]), red=st.booleans(), data=st.data())
    def watch(self, namespace: str | None, red: bool, data: st.DataObject) -> None:
        since = data.draw(st.one_of(st.none(), st.integers(0, self.store.revision)))
        matches = is_red if red else None
        watch = Watch(self.store, "configmaps", namespace, matches=matches, since=since)
        before = self.past[since] if since is not None else {}
        state = {
            place: obj
            for place, obj in before.items()
            if (namespace is None or place[0] == namespace) and (matches is None or matches(obj))
        }
        self.watchers.append((watch, state, namespace, matches))

    @invariant()
    def every_watcher_replays_to_the_present(self) -> None:
        for watch, state, namespace, matches in getattr(self, "watchers", []):
            revision = 0
            for event in watch.drain():
                metadata = event.object["metadata"]
                place = (metadata["namespace"], metadata["name"])
                if event.type == "DELETED":
                    del state[place]
                else:
                    assert (place in state) == (event.type == "MODIFIED")
                    state[place] = event.object
                if event.type != "ADDED":  # what was there at the start comes in key order
                    assert event.revision > revision
                    revision = event.revision
            assert state == self.present(namespace, matches)

    @invariant()
    def the_past_can_be_listed(self) -> None:
        for revision, state in list(getattr(self, "past", {}).items())[-3:]:
            listed = self.store.list_at("configmaps", None, revision)
            assert listed == sorted(
                state.values(), key=lambda o: f"{o['metadata']['namespace']}/{o['metadata']['name']}"
            )


TestReplay = Replay.TestCase
