"""Events in one line.

The same event has two shapes: the core one with `involvedObject` and `message`, and that of events.k8s.io with
`regarding` and `note`, where the older times and counts carry the prefix `deprecated`. Both print alike.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.server.tables.cells import age_of, name_of, part
from ghostfleet.server.tables.printers import Cell, Printers, text, wide

__all__ = ["EVENTS"]

EVENTS = Printers()

_COLUMNS = (
    text("Last Seen", "Time since it happened last."),
    text("Type", "Normal or Warning."),
    text("Reason", "What happened, in a word."),
    text("Object", "What it happened to."),
    wide("Subobject", "Part of the object it happened to."),
    wide("Source", "Who reports it."),
    text("Message", "What happened, in a sentence."),
    wide("First Seen", "Time since it happened first."),
    wide("Count", "How often it happened."),
    wide("Name", "Name of the event.") | {"format": "name"},
)


def _either(event: Object, core: str, newer: str) -> Any:
    return event.get(core) or event.get(newer)


def _source(event: Object) -> str:
    source = _either(event, "source", "deprecatedSource") or {}
    component = source.get("component") or _either(event, "reportingComponent", "reportingController") or ""
    instance = source.get("host") or event.get("reportingInstance")
    return f"{component}, {instance}" if instance else component


@EVENTS.of("events", *_COLUMNS)
@EVENTS.of("events.events.k8s.io", *_COLUMNS)
def event(obj: Object, now: int) -> list[Cell]:
    target = _either(obj, "involvedObject", "regarding") or {}
    first_seen = age_of(_either(obj, "firstTimestamp", "deprecatedFirstTimestamp") or obj.get("eventTime"), now)
    last = _either(obj, "lastTimestamp", "deprecatedLastTimestamp")
    last_seen = age_of(last, now) if last else first_seen
    count = _either(obj, "count", "deprecatedCount") or 1
    if obj.get("series") is not None:
        series = part(obj, "series")
        last_seen, count = age_of(series.get("lastObservedTime"), now), series.get("count") or 0
    return [
        last_seen,
        obj.get("type") or "",
        obj.get("reason") or "",
        "/".join(filter(None, [(target.get("kind") or "").lower(), target.get("name")])),
        target.get("fieldPath") or "",
        _source(obj),
        (_either(obj, "message", "note") or "").strip(),
        first_seen,
        count,
        name_of(obj),
    ]
