"""Controllers that are made when there is something for them to do."""

from __future__ import annotations

from ghostfleet.controllers.awaiting import Awaiting


def test_a_controller_is_made_once_when_the_first_object_of_its_kinds_appears(world):
    made = []
    awaiting = Awaiting(world.store, ["apples.example.com", "pears.example.com"], lambda: made.append("it") or "it")
    world.create("pods", "unrelated", spec={"containers": [{"name": "main", "image": "app"}]})
    assert awaiting.made is None
    for resource in ("pears.example.com", "pears.example.com", "apples.example.com"):
        world.store.create(resource, {"metadata": {"generateName": "one-", "namespace": "default"}})
        assert len(made) <= 1
    assert awaiting.made is None, "nothing acts inside of a write"
    world.clock.settle()
    assert (made, awaiting.made) == (["it"], "it")
