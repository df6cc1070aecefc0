"""Tuning sets: at what pace the actions of a phase are begun.

An *action* is one replica of a phase's bundle in one namespace. A tuning set begins all actions and waits until they
have ended. As in ClusterLoader2, most of them also let the pause after the last action pass.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from random import Random
from typing import Any

from ghostfleet.clusterloader.config import TuningSet
from ghostfleet.clusterloader.validation import loads_of
from ghostfleet.core.clock import SECOND
from ghostfleet.drive.interface import Cluster

__all__ = ["Action", "TuningSets"]

Action = Callable[[], Coroutine[Any, Any, None]]


class TuningSets:
    """The tuning sets of a test. Those of global rates are shared by all phases that name them."""

    def __init__(self, cluster: Cluster, tuning_sets: Sequence[TuningSet], random: Random) -> None:
        self._cluster = cluster
        self._random = random
        self._sets = {each.name: each for each in tuning_sets}
        self._buckets: dict[str, _TokenBucket] = {}

    async def execute(self, name: str, actions: Sequence[Action]) -> None:
        """Begin the actions at the pace of a tuning set, and wait for all."""
        if not actions:
            return
        ((kind, load),) = loads_of(self._sets[name])
        count = len(actions)
        if kind == "parallelismLimitedLoad":
            await self._limited(load.parallelism_limit, actions)
        elif kind == "globalQPSLoad":
            bucket = self._buckets.setdefault(name, _TokenBucket(load.qps, load.burst))
            await self._from_bucket(bucket, iter(actions))
        else:
            await self._timed(self._times(kind, load, count), actions)

    def _times(self, kind: str, load: Any, count: int) -> list[int]:
        """When each action begins, and last when the tuning set is done at the earliest."""
        draw = self._random.random
        if kind == "qpsLoad":
            return [round(number * SECOND / load.qps) for number in range(count + 1)]
        if kind == "timeLimitedLoad":
            return [number * load.time_limit // count for number in range(count + 1)]
        if kind == "randomizedTimeLimitedLoad":
            return [int(draw() * load.time_limit) for _ in range(count)]
        if kind == "steppedLoad":
            steps = -(-count // load.burst_size)
            return [*(number // load.burst_size * load.step_delay for number in range(count)), steps * load.step_delay]
        if kind == "randomizedLoad":
            return _summed(2 * draw() / load.average_qps for _ in range(count))
        return _summed(self._random.expovariate(load.expected_actions_per_second) for _ in range(count))

    async def _timed(self, times: list[int], actions: Sequence[Action]) -> None:
        work = [self._later(wait, action) for wait, action in zip(times, actions, strict=False)]
        if len(times) > len(actions):
            work.append(self._cluster.sleep(times[-1]))
        await self._cluster.together(work)

    async def _later(self, wait: int, action: Action) -> None:
        if wait > 0:
            await self._cluster.sleep(wait)
        await action()

    async def _from_bucket(self, bucket: _TokenBucket, rest: Iterator[Action]) -> None:
        """Wait for a token, then begin an action and the wait for the next, so that phases take turns."""
        action = next(rest, None)
        if action is not None:
            now = self._cluster.now()
            await self._cluster.sleep(bucket.take(now) - now)
            await self._cluster.together([action(), self._from_bucket(bucket, rest)])

    async def _limited(self, limit: int, actions: Sequence[Action]) -> None:
        rest = iter(actions)

        async def lane() -> None:
            for action in rest:
                await action()

        await self._cluster.together([lane() for _ in range(min(limit, len(actions)))])


def _summed(pauses: Iterator[float]) -> list[int]:
    """Moments between which pauses lie, from 0; the last one is the end."""
    moments, moment = [0], 0.0
    for pause in pauses:
        moment += pause
        moments.append(round(moment * SECOND))
    return moments


class _TokenBucket:
    """A rate that several phases share: tokens come at `qps`, and at most `burst` are kept."""

    def __init__(self, qps: float, burst: int) -> None:
        self._gap = SECOND / qps
        self._span = (burst - 1) * self._gap
        #: When the bucket would be full again, as if tokens were owed.
        self._due = 0.0

    def take(self, now: int) -> int:
        """When the next action may begin."""
        self._due = max(self._due, now - self._span)
        at = max(now, round(self._due))
        self._due += self._gap
        return at
