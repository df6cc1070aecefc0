"""The example of two departments, in virtual time."""

from __future__ import annotations

from pathlib import Path

import pytest

from ghostfleet.cluster import Cluster, ClusterConfig
from support.kai_lab import KaiLab

HERE = Path(__file__).parents[3] / "examples" / "06-kai"


def places(kai: KaiLab) -> dict[str, list[str]]:
    """Who runs on which node."""
    found: dict[str, list[str]] = {}
    for pod in kai.store.list("pods"):
        owner = pod["metadata"]["ownerReferences"][0]["name"]
        if pod["status"]["phase"] == "Running":
            found.setdefault(pod["spec"]["nodeName"], []).append(owner)
    return {node: sorted(found[node]) for node in sorted(found)}


INITIAL = {
    "kwok-node-0": ["training-job-1", "training-job-2"],
    "kwok-node-1": ["training-job-3"] * 3,
    "kwok-node-2": ["interactive-job"],
}
ENDS = {
    "kai": {
        "kwok-node-0": ["training-job-1", "training-job-2"],
        "kwok-node-1": ["training-job-3"] * 3,
        "kwok-node-2": ["interactive-job", "training-job-b"],
        "kwok-node-3": ["training-job-a"],
    },
    "prefer-consolidation": {
        "kwok-node-0": ["training-job-1", "training-job-a"],
        "kwok-node-1": ["training-job-2", *["training-job-3"] * 3],
        "kwok-node-2": ["interactive-job", "training-job-b"],
    },
}


@pytest.mark.parametrize("policy", sorted(ENDS))
def test_the_new_jobs_end_where_the_example_says(policy: str) -> None:
    config = ClusterConfig(nodes=4, gpus=8, schedulers=("kai",), kai_policy=policy)
    kai = KaiLab.of(Cluster(config=config))
    for name in ("1-queues.yaml", "2-initial-state.yaml"):
        kai.apply_one_by_one((HERE / name).read_text(encoding="utf-8"))
        kai.advance(5)
    assert places(kai) == INITIAL
    kai.apply((HERE / "3-new-workloads.yaml").read_text(encoding="utf-8"))
    kai.advance(60)
    assert places(kai) == ENDS[policy]


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
