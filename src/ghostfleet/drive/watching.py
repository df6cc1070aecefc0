"""Watching a cluster behind an address: a thread that lists once and then follows.

When a watch ends (servers end each after some minutes) it goes on from the last revision seen; when that one is too
old it lists again and tells what has become different meanwhile, so that a listener never misses an end.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import urllib.parse
from collections.abc import Callable

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import pause
from ghostfleet.drive.access import Access
from ghostfleet.drive.connection import Connection, watch_lines
from ghostfleet.drive.interface import ConnectionFailed, Refused

__all__ = ["Watcher"]

_PAUSE_SECONDS = 1.0
_GONE = 410
OnEvent = Callable[[str, Object], None]


class Watcher:
    """Follows the objects of one path."""

    def __init__(self, access: Access, path: str, labels: str, on_event: OnEvent) -> None:
        self._access = access
        self._path = path
        self._labels = labels
        self._on_event = on_event
        self._there: dict[tuple[str, str], Object] = {}
        self._revision = ""
        self._stopped = threading.Event()
        self._connection: http.client.HTTPConnection | None = None
        self._thread = threading.Thread(target=self._follow, name=f"watch {path}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the watch; nothing is told afterwards."""
        self._stopped.set()
        if self._connection is not None and self._connection.sock is not None:
            with contextlib.suppress(OSError):
                self._connection.sock.shutdown(socket.SHUT_RDWR)

    def _follow(self) -> None:
        while not self._stopped.is_set():
            try:
                if not self._revision:
                    self._list()
                self._watch()
            except Refused as refusal:
                if refusal.code != _GONE:
                    pause(_PAUSE_SECONDS)
                self._revision = ""
            except ConnectionFailed:
                pause(_PAUSE_SECONDS)

    def _list(self) -> None:
        connection = Connection(self._access)
        try:
            page = connection.get(self._path + self._query())
        finally:
            connection.close()
        found = {_key(obj): obj for obj in page["items"]}
        for key, obj in self._there.items():
            if key not in found:
                self._tell("DELETED", obj)
        for key, obj in found.items():
            self._tell("MODIFIED" if key in self._there else "ADDED", obj)
        self._there = found
        self._revision = page["metadata"]["resourceVersion"]

    def _watch(self) -> None:
        query = self._query(watch="true", resourceVersion=self._revision, allowWatchBookmarks="true")
        for event in watch_lines(self._access, self._path + query, self._opened):
            obj = event["object"]
            if event["type"] == "ERROR":
                raise Refused(obj.get("code", 500), obj.get("reason", ""), obj.get("message", ""))
            self._revision = obj["metadata"]["resourceVersion"]
            if event["type"] == "BOOKMARK":
                continue
            if event["type"] == "DELETED":
                self._there.pop(_key(obj), None)
            else:
                self._there[_key(obj)] = obj
            self._tell(event["type"], obj)

    def _opened(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection

    def _tell(self, event: str, obj: Object) -> None:
        if not self._stopped.is_set():
            self._on_event(event, obj)

    def _query(self, **asked: str) -> str:
        if self._labels:
            asked["labelSelector"] = self._labels
        return f"?{urllib.parse.urlencode(asked)}" if asked else ""


def _key(obj: Object) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
