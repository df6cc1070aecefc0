"""Resources: requests added up as Kubernetes adds them, and scores alike for one node and for many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.schedulers.framework.cyclestate import enough_nodes
from ghostfleet.schedulers.framework.nodetable import NodeTable
from ghostfleet.schedulers.framework.podinfo import SpecCache, pod_requests
from ghostfleet.schedulers.kube.plugins.node_resources_balanced_allocation import BalanceScore
from ghostfleet.schedulers.kube.plugins.node_resources_fit import (
    FitArguments,
    FitScore,
    ResourcesFilter,
    ScoringStrategy,
)

GIB = 1024**3
RESOURCES = ("cpu", "memory", "nvidia.com/gpu")


def container(**requests: str) -> dict[str, Any]:
    return {"resources": {"requests": {name.replace("_", "-"): amount for name, amount in requests.items()}}}


def test_containers_add_up_and_init_containers_do_not() -> None:
    spec = {
        "containers": [container(cpu="1", memory="1Gi"), container(cpu="500m")],
        "initContainers": [container(cpu="2"), container(cpu="1", memory="3Gi")],
        "overhead": {"cpu": "250m", "memory": "1Mi"},
    }
    requests = pod_requests(spec)
    assert requests.asked == {"cpu": 2250, "memory": 3 * GIB + 1024**2}


def test_sidecars_count_with_all_that_starts_after_them() -> None:
    sidecar = {**container(cpu="1"), "restartPolicy": "Always"}
    spec = {
        "containers": [container(cpu="500m")],
        "initContainers": [container(cpu="1200m"), sidecar, container(cpu="1")],
    }
    assert pod_requests(spec).asked == {"cpu": 2000}


def test_requests_of_the_pod_replace_those_of_its_containers() -> None:
    spec = {"containers": [container(cpu="1", memory="1Gi")], "resources": {"requests": {"cpu": "3"}}}
    requests = pod_requests(spec)
    assert requests.asked == {"cpu": 3000, "memory": GIB}
    assert requests.score_cpu == 1000


def test_containers_that_ask_for_nothing_are_weighed_as_small_ones() -> None:
    requests = pod_requests({"containers": [container(), container(memory="0")]})
    assert requests.asked == {"memory": 0}
    assert (requests.nonzero_cpu, requests.nonzero_memory) == (200, 200 * 1024**2)


def test_fractions_are_rounded_up_once_at_the_end() -> None:
    spec = {"containers": [container(cpu="100u"), container(cpu="100u")]}
    assert pod_requests(spec).asked == {"cpu": 1}


@pytest.mark.parametrize(
    ("nodes", "percentage", "enough"),
    [(50, 0, 50), (100, 0, 100), (1000, 0, 420), (5000, 0, 500), (10_000, 0, 500), (10_000, 20, 2000), (300, 10, 100)],
)
def test_large_clusters_are_searched_in_part(nodes: int, percentage: int, enough: int) -> None:
    assert enough_nodes(nodes, percentage) == enough


amounts = st.fixed_dictionaries(
    {
        "cpu": st.sampled_from(["0", "1", "7", "64", "333m"]),
        "memory": st.sampled_from(["0", "1Gi", "3333333", "512Gi"]),
        "nvidia.com/gpu": st.sampled_from(["0", "1", "8"]),
    }
)
strategies = st.sampled_from(
    [
        ScoringStrategy(),
        ScoringStrategy("LeastAllocated", (("cpu", 3), ("nvidia.com/gpu", 5))),
        ScoringStrategy("MostAllocated", (("memory", 1), ("nvidia.com/gpu", 2))),
        ScoringStrategy("RequestedToCapacityRatio", (("cpu", 1), ("memory", 7)), ((0, 0), (40, 90), (100, 30))),
        ScoringStrategy("RequestedToCapacityRatio", (("nvidia.com/gpu", 1), ("cpu", 2)), ((10, 100), (90, 0))),
    ]
)


@given(st.lists(amounts, min_size=1, max_size=8), st.lists(amounts, max_size=20), amounts, strategies)
def test_one_node_and_many_get_the_same_verdict(
    nodes: Any, residents: Any, pod: Any, strategy: ScoringStrategy
) -> None:
    table, cache = NodeTable(), SpecCache()
    for index, allocatable in enumerate(nodes):
        status = {"allocatable": {**allocatable, "pods": "4"}}
        table.put({"metadata": {"name": f"n{index}"}, "spec": {}, "status": status})
    for index, requests in enumerate(residents):
        table.charge(index % len(nodes), cache.of({"containers": [{"resources": {"requests": requests}}]}))
    info = cache.of({"containers": [{"resources": {"requests": pod}}]})
    slots = np.arange(len(nodes))
    room = ResourcesFilter(table, info, FitArguments())
    assert room.allowed(slots).tolist() == [room.allows(int(slot)) for slot in slots]
    objected = np.logical_or.reduce([objection.nodes for objection in room.objections(slots)])
    assert room.allowed(slots).tolist() == (~objected).tolist()
    score = FitScore(table, info, strategy)
    assert score.many(slots).tolist() == [score.one(int(slot)) for slot in slots]
    for names in (("cpu", "memory"), ("cpu", "nvidia.com/gpu"), RESOURCES, ("memory",)):
        balance = BalanceScore(table, info, [(name, 1) for name in names])
        if balance.applies:
            assert balance.many(slots).tolist() == [balance.one(int(slot)) for slot in slots]
