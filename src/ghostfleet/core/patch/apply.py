"""Server-side apply: a manager states what it wants, and the server merges that with what others want.

What a manager applies it *owns*, together with all who applied or wrote the same value. Changing a field that another
owns is a *conflict*, unless the manager uses force, which takes the field over. A field the manager owned and no longer
applies goes away, if nobody else owns it. Objects written before anyone applied belong to `before-first-apply`. kubectl
gets two favours more: fields it last set by client-side apply are no conflict, and the annotation in which client-side
apply keeps its configuration follows along.
"""

from __future__ import annotations

from typing import Any

import orjson

from ghostfleet.core.errors import ApiError, bad_request
from ghostfleet.core.patch.comparison import compare
from ghostfleet.core.patch.elements import MalformedList
from ghostfleet.core.patch.fieldset import (
    LEAF,
    FieldSet,
    difference,
    has,
    intersection,
    path_text,
    paths,
    recursive_difference,
    union,
)
from ghostfleet.core.patch.gotext import go_json, go_quote
from ghostfleet.core.patch.managed import (
    Entry,
    created,
    encoded_identity,
    entries_of,
    identity,
    new_entry,
    reset_fields,
    sort_entries,
    taken_away,
)
from ghostfleet.core.patch.ownership import UNOWNED, applied_fields
from ghostfleet.core.patch.structured import cut, merge_typed, with_named_fields
from ghostfleet.core.patch.typecheck import type_errors
from ghostfleet.core.schema import MISSING, Type

__all__ = ["server_side_apply"]

_BEFORE = "before-first-apply"
_KUBECTL = "kubectl"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_ANNOTATIONS_LIMIT = 256 * 1024

_Conflicts = list[tuple[Entry, tuple[str, ...]]]


def server_side_apply(
    live: dict[str, Any] | None,
    applied: dict[str, Any],
    type: Type,
    manager: str,
    api_version: str,
    time: str,
    force: bool = False,
    subresource: str = "",
    *,
    kind: str = "",
    has_status: bool = False,
    ignored: FieldSet | None = None,
) -> tuple[dict[str, Any], list[Entry]]:
    """The object after the manager applied its configuration, and its managedFields.

    The object is not defaulted yet and keeps whatever managedFields the live one had; a live object that ends as it was
    is given back itself. `ignored` is as in `track_update`.
    """
    _check(applied, api_version, kind or (live or {}).get("kind", ""), type)
    if ignored is None:
        ignored = reset_fields(has_status, subresource)
    attempt = _Attempt(live, applied, type, (manager, "Apply", api_version, subresource), ignored, time)
    conflicts = [] if force else attempt.conflicts()
    if conflicts and manager == _KUBECTL:
        conflicts = _not_from_client_side_apply(conflicts, live, type, api_version)
    if conflicts:
        raise _conflict_error(conflicts)
    new, entries = attempt.outcome()
    if manager == _KUBECTL:
        new = _with_last_applied(new, applied)
    return new, entries


class _Attempt:
    """One application: the merged object and what it changes, before anyone asked whether it may."""

    def __init__(
        self,
        live: dict[str, Any] | None,
        applied: dict[str, Any],
        type: Type,
        writer: tuple[str, str, str, str],
        ignored: FieldSet,
        time: str,
    ) -> None:
        self.live = live
        self.time = time
        self.writer = writer
        self.entries = entries_of(live) or _before_first_apply(live, type, writer, ignored, time)
        me = (writer[0], writer[1], "", writer[3])
        self.mine = next((entry for entry in self.entries if identity(entry) == me), None)
        self.others = [entry for entry in self.entries if identity(entry) != me]
        self.claimed = recursive_difference(applied_fields(applied, type), ignored)
        if live is None:
            self.new = applied
            self.removed, self.changed = LEAF, LEAF
        else:
            merged: dict[str, Any] = merge_typed(live, applied, type)
            pruned = self._pruned(merged, type)
            # A part that pruning left empty is not lost to those who own it as a whole.
            self.removed, self.changed = compare(live, pruned, type, ignored)
            self.new = _without_hollows(pruned, merged)

    def _pruned(self, merged: dict[str, Any], type: Type) -> Any:
        """The merged object without what the manager no longer applies and nobody else owns."""
        last = self.mine["fieldsV1"] if self.mine is not None else LEAF
        if not difference(last, self.claimed):
            return merged
        last = with_named_fields(last, type)
        owned = self.claimed
        for entry in self.others:
            owned = union(owned, entry.get("fieldsV1") or LEAF)
        everything = with_named_fields(applied_fields(merged, type), type)
        kept = with_named_fields(applied_fields(cut(merged, last, type) or {}, type), type)
        kept = union(kept, with_named_fields(owned, type))
        pruned = cut(merged, difference(everything, kept), type) or {}
        left = with_named_fields(applied_fields(pruned, type), type)
        return cut(merged, intersection(difference(everything, left), last), type) or {}

    def conflicts(self) -> _Conflicts:
        """The fields of others that would change, by entry as Kubernetes sorts them."""
        return [
            (entry, path)
            for entry in sorted(self.others, key=encoded_identity)
            for path in paths(intersection(entry.get("fieldsV1") or LEAF, self.changed))
        ]

    def outcome(self) -> tuple[dict[str, Any], list[Entry]]:
        is_same = self.live is not None and self.new == self.live
        entries = []
        for entry in self.others:
            fields = taken_away(entry, self.changed, self.removed)
            if fields:
                entries.append(entry if fields is entry.get("fieldsV1") else {**entry, "fieldsV1": fields})
        claimed = difference(self.claimed, UNOWNED)
        if claimed:
            time = self.time
            if is_same:
                time = self.mine.get("time", "") if self.mine is not None else ""
            entries.append(new_entry(self.writer, time, claimed))
        entries = sort_entries(entries)
        if is_same and self.live is not None:
            return self.live, self.entries if entries == self.entries else entries
        return self.new, entries


def _without_hollows(value: Any, before: Any) -> Any:
    """The pruned value without the fields that pruning emptied."""
    if value is before:
        return value
    if isinstance(value, list):
        untouched = {id(item) for item in before} if isinstance(before, list) else set()
        return [item if id(item) in untouched else _without_hollows(item, MISSING) for item in value]
    if not isinstance(value, dict):
        return value
    pairs = ((key, item, before.get(key) if isinstance(before, dict) else MISSING) for key, item in value.items())
    return {key: _without_hollows(item, was) for key, item, was in pairs if item is not None or was is None}


def _before_first_apply(
    live: dict[str, Any] | None, type: Type, writer: tuple[str, str, str, str], ignored: FieldSet, time: str
) -> list[Entry]:
    if live is None:
        return []
    fields = created(live, type, ignored)
    return [new_entry((_BEFORE, "Update", writer[2], writer[3]), time, fields)] if fields else []


# -- checks and conflicts ----------------------------------------------------------------------------------------------


def _check(applied: dict[str, Any], api_version: str, kind: str, type: Type) -> None:
    given, given_kind = applied.get("apiVersion") or "", applied.get("kind") or ""
    if given != api_version or (kind and given_kind != kind):
        raise bad_request(f"invalid object type: {_kind_text(given, given_kind)}")
    metadata = applied.get("metadata") or {}
    if metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    if errors := type_errors(applied, type):
        who = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {_kind_text(given, given_kind)}"
        raise ApiError(500, "", f"failed to create typed patch object ({who}): {errors}")


def _kind_text(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    return f"{group}/{version}, Kind={kind}"


def _conflict_error(conflicts: _Conflicts) -> ApiError:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_manager_text(entry)}",
            "field": path_text(path),
        }
        for entry, path in conflicts
    ]
    if len(conflicts) == 1:
        entry, path = conflicts[0]
        message = f"Apply failed with 1 conflict: conflict with {_manager_text(entry)}: {path_text(path)}"
    else:
        lines: list[str] = []
        previous = None
        for entry, path in conflicts:
            if entry is not previous:
                lines.append(f"conflicts with {_manager_text(entry)}:")
                previous = entry
            lines.append(f"- {path_text(path)}")
        message = f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
    return ApiError(409, "Conflict", message, {"causes": causes})


def _manager_text(entry: Entry) -> str:
    manager, operation, version, subresource = identity(entry)
    text = go_quote(manager)
    if subresource:
        text += f" with subresource {go_quote(subresource)}"
    return f"{text} using {version}" if operation == "Update" else text


# -- kubectl's client-side apply ---------------------------------------------------------------------------------------


def _not_from_client_side_apply(
    conflicts: _Conflicts, live: dict[str, Any] | None, type: Type, api_version: str
) -> _Conflicts:
    """The conflicts that are not about fields which client-side apply set and nobody changed since."""
    text = _last_applied(live or {})
    try:
        last = orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        last = None
    if live is None or not isinstance(last, dict) or last.get("apiVersion") != api_version or type_errors(last, type):
        return conflicts
    try:
        removed, changed = compare(last, live, type)
        allowed = difference(difference(applied_fields(last, type), changed), removed)
    except MalformedList:
        return conflicts
    return [(entry, path) for entry, path in conflicts if not has(allowed, path)]


def _last_applied(obj: dict[str, Any]) -> str:
    annotations = obj.get("metadata", {}).get("annotations") or {}
    text = annotations.get(_LAST_APPLIED)
    return text if isinstance(text, str) else ""


def _with_last_applied(new: dict[str, Any], applied: dict[str, Any]) -> dict[str, Any]:
    """The object with client-side apply's annotation brought up to date, if it has one."""
    if not _last_applied(new):
        return new
    config = applied
    metadata = applied.get("metadata") or {}
    if _LAST_APPLIED in (metadata.get("annotations") or {}):
        own = {key: value for key, value in metadata["annotations"].items() if key != _LAST_APPLIED}
        config = {**applied, "metadata": {**metadata, "annotations": own}}
    annotations = {**new["metadata"]["annotations"], _LAST_APPLIED: go_json(config) + "\n"}
    if sum(len(key) + len(value.encode()) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        del annotations[_LAST_APPLIED]
    return {**new, "metadata": {**new["metadata"], "annotations": annotations}}
