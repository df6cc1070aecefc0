"""The pod grouper's controller: pod groups are made and kept, and every pod names its own.

A pod that has nobody above it and names a group already was put there by hand, and stays. What others decide about a
group that is there (its queue, its node pool, whether its pods are marked) is left as it is. When a pod cannot be
grouped, an event says why, and it is tried again, later each time.
"""

from __future__ import annotations

from ghostfleet.api.kinds import Registry
from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.kai.constants import (
    POD_GROUP_ANNOTATION,
    POD_GROUPS,
    RECEIVED_RESOURCE_TYPE,
    SUB_GROUP_LABEL,
    KaiConfig,
)
from ghostfleet.controllers.kai.grouping.hub import Hub
from ghostfleet.controllers.kai.grouping.leaderworkerset import WORKER_INDEX
from ghostfleet.controllers.kai.grouping.metadata import GroupingError, Metadata, annotations_of, labels_of
from ghostfleet.controllers.kai.grouping.owners import Owners
from ghostfleet.controllers.requests import Request, Steps, unwritten
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.profile import Profile
from ghostfleet.core.ratelimit import ItemExponentialBackoff
from ghostfleet.core.store import Reader, Store

__all__ = ["PodGrouper"]

#: Published: pkg/podgrouper/pod_controller.go, rateLimiterBaseDelay and rateLimiterMaxDelay.
_FIRST_RETRY, _LONGEST_RETRY = SECOND, 60 * SECOND
#: What KAI itself notes on pods.
_OWN_NOTES = {POD_GROUP_ANNOTATION: "", RECEIVED_RESOURCE_TYPE: ""}
_KEPT = ("markUnschedulable", "schedulingBackoff", "queue")

Key = tuple[str, str]


class PodGrouper:
    """Groups the pods of one store."""

    def __init__(self, store: Store, registry: Registry, profile: Profile, config: KaiConfig) -> None:
        self._store: Reader = store
        self._config = config
        self._hub = Hub(store, Owners(store, registry), config)
        client = profile.api_client("kai-pod-grouper")
        self._recorder = EventRecorder(store, "pod-grouper", profile, client)
        self._workers: Workers[Key] = Workers(
            store,
            self._sync,
            count=profile.number("kai-pod-grouper.workers"),
            client=client,
            retry=ItemExponentialBackoff(_FIRST_RETRY, _LONGEST_RETRY),
        )
        store.listen("pods", self._notice, status=False)
        for pod in store.list("pods"):
            self._consider(pod)

    def _notice(self, change: Change) -> None:
        new, old = change.new, change.old
        if new is not None and (old is None or _may_be_grouped_otherwise(old, new)):
            self._consider(new)

    def _consider(self, pod: Object) -> None:
        if pod["spec"].get("schedulerName") == self._config.scheduler_name and not _is_orphan_with_group(pod):
            self._workers.add((pod["metadata"]["namespace"], pod["metadata"]["name"]))

    def _sync(self, key: Key) -> Steps:
        pod = self._store.find("pods", *key)
        if pod is None or _is_orphan_with_group(pod):
            return
        try:
            metadata = self._hub.metadata(pod)
        except GroupingError as error:
            if "deletionTimestamp" in pod["metadata"]:
                return
            self._recorder.warning(pod, "PodGrouperWarning", error.message)
            raise
        pool = labels_of(pod).get(self._config.node_pool_label)
        if pool is not None:
            metadata.labels.setdefault(self._config.node_pool_label, pool)
        yield from self._apply(metadata)
        for sub_group in metadata.sub_groups:
            for name in sub_group.pods:
                if name != key[1]:
                    yield from self._label(key[0], name, {SUB_GROUP_LABEL: sub_group.name}, {})
        own = next((each.name for each in metadata.sub_groups if key[1] in each.pods), None)
        labels = {} if own is None else {SUB_GROUP_LABEL: own}
        yield from self._label(*key, labels, {POD_GROUP_ANNOTATION: metadata.name})

    def _apply(self, metadata: Metadata) -> Steps:
        """Create the pod group, or bring it up to date."""
        old = self._store.find(POD_GROUPS, metadata.namespace, metadata.name)
        if old is None:
            yield Request("create", POD_GROUPS, _create, metadata)
        elif self._changed(old, metadata) is not None:
            yield Request("update", POD_GROUPS, self._update, metadata)

    def _update(self, store: Store, metadata: Metadata) -> None:
        old = store.find(POD_GROUPS, metadata.namespace, metadata.name)
        new = self._changed(old, metadata) if old is not None else None
        if new is not None:
            store.update(POD_GROUPS, new)

    def _changed(self, old: Object, metadata: Metadata) -> Object | None:
        """The group with what is new about it; None when it is as it is to be."""
        own, spec, before = old["metadata"], metadata.spec(), old.get("spec") or {}
        for field in _KEPT:
            spec.pop(field, None)
            if field in before:
                spec[field] = before[field]
        kept = (self._config.node_pool_label, self._config.queue_label)
        labels = {key: value for key, value in metadata.labels.items() if key not in kept or key not in labels_of(old)}
        if self._config.node_pool_label not in labels_of(old):
            labels.pop(self._config.node_pool_label, None)
        if (
            spec == before
            and own.get("ownerReferences") == [metadata.owner]
            and labels.items() <= labels_of(old).items()
            and metadata.annotations.items() <= annotations_of(old).items()
        ):
            return None
        more = {
            "labels": {**labels_of(old), **labels},
            "annotations": {**annotations_of(old), **metadata.annotations},
            "ownerReferences": [metadata.owner],
            "generation": own.get("generation", 1) + (spec != before),
        }
        return {**old, "metadata": {**own, **{key: value for key, value in more.items() if value}}, "spec": spec}

    def _label(self, namespace: str, name: str, labels: dict[str, str], annotations: dict[str, str]) -> Steps:
        """Give a pod labels and annotations that it does not have: two requests, written down as one."""
        pod = self._store.find("pods", namespace, name)
        if pod is None:
            return
        lacks_labels = not labels.items() <= labels_of(pod).items()
        lacks_notes = not annotations.items() <= annotations_of(pod).items()
        if lacks_labels and lacks_notes:
            yield unwritten("patch", "pods")
        if lacks_labels or lacks_notes:
            yield Request("patch", "pods", _describe, namespace, name, labels, annotations)


def _create(store: Store, metadata: Metadata) -> None:
    if store.find(POD_GROUPS, metadata.namespace, metadata.name) is None:
        store.create(POD_GROUPS, metadata.pod_group())


def _describe(store: Store, namespace: str, name: str, labels: dict[str, str], annotations: dict[str, str]) -> None:
    pod = store.find("pods", namespace, name)
    if pod is None:
        return
    metadata = dict(pod["metadata"])
    if not labels.items() <= labels_of(pod).items():
        metadata["labels"] = {**labels_of(pod), **labels}
    if not annotations.items() <= annotations_of(pod).items():
        metadata["annotations"] = {**annotations_of(pod), **annotations}
    if metadata != pod["metadata"]:
        store.replace("pods", pod, {**pod, "metadata": metadata})


def _is_orphan_with_group(pod: Object) -> bool:
    return "ownerReferences" not in pod["metadata"] and POD_GROUP_ANNOTATION in annotations_of(pod)


def _may_be_grouped_otherwise(old: Object, new: Object) -> bool:
    """Whether something changed that groupers look at: owners, labels, annotations, or that the pod has a node now."""
    before, after = old["metadata"], new["metadata"]
    for field in ("labels", "ownerReferences"):
        if before.get(field) is not after.get(field) and before.get(field) != after.get(field):
            return True
    if before.get("annotations") is not after.get("annotations"):
        notes = [{**annotations_of(each), **_OWN_NOTES} for each in (old, new)]
        if notes[0] != notes[1]:
            return True
    return old["spec"].get("nodeName") != new["spec"].get("nodeName") and WORKER_INDEX in labels_of(new)
