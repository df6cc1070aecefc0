"""What must hold of a cluster's state at any moment, worked out again from its objects alone.

`validate_state(cluster)` fails with the first thing that does not agree: indexes that miss or invent an object, sizes,
revisions that do not rise; in the snapshot of a scheduler what nodes have, what their pods take of it, and which
devices claims hold; what quotas count. It runs after every test that made a cluster.
"""

from __future__ import annotations

import sys
from typing import Any

from ghostfleet.core.bucket import Bucket
from ghostfleet.core.store import Store

__all__ = ["validate_state"]


def validate_state(cluster: Any) -> None:
    """Fail when a part of the cluster's state contradicts another."""
    validate_store(cluster.store)
    for scheduler in cluster._schedulers:
        # KAI keeps its state in another form.
        if hasattr(scheduler, "handlers"):
            _validate_snapshot(scheduler.snapshot)
    for controller in cluster._workloads._controllers if cluster._workloads is not None else ():
        if type(controller).__name__ == "QuotaController":
            _validate_quotas(controller)


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


def _validate_snapshot(snapshot: Any) -> None:
    """The tables are what they are when they are made anew; pods that are going to be bound count as if they were."""
    fresh = type(snapshot).from_store(snapshot.store)
    for pod in snapshot.pods.by_uid.values():
        if pod.assumed:
            fresh.assume(pod.pod, snapshot.nodes.names[pod.slot])
    assert set(snapshot.pods.by_uid) == set(fresh.pods.by_uid), "the snapshot has other pods on nodes than the store"
    found, wanted = _amounts(snapshot.nodes), _amounts(fresh.nodes)
    for node in sorted({*found, *wanted}):
        assert found.get(node) == wanted.get(node), f"the snapshot's {node}: {found.get(node)}, but {wanted.get(node)}"
    # Where nobody asked for devices, this is not even loaded.
    devices = sys.modules.get("ghostfleet.schedulers.kube.plugins.devices")
    manager = snapshot._indices.get(devices.DeviceManager) if devices is not None else None
    if manager is not None:
        _validate_devices(manager, snapshot.store)


def _amounts(nodes: Any) -> dict[str, Any]:
    """What each node has and what is taken of it, by the names of resources."""
    columns = {column: name for name, column in nodes.resources.items()}

    def told(row: list[int]) -> dict[Any, int]:
        return {columns.get(column, column): amount for column, amount in enumerate(row) if amount}

    return {name: (told(nodes.allocatable[slot]), told(nodes.used[slot])) for name, slot in nodes.slots.items()}


def _validate_devices(manager: Any, store: Store) -> None:
    """Devices are held by the claims that say so, and by those that are going to."""
    from ghostfleet.api.podclaims import CLAIMS, allocation_of
    from ghostfleet.schedulers.dra import AllocatedDevices

    held = AllocatedDevices()
    for claim in store.list(CLAIMS):
        if (allocation := allocation_of(claim)) is not None:
            held.add(allocation)
    for pending in manager._pending.values():
        held.add(pending.allocation)
    for what in ("devices", "shares", "capacity"):
        found, wanted = getattr(manager.allocated, what), getattr(held, what)
        assert found == wanted, f"allocated {what}: {found}, but claims hold {wanted}"


def _validate_quotas(controller: Any) -> None:
    """What is counted of each quota is what the objects take; not where pods are about to go, for that takes time."""
    from ghostfleet.api.quotas import QUOTAS, matches_scopes, usage_of
    from ghostfleet.core.quantity import ZERO, add

    store = controller._store
    for namespace, quotas in controller._used.items():
        if any("deletionTimestamp" in pod["metadata"] for pod in store.list("pods", namespace)):
            continue
        for name, used in quotas.items():
            quota = store.get(QUOTAS, namespace, name)
            counted = dict.fromkeys(used, ZERO)
            for resource in store.resources():
                for obj in store.list(resource, namespace) if resource != "events" else ():
                    taken = usage_of(resource, obj, 0) if matches_scopes(quota, resource, obj) else {}
                    for each in counted.keys() & taken.keys():
                        counted[each] = add(counted[each], taken[each])
            assert used == counted, f"quota {namespace}/{name}: {used}, but objects take {counted}"
