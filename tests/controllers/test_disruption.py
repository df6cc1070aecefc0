"""Disruption budgets: how many pods may be taken away."""

from __future__ import annotations

import pytest

from ghostfleet.api.subresources import check_eviction
from ghostfleet.controllers.disruption import BUDGETS, DisruptionController
from ghostfleet.controllers.replicasets import REPLICASETS, ReplicaController
from ghostfleet.core.errors import ApiError

LABELS = {"app": "web"}


@pytest.fixture
def guarded(world):
    ReplicaController(world.store, world.routes, world.creator, world.profile)
    DisruptionController(world.store, world.profile)
    return world


def budget(world, **spec):
    return world.create(BUDGETS, "b", spec={"selector": {"matchLabels": LABELS}, **spec})


def web(world, pod_template, replicas):
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": pod_template(LABELS)}
    world.create(REPLICASETS, "web", spec=spec)
    world.run()


def numbers(world):
    status = world.get(BUDGETS, "b")["status"]
    return [status[key] for key in ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed")]


def test_a_budget_without_pods_allows_nothing(guarded):
    budget(guarded, minAvailable=1)
    assert numbers(guarded) == [0, 0, 1, 0]
    (condition,) = guarded.get(BUDGETS, "b")["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "DisruptionAllowed",
        "False",
        "InsufficientPods",
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 2}, [5, 5, 2, 3]),
        ({"minAvailable": "50%"}, [5, 5, 3, 2]),
        ({"maxUnavailable": 1}, [5, 5, 4, 1]),
        ({"maxUnavailable": "30%"}, [5, 5, 3, 2]),
    ],
)
def test_budgets_are_numbers_or_shares(guarded, pod_template, spec, expected):
    budget(guarded, **spec)
    web(guarded, pod_template, 5)
    assert numbers(guarded) == expected


def test_pods_that_are_not_ready_use_the_budget_up(guarded, pod_template):
    budget(guarded, maxUnavailable=1)
    web(guarded, pod_template, 3)
    guarded.set_phase(guarded.pods()[0], "Pending")
    assert numbers(guarded) == [3, 2, 2, 0]


def test_a_granted_eviction_counts_until_the_pod_has_gone_or_too_long_passed(guarded, pod_template):
    budget(guarded, maxUnavailable=1)
    web(guarded, pod_template, 3)
    first, second, _ = guarded.names()
    check_eviction(guarded.store, "default", first, {"metadata": {"name": first}})
    guarded.clock.settle()
    assert numbers(guarded) == [3, 2, 2, 0]
    with pytest.raises(ApiError) as refusal:
        check_eviction(guarded.store, "default", second, {"metadata": {"name": second}})
    assert refusal.value.code == 429
    guarded.advance(121)
    assert numbers(guarded) == [3, 3, 2, 1]
