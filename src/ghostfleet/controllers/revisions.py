"""Revisions: what the pod template of a StatefulSet or DaemonSet was, one ControllerRevision for each.

Revisions are numbered; one that is used again gets the highest number. Their names end in a hash of the template. Those
that no pod is made from any more are kept as history, up to a limit.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

from ghostfleet.controllers.deployments.revisions import template_hash
from ghostfleet.controllers.pods import controller_of, owner_reference
from ghostfleet.controllers.requests import Request, Step, Steps, delete
from ghostfleet.core.changes import Object
from ghostfleet.core.store import Reader, Store

__all__ = [
    "HASH",
    "REVISIONS",
    "current_revision",
    "revision_hash",
    "revision_template",
    "revisions_of",
    "trim_history",
]

REVISIONS = "controllerrevisions.apps"
HASH = "controller-revision-hash"
_HASH = "controller.kubernetes.io/hash"


def revisions_of(store: Reader, owner: Object) -> list[Object]:
    """The revisions of an owner, oldest first."""
    uid = owner["metadata"]["uid"]
    owned = (each for _, each in store.owned_by(uid, REVISIONS))
    mine = [each for each in owned if (of := controller_of(each)) is not None and of["uid"] == uid]
    return sorted(mine, key=lambda each: (each["revision"], each["metadata"]["name"]))


def revision_hash(revision: Object) -> str:
    labels: dict[str, str] = revision["metadata"]["labels"]
    return labels.get(HASH) or labels[_HASH]


def revision_template(revision: Object) -> Object:
    """The pod template that a revision keeps."""
    template = revision["data"]["spec"]["template"]
    return {key: value for key, value in template.items() if key != "$patch"}


def current_revision(owner: Object, revisions: list[Object]) -> Generator[Step, Any, Object]:
    """The revision of the owner's present template, made or given the highest number if need be."""
    template = owner["spec"]["template"]
    newest = revisions[-1]["revision"] if revisions else 0
    for each in reversed(revisions):
        if revision_template(each) == template:
            if each["revision"] == newest:
                return each
            renumbered: Object = yield Request("update", REVISIONS, _renumber, each, newest + 1)
            return renumbered
    created: Object = yield Request("create", REVISIONS, _create, owner, newest + 1)
    return created


def _renumber(store: Store, revision: Object, number: int) -> Object:
    current = store.get(REVISIONS, revision["metadata"]["namespace"], revision["metadata"]["name"])
    return store.update(REVISIONS, {**current, "revision": number})


def _create(store: Store, owner: Object, number: int) -> Object:
    metadata, template = owner["metadata"], owner["spec"]["template"]
    collisions = (owner.get("status") or {}).get("collisionCount") or 0
    while True:
        mark = template_hash(template, collisions)
        name = f"{metadata['name'][:223]}-{mark}"
        if store.find(REVISIONS, metadata["namespace"], name) is None:
            break
        collisions += 1
    labels = (template.get("metadata") or {}).get("labels") or {}
    own: Object = {
        "name": name,
        "namespace": metadata["namespace"],
        "labels": {**labels, HASH if owner["kind"] == "DaemonSet" else _HASH: mark},
        "ownerReferences": [owner_reference(owner)],
    }
    if metadata.get("annotations"):
        own["annotations"] = metadata["annotations"]
    data = {"spec": {"template": {**template, "$patch": "replace"}}}
    revision: Object = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": own}
    return store.create(REVISIONS, {**revision, "data": data, "revision": number})


def trim_history(store: Reader, owner: Object, used: Iterable[str]) -> Steps:
    """Delete the oldest revisions that are not in use, beyond the limit of the owner's history."""
    live = set(used)
    spare = [each for each in revisions_of(store, owner) if each["metadata"]["name"] not in live]
    limit = owner["spec"].get("revisionHistoryLimit", 10)
    for each in spare[: max(len(spare) - limit, 0)]:
        yield delete(REVISIONS, each["metadata"]["namespace"], each["metadata"]["name"])
