"""Installing objects for a dependency, and taking away again what was installed, and nothing else.

An object that is there already is left as it is and is not removed afterwards, for somebody else has made it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.drive.interface import NAMESPACES, Cluster, Kind, Refused

__all__ = ["DependencyError", "Installed"]

_CONFLICT, _NOT_FOUND = 409, 404
_POLL = SECOND // 2
_REMOVAL = 600 * SECOND


class DependencyError(Exception):
    """A dependency that cannot be set up; the message says why."""


class Installed:
    """What a dependency has put into a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._made: list[tuple[Kind, str, str]] = []

    async def create(self, obj: Object) -> Object | None:
        """Create an object; None if there is one of its name."""
        kind = await self._cluster.resolve(obj["apiVersion"], obj["kind"])
        if kind is None:
            raise DependencyError(f"the cluster does not serve {obj['kind']} ({obj['apiVersion']})")
        metadata = obj["metadata"]
        made = (kind, metadata.get("namespace", ""), metadata["name"])
        # Noted before it is there, so that Ctrl-C in between leaves nothing behind.
        self._made.append(made)
        try:
            return await self._cluster.create(kind, obj)
        except Refused as refusal:
            self._made.remove(made)
            if refusal.code != _CONFLICT or refusal.reason != "AlreadyExists":
                raise
            return None

    async def wait(self, what: str, until: Callable[[], Coroutine[Any, Any, str]], limit: int) -> None:
        """Wait until nothing is missing any more; `until` says in words what is."""
        while missing := await until():
            if self._cluster.now() >= limit:
                raise DependencyError(f"timed out waiting for {what}: {missing}")
            await self._cluster.sleep(min(_POLL, max(1, limit - self._cluster.now())))

    async def remove(self) -> None:
        """Delete all that was made, the last first, and wait until it is gone."""
        made, self._made = self._made, []
        for kind, namespace, name in reversed(made):
            try:
                await self._cluster.delete(kind, namespace, name)
            except Refused as refusal:
                if refusal.code not in (_NOT_FOUND, _CONFLICT):
                    raise
        spaces = {name for kind, _, name in made if kind == NAMESPACES}

        async def left() -> str:
            found = [each["metadata"]["name"] for each in await self._cluster.list(NAMESPACES)] if spaces else []
            return ", ".join(name for name in found if name in spaces)

        await self.wait("namespaces to go", left, self._cluster.now() + _REMOVAL)
