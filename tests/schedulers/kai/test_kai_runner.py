"""KAI's scheduler on a whole cluster in virtual time: queues, quota, gangs, reclaim, and what is wrong with input."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ghostfleet.controllers.kai import POD_GROUPS, QUEUES
from ghostfleet.core.errors import ApiError
from support.kai_lab import KaiLab

LABEL = "kai.scheduler/queue"


@pytest.fixture(params=["instant", "kubernetes"])
def kai(request: pytest.FixtureRequest) -> KaiLab:
    lab = KaiLab.scheduled(profile=request.param)
    lab.queue("research", gpus=8)
    lab.queue("vision", "research", gpus=4)
    lab.queue("speech", "research", gpus=4)
    lab.advance(2)
    return lab


def job(name: str, queue: str, pods: int) -> dict[str, Any]:
    """A ReplicaSet of pods with a GPU each, which never end."""
    resources = {"limits": {"nvidia.com/gpu": 1}, "requests": {"cpu": "1", "nvidia.com/gpu": 1}}
    container = {"name": "main", "image": "app", "resources": resources}
    pod = {"schedulerName": "kai-scheduler", "containers": [container]}
    labels = {LABEL: queue, "app": name}
    spec = {
        "replicas": pods,
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name, "labels": labels}, "spec": spec}


def gang(kai: KaiLab, name: str, queue: str, pods: int, there: int | None = None) -> None:
    """Pods of a pod group that starts with all of them or not at all."""
    spec = {"minMember": pods, "queue": queue, "priorityClassName": "train"}
    metadata = {"name": name}
    kai.apply({"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": metadata, "spec": spec})
    for number in range(pods if there is None else there):
        kai.pod(f"{name}-{number}", annotations={"pod-group-name": name}, labels={LABEL: queue})


def test_pods_run_on_as_few_nodes_as_do(kai: KaiLab) -> None:
    for number in range(4):
        kai.pod(f"v{number}", labels={LABEL: "vision"})
    kai.advance(10)
    assert kai.running() == ["v0", "v1", "v2", "v3"]
    assert len({kai.get("pods", name)["spec"]["nodeName"] for name in kai.running()}) == 1


def test_a_queue_takes_back_its_quota_from_one_that_is_over_its_own(kai: KaiLab) -> None:
    for number in range(8):
        kai.pod(f"v{number}", labels={LABEL: "vision"})
    kai.advance(10)
    assert len(kai.running()) == 8
    for number in range(2):
        kai.pod(f"s{number}", labels={LABEL: "speech"}, requests={"cpu": "1", "nvidia.com/gpu": "2"})
    kai.advance(60)
    assert [name[0] for name in kai.running()] == ["s", "s", "v", "v", "v", "v"]
    assert kai.store.get(QUEUES, "", "research")["status"]["allocated"]["nvidia.com/gpu"] == "8"
    lost = [f"v{number}" for number in range(8) if f"v{number}" not in kai.running()]
    assert all("PodLost" in dict(kai.events(name)) for name in lost)


def test_the_owner_of_evicted_pods_makes_them_anew_and_they_wait(kai: KaiLab) -> None:
    kai.apply(job("train", "vision", 8))
    kai.advance(10)
    assert len(kai.running()) == 8
    kai.apply(job("infer", "speech", 4))
    kai.advance(120)
    names = [name.rpartition("-")[0] for name in kai.running()]
    assert names == ["infer"] * 4 + ["train"] * 4
    waiting = [each for each in kai.store.list("pods") if each["status"]["phase"] == "Pending"]
    assert len(waiting) == 4
    assert "no nodes with enough resources" in kai.why(waiting[0]["metadata"]["name"])


def test_a_gang_starts_as_a_whole_or_not_at_all(kai: KaiLab) -> None:
    gang(kai, "large", "vision", 9)
    kai.advance(10)
    assert kai.running() == []
    gang(kai, "small", "speech", 3)
    kai.advance(10)
    assert kai.running() == ["small-0", "small-1", "small-2"]
    group = kai.store.get(POD_GROUPS, "default", "large")
    assert group["status"]["schedulingConditions"][0]["type"] == "UnschedulableOnNodePool"


def test_a_gang_without_all_its_pods_is_told_to_wait_for_them(kai: KaiLab) -> None:
    gang(kai, "half", "vision", 4, there=2)
    kai.advance(10)
    assert kai.running() == []
    told = "Job is not ready for scheduling. Waiting for 4 pods, currently 2 exist, 0 are gated"
    assert ("NotReady", told) in kai.events("half")


def test_a_stale_gang_goes_when_its_grace_is_over(kai: KaiLab) -> None:
    gang(kai, "pair", "vision", 2)
    kai.advance(10)
    assert kai.running() == ["pair-0", "pair-1"]
    kai.store.delete("pods", "default", "pair-0")
    kai.advance(30)
    assert kai.running() == ["pair-1"]
    kai.advance(90)
    assert kai.running() == []


def test_a_limit_holds(kai: KaiLab) -> None:
    kai.queue("capped", "research", gpus=1, limit=2)
    for number in range(3):
        kai.pod(f"c{number}", labels={LABEL: "capped"})
    kai.advance(20)
    assert len(kai.running()) == 2
    assert "c2" not in kai.running()
    assert "capped" in kai.why("c2")


def test_two_pods_share_a_gpu(kai: KaiLab) -> None:
    for name in ("half", "other"):
        kai.pod(name, annotations={"gpu-fraction": "0.5"}, labels={LABEL: "vision"}, requests={"cpu": "1"})
    kai.advance(30)
    pods = [kai.get("pods", name) for name in ("half", "other")]
    assert [each["status"]["phase"] for each in pods] == ["Running", "Running"]
    assert len({each["metadata"]["labels"]["runai-gpu-group"] for each in pods}) == 1


def test_jobs_on_queues_that_are_wrong_are_told_so_and_others_go_on(kai: KaiLab) -> None:
    kai.queue("orphan", "nobody")
    kai.queue("left", "right")
    kai.queue("right", "left")
    for name, queue in (("a", "nowhere"), ("b", "orphan"), ("c", "left"), ("d", "research"), ("e", "vision")):
        kai.pod(name, labels={LABEL: queue})
    kai.advance(20)
    assert kai.running() == ["e"]
    assert kai.why("a") == "Queue 'nowhere' does not exist"
    assert kai.why("b") == "Queue 'orphan' has the parent queue 'nobody', which does not exist"
    assert "go round in a circle (left -> right -> left)" in kai.why("c")
    assert "not a leaf queue" in kai.why("d")


def test_a_fraction_of_more_than_one_is_refused(kai: KaiLab) -> None:
    with pytest.raises(ApiError, match="smaller than 1.0"):
        kai.pod("greedy", annotations={"gpu-fraction": "1.5"}, requests={"cpu": "1"})


def test_a_priority_class_that_is_not_known_is_refused_or_counts_as_the_default(kai: KaiLab) -> None:
    with pytest.raises(ApiError, match="no PriorityClass with name urgent was found"):
        kai.pod("hasty", labels={LABEL: "vision"}, spec={"priorityClassName": "urgent"})
    spec = {"minMember": 1, "queue": "vision", "priorityClassName": "urgent"}
    metadata = {"name": "group"}
    kai.apply({"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": metadata, "spec": spec})
    kai.pod("one", annotations={"pod-group-name": "group"}, labels={LABEL: "vision"})
    kai.advance(10)
    assert kai.running() == ["one"]
    assert kai.cluster.kai is not None
    assert kai.cluster.kai.shards.schedulers["default"].cache.info.pod_groups["default/group"].priority == 50


def test_a_job_goes_on_when_its_queue_is_mended(kai: KaiLab) -> None:
    kai.pod("early", labels={LABEL: "late"})
    kai.advance(5)
    assert kai.running() == []
    kai.queue("late", "research")
    kai.advance(5)
    assert kai.running() == ["early"]


def test_pods_of_a_node_that_is_not_ready_go_elsewhere(kai: KaiLab) -> None:
    for name in ("kwok-node-0",):
        node = kai.store.get("nodes", "", name)
        kai.store.update("nodes", {**node, "spec": {**node["spec"], "unschedulable": True}})
    kai.pod("one", labels={LABEL: "vision"})
    kai.advance(10)
    assert kai.get("pods", "one")["spec"]["nodeName"] == "kwok-node-1"


def test_what_is_kept_by_events_is_what_is_read_anew(kai: KaiLab) -> None:
    kai.apply(job("train", "vision", 8), job("infer", "speech", 4))
    gang(kai, "pair", "speech", 2)
    kai.advance(45)
    assert kai.cluster.kai is not None
    scheduler = kai.cluster.kai.shards.schedulers["default"]
    kept = state(scheduler.cache.info)
    scheduler.cache.rebuild()
    assert kept == state(scheduler.cache.info)


def state(info: Any) -> object:
    nodes = {
        name: (each.idle.quantities, each.releasing.quantities, sorted(each.tasks)) for name, each in info.nodes.items()
    }
    jobs = {
        uid: (
            each.queue,
            each.allocated.quantities,
            sorted((task.uid, task.status, task.node) for task in each.tasks()),
        )
        for uid, each in info.pod_groups.items()
    }
    return nodes, jobs


def a_run() -> str:
    """All pods and events of a run, as a digest."""
    kai = KaiLab.scheduled(profile="kubernetes", seed=3)
    for name, parent in (("research", ""), ("vision", "research"), ("speech", "research")):
        kai.queue(name, parent, gpus=4)
    kai.apply(job("train", "vision", 8), job("infer", "speech", 4))
    kai.advance(60)
    told = [kai.store.list(each) for each in ("pods", "events", POD_GROUPS, QUEUES)]
    return hashlib.sha256(repr(told).encode()).hexdigest()


def test_the_same_run_ends_the_same_under_every_hash_seed() -> None:
    paths = [str(Path(__file__).parents[2]), str(Path(__file__).parent), *sys.path]
    program = f"import sys; sys.path[:0] = {paths!r}; from test_kai_runner import a_run; print(a_run())"
    ends = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (0, 1)
    }
    assert len(ends) == 1
