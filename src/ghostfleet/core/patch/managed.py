"""managedFields: who owns which fields, kept up to date on every write.

An *entry* says that a *manager* owns a set of fields since a *time*, by updates or by applying, in an API version,
through a subresource. Updates take what they change from everyone else and give it to the writer; what they remove, all
lose. An object that has no entries is not tracked until somebody applies to it. Entries stand in the order in which
Kubernetes sorts them, and only so many updaters are kept: the oldest end in one entry of `ancient-changes`.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.core.patch.comparison import compare
from ghostfleet.core.patch.elements import REMEMBERED, MalformedList
from ghostfleet.core.patch.fieldset import LEAF, FieldSet, difference, recursive_difference, union
from ghostfleet.core.patch.gotext import go_json
from ghostfleet.core.patch.ownership import UNOWNED, created_fields
from ghostfleet.core.schema import Type

__all__ = [
    "MAX_UPDATERS",
    "Entry",
    "created",
    "encoded_identity",
    "entries_of",
    "identity",
    "new_entry",
    "reset_fields",
    "same_but_for_times",
    "sort_entries",
    "taken_away",
    "track_update",
]

Entry = dict[str, Any]

#: More entries of updates than this are merged, oldest first.
MAX_UPDATERS = 10
_ANCIENT = "ancient-changes"
_STATUS: FieldSet = {"f:status": LEAF}
_SPEC: FieldSet = {"f:spec": LEAF}
#: Everything in an object, what is ignored of it, and what is left to own, by the ids of the former two.
_owned_parts: dict[tuple[int, int], tuple[FieldSet, FieldSet, FieldSet]] = {}


def track_update(
    old: dict[str, Any] | None,
    new: dict[str, Any],
    type: Type,
    manager: str,
    api_version: str,
    time: str,
    subresource: str = "",
    operation: str = "Update",
    *,
    has_status: bool = False,
    ignored: FieldSet | None = None,
) -> list[Entry]:
    """The managedFields of `new` after `manager` made it of `old` (None: created it).

    `time` is in RFC 3339. `ignored` are the fields that the endpoint does not write; by default they follow from
    whether the kind has a status subresource. If nothing changed, the answer is the list that was there.
    """
    entries = _entries_to_keep(old, new, subresource)
    if old is not None and not entries:
        return entries
    if ignored is None:
        ignored = reset_fields(has_status, subresource)
    try:
        if old is None:
            removed, changed = LEAF, created(new, type, ignored)
        else:
            removed, changed = compare(old, new, type, ignored)
        if not removed and not changed:
            return entries
        return _updated(entries, removed, changed, (manager or "unknown", operation, api_version, subresource), time)
    except MalformedList:
        # Such an object is not tracked; validation refuses most of them anyway.
        return []


def created(obj: dict[str, Any], type: Type, ignored: FieldSet) -> FieldSet:
    """What the manager of a new object owns; one set for all objects of the same shape."""
    everything = created_fields(obj, type)
    known = _owned_parts.get((id(everything), id(ignored)))
    if known is not None and known[0] is everything and known[1] is ignored:
        return known[2]
    if len(_owned_parts) >= REMEMBERED:
        _owned_parts.clear()
    owned = difference(recursive_difference(everything, ignored), UNOWNED)
    _owned_parts[id(everything), id(ignored)] = everything, ignored, owned
    return owned


def reset_fields(has_status: bool, subresource: str) -> FieldSet:
    """What an endpoint does not write: an object's own one leaves the status alone, that of the status the spec."""
    if subresource == "status":
        return _SPEC
    return _STATUS if has_status else LEAF


def _entries_to_keep(old: dict[str, Any] | None, new: dict[str, Any], subresource: str) -> list[Entry]:
    """The entries to start from: those of the request if it brings valid ones, else those of the live object."""
    live = entries_of(old)
    given = new.get("metadata", {}).get("managedFields")
    if subresource or given is None or given is live or given == live:
        return live
    if not given or given == [{}]:
        return []
    return given if isinstance(given, list) and all(map(_is_valid, given)) else live


def entries_of(obj: dict[str, Any] | None) -> list[Entry]:
    """The entries of a stored object."""
    entries = obj.get("metadata", {}).get("managedFields") if obj is not None else None
    return entries if entries is not None else []


def _is_valid(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and entry.get("operation") in ("Apply", "Update")
        and bool(entry.get("apiVersion"))
        and entry.get("fieldsType") == "FieldsV1"
        and isinstance(entry.get("fieldsV1", LEAF), dict)
    )


def _updated(
    entries: list[Entry], removed: FieldSet, changed: FieldSet, writer: tuple[str, str, str, str], time: str
) -> list[Entry]:
    kept: list[Entry] = []
    mine: FieldSet = LEAF
    for entry in entries:
        if identity(entry) == writer:
            # What changes comes back to the writer below.
            mine = taken_away(entry, removed)
            if mine and not changed:
                kept.append(_with_fields(entry, mine))
        elif left := taken_away(entry, removed, changed):
            kept.append(_with_fields(entry, left))
    if changed:
        kept.append(new_entry(writer, time, union(mine, changed)))
    if len(kept) > MAX_UPDATERS:
        kept = _capped(kept)
    return sort_entries(kept)


def identity(entry: Entry) -> tuple[str, str, str, str]:
    """What tells entries apart: for appliers the API version does not count."""
    operation = entry.get("operation", "")
    version = "" if operation == "Apply" else entry.get("apiVersion", "")
    return entry.get("manager", ""), operation, version, entry.get("subresource", "")


def new_entry(writer: tuple[str, str, str, str], time: str, fields: FieldSet) -> Entry:
    """An entry with its fields in the order of the API; one without a time has none."""
    manager, operation, api_version, subresource = writer
    entry: Entry = {"manager": manager, "operation": operation, "apiVersion": api_version}
    if time:
        entry["time"] = time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = fields
    if subresource:
        entry["subresource"] = subresource
    return entry


def taken_away(entry: Entry, *sets: FieldSet) -> FieldSet:
    """What an entry owns without the fields of these sets."""
    fields: FieldSet = entry.get("fieldsV1") or LEAF
    for lost in sets:
        if lost and fields:
            fields = difference(fields, lost)
    return fields


def _with_fields(entry: Entry, fields: FieldSet) -> Entry:
    return entry if entry.get("fieldsV1") is fields else {**entry, "fieldsV1": fields}


def sort_entries(entries: list[Entry]) -> list[Entry]:
    """By operation, then time, then who."""
    return sorted(entries, key=_place) if len(entries) > 1 else entries


def _place(entry: Entry) -> tuple[str, ...]:
    get = entry.get
    return (
        get("operation", ""),
        get("time") or "",
        get("manager", ""),
        get("apiVersion", ""),
        get("subresource", ""),
    )


def _capped(entries: list[Entry]) -> list[Entry]:
    """Merge the oldest updaters of each version into one, until few enough are left."""
    updaters = [entry for entry in entries if entry["operation"] == "Update"]
    surplus = len(updaters) - MAX_UPDATERS
    if surplus <= 0:
        return entries
    updaters.sort(key=lambda entry: (entry.get("time") or "", encoded_identity(entry)))
    kept = {id(entry): entry for entry in entries}
    ancient = [entry for entry in updaters if entry["manager"] == _ANCIENT and not entry.get("subresource")]
    buckets: dict[str, Entry] = {entry["apiVersion"]: entry for entry in ancient}
    oldest: dict[str, Entry] = {}
    for entry in updaters:
        if surplus <= 0:
            break
        version = entry["apiVersion"]
        if version not in oldest:
            oldest[version] = entry
            continue
        bucket = buckets.get(version, oldest[version])
        if bucket is entry:
            continue
        kept.pop(id(bucket))
        kept.pop(id(entry), None)
        fields = union(entry["fieldsV1"], bucket["fieldsV1"])
        merged = new_entry((_ANCIENT, "Update", version, ""), entry.get("time", ""), fields)
        buckets[version] = kept[id(merged)] = merged
        surplus -= 1
    return list(kept.values())


def encoded_identity(entry: Entry) -> str:
    """The text by which Kubernetes tells entries apart, and sorts them in messages and by age."""
    manager, operation, version, subresource = identity(entry)
    parts = {"manager": manager, "operation": operation, "apiVersion": version, "subresource": subresource}
    return "{" + ",".join(f'"{name}":{go_json(part)}' for name, part in parts.items() if part) + "}"


def same_but_for_times(one: list[Entry], other: list[Entry]) -> bool:
    """Whether two lists of entries differ in nothing but times; a write that only moves times is no write."""
    if one is other:
        return True
    if len(one) != len(other):
        return False
    return all({**a, "time": None} == {**b, "time": None} for a, b in zip(one, other, strict=True))
