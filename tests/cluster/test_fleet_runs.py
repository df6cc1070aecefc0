"""Whole runs: the experiment of the seed, GPUs that do not exist in one piece, sameness of bytes, nodes that fail."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.core.clock import SECOND
from ghostfleet.core.manifests import load_documents
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.core.watch import Watch
from ghostfleet.server.tables import row

sys.path.insert(0, str(Path(__file__).parent))
import fleet_runs

EXAMPLE = Path(__file__).parents[2] / "examples" / "03-kwok-stages"


def test_a_job_lives_by_the_delays_of_a_kwok_file():
    cluster = Cluster(config=ClusterConfig(stages=(str(EXAMPLE / "kwok.yaml"),)))
    for plural in ("nodes", "jobs.batch"):
        file = EXAMPLE / ("node.yaml" if plural == "nodes" else "job.yaml")
        resource = cluster.registry.by_key(plural)
        obj = load_documents(file.read_text(), source=str(file))[0].object
        cluster.api.create(
            resource, resource.storage, "default" if resource.namespaced else "", obj, fleet_runs.WriteOptions()
        )
        cluster.clock.settle()
    pods = cluster.registry.by_key("pods")
    watch, seen = Watch(cluster.store, "pods"), {}

    def note() -> None:
        for event in watch.drain():
            age = cluster.clock.now() - parse_rfc3339(event.object["metadata"]["creationTimestamp"])
            seen.setdefault(row(pods, pods.storage, event.object, cluster.clock.now())[2], age / SECOND)

    note()
    watch.wake = note
    cluster.clock.run(cluster.clock.now() + 60 * SECOND)
    assert list(seen) == ["Pending", "ContainerCreating", "Running", "Completed"]
    assert seen["Pending"] == 0
    assert 0.1 <= seen["ContainerCreating"] <= 0.5
    assert 10 <= seen["Running"] - seen["ContainerCreating"] <= 11
    assert 10 <= seen["Completed"] - seen["Running"] <= 11
    job = cluster.store.get("jobs.batch", "default", "short-0")
    assert job["status"]["succeeded"] == 1


def test_sixteen_gpus_are_not_two_times_eight():
    cluster = fleet_runs.fleet(2)

    def pod(name: str, gpus: str) -> dict:
        container = {"name": "a", "image": "b", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
        return {"metadata": {"name": name}, "spec": {"containers": [container]}}

    for name, gpus in (("eight-a", "8"), ("eight-b", "8"), ("sixteen", "16")):
        fleet_runs.submit(cluster, "pods", pod(name, gpus))
        cluster.clock.run(cluster.clock.now() + SECOND)
    placed = {each["metadata"]["name"]: each["spec"].get("nodeName") for each in cluster.store.list("pods", "default")}
    assert {placed["eight-a"], placed["eight-b"]} == {"kwok-node-0", "kwok-node-1"}
    assert placed["sixteen"] is None
    fleet_runs.add_nodes(cluster, fleet_runs.NodeShape(count=3, first=2, gpus=8, fake_taint=False))
    # None of the new nodes could help, so that the scheduler looks again only after its five minutes.
    cluster.clock.run(cluster.clock.now() + 400 * SECOND)
    waiting = cluster.store.get("pods", "default", "sixteen")
    assert "nodeName" not in waiting["spec"]
    (condition,) = [each for each in waiting["status"]["conditions"] if each["type"] == "PodScheduled"]
    assert condition["message"].startswith("0/5 nodes are available: 5 Insufficient nvidia.com/gpu.")


def digest(jobs: int, seed: str, hash_seed: str) -> str:
    program = Path(__file__).parent / "fleet_runs.py"
    done = subprocess.run(
        [sys.executable, str(program), str(jobs), seed],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        check=True,
    )
    return done.stdout


@pytest.mark.timeout(600)
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others():
    jobs = int(os.environ.get("GHOSTFLEET_TESTS_JOBS", "300"))
    first, second, third = (digest(jobs, "7", hash_seed) for hash_seed in ("0", "1", "424242"))
    assert first == second == third
    assert int(first.split()[2]) == jobs, "every Job has ended"
    assert digest(jobs, "8", "0") != first


@pytest.mark.timeout(600)
def test_every_job_finishes_though_a_fifth_of_the_nodes_fail():
    nodes, jobs = 50, 250
    if os.environ.get("GHOSTFLEET_TESTS_JOBS"):
        nodes, jobs = 1000, int(os.environ["GHOSTFLEET_TESTS_JOBS"])
    cluster = fleet_runs.fleet(nodes)
    most = Counter()

    def count(change) -> None:
        if change.new is None or "nodeName" not in change.new["spec"]:
            return
        node = change.new["spec"]["nodeName"]
        used = sum(
            pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
            for pod in cluster.store.having("pods", "node", node)
        )
        most[node] = max(most[node], used)

    cluster.store.listen("pods", count)
    annotations = {"ghostfleet.dev/duration": "120s"}
    for number in range(jobs):
        fleet_runs.submit(cluster, "jobs.batch", fleet_runs.job(f"j{number}", annotations))
    cluster.clock.run(cluster.clock.now() + 30 * SECOND)
    for number in range(nodes // 5):
        cluster.fleet.fail_node(f"kwok-node-{number}")
    cluster.clock.run(cluster.clock.now() + 7200 * SECOND)
    statuses = [each["status"] for each in cluster.store.list("jobs.batch", "default")]
    assert all(status.get("succeeded") == 1 for status in statuses), "each Job counts one success, whatever happened"
    assert all(any(c["type"] == "Complete" and c["status"] == "True" for c in s["conditions"]) for s in statuses)
    assert max(most.values()) <= 8, "no node had more pods than GPUs at any time"
