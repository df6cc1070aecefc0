"""What schedulers decided, in words."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.core.clock import SECOND
from ghostfleet.drive.embedded import Embedded
from ghostfleet.lab.decisions import Decision, decisions, follow_decisions
from support.kai_lab import KaiLab

LABEL = "kai.scheduler/queue"


def told(kai: KaiLab) -> list[str]:
    cluster = Embedded(kai.cluster)
    return [re.sub(r"-[a-z0-9]{5}\b", "", each.line) for each in cluster.run(decisions(cluster))]


def job(name: str, gpus: int, queue: str = "vision") -> dict[str, Any]:
    container = {"name": "main", "image": "app", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    template = {
        "metadata": {"labels": {"app": name, LABEL: queue}},
        "spec": {"schedulerName": "kai-scheduler", "containers": [container]},
    }
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name}, "spec": spec}


def pods_of(kai: KaiLab, name: str) -> list[dict[str, Any]]:
    return [pod for pod in kai.store.list("pods") if pod["metadata"]["name"].startswith(name)]


def test_a_consolidation_is_told_from_where_to_where_with_the_gpus_of_pods_that_are_gone() -> None:
    kai = KaiLab.scheduled(nodes=2, gpus=4)
    kai.queue("vision", gpus=8)
    for name, gpus in (("one", 3), ("two", 2), ("small", 1)):
        kai.apply(job(name, gpus))
        kai.advance(5)
    (small,) = pods_of(kai, "small")
    assert small["spec"]["nodeName"] == "kwok-node-0"
    kai.store.delete("pods", "default", pods_of(kai, "one")[0]["metadata"]["name"], grace=0)
    kai.store.delete("replicasets.apps", "default", "one")
    kai.advance(5)
    kai.apply(job("large", 4))
    kai.advance(30)
    lines = told(kai)
    assert lines[:2] == [
        "Allocating room to one on node kwok-node-0",
        "New workload submitted: two (vision, Priority 100)",
    ]
    begin = lines.index("Initiating resource consolidation")
    moves = [line for line in lines if line.startswith("Moving")]
    assert moves in (
        ["Moving small (1 GPU) from kwok-node-0 to kwok-node-1"],
        ["Moving two (2 GPUs) from kwok-node-1 to kwok-node-0"],
    )
    assert begin < lines.index(moves[0])
    assert any(re.fullmatch(r"Allocating 4 GPUs to large on node kwok-node-[01]", line) for line in lines)


def test_the_default_scheduler_is_told_of_in_the_same_words() -> None:
    kai = KaiLab.of(Cluster(config=ClusterConfig(nodes=1, gpus=4)))
    kai.apply({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9})
    default = {"schedulerName": "default-scheduler"}
    kai.pod("low", spec=default, requests={"nvidia.com/gpu": "3"})
    kai.advance(5)
    kai.pod("urgent", spec={**default, "priorityClassName": "high"}, requests={"nvidia.com/gpu": "2"})
    kai.advance(60)
    lines = told(kai)
    assert "New workload submitted: urgent" in lines
    # A pod that is gone, with all its kind, has taken with it what it asked for.
    assert "Allocating room to low on node kwok-node-0" in lines
    assert any(line.startswith("Attempting to schedule urgent (2 GPUs): 0/1 nodes are available") for line in lines)
    assert "Evicting low: Preempted by pod urgent on node kwok-node-0" in lines
    assert lines[-1] == "Allocating 2 GPUs to urgent on node kwok-node-0"


def test_who_follows_is_told_of_each_decision_once_as_it_is_taken() -> None:
    kai = KaiLab.scheduled(nodes=1, gpus=4)
    kai.queue("vision", gpus=4)
    kai.pod("first", labels={LABEL: "vision"})
    kai.advance(5)
    cluster = Embedded(kai.cluster)
    heard: list[str] = []

    def tell(decision: Decision) -> None:
        heard.append(decision.line)
        if decision.object == "second" and decision.reason == "Scheduled":
            raise asyncio.CancelledError

    kai.clock.call_later(3 * SECOND, lambda: kai.pod("second", labels={LABEL: "vision"}))
    with pytest.raises(asyncio.CancelledError):
        cluster.run(follow_decisions(cluster, tell))
    assert heard == [
        "New workload submitted: first (vision, Priority 100)",
        "Allocating 1 GPU to first on node kwok-node-0",
        "New workload submitted: second (vision, Priority 100)",
        "Allocating 1 GPU to second on node kwok-node-0",
    ]
