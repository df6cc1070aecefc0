"""The store, as etcd and the watch cache are for kube-apiserver: all objects, one revision, a change for each write.

Objects are plain dicts, never changed once they are stored: a write makes new dicts for what it changes and shares
the rest. A *resource* is named by its key (`pods`, `jobs.batch`); the store knows nothing else about kinds. Each
write gets the next *revision*, which is also the object's resourceVersion, and is told to the listeners of its
resource before the write returns; listeners must only take note, and act in a callback of the clock, so that all of
them see all changes in one order. What happens when one of them fails is the clock's matter; where it goes on, the
others are told all the same. Writes of the status alone are most of all; who does not care for them is spared.

Whoever holds an object that is known to be what is stored may write without being checked: `replace` and `set_status`.
Whoever made an object, and will not touch it again, may `add` it as it is. Who is only to read and to listen holds the
store as a `Reader`.

Deletion is two-staged as in Kubernetes: an object with finalizers, or one that is given a grace period, is first
*marked* (deletionTimestamp) and goes away when the last finalizer and the grace are gone.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from ghostfleet.core.bucket import Bucket, Indexer, Listener, Subscriber, index_by_owner
from ghostfleet.core.changes import Change, History, Object
from ghostfleet.core.clock import SECOND, Clock
from ghostfleet.core.errors import already_exists, conflict, expired, not_found, precondition_failed
from ghostfleet.core.names import suffix, uid
from ghostfleet.core.randomness import Streams
from ghostfleet.core.timestamps import rfc3339

__all__ = ["Reader", "Store"]

_NAME_TRIES = 8
#: A generated name keeps this many characters of its prefix, so that it stays a DNS label.
_LONGEST_PREFIX = 58


class Reader:
    """The objects of one cluster, and their listeners. All methods are synchronous and belong to one thread."""

    def __init__(self, clock: Clock, *, history: int = 32_768) -> None:
        self.clock = clock
        #: The newest revision.
        self.revision = 0
        self._history = history
        self._order: deque[History] = deque()
        self._buckets: dict[str, Bucket] = {}
        self._owners = index_by_owner()
        self._everywhere: tuple[Subscriber, ...] = ()

    # -- resources ---------------------------------------------------------------------------------------------------

    def register(self, resource: str, indexes: dict[str, Indexer] | None = None) -> Bucket:
        """Make room for a resource; harmless when it is there already."""
        bucket = self._buckets.get(resource)
        if bucket is None:
            bucket = Bucket(resource, indexes or {}, self._owners, History(self._history, self._order))
            bucket.gather(self._everywhere)
            self._buckets[resource] = bucket
        return bucket

    def bucket(self, resource: str) -> Bucket:
        """The bucket of a resource, made on first use."""
        return self._buckets.get(resource) or self.register(resource)

    def resources(self) -> list[str]:
        return sorted(self._buckets)

    # -- reading -----------------------------------------------------------------------------------------------------

    def find(self, resource: str, namespace: str, name: str) -> Object | None:
        """The object, or None."""
        bucket = self._buckets.get(resource)
        if bucket is None:
            return None
        space = bucket.spaces.get(namespace)
        return space.get(name) if space is not None else None

    def current(self, resource: str, obj: Object) -> Object | None:
        """An object as it is stored now; None when it is gone, though another may have its name."""
        metadata = obj["metadata"]
        found = self.find(resource, metadata.get("namespace", ""), metadata["name"])
        return found if found is not None and found["metadata"]["uid"] == metadata["uid"] else None

    def is_current(self, resource: str, namespace: str, name: str, obj: Object) -> bool:
        """Whether this is the object as it is stored now."""
        return self.find(resource, namespace, name) is obj

    def get(self, resource: str, namespace: str, name: str) -> Object:
        """The object, or NotFound."""
        found = self.find(resource, namespace, name)
        if found is None:
            raise not_found(resource, name)
        return found

    def list(self, resource: str, namespace: str | None = None) -> list[Object]:
        """Objects in key order: of one namespace, or of all when it is None."""
        return list(self.bucket(resource).walk(namespace))

    def count(self, resource: str) -> int:
        bucket = self._buckets.get(resource)
        return bucket.size if bucket is not None else 0

    def having(self, resource: str, index: str, value: str) -> Iterable[Object]:
        """Objects with this value in one of the resource's indexes."""
        return self.bucket(resource).having(index, value)

    def owned_by(self, owner_uid: str, resource: str = "") -> Sequence[tuple[str, Object]]:
        """Every object, of one resource or of any, that names this owner, with its resource."""
        return [
            (kind, self.get(kind, namespace, name))
            for kind, namespace, name in self._owners.places(owner_uid)
            if not resource or kind == resource
        ]

    def list_at(self, resource: str, namespace: str | None, revision: int) -> Sequence[Object]:
        """Objects in key order as they were at `revision`; 410 when the history does not reach back."""
        if revision > self.revision:
            raise expired(f"the revision {revision} lies in the future; the newest is {self.revision}")
        bucket = self.bucket(resource)
        then = {_place(obj): obj for obj in bucket.walk(namespace)}
        for change in reversed(bucket.history.since(revision)):
            if namespace is not None and change.namespace != namespace:
                continue
            place = (change.namespace, change.name)
            if change.old is None:
                then.pop(place, None)
            else:
                then[place] = change.old
        return [then[place] for place in sorted(then, key=lambda place: f"{place[0]}/{place[1]}")]

    # -- listening ---------------------------------------------------------------------------------------------------

    def listen(self, resource: str, listener: Listener, *, status: bool = True) -> Callable[[], None]:
        """Tell `listener` of every change of a resource from now on; call the answer to stop.

        Without `status` it is not told of changes of the status alone.
        """
        bucket, subscriber = self.bucket(resource), Subscriber(listener, status)
        bucket.subscribers = (*bucket.subscribers, subscriber)
        bucket.gather(self._everywhere)

        def stop() -> None:
            bucket.subscribers = tuple(each for each in bucket.subscribers if each is not subscriber)
            bucket.gather(self._everywhere)

        return stop

    def listen_to_all(self, listener: Listener, *, status: bool = True) -> Callable[[], None]:
        """Tell `listener` of every change of every resource, as `listen` does of one."""
        subscriber = Subscriber(listener, status)
        self._listen_everywhere((*self._everywhere, subscriber))
        return lambda: self._listen_everywhere(tuple(each for each in self._everywhere if each is not subscriber))

    def _listen_everywhere(self, subscribers: tuple[Subscriber, ...]) -> None:
        self._everywhere = subscribers
        for bucket in self._buckets.values():
            bucket.gather(subscribers)


class Store(Reader):
    """The objects of one cluster, to be written too."""

    def __init__(self, clock: Clock, streams: Streams | None = None, *, history: int = 32_768) -> None:
        super().__init__(clock, history=history)
        streams = streams or Streams(0)
        self._uids: random.Random = streams.stream("uid")
        self._suffixes: random.Random = streams.stream("generateName")

    def create(self, resource: str, obj: Object, *, dry_run: bool = False) -> Object:
        """Store a new object: gives it a name (from generateName), uid, creationTimestamp and resourceVersion."""
        bucket = self._buckets.get(resource) or self.register(resource)
        metadata = obj["metadata"]
        namespace = metadata.get("namespace", "")
        name = metadata.get("name") or self.generate_name(resource, namespace, metadata.get("generateName", ""))
        if bucket.find(namespace, name) is not None:
            raise already_exists(resource, name)
        born = {**metadata, "name": name, "uid": metadata.get("uid") or uid(self._uids)}
        born["creationTimestamp"] = rfc3339(self.clock.now())
        born.pop("resourceVersion", None)
        stored = {**obj, "metadata": born}
        return stored if dry_run else self._commit(bucket, namespace, name, None, stored)

    def add(self, resource: str, obj: Object) -> Object:
        """Store a new object that has its name, and that nobody else holds: it is taken as it is, not copied."""
        bucket = self._buckets.get(resource) or self.register(resource)
        metadata = obj["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        if bucket.find(namespace, name) is not None:
            raise already_exists(resource, name)
        if "uid" not in metadata:
            metadata["uid"] = uid(self._uids)
        metadata["creationTimestamp"] = rfc3339(self.clock.now())
        return self._commit(bucket, namespace, name, None, obj)

    def new_uid(self) -> str:
        """A fresh uid from the store's own stream."""
        return uid(self._uids)

    def generate_name(self, resource: str, namespace: str, prefix: str) -> str:
        """A name that begins with `prefix` and is free, unless luck runs out."""
        bucket = self.bucket(resource)
        name = ""
        for _ in range(_NAME_TRIES):
            name = prefix[:_LONGEST_PREFIX] + suffix(self._suffixes)
            if bucket.find(namespace, name) is None:
                break
        return name

    def update(self, resource: str, obj: Object, *, dry_run: bool = False) -> Object:
        """Replace an object. A resourceVersion or uid in it must be the stored one.

        What the store gave (uid, creationTimestamp, deletionTimestamp) stays. An update that changes nothing keeps the
        revision. One that takes the last finalizer from a marked object removes it.
        """
        metadata = obj["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        bucket = self.bucket(resource)
        old = bucket.find(namespace, name)
        if old is None:
            raise not_found(resource, name)
        kept = old["metadata"]
        if metadata.get("uid", kept["uid"]) != kept["uid"]:
            why = f"Precondition failed: UID in precondition: {metadata['uid']}, UID in object meta: {kept['uid']}"
            raise conflict(resource, name, why)
        if metadata.get("resourceVersion", kept["resourceVersion"]) != kept["resourceVersion"]:
            raise conflict(resource, name)
        after = _with_kept(metadata, kept)
        if after == kept and _same_but_metadata(old, obj):
            return old
        stored = {**obj, "metadata": after}
        if dry_run:
            return stored
        if "deletionTimestamp" in after and not after.get("finalizers") and not after.get("deletionGracePeriodSeconds"):
            self._remove(bucket, namespace, name, old)
            return stored
        return self._commit(bucket, namespace, name, old, stored)

    def replace(self, resource: str, old: Object, new: Object) -> Object:
        """Put `new` in the place of `old`, unchecked. `old` must be what is stored, and differ from `new` in more than
        its revision; the metadata of `new` must be a dict of its own, in which nothing was touched that only the store
        may set, nor the last finalizer of a marked object taken away.
        """
        metadata = old["metadata"]
        return self._commit(self._buckets[resource], metadata.get("namespace", ""), metadata["name"], old, new)

    def set_status(self, resource: str, old: Object, status: Object) -> Object:
        """Give the object `old`, which must be what is stored, another status, unchecked."""
        bucket = self._buckets[resource]
        metadata = {**old["metadata"]}
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        new = {**old, "metadata": metadata, "status": status}
        revision = self.revision = self.revision + 1
        metadata["resourceVersion"] = str(revision)
        bucket.put_status(namespace, name, new)
        change = Change(revision, resource, namespace, name, old, new)
        bucket.history.append(change)
        self._notify(bucket.status_listeners, change)
        return new

    def patch_status(self, resource: str, namespace: str, name: str, status: Object) -> Object:
        """Set the status of an object, if it is another: the short way for controllers, which need no checks."""
        old = self.bucket(resource).find(namespace, name)
        if old is None:
            raise not_found(resource, name)
        return old if old.get("status") == status else self.set_status(resource, old, status)

    def delete(
        self,
        resource: str,
        namespace: str,
        name: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace: int = 0,
        finalizer: str = "",
        hold: bool = False,
        untimed: bool = False,
        dry_run: bool = False,
    ) -> tuple[Object, bool]:
        """Delete an object; answers its last state and whether it is gone.

        With `grace` seconds or finalizers (one can be added, as foreground deletion does) it is only marked, and so it
        is with `hold`. A marked object may be given less grace, never more; an `untimed` mark is the time alone.
        """
        bucket = self.bucket(resource)
        old = bucket.find(namespace, name)
        if old is None:
            raise not_found(resource, name)
        metadata = old["metadata"]
        if uid and uid != metadata["uid"]:
            raise precondition_failed(resource, name, "UID", uid, metadata["uid"])
        if resource_version and resource_version != metadata["resourceVersion"]:
            raise precondition_failed(resource, name, "ResourceVersion", resource_version, metadata["resourceVersion"])
        if not (grace or finalizer or hold or dry_run or "finalizers" in metadata):
            return self._remove(bucket, namespace, name, old), True
        marked = self._marked(metadata, grace, finalizer)
        if untimed:
            marked.pop("deletionGracePeriodSeconds", None)
            marked |= {"generation": metadata["generation"]} if "generation" in metadata else {}
        gone = not hold and not marked.get("finalizers") and not marked.get("deletionGracePeriodSeconds")
        if dry_run:
            return old if gone else {**old, "metadata": marked}, gone
        if gone:
            return self._remove(bucket, namespace, name, old), True
        if marked == metadata:
            return old, False
        return self._commit(bucket, namespace, name, old, {**old, "metadata": marked}), False

    def _marked(self, metadata: Object, grace: int, finalizer: str) -> Object:
        marked = dict(metadata)
        if "deletionTimestamp" not in metadata:
            marked["deletionTimestamp"] = rfc3339(self.clock.now() + grace * SECOND)
            marked["deletionGracePeriodSeconds"] = grace
            # Kubernetes counts the mark as a change of the desired state.
            if "generation" in metadata:
                marked["generation"] = metadata["generation"] + 1
        elif grace < metadata.get("deletionGracePeriodSeconds", 0):
            marked["deletionTimestamp"] = rfc3339(self.clock.now() + grace * SECOND)
            marked["deletionGracePeriodSeconds"] = grace
        if finalizer and finalizer not in metadata.get("finalizers", ()):
            marked["finalizers"] = [*metadata.get("finalizers", ()), finalizer]
        return marked

    def _remove(self, bucket: Bucket, namespace: str, name: str, last: Object) -> Object:
        """Take an object out; its end is told with the state that was stored last."""
        revision = self.revision = self.revision + 1
        bucket.drop(namespace, name)
        change = Change(revision, bucket.resource, namespace, name, last, None)
        bucket.history.append(change)
        self._notify(bucket.listeners, change)
        return change.shown_as("DELETED")

    def _commit(self, bucket: Bucket, namespace: str, name: str, old: Object | None, new: Object) -> Object:
        """Store a new object, or a new state of `old`, and tell of it; its metadata dict must be a fresh one."""
        revision = self.revision = self.revision + 1
        new["metadata"]["resourceVersion"] = str(revision)
        bucket.put(namespace, name, old, new)
        change = Change(revision, bucket.resource, namespace, name, old, new)
        bucket.history.append(change)
        self._notify(bucket.listeners, change)
        return new

    def _notify(self, listeners: tuple[Listener, ...], change: Change) -> None:
        for listener in listeners:
            try:
                listener(change)
            except Exception as error:
                self.clock.failed(listener, error)


_GIVEN = ("uid", "creationTimestamp", "resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds")


def _with_kept(metadata: Object, kept: Object) -> Object:
    """Metadata of an update, with what only the store may set taken from the stored object."""
    after = dict(metadata)
    for field in _GIVEN:
        if field in kept:
            after[field] = kept[field]
        else:
            after.pop(field, None)
    return after


def _same_but_metadata(old: Object, new: Object) -> bool:
    if len(old) != len(new):
        return False
    for key, value in old.items():  # noqa: SIM110 - all() with a generator costs twice the time here
        if key != "metadata" and (key not in new or new[key] != value):
            return False
    return True


def _place(obj: Object) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
