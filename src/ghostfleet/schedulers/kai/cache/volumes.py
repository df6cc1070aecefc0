"""Volumes, from claims to the nodes that a pod may use.

A bound claim's volume says by its node affinity where it can be reached. A claim that waits for its first consumer can
be bound wherever the topology of its class allows; one that does not wait must be bound before its pod is scheduled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store
from ghostfleet.schedulers.kai.pods import NodeSelectorRequirement, NodeSelectorTerm

__all__ = ["STORAGE_CLASSES", "VOLUMES", "VOLUME_CLAIMS", "Volumes", "claims_of", "node_terms"]

VOLUME_CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"
STORAGE_CLASSES = "storageclasses.storage.k8s.io"
#: What the volumes of one claim allow: one of these must match.
Terms = tuple[NodeSelectorTerm, ...]


def claims_of(pod: Object) -> list[str]:
    """The names of a pod's volume claims."""
    found = []
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            found.append(volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            found.append(f"{pod['metadata']['name']}-{volume['name']}")
    return found


def node_terms(stated: Sequence[Mapping[str, Any]]) -> Terms:
    """Node selector terms of Kubernetes."""
    return tuple(
        NodeSelectorTerm(_rules(term.get("matchExpressions") or ()), _rules(term.get("matchFields") or ()))
        for term in stated
    )


def _rules(stated: Sequence[Mapping[str, Any]]) -> tuple[NodeSelectorRequirement, ...]:
    return tuple((each["key"], each["operator"], tuple(each.get("values") or ())) for each in stated)


class Volumes:
    """The volume claims of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def problem_of(self, pod: Object) -> str:
        """Why a pod's claims let it not be scheduled yet; "" when they do."""
        for name in claims_of(pod):
            claim = self._store.find(VOLUME_CLAIMS, pod["metadata"]["namespace"], name)
            if claim is None:
                return f'persistentvolumeclaim "{name}" not found'
            if "deletionTimestamp" in claim["metadata"]:
                return f'persistentvolumeclaim "{name}" is being deleted'
            if not _is_bound(claim) and not self._waits_for_consumer(claim):
                return "pod has unbound immediate PersistentVolumeClaims"
        return ""

    def terms_of(self, pod: Object) -> tuple[Terms, ...]:
        """What each of a pod's claims demands of nodes."""
        return tuple(self._terms(pod))

    def _terms(self, pod: Object) -> Iterator[Terms]:
        for name in claims_of(pod):
            claim = self._store.find(VOLUME_CLAIMS, pod["metadata"]["namespace"], name)
            if claim is None:
                continue
            if _is_bound(claim):
                volume = self._store.find(VOLUMES, "", claim["spec"].get("volumeName", ""))
                affinity = ((volume or {}).get("spec") or {}).get("nodeAffinity") or {}
                stated = (affinity.get("required") or {}).get("nodeSelectorTerms")
                if stated:
                    yield node_terms(stated)
            else:
                allowed = (self._class(claim) or {}).get("allowedTopologies")
                if allowed:
                    yield tuple(_topology(term) for term in allowed)

    def _class(self, claim: Object) -> Object | None:
        return self._store.find(STORAGE_CLASSES, "", claim["spec"].get("storageClassName") or "")

    def _waits_for_consumer(self, claim: Object) -> bool:
        return (self._class(claim) or {}).get("volumeBindingMode") == "WaitForFirstConsumer"


def _is_bound(claim: Object) -> bool:
    return (claim.get("status") or {}).get("phase") == "Bound"


def _topology(term: Mapping[str, Any]) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        tuple((each["key"], "In", tuple(each.get("values") or ())) for each in term.get("matchLabelExpressions") or ())
    )
