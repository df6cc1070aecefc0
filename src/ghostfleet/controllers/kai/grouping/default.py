"""The default grouper: one group for all pods of a top owner, any of which may run alone.

Queue, priority class and preemptibility come from labels, the owner's before the pod's. The other groupers begin with
what this one says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from ghostfleet.controllers.kai.constants import KaiConfig
from ghostfleet.controllers.kai.grouping.metadata import (
    Metadata,
    TopologyConstraint,
    annotations_of,
    labels_of,
    reference,
)
from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store

__all__ = ["BUILD", "INFERENCE", "TOPOLOGY", "DefaultGrouper", "group_name"]

TRAIN, BUILD, INFERENCE = "train", "build", "inference"
TOPOLOGY = "kai.scheduler/topology"
_REQUIRED, _PREFERRED = f"{TOPOLOGY}-required-placement", f"{TOPOLOGY}-preferred-placement"
_TOP_OWNER = "kai.scheduler/top-owner-metadata"
_PRIORITY, _PREEMPTIBILITY, _PROJECT, _USER = "priorityClassName", "kai.scheduler/preemptibility", "project", "user"
_PREEMPTIBILITIES = ("preemptible", "non-preemptible")
_DEFAULT_QUEUE = "default-queue"
_CLASSES = "priorityclasses.scheduling.k8s.io"
#: Texts that YAML takes for a text without quotes.
_PLAIN = re.compile(r"[A-Za-z][-A-Za-z0-9./]*|[0-9a-f]{8}-[-0-9a-f]+")
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))


def group_name(obj: Object) -> str:
    """What a pod group that belongs to this object is called."""
    return f"pg-{obj['metadata']['name']}-{obj['metadata']['uid']}"


class DefaultGrouper:
    """Groups by the top owner."""

    def __init__(self, store: Store, config: KaiConfig) -> None:
        self._store = store
        self._config = config

    def __call__(self, owner: Object, pod: Object, _owners: Sequence[Object] = ()) -> Metadata:
        notes = annotations_of(owner)
        return Metadata(
            name=group_name(owner),
            namespace=pod["metadata"]["namespace"],
            owner=reference(owner),
            annotations=self.annotations(owner, pod),
            labels=self.labels(owner, pod),
            queue=self.queue(owner, pod),
            priority_class=self.priority_class(owner, pod),
            preemptibility=_preemptibility(owner, pod),
            topology=TopologyConstraint(notes.get(TOPOLOGY, ""), notes.get(_REQUIRED, ""), notes.get(_PREFERRED, "")),
        )

    def annotations(self, owner: Object, pod: Object) -> dict[str, str]:
        """Those of the owner, and who that is."""
        user = annotations_of(pod).get(_USER)
        own = {_USER: user} if user is not None else {}
        return {**own, _TOP_OWNER: _described(owner), **annotations_of(owner)}

    def labels(self, owner: Object, pod: Object) -> dict[str, str]:
        labels = dict(labels_of(owner))
        if _USER not in labels and _USER in labels_of(pod):
            labels[_USER] = labels_of(pod)[_USER]
        return labels

    def queue(self, owner: Object, pod: Object) -> str:
        """By label; else that of the project, which is one for each node pool; else the default one."""
        label = self._config.queue_label
        for obj in (owner, pod):
            if label in labels_of(obj):
                return labels_of(obj)[label]
        project = labels_of(owner).get(_PROJECT, labels_of(pod).get(_PROJECT))
        if not project:
            return _DEFAULT_QUEUE
        pool = labels_of(pod).get(self._config.node_pool_label)
        return project if pool is None else f"{project}-{pool}"

    def priority_class(self, owner: Object, pod: Object, usual: str = TRAIN) -> str:
        """The class that labels or the pod name, if there is one of that name; else the usual one."""
        named = labels_of(owner).get(_PRIORITY, labels_of(pod).get(_PRIORITY))
        if named is None:
            named = pod["spec"].get("priorityClassName")
        return named if named and self._store.find(_CLASSES, "", named) is not None else usual


def _preemptibility(owner: Object, pod: Object) -> str:
    stated = labels_of(owner).get(_PREEMPTIBILITY, labels_of(pod).get(_PREEMPTIBILITY, ""))
    return stated if stated in _PREEMPTIBILITIES else ""


def _described(owner: Object) -> str:
    """An owner in YAML, as KAI notes it down."""
    group, _, version = owner["apiVersion"].rpartition("/")
    metadata = owner["metadata"]
    fields = {
        "name": metadata["name"],
        "uid": metadata["uid"],
        "group": group,
        "version": version,
        "kind": owner["kind"],
    }
    return "".join(f"{name}: {_scalar(value)}\n" for name, value in fields.items())


def _scalar(value: str) -> str:
    plain = _PLAIN.fullmatch(value) is not None and value.lower() not in _WORDS
    return value if plain else json.dumps(value)
