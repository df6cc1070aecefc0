"""Logs: what a pod's containers have written, which here is the story of their lives.

A log that is *followed* goes on while the pod lives: lines that come later are sent as they come, and the stream ends
with the pod.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.core.changes import Event, Object
from ghostfleet.core.watch import Watch
from ghostfleet.server.responses import Answer
from ghostfleet.server.streams import Stream, WatchStreams

__all__ = ["LogStream", "log_answer"]

_MEDIA = "text/plain"
_FOREVER = 365 * 86_400.0


def log_answer(text: str, limit_bytes: int | None) -> Answer:
    """A log as it is now; of a container that has not begun there is nothing at all."""
    return Answer(200 if text else 204, text.encode()[:limit_bytes], _MEDIA)


class LogStream(Stream):
    """A log that is followed; `read` tells the whole log of the container at any time."""

    media = _MEDIA

    def __init__(self, streams: WatchStreams, watch: Watch, pod: Object, read: Callable[[], str], shown: str) -> None:
        """`shown` is how much of the log the client wants at first."""
        super().__init__(streams, watch, _FOREVER)
        self._read = read
        self._shown = shown
        self._sent = read()
        self._uid = pod["metadata"]["uid"]
        self._pod_gone = False
        if _has_ended(pod):
            self.end()

    def first(self) -> bytes:
        return self._shown.encode()

    def render(self, event: Event) -> bytes:
        if self._pod_gone or event.type == "DELETED" or event.object["metadata"]["uid"] != self._uid:
            self._pod_gone = True
            self.end()
            return b""
        before, self._sent = self._sent, self._read()
        if _has_ended(event.object):
            self.end()
        return self._sent[len(before) :].encode() if self._sent.startswith(before) else b""


def _has_ended(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
