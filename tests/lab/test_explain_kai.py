"""Why pods and queues of KAI wait: each cause, made alone, is the one that is named."""

from __future__ import annotations

from typing import Any

import pytest

from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.controllers.kai import SCHEDULING_SHARDS
from ghostfleet.drive.embedded import Embedded
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.explain import KaiExplanation, explain_owner, explain_pod, explain_queue
from support.kai_lab import KaiLab

LABEL = "kai.scheduler/queue"
CHECKS = ["namespace and queue", "queue label", "schedulerName", "quota and limit", "nodes", "distributed parts"]


@pytest.fixture
def kai() -> KaiLab:
    lab = KaiLab.scheduled(nodes=2, gpus=4)
    lab.queue("vision", gpus=4, limit=6)
    lab.queue("speech", gpus=4)
    return lab


def why(kai: KaiLab, pod: str) -> KaiExplanation:
    cluster = Embedded(kai.cluster)
    found = cluster.run(explain_pod(cluster, "default", pod))
    assert isinstance(found, KaiExplanation)
    return found


def ask(kai: KaiLab, name: str, queue: str = "vision", gpus: int = 1, **more: Any) -> None:
    kai.pod(name, labels={LABEL: queue}, requests={"cpu": "1", "nvidia.com/gpu": str(gpus)}, **more)
    kai.advance(5)


def wrong(explanation: KaiExplanation) -> list[str]:
    return [each.about for each in explanation.checks if not each.ok]


def test_all_six_things_to_look_at_are_named_and_a_pod_behind_a_full_cluster_names_the_nodes(kai: KaiLab) -> None:
    for number in range(4):
        ask(kai, f"v{number}")
        ask(kai, f"s{number}", "speech")
    ask(kai, "late", "speech")
    told = why(kai, "late")
    assert [each.about for each in told.checks] == CHECKS
    assert wrong(told) == ["nodes"]
    assert told.verdict.startswith("no node takes late now; kwok-node-0 would be large enough")
    assert {each.reason: set(each.nodes) for each in told.nodes} == {
        "node(s) didn't have enough resources: GPUs": {"kwok-node-0", "kwok-node-1"}
    }
    assert told.order == "number 1 of 1 jobs that wait, first of all"


@pytest.mark.parametrize(
    ("pod", "about", "words"),
    [
        ({"labels": {LABEL: "nowhere"}}, "namespace and queue", "Queue 'nowhere' does not exist"),
        ({"labels": {"runai/queue": "vision"}}, "queue label", "which KAI has not read since v0.6"),
        (
            {"labels": {LABEL: "vision"}, "spec": {"schedulerName": "default-scheduler"}},
            "schedulerName",
            "schedulerName is default-scheduler, so KAI passes it over",
        ),
        (
            {"labels": {LABEL: "vision"}, "requests": {"cpu": "1", "nvidia.com/gpu": "7"}},
            "quota and limit",
            "vision quota has reached the allowable limit of GPUs. Limit is 6 GPUs",
        ),
        (
            {"labels": {LABEL: "vision"}, "spec": {"priorityClassName": "build"}, "requests": {"nvidia.com/gpu": "5"}},
            "quota and limit",
            "Non-preemptible workload is over quota. Workload requested 5 GPUs, but vision quota is 4 GPUs",
        ),
        (
            {"labels": {LABEL: "speech"}, "requests": {"cpu": "1", "nvidia.com/gpu": "5"}},
            "nodes",
            "no node is large enough for p, not even an empty one",
        ),
    ],
)
def test_the_thing_that_is_wrong_is_named(kai: KaiLab, pod: dict[str, Any], about: str, words: str) -> None:
    requests = pod.pop("requests", {"cpu": "1", "nvidia.com/gpu": "9"})
    kai.pod("p", requests=requests, **pod)
    kai.advance(5)
    told = why(kai, "p")
    (check,) = [each for each in told.checks if each.about == about]
    assert not check.ok
    assert words in check.told
    assert len(told.checks) == 6


def test_a_gang_whose_pods_are_not_all_there_says_how_many_lack(kai: KaiLab) -> None:
    spec = {"minMember": 3, "queue": "vision", "priorityClassName": "train"}
    metadata = {"name": "gang"}
    kai.apply({"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": metadata, "spec": spec})
    ask(kai, "g0", annotations={"pod-group-name": "gang"})
    told = why(kai, "g0")
    assert wrong(told) == ["distributed parts"]
    assert told.verdict == "1 of at least 3 pods are there, and none starts before they are"
    assert told.order == "its job is not looked at in a cycle"


def test_behind_whom_a_job_stands_and_by_which_rule(kai: KaiLab) -> None:
    for number in range(4):
        ask(kai, f"v{number}", "vision", spec={"priorityClassName": "inference"})
        ask(kai, f"s{number}", "speech", spec={"priorityClassName": "inference"})
    ask(kai, "first", "vision")
    ask(kai, "second", "vision")
    ask(kai, "third", "speech", 2)
    second, third = why(kai, "second"), why(kai, "third")
    assert "behind default/pg-first" in second.order
    assert "both have one priority, and it is older" in second.order
    assert "queue vision comes before queue speech" in third.order
    assert "number 3 of 3" in third.order


def test_scenarios_are_told_with_the_rule_that_refuses_each(kai: KaiLab) -> None:
    for number in range(4):
        ask(kai, f"v{number}")
        ask(kai, f"s{number}", "speech")
    ask(kai, "more", "speech", 2)
    told = why(kai, "more")
    found = {each.action: each for each in told.searches}
    assert found["reclaim"].verdict == "not tried: its queue would be over its fair share"
    assert found["preempt"].verdict == "nobody could be asked to go"
    assert found["consolidation"].verdict == "not tried: there are too few GPUs left in all"
    assert told.evicts == ()


def test_a_reclaim_that_is_refused_names_the_queue_that_keeps_what_it_has(kai: KaiLab) -> None:
    kai.queue("third", gpus=0)
    for number in range(4):
        ask(kai, f"v{number}")
        ask(kai, f"s{number}", "speech")
    kai.pod("cpu", labels={LABEL: "third"}, requests={"cpu": "30"})
    kai.advance(5)
    told = why(kai, "cpu")
    reclaim = next(each for each in told.searches if each.action == "reclaim")
    assert reclaim.scenarios
    assert {each.outcome for each in reclaim.scenarios} & {
        "it would find no place even then",
        "queue speech has no more than it may keep",
        "queue vision has no more than it may keep",
    }


def test_who_would_be_evicted_is_told_before_it_happens() -> None:
    """A cycle an hour, so that the next one can be told of."""
    lab = KaiLab.scheduled(nodes=1, gpus=4)
    lab.queue("vision", gpus=2)
    lab.queue("speech", gpus=2)
    for number in range(4):
        lab.pod(f"v{number}", labels={LABEL: "vision"})
    lab.advance(10)
    shard = lab.get(SCHEDULING_SHARDS, "default")
    lab.store.update(SCHEDULING_SHARDS, {**shard, "spec": {"args": {"schedule-period": "1h"}}})
    lab.advance(10)
    lab.pod("s0", labels={LABEL: "speech"})
    lab.advance(10)
    told = why(lab, "s0")
    assert told.evicts == ("v3",)
    assert told.verdict == "the next cycle makes room for it: v3 must go"
    reclaim = next(each for each in told.searches if each.action == "reclaim")
    assert reclaim.scenarios[-1].outcome == "this would do"
    assert lab.running() == ["v0", "v1", "v2", "v3"]


def test_an_owner_whose_pods_wait_for_kai_is_explained_by_its_first_pod(kai: KaiLab) -> None:
    resources = {"limits": {"nvidia.com/gpu": 8}}
    pod = {"schedulerName": "kai-scheduler", "containers": [{"name": "c", "image": "i", "resources": resources}]}
    template = {"metadata": {"labels": {"app": "a", LABEL: "speech"}}, "spec": pod}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    kai.apply({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "a"}, "spec": spec})
    kai.advance(5)
    cluster = Embedded(kai.cluster)
    told = cluster.run(explain_owner(cluster, "rs", "default", "a"))
    assert told.waiting == 2
    assert "no node is large enough" in told.verdict


def test_a_queue_says_how_its_fair_share_came_about_and_who_waits_in_it(kai: KaiLab) -> None:
    for number in range(6):
        ask(kai, f"v{number}")
    ask(kai, "more")
    cluster = Embedded(kai.cluster)
    told = cluster.run(explain_queue(cluster, "vision"))
    assert told.verdict == "it has reached its limit of 6 GPUs"
    assert told.fair_share.startswith(
        "4 of the 6 GPUs that it asks for are within its quota, and 2 of what the cluster"
    )
    (job,) = told.waiting
    assert job.name.startswith("default/pg-more")
    assert "allowable limit of GPUs" in job.told
    assert told.findings == ()
    with pytest.raises(LabError, match="there is no queue sound; there are default-parent-queue"):
        cluster.run(explain_queue(cluster, "sound"))


def test_a_pod_of_no_known_scheduler_is_told_so() -> None:
    lab = KaiLab.of(Cluster(config=ClusterConfig(nodes=1, gpus=1)))
    lab.pod("p", labels={LABEL: "vision"})
    cluster = Embedded(lab.cluster)
    told = cluster.run(explain_pod(cluster, "default", "p"))
    assert "it waits for the scheduler kai-scheduler" in told.verdict
