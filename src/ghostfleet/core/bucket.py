"""Buckets: the objects of one resource, with their indexes.

Objects live by namespace and name ("" is the namespace of cluster-scoped ones). An *index* answers "which objects
have this value" without a scan: a *part* of the object that the value depends on, and a function from that part to
the values. Writes share all that they do not change, so an index whose part is the very same dict as before has
nothing to do.

A bucket also knows the *subscribers* to its changes: some hear of all, others do not care for changes of the status
alone, which are most of all changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ghostfleet.core.changes import Change, History, Object

__all__ = ["Bucket", "Indexer", "Listener", "Subscriber", "index_by_label", "index_by_node", "index_by_owner"]

#: Where an object is: resource, namespace, name.
Place = tuple[str, str, str]
Listener = Callable[[Change], None]


class Subscriber(NamedTuple):
    """Who listens to changes."""

    listener: Listener
    #: Whether it hears of changes of the status alone.
    status: bool


class Indexer:
    """Objects by a value of theirs; an object may have none, one or several."""

    __slots__ = ("_places", "_values", "in_metadata", "part")

    def __init__(self, part: str, values: Callable[[Any], Iterable[str]], *, in_metadata: bool = False) -> None:
        #: The field of the object, or of its metadata, that the values depend on.
        self.part = part
        self.in_metadata = in_metadata
        self._values = values
        #: Where a value is; most are in one place only, which is not worth a dict.
        self._places: dict[str, Place | dict[Place, None]] = {}

    def places(self, value: str) -> Iterable[Place]:
        held = self._places.get(value)
        if held is None:
            return ()
        return held if isinstance(held, dict) else (held,)

    def move(self, place: Place, before: Any, after: Any) -> None:
        """The part of the object at `place` was `before` and is `after`; None when there is none."""
        if before is not None:
            for value in self._values(before):
                self._leave(value, place)
        if after is not None:
            for value in self._values(after):
                self._enter(value, place)

    def _enter(self, value: str, place: Place) -> None:
        held = self._places.get(value)
        if held is None:
            self._places[value] = place
        elif isinstance(held, dict):
            held[place] = None
        elif held != place:
            self._places[value] = {held: None, place: None}

    def _leave(self, value: str, place: Place) -> None:
        held = self._places[value]
        if isinstance(held, dict):
            held.pop(place, None)
            if not held:
                del self._places[value]
        elif held == place:
            del self._places[value]


def _node_name(spec: Any) -> Iterable[str]:
    name = spec.get("nodeName")
    return (name,) if name else ()


def index_by_node() -> Indexer:
    """Pods by spec.nodeName."""
    return Indexer("spec", _node_name)


def _owner_uids(owners: Any) -> Iterable[str]:
    return (owners[0]["uid"],) if len(owners) == 1 else dict.fromkeys([each["uid"] for each in owners])


def index_by_owner() -> Indexer:
    """Objects by the uid of each owner."""
    return Indexer("ownerReferences", _owner_uids, in_metadata=True)


def index_by_label(label: str) -> Indexer:
    """Objects by the value of one label."""

    def values(labels: Any) -> Iterable[str]:
        value = labels.get(label)
        return (value,) if value is not None else ()

    return Indexer("labels", values, in_metadata=True)


_NOTHING: Object = {"metadata": {}}


class Bucket:
    """All objects of one resource."""

    __slots__ = (
        "_kept",
        "_order",
        "history",
        "indexes",
        "listeners",
        "resource",
        "size",
        "spaces",
        "status_listeners",
        "subscribers",
    )

    def __init__(self, resource: str, indexes: dict[str, Indexer], owners: Indexer, history: History) -> None:
        self.resource = resource
        self.indexes = indexes
        self._kept = (owners, *indexes.values())
        self.history = history
        self.size = 0
        self.subscribers: tuple[Subscriber, ...] = ()
        #: Who hears of a change, and who of one of the status alone, those who listen to all resources included;
        #: replaced, never changed, so that one may leave while it is being called.
        self.listeners: tuple[Listener, ...] = ()
        self.status_listeners: tuple[Listener, ...] = ()
        #: Objects by namespace and name; for reading only.
        self.spaces: dict[str, dict[str, Object]] = {}
        self._order: dict[str, list[str]] = {}

    def gather(self, everywhere: tuple[Subscriber, ...]) -> None:
        """Work out again who hears of changes, when somebody came or went; `everywhere` listen to all resources."""
        subscribers = (*self.subscribers, *everywhere)
        self.listeners = tuple(each.listener for each in subscribers)
        self.status_listeners = tuple(each.listener for each in subscribers if each.status)

    def find(self, namespace: str, name: str) -> Object | None:
        space = self.spaces.get(namespace)
        return space.get(name) if space is not None else None

    def put(self, namespace: str, name: str, old: Object | None, new: Object) -> None:
        space = self.spaces.get(namespace)
        if space is None:
            space = self.spaces[namespace] = {}
        space[name] = new
        if old is None:
            self.size += 1
            self._order.pop(namespace, None)
        self._index(namespace, name, old, new)

    def put_status(self, namespace: str, name: str, new: Object) -> None:
        """Put an object in the place of one that it shares all but its status with."""
        self.spaces[namespace][name] = new

    def drop(self, namespace: str, name: str) -> None:
        space = self.spaces[namespace]
        old = space.pop(name)
        if not space:
            del self.spaces[namespace]
        self.size -= 1
        self._order.pop(namespace, None)
        self._index(namespace, name, old, None)

    def _index(self, namespace: str, name: str, old: Object | None, new: Object | None) -> None:
        old = old or _NOTHING
        new = new or _NOTHING
        old_metadata, new_metadata = old["metadata"], new["metadata"]
        place = (self.resource, namespace, name)
        for index in self._kept:
            part = index.part
            if index.in_metadata:
                before, after = old_metadata.get(part), new_metadata.get(part)
            else:
                before, after = old.get(part), new.get(part)
            if before is not after:
                index.move(place, before, after)

    def names(self, namespace: str) -> list[str]:
        """Names in a namespace, sorted; not to be changed by the caller."""
        order = self._order.get(namespace)
        if order is None:
            order = self._order[namespace] = sorted(self.spaces.get(namespace, ()))
        return order

    def namespaces(self) -> list[str]:
        """Namespaces that hold something, in the order of their keys `namespace/name`."""
        return sorted(self.spaces, key=lambda namespace: namespace + "/")

    def walk(self, namespace: str | None = None) -> Iterator[Object]:
        """Objects in key order: of one namespace, or of all when it is None."""
        for each in self.namespaces() if namespace is None else [namespace]:
            space = self.spaces.get(each)
            if space is not None:
                for name in self.names(each):
                    yield space[name]

    def having(self, index: str, value: str) -> list[Object]:
        """Objects that have `value` in an index, in the order in which they came to have it."""
        spaces = self.spaces
        return [spaces[namespace][name] for _, namespace, name in self.indexes[index].places(value)]
