"""The example of two departments, in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.core.manifests import load_documents
from ghostfleet.drive.embedded import Embedded
from ghostfleet.lab.decisions import decisions
from support.kai_lab import KaiLab

HERE = Path(__file__).parents[3] / "examples" / "06-kai"
JOB_3 = ["training-job-3-master-0", "training-job-3-worker-0", "training-job-3-worker-1"]
INITIAL = {"node-1": ["training-job-1", "training-job-2"], "node-2": JOB_3, "node-3": ["interactive-job"]}
ENDS = {
    "kai": {
        "node-1": ["training-job-1", "training-job-2"],
        "node-2": JOB_3,
        "node-3": ["interactive-job", "training-job-b"],
        "node-4": ["training-job-a"],
    },
    "prefer-consolidation": {
        "node-1": ["training-job-1", "training-job-a"],
        "node-2": ["training-job-2", *JOB_3],
        "node-3": ["interactive-job", "training-job-b"],
    },
}


def places(kai: KaiLab) -> dict[str, list[str]]:
    """Who runs on which node."""
    found: dict[str, list[str]] = {}
    for pod in kai.store.list("pods"):
        if pod["status"]["phase"] == "Running" and pod["metadata"]["namespace"].startswith("project-"):
            found.setdefault(pod["spec"]["nodeName"], []).append(pod["metadata"]["name"])
    return {node: sorted(found[node]) for node in sorted(found)}


def example(**options: Any) -> KaiLab:
    """The cluster of the example in its initial state."""
    kai = KaiLab.of(Cluster(config=ClusterConfig(schedulers=("kai",), **options)))
    for name in ("0-nodes.yaml", "1-queues.yaml", "2-initial-state.yaml"):
        for document in load_documents((HERE / name).read_bytes()):
            kai.apply(document.object)
            # In one cycle KAI would pack the jobs otherwise.
            kai.advance(5)
    assert places(kai) == INITIAL
    return kai


def told(kai: KaiLab) -> list[str]:
    cluster = Embedded(kai.cluster)
    return [each.line for each in cluster.run(decisions(cluster))]


@pytest.mark.parametrize("label", ["kai.scheduler/queue", "runai/queue"])
@pytest.mark.parametrize("policy", sorted(ENDS))
def test_the_new_jobs_end_where_the_example_says(policy: str, label: str) -> None:
    kai = example(kai_policy=policy, recreate_bare_pods=True, kai_queue_label=label)
    kai.apply((HERE / "3-new-workloads.yaml").read_text(encoding="utf-8"))
    kai.advance(60)
    assert places(kai) == ENDS[policy]
    for document in reversed(load_documents((HERE / "3-new-workloads.yaml").read_bytes())):
        own = document.object["metadata"]
        kai.store.delete("pods", own["namespace"], own["name"])
    kai.advance(5)
    assert sum(map(len, places(kai).values())) == 6


def test_without_the_wish_the_bare_pod_that_must_move_is_lost() -> None:
    kai = example(kai_policy="prefer-consolidation")
    kai.apply((HERE / "3-new-workloads.yaml").read_text(encoding="utf-8"))
    kai.advance(60)
    assert places(kai) == {**ENDS["prefer-consolidation"], "node-2": JOB_3}
    assert "PodLost" in dict(kai.events("training-job-2"))


def test_job_b_comes_first_by_its_department_though_it_was_submitted_last() -> None:
    """In a cycle a second both are seen by one cycle, and the priority of department-1 decides, not the order."""
    kai = example(kai_policy="prefer-consolidation", recreate_bare_pods=True, profile="kubernetes")
    # Between two cycles.
    kai.advance(0.3)
    for document in reversed(load_documents((HERE / "3-new-workloads.yaml").read_bytes())):
        kai.apply(document.object)
    kai.advance(60)
    assert places(kai) == ENDS["prefer-consolidation"]
    lines = told(kai)
    assert "New workload submitted: training-job-a (project-c, Priority 150)" in lines
    assert "New workload submitted: training-job-b (project-a, Priority 150)" in lines
    story = [
        "Allocating 3 GPUs to training-job-b on node node-3",
        "Initiating resource consolidation",
        "Moving training-job-2 (2 GPUs) from node-1 to node-2",
        "Scheduling training-job-a (4 GPUs) on node-1 when pods have left it",
        "Allocating 4 GPUs to training-job-a on node node-1",
        "Allocating 2 GPUs to training-job-2 on node node-2",
    ]
    assert [line for line in lines if line in story] == story


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kai_policy": "none"}, "--kai-policy none: expected kai or prefer-consolidation"),
        ({"kai_profile": "v9"}, "--kai-profile v9: expected v0.13 or latest"),
        ({"kai_queue_label": "a b"}, "--kai-queue-label a b: no label can be called so"),
    ],
)
def test_a_policy_or_a_version_that_is_not_known_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Cluster(config=ClusterConfig(schedulers=("kai",), **options))
