"""Watch streams: events as lines of JSON or frames of protobuf, in the form the client asked for.

Every line is encoded once for each form and shared by all watchers; a frame is a *line* here too. In a stream of tables
only the first line has the column definitions. A *bookmark* is an event without an object that tells a client how far
it has come; clients that allow bookmarks get one from time to time, one at the end, and one with an annotation after
the initial events.
"""

from __future__ import annotations

from collections.abc import Callable

import orjson

from ghostfleet.api.kinds import Resource, Version, from_storage
from ghostfleet.core.changes import Event, Object
from ghostfleet.core.clock import Clock
from ghostfleet.core.errors import ApiError, not_acceptable
from ghostfleet.core.watch import Watch
from ghostfleet.server.negotiation import JSON, PROTOBUF, MediaType
from ghostfleet.server.protoanswers import Messages, encode_object
from ghostfleet.server.protoencoding import frame
from ghostfleet.server.streams import Stream, WatchStreams
from ghostfleet.server.tables import IncludeObject, table

__all__ = ["EventLines", "WatchStream"]

_INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


def _json_line(type_: str, obj: Object) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (type_.encode(), orjson.dumps(obj))


def _frame(type_: str, obj: Object) -> bytes:
    return frame(type_, encode_object(obj))


class EventLines:
    """Makes lines of events of one resource, in one version and form."""

    def __init__(
        self,
        resource: Resource,
        version: Version,
        form: MediaType,
        include_object: IncludeObject,
        clock: Clock,
        messages: Messages,
    ) -> None:
        if form.conversion == "PartialObjectMetadataList":
            raise not_acceptable([f"{JSON};stream=watch"])
        self._resource = resource
        self._version = version
        self._meta = f"meta.k8s.io/{form.version}"
        self._include_object = include_object
        self._clock = clock
        self._api_version = resource.api_version(version.name)
        self.tabular = form.conversion == "Table"
        self._partial = form.conversion == "PartialObjectMetadata"
        self._messages = messages
        self._line = _frame if form.media == PROTOBUF else _json_line
        #: The media type of the stream.
        self.media = f"{PROTOBUF};stream=watch" if form.media == PROTOBUF else JSON
        self._form = f"{self.media} {self._api_version} {form.conversion} {self._meta} {include_object}"

    def of(self, event: Event) -> bytes:
        """The line of an event."""
        return event.line(self._form, self._encode)

    def with_columns(self, event: Event) -> bytes:
        """The line of a first event, which says what the columns of a table are."""
        return self._line(event.type, self._table(self._shown(event.object), with_columns=True))

    def error(self, error: ApiError) -> bytes:
        """The line that ends a watch which cannot go on."""
        return self._line("ERROR", error.status())

    def bookmark(self, revision: int, *, ends_initial_events: bool = False, with_columns: bool = False) -> bytes:
        metadata: Object = {"resourceVersion": str(revision)}
        if ends_initial_events:
            metadata["annotations"] = _INITIAL_EVENTS_END
        obj = {"kind": self._resource.kind, "apiVersion": self._api_version, "metadata": metadata}
        return self._line("BOOKMARK", self._converted(obj, with_columns=with_columns))

    def _encode(self, event: Event) -> bytes:
        obj = self._shown(event.object)
        # What leaves a selection is shown as it was before, with the new revision: that is no state to remember.
        if self._line is _frame and not self._partial and event.type != "DELETED":
            return frame(event.type, self._messages.object(self._api_version, self._resource.kind, obj))
        return self._line(event.type, self._converted(obj))

    def _shown(self, obj: Object) -> Object:
        return from_storage(self._resource, self._version, obj)

    def _converted(self, obj: Object, *, with_columns: bool = False) -> Object:
        if self.tabular:
            return self._table(obj, with_columns=with_columns)
        if self._partial:
            return {"kind": "PartialObjectMetadata", "apiVersion": self._meta, "metadata": obj["metadata"]}
        return obj

    def _table(self, obj: Object, *, with_columns: bool) -> Object:
        return table(
            self._resource,
            self._version,
            [obj],
            revision=obj["metadata"]["resourceVersion"],
            now_us=self._clock.now(),
            include_object=self._include_object,
            with_columns=with_columns,
            api=self._meta,
        )


class WatchStream(Stream):
    """A watch over HTTP."""

    def __init__(
        self,
        streams: WatchStreams,
        watch: Watch,
        timeout: float,
        lines: EventLines,
        newest: Callable[[], int],
        *,
        bookmarks: bool,
    ) -> None:
        """`newest` tells the store's newest revision, which is how far a stream has come that has sent all events."""
        super().__init__(streams, watch, timeout)
        self.media = lines.media
        self._lines = lines
        self._newest = newest
        self._bookmarks = bookmarks
        self._columns_due = lines.tabular
        if not lines.tabular:
            self.render = lines.of  # type: ignore[method-assign]  # called for every event, so without a detour

    def first(self) -> bytes:
        done = self.watch.initial_done
        if done is None or not self._bookmarks:
            return b""
        return self._bookmark(done, ends_initial_events=True)

    def render(self, event: Event) -> bytes:
        if self._columns_due:
            self._columns_due = False
            return self._lines.with_columns(event)
        return self._lines.of(event)

    def ticked(self) -> bytes:
        return self._bookmark(self._newest()) if self._bookmarks else b""

    def last(self) -> bytes:
        error = self.watch.error
        if error is not None:
            return self._lines.error(error)
        return self._bookmark(self._newest()) if self._bookmarks else b""

    def _bookmark(self, revision: int, *, ends_initial_events: bool = False) -> bytes:
        with_columns, self._columns_due = self._columns_due, False
        return self._lines.bookmark(revision, ends_initial_events=ends_initial_events, with_columns=with_columns)
