"""ClusterLoader2: tests of whole clusters by their configs, in virtual time.

*Density*: 1,000 nodes are filled with 30 pods each by Deployments, then 1,000 more pods come, are updated and go, as in
the density test of perf-tests. *DRA*: 500 nodes with eight GPUs each, nine tenths of which are taken by long Jobs;
short ones come and go on the rest. Each runs in a process of its own, so that its memory is its own; the baseline is
real time on a real cluster, which is the modelled time. Seconds are those of the processor. DRA runs with the profile
`instant`: with its default rate limits a controller manager does not keep up with ten such Jobs a second.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.figures import Baseline, Figure, at_most

__all__ = ["run"]

_CONFIGS = Path(__file__).parents[1] / "tests/clusterloader/configs"
_KIBIBYTES = 1 << 10


class _Measured(NamedTuple):
    seconds: float
    modelled: float
    pods: int
    mebibytes: float


def run() -> Iterator[Figure]:
    density = _measured("density", 1000)
    modelled = Baseline("modelled s", density.modelled)
    yield Figure("density, 1,000 nodes x 30 pods: lab time", density.seconds, "s", modelled, at_most(60))
    rate = Baseline("modelled pods/s", density.pods / density.modelled)
    yield Figure("density: pods", density.pods / density.seconds, "pods/s", rate)
    goal = Baseline("the goal", 3 * 1024)
    yield Figure("density: memory", density.mebibytes, "MiB", goal, at_most(3 * 1024))
    dra = _measured("dra", 500, "instant", CL2_COMPLETIONS="5")
    yield Figure("dra, 500 nodes x 8 GPUs: lab time", dra.seconds, "s", Baseline("modelled s", dra.modelled))
    rate = Baseline("modelled pods/s", dra.pods / dra.modelled)
    yield Figure("dra: pods", dra.pods / dra.seconds, "pods/s", rate)
    yield Figure("dra: memory", dra.mebibytes, "MiB", goal)


def _measured(name: str, nodes: int, profile: str = "kubernetes", **environment: str) -> _Measured:
    """Run a test as a user does."""
    config = _CONFIGS / name / "config.yaml"
    code = f"from {__name__} import _main; _main({str(config)!r}, {nodes}, {profile!r})"
    said = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    seconds, modelled, pods, kibibytes = map(float, said.split()[-4:])
    return _Measured(seconds, modelled, int(pods), kibibytes / _KIBIBYTES)


def _main(config: str, nodes: int, profile: str) -> None:
    """In the other process: run a test and print seconds, modelled seconds, pods and KiB."""
    import resource
    import time

    from ghostfleet.cluster import Cluster, ClusterConfig, add_nodes
    from ghostfleet.clusterloader.config import TestScenario
    from ghostfleet.clusterloader.log import Log
    from ghostfleet.clusterloader.suite import Options, compile_suite, run_test
    from ghostfleet.core.collector import relax_collector
    from ghostfleet.drive.embedded import Embedded
    from ghostfleet.lab.progress import Silent
    from ghostfleet.stages.nodes import NodeShape

    relax_collector()
    began = time.process_time()
    assembled = Cluster(config=ClusterConfig(profile=profile, stages=("clusterloader",)))
    add_nodes(assembled, NodeShape(count=nodes, prefix="node-", labels={"type": "virtual"}, fake_taint=False))
    options = Options(nodes=nodes, environment=os.environ)
    (test,) = compile_suite([TestScenario(config_path=config)], Path(), options)
    ran = run_test(Embedded(assembled), test, "", options, Log(Silent()))
    assert not ran.result.all_errors(), ran.result.all_errors()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(time.process_time() - began, ran.result.modelled / 1e6, len(ran.timeline.pods), memory)
