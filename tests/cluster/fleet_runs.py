"""Whole runs of a fleet, for tests: Jobs of one GPU each, on nodes that may fail, with everything that happened.

Run as a program (`python fleet_runs.py JOBS SEED`) it prints the digest of the event log, so that a test can compare
processes with different hash seeds.
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import orjson

from ghostfleet.api.options import WriteOptions
from ghostfleet.cluster import Cluster, ClusterConfig, add_nodes
from ghostfleet.core.changes import Change
from ghostfleet.core.clock import SECOND
from ghostfleet.stages.nodes import NodeShape

CONTAINER = {"name": "main", "image": "trainer", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
SPEC = {"restartPolicy": "Never", "containers": [CONTAINER]}


def job(name: str, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"annotations": annotations or {}}, "spec": SPEC}
    return {"metadata": {"name": name}, "spec": {"backoffLimit": 1000, **spec, "template": template}}


def submit(cluster: Cluster, plural: str, obj: dict[str, Any]) -> dict[str, Any]:
    resource = cluster.registry.by_key(plural)
    assert resource is not None
    return cluster.api.create(resource, resource.storage, "default", obj, WriteOptions())


def fleet(nodes: int, seed: int | str = 0, config: ClusterConfig | None = None, gpus: int = 8) -> Cluster:
    cluster = Cluster(config=config, seed=seed)
    add_nodes(cluster, NodeShape(count=nodes, gpus=gpus, fake_taint=False))
    cluster.clock.run(cluster.clock.now() + SECOND)
    return cluster


def random_run(jobs: int, seed: int | str) -> tuple[Cluster, str]:
    """Jobs with random start-up delays and run times; answers the cluster and the digest of all that happened."""
    cluster = fleet(jobs // 20, seed, ClusterConfig(stages=("general",)))
    digest = hashlib.sha256()

    def note(change: Change) -> None:
        event = change.event()
        digest.update(b"%d %s " % (cluster.clock.now(), event.type.encode()))
        digest.update(orjson.dumps(event.object))

    cluster.store.listen_to_all(note)
    annotations = {"ghostfleet.dev/duration": "exponential(30s)", "ghostfleet.dev/failure-probability": "0.05"}
    for number in range(jobs):
        cluster.clock.call_later(number * SECOND // 50, submit, cluster, "jobs.batch", job(f"j{number}", annotations))
    cluster.clock.run(cluster.clock.now() + 3600 * SECOND)
    return cluster, digest.hexdigest()


if __name__ == "__main__":
    ran, printed = random_run(int(sys.argv[1]), sys.argv[2])
    ended = sum(bool(each["status"].get("completionTime")) for each in ran.store.list("jobs.batch"))
    print(f"{printed} {ran.store.revision} {ended}")
