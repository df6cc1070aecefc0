"""The chaos monkey: fake nodes that fail now and then, and come back.

Every *interval*, give or take its jitter, a part of the nodes is chosen that have not failed; each of them gives no
sign of life for the *simulated downtime*. It works on fake nodes only. When the test is over all nodes come back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from ghostfleet.clusterloader.config import ChaosMonkeyConfig, NodeFailureConfig
from ghostfleet.core.clock import SECOND
from ghostfleet.drive.interface import NODES, Cluster, Refused
from ghostfleet.stages.nodes import FAILED_ANNOTATION, FAKE_ANNOTATION

__all__ = ["ChaosMonkey"]

_STEP = SECOND


class ChaosMonkey:
    """The chaos monkey of one test."""

    def __init__(self, cluster: Cluster, config: ChaosMonkeyConfig, random: Random, say: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._failure = config.node_failure
        self._excluded = frozenset(config.excluded_nodes)
        self._random = random
        self._say = say
        #: When each failed node comes back.
        self._down: dict[str, int] = {}
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    async def run(self) -> None:
        """Let nodes fail until the test is over."""
        if self._failure is None:
            return
        due = self._cluster.now() + self._pause(self._failure)
        while not self._stopped:
            await self._cluster.sleep(_STEP)
            now = self._cluster.now()
            await self._recover([name for name, end in self._down.items() if end <= now])
            if now >= due and not self._stopped:
                await self._fail(self._failure, now)
                due = now + self._pause(self._failure)
        await self.recover()

    async def recover(self) -> None:
        """Let all nodes come back."""
        await self._recover(list(self._down))

    def _pause(self, failure: NodeFailureConfig) -> int:
        return int(failure.interval * (1 + self._random.random() * max(0.0, failure.jitter_factor)))

    async def _fail(self, failure: NodeFailureConfig, now: int) -> None:
        nodes = [
            name
            for node in await self._cluster.list(NODES)
            if (name := node["metadata"]["name"]) not in self._excluded
            and FAKE_ANNOTATION in (node["metadata"].get("annotations") or {})
        ]
        well = [name for name in nodes if name not in self._down]
        chosen = self._random.sample(well, min(len(well), math.ceil(failure.failure_rate * len(nodes))))
        for name in chosen:
            self._down[name] = now + failure.simulated_downtime
            await self._mark(name, "true")
        if chosen:
            self._say(f"chaos monkey: {len(chosen)} of {len(nodes)} nodes fail: {', '.join(chosen[:5])}")

    async def _recover(self, names: list[str]) -> None:
        for name in names:
            await self._mark(name, None)
            del self._down[name]

    async def _mark(self, name: str, mark: str | None) -> None:
        marks = {FAILED_ANNOTATION: mark}
        try:
            await self._cluster.patch(NODES, "", name, {"metadata": {"annotations": marks, "labels": marks}})
        except Refused as refusal:
            if refusal.code != 404:
                raise
