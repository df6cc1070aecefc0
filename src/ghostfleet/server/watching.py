"""Watch streams: events as lines of JSON, in the form the client asked for.

Every line is encoded once for each form and shared by all watchers. In a stream of tables only the first line has the
column definitions. A *bookmark* is an event without an object that tells a client how far it has come; clients that
allow bookmarks get one from time to time, one at the end, and one with an annotation after the initial events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import orjson

from ghostfleet.api.conversion import from_storage
from ghostfleet.api.kinds import Resource, Version
from ghostfleet.core.changes import Event, Object
from ghostfleet.core.clock import Clock
from ghostfleet.core.errors import ApiError, not_acceptable
from ghostfleet.core.watch import Watch
from ghostfleet.server.negotiation import JSON, Form
from ghostfleet.server.streams import Stream, WatchStreams
from ghostfleet.server.tables import IncludeObject, table

__all__ = ["Lines", "WatchStream", "error_line"]

_INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


def _line(type_: str, obj: Object) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (type_.encode(), orjson.dumps(obj))


def error_line(error: ApiError) -> bytes:
    """The event that ends a watch which cannot go on."""
    return _line("ERROR", error.status())


class Lines:
    """Makes lines of events of one resource, in one version and form."""

    def __init__(
        self, resource: Resource, version: Version, form: Form, include_object: IncludeObject, clock: Clock
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
        self._form = f"{self._api_version} {form.conversion} {self._meta} {include_object}"

    def of(self, event: Event) -> bytes:
        """The line of an event."""
        return event.line(self._form, self._encode)

    def with_columns(self, event: Event) -> bytes:
        """The line of a first event, which says what the columns of a table are."""
        return _line(event.type, self._table(self._shown(event.object), with_columns=True))

    def bookmark(self, revision: int, *, ends_initial_events: bool = False, with_columns: bool = False) -> bytes:
        metadata: Object = {"resourceVersion": str(revision)}
        if ends_initial_events:
            metadata["annotations"] = _INITIAL_EVENTS_END
        obj = {"kind": self._resource.kind, "apiVersion": self._api_version, "metadata": metadata}
        return _line("BOOKMARK", self._converted(obj, with_columns=with_columns))

    def _encode(self, event: Event) -> bytes:
        return _line(event.type, self._converted(self._shown(event.object)))

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
        lines: Lines,
        newest: Callable[[], int],
        *,
        bookmarks: bool,
    ) -> None:
        """`newest` tells the store's newest revision, which is how far a stream has come that has sent all events."""
        super().__init__(streams, watch, timeout)
        self._lines = lines
        self._newest = newest
        self._bookmarks = bookmarks
        self._columns_due = lines.tabular

    def first(self) -> bytes:
        done = self.watch.initial_done
        if done is None or not self._bookmarks:
            return b""
        return self._bookmark(done, ends_initial_events=True)

    def render(self, events: Sequence[Event]) -> list[bytes]:
        of = self._lines.of
        if self._columns_due and events:
            self._columns_due = False
            return [self._lines.with_columns(events[0]), *map(of, events[1:])]
        return [of(event) for event in events]

    def ticked(self) -> bytes:
        return self._bookmark(self._newest()) if self._bookmarks else b""

    def last(self) -> bytes:
        error = self.watch.error
        if error is not None:
            return error_line(error)
        return self._bookmark(self._newest()) if self._bookmarks else b""

    def _bookmark(self, revision: int, *, ends_initial_events: bool = False) -> bytes:
        with_columns, self._columns_due = self._columns_due, False
        return self._lines.bookmark(revision, ends_initial_events=ends_initial_events, with_columns=with_columns)
