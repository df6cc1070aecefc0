"""Stages whose expressions go over their budgets: what is told, and who has their turn meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from ghostfleet.stages.stage import StageError, parse_stage

LOOP = "{{ range until 1000000000 }}{{ end }}"
HEAVY = "phase: {{ range until (add 9000 (atoi .metadata.labels.number) | int) }}{{ end }}Running"


def expression(query: str) -> dict[str, Any]:
    return {"matchExpressions": [{"jq": {"key": query, "operator": "Exists"}}]}


CASES = {
    "selector, jq": ({"selector": expression("last(repeat(1))")}, "spec.selector.matchExpressions[0].jq.key: jq"),
    "delay": (
        {"delay": {"durationFrom": {"jq": {"expression": "[range(1e12)] | .[0]"}}}},
        "spec.delay.durationFrom.jq.expression: jq",
    ),
    "delay, older": (
        {"delay": {"durationFrom": {"expressionFrom": "[range(1e12)] | .[0]"}}},
        "spec.delay.durationFrom.expressionFrom: jq",
    ),
    "status": ({"next": {"statusTemplate": LOOP}}, "spec.next.statusTemplate: template"),
    "patch": ({"next": {"patches": [{"root": "status", "template": LOOP}]}}, "spec.next.patches[0].template: template"),
    "step": ({"steps": [{"patch": {"root": "status", "template": LOOP}}]}, "spec.steps[0].patch.template: template"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_stage_the_field_and_the_text_are_named(make_world, make_stage, case):
    spec, place = CASES[case]
    world = make_world([make_stage("hostile", "Pending", "Running", **spec)])
    world.nodes()
    world.pod()
    world.run(1)
    assert world.phase() == "Pending"
    (problem,) = world.fleet.problems
    assert "stage 'hostile'" in problem
    assert place in problem
    assert "more than 50,000 steps" in problem
    (name, sort, reason, message), *_ = world.teller.events
    assert (name, sort, reason) == ("pod", "Warning", "StageOverBudget")
    assert message.startswith(f"stage 'hostile': {place}")


def test_a_weight_that_goes_over_its_budget_is_named_too(make_world, make_stage):
    heavy = make_stage("heavy", "Pending", "Running", weightFrom={"jq": {"expression": "last(repeat(1))"}})
    world = make_world([heavy, make_stage("light", "Pending", "Succeeded", weight=1)])
    world.nodes()
    world.pod()
    world.run(1)
    (problem,) = world.fleet.problems
    assert "stage 'heavy': spec.weightFrom.jq.expression: jq 'last(repeat(1))'" in problem


def test_a_value_that_stands_for_more_than_there_is_memory_does_not_hurt_the_message(make_world, make_stage):
    doubled = "[[1]]" + "".join(f".map(a{number}, [a{number}, a{number}])" for number in range(60))
    world = make_world([make_stage("odd", "Pending", "Running", selector={"matchExpressions": [{"cel": {"expression": doubled}}]})])  # fmt: skip
    world.nodes()
    world.pod()
    world.run(1)
    (problem,) = world.fleet.problems
    assert "expected true or false" in problem
    assert len(problem) < 5_000


def test_a_stage_with_a_text_that_is_too_long_is_refused_with_the_place(make_stage):
    with pytest.raises(StageError) as caught:
        parse_stage(make_stage("long", "Pending", "Running", next={"statusTemplate": "x" * 70_000}))
    assert (
        str(caught.value) == "stage 'long': spec.next.statusTemplate: expected at most 65,536 characters, found 70,000"
    )
    with pytest.raises(StageError) as caught:
        parse_stage(make_stage("long", "Pending", "Running", selector=expression(".a" * 10_000)))
    assert len(str(caught.value)) < 2_000
    assert "expected at most 16,384 characters, found 20,000" in str(caught.value)


def test_others_have_their_turn_between_costly_stages(make_world, make_stage):
    """Twenty pods with a template that takes a fifth of a budget each: five of them end a turn."""
    stage = make_stage("heavy", "Pending", "Running", next={"statusTemplate": HEAVY})
    world = make_world([stage, make_stage("heavier", "Running", "Succeeded", delay={"durationMilliseconds": 1000},
                                          next={"statusTemplate": HEAVY.replace("Running", "Succeeded")})])  # fmt: skip
    world.nodes()
    seen: list[int] = []

    def look() -> None:
        done = sum(world.phase(f"pod-{number}") == "Running" for number in range(20))
        seen.append(done)
        if done < 20:
            world.clock.call_soon(look)

    for number in range(20):
        # No two of them are foreseen by one another.
        world.pod(f"pod-{number}", labels={"number": str(number)})
    world.clock.call_soon(look)
    world.run(0)
    assert seen[-1] == 20
    assert len(seen) >= 3
    world.run(2)
    assert all(world.phase(f"pod-{number}") == "Succeeded" for number in range(20))
    assert not world.fleet.problems
