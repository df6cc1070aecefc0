"""The check of queues: each mistake, made alone, is found with its remedy, and queues that are right have none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ghostfleet.core.manifests import ManifestError, dump
from ghostfleet.drive.embedded import Embedded
from ghostfleet.lab.kaistate import read_kai
from ghostfleet.lab.queuecheck import Finding, check_cluster, check_files
from support.kai_lab import KaiLab

LABEL = "kai.scheduler/queue"
EXAMPLE = Path(__file__).parents[2] / "examples" / "06-kai" / "1-queues.yaml"
FREE = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def queue(name: str = "q", parent: str = "", **resources: Any) -> dict[str, Any]:
    every = {"cpu": FREE, "memory": FREE, "gpu": {"quota": 2, "limit": -1, "overQuotaWeight": 1}, **resources}
    stated = {resource: figures for resource, figures in every.items() if figures is not None}
    spec = {"resources": stated, **({"parentQueue": parent} if parent else {})}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def found_in(*queues: dict[str, Any]) -> list[Finding]:
    return check_files({"q.yaml": "---\n".join(dump(each) for each in queues).encode()})


@pytest.mark.parametrize(
    ("queues", "problem", "remedy"),
    [
        (
            [queue(cpu={**FREE, "quota": 8})],
            "cpu.quota 8 is 8 thousandths of a core",
            "write 8000 if 8 cores are meant",
        ),
        ([queue(memory={**FREE, "limit": 64})], "memory.limit 64 is 64 MB", "write 64000 if 64 GB are meant"),
        ([queue(cpu=None)], "cpu.limit is not set, which KAI takes for 0", "write cpu.limit: -1 for no limit"),
        ([queue(gpu={"quota": 2, "overQuotaWeight": 1})], "gpu.limit is not set", "write gpu.limit: -1 for no limit"),
        ([queue(gpu={"quota": 4, "limit": 2})], "gpu.quota 4 is above gpu.limit 2", "raise the limit"),
        ([queue(gpu={"quota": 0, "limit": -1, "overQuotaWeight": 0})], "its fair share is always 0", "give it a quota"),
        ([queue(gpu={**FREE, "quota": "8"})], "gpu.quota '8' is not a number", "write it as 8"),
        ([queue(parent="gone")], "parent queue 'gone', which does not exist", "name a parentQueue that is there"),
        (
            [queue("a", "b"), queue("b", "a")],
            "its parents go round in a circle (a -> b -> a)",
            "name a parentQueue that is there, or none for a root",
        ),
        (
            [queue(), queue("x", "q"), queue("y", "q")],
            "the queues below it have gpu.quota 4 together, and it has 2",
            "raise its gpu.quota to 4, or lower theirs",
        ),
    ],
)
def test_a_mistake_in_a_file_is_found_with_its_place_and_its_remedy(
    queues: list[dict[str, Any]], problem: str, remedy: str
) -> None:
    found = [each for each in found_in(*queues) if problem in each.problem]
    assert found
    assert remedy in found[0].remedy
    assert found[0].where.startswith("q.yaml:")


def test_a_queue_without_resources_is_found() -> None:
    (found,) = found_in({"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "q"}, "spec": {}})
    assert (found.about, found.remedy) == ("queue q", "add spec.resources")


def test_queues_that_are_right_have_no_finding() -> None:
    assert found_in(queue(), queue("x", "q"), {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}) == []
    assert check_files({"1-queues.yaml": EXAMPLE.read_bytes()}) == []


def test_a_file_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ManifestError, match="q.yaml: line"):
        check_files({"q.yaml": b"a: [\n"})


def break_nothing(_kai: KaiLab) -> None:
    """Leave everything right."""


def ask_too_much(kai: KaiLab) -> None:
    kai.queue("more", gpus=8)


def name_the_parent(kai: KaiLab) -> None:
    kai.pod("p", labels={LABEL: "research"})


def name_no_queue(kai: KaiLab) -> None:
    kai.pod("p", labels={LABEL: "nowhere"})


def use_the_old_label(kai: KaiLab) -> None:
    for number in range(5):
        kai.pod(f"p{number}", labels={"runai/queue": "vision"}, requests={"cpu": "1"})


def be_larger_than_the_quota(kai: KaiLab) -> None:
    requests = {"cpu": "1", "nvidia.com/gpu": "4"}
    kai.pod("p", labels={LABEL: "vision"}, requests=requests, spec={"priorityClassName": "build"})


def name_no_class(kai: KaiLab) -> None:
    spec = {"minMember": 1, "queue": "vision", "priorityClassName": "urgent"}
    metadata = {"name": "group"}
    kai.apply({"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": metadata, "spec": spec})


@pytest.mark.parametrize(
    ("mistake", "problem", "remedy"),
    [
        (break_nothing, "", ""),
        (ask_too_much, "quotas come to 12 GPUs, and the nodes have 8", "lower quotas or add nodes"),
        (name_the_parent, "Queue 'research' is not a leaf queue", f"label its pods {LABEL} with a queue"),
        (name_no_queue, "Queue 'nowhere' does not exist", f"label its pods {LABEL} with a queue"),
        (use_the_old_label, "p0, p1, p2 and 2 more: labelled runai/queue", "--kai-queue-label runai/queue"),
        (be_larger_than_the_quota, "asks for 4 GPUs; the quota of queue vision is 2", "raise gpu.quota of vision"),
        (name_no_class, "its priority class urgent does not exist", "create the PriorityClass urgent"),
    ],
)
def test_a_mistake_on_a_cluster_is_found_with_its_remedy(
    mistake: Callable[[KaiLab], None], problem: str, remedy: str
) -> None:
    kai = KaiLab.scheduled(nodes=2, gpus=4)
    kai.queue("research", gpus=4)
    kai.queue("vision", "research", gpus=2)
    mistake(kai)
    kai.advance(5)
    cluster = Embedded(kai.cluster)
    found = check_cluster(cluster.run(read_kai(cluster)))
    if not problem:
        assert found == []
        return
    (finding,) = [each for each in found if problem in each.problem]
    assert remedy in finding.remedy
