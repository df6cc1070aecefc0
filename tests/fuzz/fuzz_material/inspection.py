"""A store after an attack: everything in it must be whole, findable, and what watchers believe it to be."""

from __future__ import annotations

from collections import Counter

import orjson

from ghostfleet.cluster import Cluster
from ghostfleet.core.watch import Watch


def inspect_store(cluster: Cluster) -> None:
    """Everything that is stored must be whole, findable, and what watchers believe it to be."""
    store, registry = cluster.store, cluster.registry
    by_owner: Counter[str] = Counter()
    for key in store.resources():
        bucket = store.bucket(key)
        objects = store.list(key)
        assert bucket.size == len(objects)
        for obj in objects:
            assert orjson.loads(orjson.dumps(obj)) == obj
            metadata = obj["metadata"]
            assert metadata["uid"], obj
            assert 0 < int(metadata["resourceVersion"]) <= store.revision, obj
            assert metadata["creationTimestamp"], obj
            assert store.get(key, metadata.get("namespace", ""), metadata["name"]) is obj
            resource = registry.by_key(key)
            assert resource is None or bool(metadata.get("namespace")) is resource.namespaced, obj
            by_owner.update({owner["uid"] for owner in metadata.get("ownerReferences") or ()})
        for name, index in bucket.indexes.items():
            part = [obj["metadata"].get(index.part) if index.in_metadata else obj.get(index.part) for obj in objects]
            values = Counter(value for each in part if each is not None for value in index._values(each))
            assert {value: len(bucket.having(name, value)) for value in values} == dict(values)
            assert set(index._places) == set(values)
        _replay(cluster, key)
    assert {uid: len(store.owned_by(uid)) for uid in by_owner} == dict(by_owner)
    assert set(store._owners._places) == set(by_owner)


def _replay(cluster: Cluster, key: str) -> None:
    """A watch from the beginning of what is remembered leads to what is there now."""
    store = cluster.store
    start = store.bucket(key).history.start
    seen = {
        (obj["metadata"].get("namespace", ""), obj["metadata"]["name"]): obj for obj in store.list_at(key, None, start)
    }
    watch = Watch(store, key, since=start)
    revision = start
    for event in watch.drain():
        metadata = event.object["metadata"]
        assert revision < event.revision == int(metadata["resourceVersion"])
        revision = event.revision
        place = (metadata.get("namespace", ""), metadata["name"])
        if event.type == "DELETED":
            del seen[place]
        else:
            assert (event.type == "ADDED") is (place not in seen)
            seen[place] = event.object
    watch.close()
    assert sorted(seen) == sorted(
        (obj["metadata"].get("namespace", ""), obj["metadata"]["name"]) for obj in store.list(key)
    )
    assert all(store.get(key, *place) == obj for place, obj in seen.items())
