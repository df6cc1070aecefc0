"""Listening by need."""

from __future__ import annotations

from ghostfleet.core.clock import VirtualClock
from ghostfleet.core.listening import Ear
from ghostfleet.core.store import Store


def test_an_ear_hears_only_while_there_is_a_reason() -> None:
    store = Store(VirtualClock())
    heard: list[str] = []
    ear = Ear(lambda: store.listen("pods", lambda change: heard.append(change.name)))
    for name, reason in (("a", None), ("b", {"x": 1}), ("c", {"x": 1}), ("d", {}), ("e", "again")):
        ear.open_if(reason)
        store.create("pods", {"metadata": {"name": name}})
    assert heard == ["b", "c", "e"]
