"""What happens only after a while: pods that wait for long, nodes that come back, statuses that others overwrite."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ghostfleet.cluster import Cluster, add_nodes
from ghostfleet.core.clock import SECOND, Clock, VirtualClock, WallClock, pause
from ghostfleet.stages.nodes import NodeShape

sys.path.insert(0, str(Path(__file__).parent))
import fleet_runs

#: Far more callbacks than a small cluster needs for anything.
MANY = 50_000


def drive(cluster: Cluster, reached: Callable[[], bool]) -> None:
    """Let time pass on any clock until something is reached."""
    clock = cluster.clock
    last = clock.armed + MANY
    if isinstance(clock, VirtualClock):
        clock.run(stop=lambda: reached() or clock.armed > last)
    else:
        assert isinstance(clock, WallClock)
        while not reached() and clock.armed < last:
            if not clock.run_due():
                pause(0.001)
    assert reached(), f"not reached after {MANY:,} callbacks"


def pod(name: str, gpus: int) -> dict:
    container = {"name": "a", "image": "b", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


@pytest.mark.parametrize("clock", [VirtualClock(), WallClock(scale=600), WallClock(scale=6000)])
def test_a_cluster_goes_on_when_something_is_deleted_after_others_waited_for_long(clock: Clock) -> None:
    cluster = Cluster(clock)
    add_nodes(cluster, NodeShape(count=10, gpus=8, fake_taint=False))
    drive(cluster, lambda: all(has(each, "Ready") for each in cluster.store.list("nodes")))
    for number in range(30):
        fleet_runs.submit(cluster, "pods", pod(f"small-{number}", 1))
    drive(cluster, lambda: sum("nodeName" in each["spec"] for each in cluster.store.list("pods")) == 30)
    for number in range(4):
        fleet_runs.submit(cluster, "pods", pod(f"large-{number}", 8))
    began = clock.now()
    drive(cluster, lambda: clock.now() > began + 320 * SECOND)
    cluster.store.delete("pods", "default", "small-7")
    fleet_runs.submit(cluster, "jobs.batch", fleet_runs.job("after"))
    drive(cluster, lambda: bool(cluster.store.get("jobs.batch", "default", "after")["status"].get("completionTime")))
    # The scheduler is at rest afterwards: nothing but leases goes on.
    quiet = clock.armed
    began = clock.now()
    drive(cluster, lambda: clock.now() > began + 600 * SECOND)
    assert clock.armed - quiet < 500


def has(obj: dict, kind: str) -> bool:
    return any(
        each["type"] == kind and each["status"] == "True" for each in obj.get("status", {}).get("conditions", ())
    )
