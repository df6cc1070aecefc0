"""Our stage engine against the real kwok: the same stages, the same steps, and all that each object went through.

`kwok/recorded.json` says which kwok answered; `python tools/record stages` records it again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.kwokcases import Case, Step, histories, load_cases, load_recorded, told_events

CASES = load_cases()
RECORDED = load_recorded()["cases"]
#: What the recorder waits after each step before it takes the next, at least.
QUIET = 1.5
RESOURCES = ("pods", "nodes", "configmaps")


class Witness:
    """Takes the steps of a case and remembers what became of all objects."""

    def __init__(self, world: Any) -> None:
        self._world = world
        self.seen: list[tuple[str, Any]] = []
        for resource in RESOURCES:
            world.store.listen(resource, self._note)

    def _note(self, change: Any) -> None:
        if change.name != "kube-root-ca.crt":
            self.seen.append(("DELETED", change.old) if change.new is None else ("MODIFIED", change.new))

    def take(self, step: Step) -> None:
        world = self._world
        if step.verb == "create":
            world.create(step.body)
            if "status" in step.body:
                world.patch(step.kind, step.name, {"status": step.body["status"]}, subresource="status")
        elif step.verb == "patch":
            world.patch(step.kind, step.name, step.body)
        elif step.verb == "bind":
            world.bind(step.name, step.body["target"]["name"])
        else:
            world.delete(step.kind, step.name)
        world.run(max(QUIET, step.wait))


def test_every_case_is_recorded():
    assert [case.name for case in CASES] == list(RECORDED)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_objects_go_through_what_they_go_through_with_kwok(case: Case, make_world: Callable[..., Any]) -> None:
    world = make_world(list(case.stages), admission=False, node_annotations="kwok.x-k8s.io/node=fake")
    witness = Witness(world)
    for step in case.steps:
        witness.take(step)
    events = [
        {"involvedObject": {"name": name}, "type": kind, "reason": reason, "message": message}
        for name, kind, reason, message in world.teller.events
    ]
    assert histories(witness.seen) == RECORDED[case.name]["objects"]
    assert told_events(events) == RECORDED[case.name]["events"]
