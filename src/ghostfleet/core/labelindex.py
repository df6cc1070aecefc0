"""Label indexes: what belongs together by labels, found without going through everything.

Selectors that only ask for labels of exact values, as those of services do, are kept by one of these labels each, the
one that fewest others are kept by: an object is then compared with the few selectors that are kept by one of its own
labels. The other way round, objects are kept by the values of those labels that somebody asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Store

__all__ = ["ObjectsByLabel", "SelectorIndex"]

Pair = tuple[str, str]


class SelectorIndex:
    """Named selectors, each a mapping of labels to the values that they must have; none may be empty."""

    __slots__ = ("_kept", "_pairs")

    def __init__(self) -> None:
        self._kept: dict[Pair, dict[str, Mapping[str, str]]] = {}
        self._pairs: dict[str, Pair] = {}

    def __len__(self) -> int:
        return len(self._pairs)

    def add(self, name: str, wanted: Mapping[str, str]) -> Pair:
        """Keep a selector; answers the label by which it is kept."""
        self.remove(name)
        pair = min(sorted(wanted.items()), key=lambda each: len(self._kept.get(each, ())))
        self._pairs[name] = pair
        self._kept.setdefault(pair, {})[name] = wanted
        return pair

    def remove(self, name: str) -> None:
        pair = self._pairs.pop(name, None)
        if pair is not None:
            kept = self._kept[pair]
            del kept[name]
            if not kept:
                del self._kept[pair]

    def matching(self, labels: Mapping[str, str] | None) -> list[tuple[str, Mapping[str, str]]]:
        """The selectors that choose an object with these labels, with their names."""
        if not labels:
            return []
        items = labels.items()
        return [
            (name, wanted)
            for pair in items
            if pair in self._kept
            for name, wanted in self._kept[pair].items()
            if wanted.items() <= items
        ]


class ObjectsByLabel:
    """Names of the objects of one resource by the values of labels; it must be told of every change."""

    __slots__ = ("_names", "_resource", "_store", "_watched")

    def __init__(self, store: Store, resource: str) -> None:
        self._store = store
        self._resource = resource
        #: Labels that were asked for, by namespace, and the names of objects by namespace, label and value.
        self._watched: dict[str, dict[str, None]] = {}
        self._names: dict[tuple[str, str, str], dict[str, None]] = {}

    def names(self, namespace: str, label: str, value: str) -> Iterable[str]:
        """Names of the objects in a namespace whose label has this value."""
        watched = self._watched.setdefault(namespace, {})
        if label not in watched:
            watched[label] = None
            for obj in self._store.list(self._resource, namespace):
                self._move(namespace, obj["metadata"]["name"], label, None, obj)
        return tuple(self._names.get((namespace, label, value), ()))

    def note(self, change: Change) -> None:
        for label in self._watched.get(change.namespace, ()):
            self._move(change.namespace, change.name, label, change.old, change.new)

    def forget(self) -> None:
        """Begin anew with the next question, after changes were missed."""
        self._watched.clear()
        self._names.clear()

    def _move(self, namespace: str, name: str, label: str, old: Object | None, new: Object | None) -> None:
        before, after = _value(old, label), _value(new, label)
        if before == after:
            return
        if before is not None:
            held = self._names.get((namespace, label, before), {})
            held.pop(name, None)
            if not held:
                self._names.pop((namespace, label, before), None)
        if after is not None:
            self._names.setdefault((namespace, label, after), {})[name] = None


def _value(obj: Object | None, label: str) -> str | None:
    labels = obj["metadata"].get("labels") if obj is not None else None
    value: str | None = labels.get(label) if labels else None
    return value
