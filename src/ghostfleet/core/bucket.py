"""Buckets: the objects of one resource, with their indexes.

Objects live by namespace and name ("" is the namespace of cluster-scoped ones). An *index* answers "which objects
have this value" without a scan: a *part* of the object that the value depends on, and a function from that part to
the values. Writes share all that they do not change, so an index whose part is the very same dict as before has
nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ghostfleet.core.changes import Change, History, Object

__all__ = ["Bucket", "Index", "index_by_label", "index_by_node", "index_by_owner"]

#: Where an object is: resource, namespace, name.
Place = tuple[str, str, str]


class Index:
    """Objects by a value of theirs; an object may have none, one or several."""

    __slots__ = ("_places", "_values", "in_metadata", "part")

    def __init__(self, part: str, values: Callable[[Any], Iterable[str]], *, in_metadata: bool = False) -> None:
        #: The field of the object, or of its metadata, that the values depend on.
        self.part = part
        self.in_metadata = in_metadata
        self._values = values
        self._places: dict[str, dict[Place, None]] = {}

    def places(self, value: str) -> Iterable[Place]:
        return self._places.get(value, ())

    def move(self, place: Place, before: Any, after: Any) -> None:
        """The part of the object at `place` was `before` and is `after`; None when there is none."""
        places = self._places
        if before is not None:
            for value in self._values(before):
                held = places[value]
                held.pop(place, None)
                if not held:
                    del places[value]
        if after is not None:
            for value in self._values(after):
                places.setdefault(value, {})[place] = None


def _node_name(spec: Any) -> Iterable[str]:
    name = spec.get("nodeName")
    return (name,) if name else ()


def index_by_node() -> Index:
    """Pods by spec.nodeName."""
    return Index("spec", _node_name)


def _owner_uids(owners: Any) -> Iterable[str]:
    return (owners[0]["uid"],) if len(owners) == 1 else dict.fromkeys([each["uid"] for each in owners])


def index_by_owner() -> Index:
    """Objects by the uid of each owner."""
    return Index("ownerReferences", _owner_uids, in_metadata=True)


def index_by_label(label: str) -> Index:
    """Objects by the value of one label."""

    def values(labels: Any) -> Iterable[str]:
        value = labels.get(label)
        return (value,) if value is not None else ()

    return Index("labels", values, in_metadata=True)


_NOTHING: Object = {"metadata": {}}


class Bucket:
    """All objects of one resource."""

    __slots__ = ("_kept", "_order", "_spaces", "history", "indexes", "listeners", "resource", "size")

    def __init__(self, resource: str, indexes: dict[str, Index], owners: Index, history: int) -> None:
        self.resource = resource
        self.indexes = indexes
        self._kept = (owners, *indexes.values())
        self.history = History(history)
        self.size = 0
        #: Told of every change; replaced, never changed, so that one may leave while it is being told.
        self.listeners: tuple[Callable[[Change], None], ...] = ()
        self._spaces: dict[str, dict[str, Object]] = {}
        self._order: dict[str, list[str]] = {}

    def find(self, namespace: str, name: str) -> Object | None:
        space = self._spaces.get(namespace)
        return space.get(name) if space is not None else None

    def put(self, namespace: str, name: str, old: Object | None, new: Object) -> None:
        space = self._spaces.get(namespace)
        if space is None:
            space = self._spaces[namespace] = {}
        space[name] = new
        if old is None:
            self.size += 1
            self._order.pop(namespace, None)
        self._index(namespace, name, old, new)

    def drop(self, namespace: str, name: str) -> None:
        space = self._spaces[namespace]
        old = space.pop(name)
        if not space:
            del self._spaces[namespace]
        self.size -= 1
        self._order.pop(namespace, None)
        self._index(namespace, name, old, None)

    def _index(self, namespace: str, name: str, old: Object | None, new: Object | None) -> None:
        old = old or _NOTHING
        new = new or _NOTHING
        old_metadata, new_metadata = old["metadata"], new["metadata"]
        for index in self._kept:
            part = index.part
            if index.in_metadata:
                before, after = old_metadata.get(part), new_metadata.get(part)
            else:
                before, after = old.get(part), new.get(part)
            if before is not after:
                index.move((self.resource, namespace, name), before, after)

    def names(self, namespace: str) -> list[str]:
        """Names in a namespace, sorted; not to be changed by the caller."""
        order = self._order.get(namespace)
        if order is None:
            order = self._order[namespace] = sorted(self._spaces.get(namespace, ()))
        return order

    def namespaces(self) -> list[str]:
        """Namespaces that hold something, in the order of their keys `namespace/name`."""
        return sorted(self._spaces, key=lambda namespace: namespace + "/")

    def walk(self, namespace: str | None = None) -> Iterator[Object]:
        """Objects in key order: of one namespace, or of all when it is None."""
        for each in self.namespaces() if namespace is None else [namespace]:
            space = self._spaces.get(each)
            if space is not None:
                for name in self.names(each):
                    yield space[name]

    def having(self, index: str, value: str) -> list[Object]:
        """Objects that have `value` in an index, in the order in which they came to have it."""
        spaces = self._spaces
        return [spaces[namespace][name] for _, namespace, name in self.indexes[index].places(value)]
