"""The names of a definition: which of those it asks for it gets.

Within a group every name leads to one resource, so a name that another definition has been given is *in use*. A
definition is given what is free and keeps what it has; when a name becomes free again, whoever still waits for it is
next. Its names are *accepted* when it has been given all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ghostfleet.core.changes import Object

__all__ = ["Names", "give_names", "waits_for_names"]

Names = dict[str, Any]

_SINGLE = (
    ("plural", "PluralConflict"),
    ("singular", "SingularConflict"),
    ("kind", "KindConflict"),
    ("listKind", "ListKindConflict"),
)
_KINDS = frozenset({"kind", "listKind"})


def give_names(definition: Object, group: Iterable[Object]) -> tuple[Names, str, str]:
    """The names a definition is given, beside those that the definitions of its `group` have, itself included.

    With them a reason and a message; the reason is empty if it got all it asked for. Of several conflicts the last is
    told.
    """
    wanted, given = definition["spec"]["names"], _given(definition)
    plurals, kinds = _in_use(group)
    names: Names = {**given}
    conflicts: dict[str, str] = {}
    for field, reason in _SINGLE:
        name, used = wanted.get(field, ""), kinds if field in _KINDS else plurals
        if name != given.get(field, "") and name in used:
            conflicts[reason] = f'"{name}" is already in use'
        else:
            names[field] = name
    short, own = wanted.get("shortNames") or [], given.get("shortNames") or []
    taken = [name for name in short if name not in own and name in plurals]
    if taken:
        texts = list(dict.fromkeys(f'"{name}" is already in use' for name in taken))
        conflicts["ShortNamesConflict"] = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    else:
        names["shortNames"] = short
    names["categories"] = wanted.get("categories") or []
    # Kubernetes looks at the short names before the kinds.
    order = ("PluralConflict", "SingularConflict", "ShortNamesConflict", "KindConflict", "ListKindConflict")
    reason = next((each for each in reversed(order) if each in conflicts), "")
    return _compact(names), reason, conflicts.get(reason, "")


def waits_for_names(definition: Object) -> bool:
    return _compact(definition["spec"]["names"]) != _compact(_given(definition))


def _given(definition: Object) -> Names:
    return (definition.get("status") or {}).get("acceptedNames") or {}


def _in_use(group: Iterable[Object]) -> tuple[set[str], set[str]]:
    plurals: set[str] = set()
    kinds: set[str] = set()
    for definition in group:
        given = _given(definition)
        plurals.update((given.get("plural", ""), given.get("singular", ""), *(given.get("shortNames") or ())))
        kinds.update((given.get("kind", ""), given.get("listKind", "")))
    return plurals - {""}, kinds - {""}


def _compact(names: Names) -> Names:
    """Names as Kubernetes writes them: plural and kind always, the others when there are any."""
    return {field: names[field] for field in names if names[field]} | {
        field: names.get(field, "") for field in ("plural", "kind")
    }
