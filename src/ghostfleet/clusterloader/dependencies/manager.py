"""The dependencies of a test: set up in order before it, torn down in reverse order after it (`manager.go`).

All are tried, and what went wrong is told together. One that could not be set up is torn down all the same, so that
nothing of it is left behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ghostfleet.clusterloader.config import Dependency
from ghostfleet.clusterloader.dependencies.example import DraTestDriver
from ghostfleet.clusterloader.dependencies.installing import DependencyError
from ghostfleet.clusterloader.dependencies.kwok import KwokDra
from ghostfleet.clusterloader.params import ParamError, Params
from ghostfleet.core.durations import format_duration
from ghostfleet.drive.interface import Cluster, ConnectionFailed, Refused

__all__ = ["METHODS", "DependencyManager"]


class _Method(Protocol):
    async def setup(self, params: Params, limit: int | None, /) -> None: ...

    async def teardown(self) -> None: ...


_MADE: dict[str, Callable[[Cluster, Mapping[str, Any]], _Method]] = {
    "DRAKWOKDriver": KwokDra,
    "kwok-dra": KwokDra,
    "DRATestDriver": DraTestDriver,
}
METHODS = frozenset(_MADE)


class DependencyManager:
    """The dependencies of one test."""

    def __init__(self, cluster: Cluster, mapping: Mapping[str, Any], say: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._mapping = mapping
        self._say = say
        self._begun: list[tuple[str, _Method]] = []

    async def setup(self, dependencies: list[Dependency]) -> list[str]:
        """Set all of them up; answers what went wrong."""
        errors = []
        for dependency in dependencies:
            method = _MADE[dependency.method or dependency.name](self._cluster, self._mapping)
            self._begun.append((dependency.name, method))
            limit = self._cluster.now() + dependency.timeout if dependency.timeout else None
            began = self._cluster.now()
            try:
                await method.setup(Params(dependency.params), limit)
            except (DependencyError, ParamError, Refused, ConnectionFailed) as error:
                patience = f" (timeout {format_duration(dependency.timeout)})" if dependency.timeout else ""
                errors.append(f"dependency {dependency.name}{patience}: {error}")
                continue
            self._say(f"dependency {dependency.name} is set up ({format_duration(self._cluster.now() - began)})")
        return errors

    async def teardown(self) -> None:
        """Take away all that they have made, the last first."""
        while self._begun:
            name, method = self._begun[-1]
            try:
                await method.teardown()
            except (DependencyError, Refused, ConnectionFailed) as error:
                self._say(f"dependency {name} could not be torn down: {error}")
            self._begun.pop()
