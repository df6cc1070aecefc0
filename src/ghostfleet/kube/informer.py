"""Informers: keep one resource of the mirror as it is in the cluster, by a list and then an endless watch.

A watch that breaks off goes on where it was; if the cluster no longer knows what happened since (410), everything is
listed again, and only what differs is a change. A resource that the cluster does not have (404) may come later.
"""

from __future__ import annotations

import asyncio
import urllib.parse
from collections.abc import Callable
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.drive.interface import ConnectionFailed, Refused
from ghostfleet.kube.client import Client
from ghostfleet.kube.mirror import Mirror

__all__ = ["Informer"]

_PAGE = 1000
_WATCH_SECONDS = 480
_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 10.0
_GONE = 410
_ABSENT = 404


class Informer:
    """One resource of a mirror."""

    def __init__(
        self,
        client: Client,
        mirror: Mirror,
        resource: str,
        path: str,
        *,
        selectors: dict[str, str] | None = None,
        wanted: Callable[[Object], bool] | None = None,
        warn: Callable[[str], None],
    ) -> None:
        """`selectors` are what the cluster is asked for; of that, only what is `wanted` is kept."""
        self._client = client
        self._mirror = mirror
        self._resource = resource
        self._path = path
        self._selectors = selectors or {}
        self._wanted = wanted
        self._warn = warn
        self._version = ""

    async def sync(self) -> None:
        """List everything."""
        there: set[tuple[str, str]] = set()
        token = ""
        while True:
            page = await self._client.read(self._query(limit=str(_PAGE), **({"continue": token} if token else {})))
            head = {"apiVersion": page["apiVersion"], "kind": page["kind"].removesuffix("List")}
            for item in page["items"]:
                self._take({**head, **item}, there)
            token = page["metadata"].get("continue") or ""
            if not token:
                break
        self._version = page["metadata"]["resourceVersion"]
        for obj in self._mirror.list(self._resource):
            metadata = obj["metadata"]
            place = (metadata.get("namespace", ""), metadata["name"])
            if place not in there:
                self._mirror.drop(self._resource, *place)

    async def run(self) -> None:
        """Follow the cluster until cancelled."""
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                if not self._version:
                    await self.sync()
                await self._follow()
                pause = _FIRST_PAUSE_SECONDS
                continue
            except Refused as error:
                if error.code == _GONE:
                    self._version = ""
                elif error.code == _ABSENT:
                    self._version = ""
                    pause = _LONGEST_PAUSE_SECONDS
                else:
                    self._warn(f"cannot watch {self._resource}: {error}")
            except ConnectionFailed as error:
                self._warn(str(error))
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    async def look_again(self, **selectors: str) -> None:
        """List once more what these selectors choose, such as what was not wanted before."""
        page = await self._client.read(self._query(**selectors))
        head = {"apiVersion": page["apiVersion"], "kind": page["kind"].removesuffix("List")}
        for item in page["items"]:
            self._take({**head, **item}, set())

    async def _follow(self) -> None:
        asked = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(_WATCH_SECONDS)}
        async for event in self._client.watch(self._query(resourceVersion=self._version, **asked)):
            obj: Any = event["object"]
            if event["type"] == "ERROR":
                raise Refused(obj.get("code", 500), obj.get("reason", ""), obj.get("message", "the watch failed"))
            metadata = obj["metadata"]
            self._version = metadata["resourceVersion"]
            if event["type"] == "DELETED":
                self._mirror.drop(self._resource, metadata.get("namespace", ""), metadata["name"])
            elif event["type"] != "BOOKMARK":
                self._take(obj, set())

    def _take(self, obj: Object, there: set[tuple[str, str]]) -> None:
        metadata = obj["metadata"]
        place = (metadata.get("namespace", ""), metadata["name"])
        if self._wanted is None or self._wanted(obj):
            there.add(place)
            self._mirror.take(self._resource, obj)
        else:
            # It may have been wanted before.
            self._mirror.drop(self._resource, *place)

    def _query(self, **more: str) -> str:
        query = {**self._selectors, **more}
        return f"{self._path}?{urllib.parse.urlencode(query)}" if query else self._path
