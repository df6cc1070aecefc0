"""Tests of ClusterLoader2, compiled and run on a small embedded cluster in virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ghostfleet.cluster import Cluster, ClusterConfig, add_nodes
from ghostfleet.clusterloader.compiling import CompiledTest
from ghostfleet.clusterloader.config import TestScenario
from ghostfleet.clusterloader.log import Log
from ghostfleet.clusterloader.results import TestResult
from ghostfleet.clusterloader.suite import Options, Ran, compile_suite, run_test
from ghostfleet.drive.embedded import Embedded
from ghostfleet.lab.progress import Silent
from ghostfleet.stages.nodes import NodeShape

CONFIGS = Path(__file__).parents[1] / "clusterloader/configs"


def compiled(path: Path, nodes: int = 10, environment: Mapping[str, str] | None = None, **options: Any) -> CompiledTest:
    """A test, as the command compiles it."""
    asked = Options(nodes=nodes, environment=environment or {}, **options)
    return compile_suite([TestScenario(config_path=str(path))], Path(), asked)[0]


class Lab:
    """A cluster, and what tests have done to it."""

    def __init__(self, nodes: int = 10, **config: Any) -> None:
        self.assembled = Cluster(config=ClusterConfig(**{"stages": ("clusterloader",), **config}))
        shape = NodeShape(count=nodes, prefix="node-", labels={"type": "virtual"}, fake_taint=False)
        add_nodes(self.assembled, shape)
        self.store = self.assembled.store
        self.cluster = Embedded(self.assembled)
        self.nodes = nodes

    def run(self, path: Path, environment: Mapping[str, str] | None = None, **options: Any) -> Ran:
        test = compiled(path, self.nodes, environment, **options)
        return run_test(self.cluster, test, "", Options(nodes=self.nodes, **options), Log(Silent()))

    def result(self, path: Path, environment: Mapping[str, str] | None = None, **options: Any) -> TestResult:
        return self.run(path, environment, **options).result

    def names(self, resource: str) -> list[str]:
        return [obj["metadata"]["name"] for obj in self.store.list(resource)]
