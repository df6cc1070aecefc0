"""A small fleet in virtual time, and a run on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ghostfleet.cluster import Cluster, ClusterConfig, add_nodes
from ghostfleet.drive.embedded import Embedded
from ghostfleet.lab.directory import RunDirectory
from ghostfleet.lab.plan import Plan
from ghostfleet.lab.progress import Silent
from ghostfleet.lab.scaletest import Tested, patience_of, scale_test
from ghostfleet.lab.submit import Submitter, prepare
from ghostfleet.stages.nodes import NodeShape


class Fleet:
    """A cluster as tools see it, and the store behind it."""

    def __init__(self, nodes: int = 4, gpus: int = 8, dra: str = "", **config: Any) -> None:
        self.assembled = Cluster(config=ClusterConfig(**config))
        add_nodes(self.assembled, NodeShape(count=nodes, gpus=gpus, dra=dra, fake_taint=False))
        self.clock: Any = self.assembled.clock
        self.clock.settle()
        self.cluster = Embedded(self.assembled)
        self.store = self.assembled.store

    def names(self, resource: str, namespace: str | None = None) -> list[str]:
        return [obj["metadata"]["name"] for obj in self.store.list(resource, namespace)]

    def submit(self, directory: RunDirectory, plan: Plan, **more: Any) -> Submitter:
        """Submit a run as the command does."""

        async def work() -> Submitter:
            run = await prepare(self.cluster, directory, plan, **more)
            submitter = Submitter(self.cluster, directory, run)
            await submitter.submit()
            return submitter

        return self.cluster.run(work())

    def resume(self, directory: RunDirectory) -> Submitter:
        from ghostfleet.lab.submit import resume

        run = resume(directory)
        submitter = Submitter(self.cluster, directory, run)
        self.cluster.run(submitter.submit())
        return submitter

    def test(self, directory: RunDirectory, plan: Plan, patience: int = 0) -> Tested:
        async def work() -> Tested:
            run = await prepare(self.cluster, directory, plan)
            submitter = Submitter(self.cluster, directory, run)
            return await scale_test(self.cluster, directory, submitter, Silent(), patience or patience_of(plan))

        return self.cluster.run(work())


@pytest.fixture
def make_fleet() -> type[Fleet]:
    return Fleet


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    made = RunDirectory(tmp_path / "out")
    made.make()
    return made


@pytest.fixture
def template(tmp_path: Path) -> Callable[[str], str]:
    """Writes a template and answers its path."""

    def write(text: str, name: str = "own.yaml") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write
