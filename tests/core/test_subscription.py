"""Listening by need."""

from __future__ import annotations

from ghostfleet.core.clock import VirtualClock
from ghostfleet.core.store import Store
from ghostfleet.core.subscription import Subscription


def test_an_ear_hears_only_while_there_is_a_reason() -> None:
    store = Store(VirtualClock())
    heard: list[str] = []
    subscription = Subscription(lambda: store.listen("pods", lambda change: heard.append(change.name)))
    for name, reason in (("a", None), ("b", {"x": 1}), ("c", {"x": 1}), ("d", {}), ("e", "again")):
        subscription.subscribe_if(reason)
        store.create("pods", {"metadata": {"name": name}})
    assert heard == ["b", "c", "e"]
