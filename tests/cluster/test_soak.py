"""A soak on a scaled clock, served by a process of its own, and the same one on a virtual clock.

It takes some minutes of cluster time; GHOSTFLEET_TESTS_SOAK says how many, and `make e2e` makes it an hour.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ghostfleet.cluster import Cluster, add_nodes
from ghostfleet.drive.access import Access
from ghostfleet.drive.embedded import Embedded
from ghostfleet.drive.interface import Kind
from ghostfleet.drive.remote import Remote
from ghostfleet.server.instances import Instance
from ghostfleet.server.survey import survey
from ghostfleet.stages.nodes import NodeShape

sys.path.insert(0, str(Path(__file__).parent))
from soak import NODE_COUNT, STEADY, Soak

MINUTES = int(os.environ.get("GHOSTFLEET_TESTS_SOAK", "8"))
LEASES = Kind("coordination.k8s.io", "v1", "leases")
NAME = "soak"


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Instance]:
    """A cluster in a process of its own, sixty times as fast as real time."""
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "ghostfleet"]
    up = ["up", NAME, "-d", "-q", "--clock", "scaled:60", "--nodes", str(NODE_COUNT), "--gpus", "8"]
    subprocess.run([*command, *up], env=environment, check=True, timeout=120)
    yield Instance(NAME, environment)
    subprocess.run([*command, "down", NAME], env=environment, check=True, timeout=60)


def virtual_soak() -> Soak:
    cluster = Cluster(seed=1)
    add_nodes(cluster, NodeShape(count=NODE_COUNT, gpus=8, fake_taint=False))

    async def look() -> None:
        """Nothing can lag, and leases are not written."""

    return Soak(Embedded(cluster), MINUTES, look)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_cluster_works_on_as_long_as_one_looks_and_ends_as_on_a_virtual_clock(instance: Instance) -> None:
    served = Remote(Access(instance.kubeconfig))
    record = instance.record()
    assert record is not None
    renewed: dict[str, str] = {}
    states: list[str] = []

    async def look() -> None:
        """Each steady node has renewed its lease since the last look, and the cluster says that it is well."""
        for _ in range(600):
            leases = await served.list(LEASES, "kube-node-lease")
            times = {each["metadata"]["name"]: each["spec"]["renewTime"] for each in leases}
            fresh = all(times[name] > renewed.get(name, "") for name in STEADY)
            states.append(survey(instance, record)["state"])
            if fresh and states[-1] == "ready":
                renewed.update(times)
                return
            await served.sleep(10_000_000)
        raise AssertionError(f"leases {times} are not renewed, or the cluster is not well: {states[-1]}")

    soak = Soak(served, MINUTES, look)
    began = served.now()
    try:
        there = served.run(soak.run())
        minutes = (served.now() - began) / 60e6
    finally:
        served.close()
    print(
        f"\n{MINUTES} minutes in {minutes:.1f}: {len(soak.took)} Jobs, "
        f"{sum(soak.took) / len(soak.took):.1f} s each, {max(soak.took):.0f} s at most (cluster time); "
        f"{len(states)} looks, {sum(state != 'ready' for state in states)} of them not ready; "
        f"log: {instance.log.read_text() or 'empty'}"
    )
    assert not [state for state in states if state.startswith("failed")]
    virtual = virtual_soak()
    assert there == virtual.cluster.run(virtual.run())


def test_a_soak_on_a_virtual_clock_goes_the_same_way_every_time() -> None:
    first, second = virtual_soak(), virtual_soak()
    assert first.cluster.run(first.run()) == second.cluster.run(second.run())
    assert first.took == second.took == [10.0] * MINUTES
