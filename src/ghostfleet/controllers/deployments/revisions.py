"""Revisions: the replica sets of a Deployment, one for each pod template it has had.

The *new* set is the one whose template is the Deployment's own; all others are *old*. Sets are numbered by an
annotation; a Deployment that goes back to an old template gives that set a new number. The name of a set ends in a
hash of its template, which its pods carry as a label.
"""

from __future__ import annotations

import orjson

from ghostfleet.controllers.deployments.amounts import DESIRED, MOST, max_surge
from ghostfleet.controllers.pods import owner_reference
from ghostfleet.core.changes import Object
from ghostfleet.core.names import ALPHABET

__all__ = ["HASH", "REVISION", "draft_set", "find_new", "highest", "numbered", "revision_of", "template_hash"]

HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
_HISTORY = "deployment.kubernetes.io/revision-history"
_LONGEST_HISTORY = 2000
_LONGEST_NAME = 253
_NOT_COPIED = frozenset(
    (
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        _HISTORY,
        DESIRED,
        MOST,
        "deprecated.deployment.rollback.to",
    )
)


def template_hash(template: Object, collisions: int | None) -> str:
    """A short, safe text that stands for a pod template."""
    data = orjson.dumps(template, option=orjson.OPT_SORT_KEYS)
    if collisions is not None:
        data += str(collisions).encode()
    value = 0x811C9DC5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return "".join(ALPHABET[ord(digit) % len(ALPHABET)] for digit in str(value))


def _without_hash(template: Object) -> Object:
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}


def find_new(deployment: Object, sets: list[Object]) -> Object | None:
    """The set with the Deployment's own template; of several, the oldest."""
    wanted = _without_hash(deployment["spec"]["template"])
    for each in sorted(sets, key=lambda each: (each["metadata"]["creationTimestamp"], each["metadata"]["name"])):
        if _without_hash(each["spec"]["template"]) == wanted:
            return each
    return None


def revision_of(obj: Object) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(REVISION, "")
    return int(text) if text.isdigit() else 0


def highest(sets: list[Object]) -> int:
    return max(map(revision_of, sets), default=0)


def numbered(deployment: Object, replica_set: Object, revision: int) -> dict[str, str]:
    """The annotations of the new set: the Deployment's own, and its number in the row."""
    given = deployment["metadata"].get("annotations") or {}
    annotations = dict(replica_set["metadata"].get("annotations") or {})
    annotations |= {key: value for key, value in given.items() if key not in _NOT_COPIED}
    before = annotations.get(REVISION)
    if int(before or 0) < revision:
        annotations[REVISION] = str(revision)
        if before is not None:
            past = [each for each in annotations.get(_HISTORY, "").split(",") if each]
            while past and len(",".join([*past, before])) > _LONGEST_HISTORY:
                past.pop(0)
            annotations[_HISTORY] = ",".join([*past, before])
    return annotations


def draft_set(deployment: Object, size: int, revision: int) -> Object:
    """A replica set for the Deployment's template, not stored yet."""
    metadata, spec = deployment["metadata"], deployment["spec"]
    template = spec["template"]
    mark = template_hash(template, (deployment.get("status") or {}).get("collisionCount"))
    own = template.get("metadata") or {}
    labels = {**(own.get("labels") or {}), HASH: mark}
    selector = spec["selector"]
    draft: Object = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{metadata['name'][: _LONGEST_NAME - len(mark) - 1]}-{mark}",
            "namespace": metadata["namespace"],
            "labels": labels,
            "ownerReferences": [owner_reference(deployment)],
            "generation": 1,
        },
        "spec": {
            "replicas": size,
            "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH: mark}},
            "template": {**template, "metadata": {**own, "labels": labels}},
        },
        "status": {"replicas": 0},
    }
    if spec.get("minReadySeconds"):
        draft["spec"]["minReadySeconds"] = spec["minReadySeconds"]
    desired = spec["replicas"]
    most = {DESIRED: str(desired), MOST: str(desired + max_surge(deployment))}
    draft["metadata"]["annotations"] = {**numbered(deployment, draft, revision), **most}
    return draft
