"""What must hold of a cluster's state at any moment, worked out again from its objects alone.

`validate_state(cluster)` fails with the first thing that does not agree: indexes that miss or invent an object, sizes,
revisions that do not rise. It runs after every test that made a cluster.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.core.bucket import Bucket
from ghostfleet.core.store import Store

__all__ = ["validate_state"]


def validate_state(cluster: Any) -> None:
    """Fail when a part of the cluster's state contradicts another."""
    validate_store(cluster.store)


def validate_store(store: Store) -> None:
    owners: dict[str, set[tuple[str, str, str]]] = {}
    revisions: dict[int, str] = {}
    for resource in store.resources():
        bucket = store.bucket(resource)
        objects = _objects(bucket)
        assert bucket.size == len(objects), f"{resource}: size {bucket.size}, but {len(objects)} objects"
        for (namespace, name), obj in objects.items():
            metadata = obj["metadata"]
            place = f"{resource} {namespace}/{name}"
            assert (metadata.get("namespace", ""), metadata["name"]) == (namespace, name), (
                f"{place} is at another place"
            )
            revision = int(metadata["resourceVersion"])
            assert 0 < revision <= store.revision, f"{place} has revision {revision} of {store.revision}"
            assert revision not in revisions, f"{place} and {revisions[revision]} have one revision {revision}"
            revisions[revision] = place
            for owner in metadata.get("ownerReferences") or ():
                owners.setdefault(owner["uid"], set()).add((resource, namespace, name))
        _validate_indexes(bucket, objects)
        _validate_history(bucket, objects)
    found = {uid: set(store._owners.places(uid)) for uid in store._owners._places}
    assert found == owners, "the index of owners is not what the objects say"


def _objects(bucket: Bucket) -> dict[tuple[str, str], Any]:
    return {(namespace, name): obj for namespace, space in bucket.spaces.items() for name, obj in space.items()}


def _validate_indexes(bucket: Bucket, objects: dict[tuple[str, str], Any]) -> None:
    for title, index in bucket.indexes.items():
        wanted: dict[str, set[tuple[str, str, str]]] = {}
        for (namespace, name), obj in objects.items():
            part = (obj["metadata"] if index.in_metadata else obj).get(index.part)
            for value in index._values(part) if part is not None else ():
                wanted.setdefault(value, set()).add((bucket.resource, namespace, name))
        found = {value: set(index.places(value)) for value in index._places}
        assert found == wanted, f"{bucket.resource}: index {title} is not what the objects say"


def _validate_history(bucket: Bucket, objects: dict[tuple[str, str], Any]) -> None:
    """Revisions rise, and the last change of an object that is there is the object."""
    last: dict[tuple[str, str], Any] = {}
    before = 0
    for change in bucket.history.since(bucket.history.start):
        assert change.revision > before, f"{bucket.resource}: revision {change.revision} after {before}"
        before = change.revision
        last[change.namespace, change.name] = change.new
    for place, obj in last.items():
        assert objects.get(place) is obj, f"{bucket.resource} {place}: not what was told last"
