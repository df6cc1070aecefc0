"""The namespaces of a test: made before it, removed after it, with all that is in them.

They are called `<prefix>-1` to `<prefix>-N`. *Stale* ones are left over from earlier tests, by the look of their names.
"""

from __future__ import annotations

import re

from ghostfleet.clusterloader.config import NamespaceConfig
from ghostfleet.core.clock import SECOND
from ghostfleet.core.durations import format_duration
from ghostfleet.drive.interface import NAMESPACES, Cluster, Refused

__all__ = ["AutomanagedNamespaces", "NamespaceError"]

_STALE = re.compile(r"test-[a-z0-9]+-[0-9]+\Z")
_POLL = SECOND
_CONFLICT, _NOT_FOUND = 409, 404
_SHOWN = 20


class NamespaceError(Exception):
    """Namespaces that cannot be made or removed; the message says which."""


class AutomanagedNamespaces:
    """The namespaces that a test makes for itself."""

    def __init__(self, cluster: Cluster, config: NamespaceConfig) -> None:
        self._cluster = cluster
        self._config = config
        #: Those that the test has made, or found and may use.
        self.made: list[str] = []

    async def prepare(self) -> None:
        """Make all of them; those of earlier tests are removed first, if that is asked for."""
        there = {each["metadata"]["name"] for each in await self._cluster.list(NAMESPACES)}
        prefix, number = self._config.prefix, self._config.number
        own = re.compile(re.escape(prefix) + r"-[0-9]+\Z")
        existing = sorted(name for name in there if own.match(name))
        if existing and not self._config.enable_existing_namespaces:
            raise NamespaceError(
                f"pre-existing automanaged namespaces found: {_some(existing)}; remove them, choose another "
                "namespace.prefix, or set namespace.enableExistingNamespaces"
            )
        stale = sorted(name for name in there if _STALE.match(name) and not own.match(name))
        if stale and self._config.delete_stale_namespaces:
            await self._delete(stale)
        for name in (f"{prefix}-{index}" for index in range(1, number + 1)):
            if name not in there:
                # Noted before it is there, so that Ctrl-C in between leaves nothing behind.
                self.made.append(name)
                made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                await self._cluster.create(NAMESPACES, made)

    async def delete(self) -> None:
        """Remove those that the test has made, and wait until they are gone."""
        made, self.made = self.made, []
        if made and self._config.delete_automanaged_namespaces:
            await self._delete(made)

    async def _delete(self, names: list[str]) -> None:
        for name in names:
            try:
                await self._cluster.delete(NAMESPACES, "", name)
            except Refused as refusal:
                if refusal.code not in (_NOT_FOUND, _CONFLICT):
                    raise
        limit = self._cluster.now() + self._config.delete_namespace_timeout
        wanted = set(names)
        while left := [
            name for each in await self._cluster.list(NAMESPACES) if (name := each["metadata"]["name"]) in wanted
        ]:
            if self._cluster.now() >= limit:
                patience = format_duration(self._config.delete_namespace_timeout)
                raise NamespaceError(f"namespaces are still there after {patience}: {_some(sorted(left))}")
            await self._cluster.sleep(_POLL)


def _some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
