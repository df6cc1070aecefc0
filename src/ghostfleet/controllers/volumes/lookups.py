"""Lookups: which volumes a claim could take, and which pods use it, without looking at all of them each time."""

from __future__ import annotations

from collections.abc import Iterable

from ghostfleet.controllers.routing import PodRoutes
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Reader

__all__ = ["ClaimUsers", "FreeVolumes"]

Key = tuple[str, str]
_NOBODY: Key = ("", "")


class FreeVolumes:
    """Volumes of one store by the claim that they are set aside for, or bound to."""

    def __init__(self, store: Reader) -> None:
        self._store = store
        self._names: dict[Key, set[str]] = {}
        for volume in store.list("persistentvolumes"):
            self._add(volume)
        store.listen("persistentvolumes", self._notice)

    def for_claim(self, claim: Object) -> list[Object]:
        """Volumes of nobody and those that name this claim, by name."""
        metadata = claim["metadata"]
        names = self._names.get(_NOBODY, set()) | self._names.get((metadata["namespace"], metadata["name"]), set())
        return [self._store.get("persistentvolumes", "", name) for name in sorted(names)]

    def _notice(self, change: Change) -> None:
        if change.old is not None:
            self._remove(change.old)
        if change.new is not None:
            self._add(change.new)

    def _add(self, volume: Object) -> None:
        self._names.setdefault(_claim_of(volume), set()).add(volume["metadata"]["name"])

    def _remove(self, volume: Object) -> None:
        key = _claim_of(volume)
        names = self._names.get(key, set())
        names.discard(volume["metadata"]["name"])
        if not names:
            self._names.pop(key, None)


class ClaimUsers:
    """Pods of one store by the claims that their volumes name."""

    def __init__(self, store: Reader, routes: PodRoutes) -> None:
        self._store = store
        self._pods: dict[Key, dict[str, None]] = {}
        for pod in store.list("pods"):
            self._add(pod)
        routes.with_volumes(self._notice)

    def of(self, claim: Object) -> list[Object]:
        """The pods that use a claim, the oldest first."""
        namespace = claim["metadata"]["namespace"]
        names = self._pods.get((namespace, claim["metadata"]["name"]), ())
        return [self._store.get("pods", namespace, name) for name in names]

    def _notice(self, change: Change) -> None:
        if change.new is not None:
            self._add(change.new)
        elif change.old is not None:
            for key in _claims_of(change.old):
                pods = self._pods.get(key, {})
                pods.pop(change.name, None)
                if not pods:
                    self._pods.pop(key, None)

    def _add(self, pod: Object) -> None:
        for key in _claims_of(pod):
            self._pods.setdefault(key, {})[pod["metadata"]["name"]] = None


def _claim_of(volume: Object) -> Key:
    reference = volume["spec"].get("claimRef")
    return (reference.get("namespace", ""), reference.get("name", "")) if reference else _NOBODY


def _claims_of(pod: Object) -> Iterable[Key]:
    metadata = pod["metadata"]
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield metadata["namespace"], volume["persistentVolumeClaim"]["claimName"]
        elif "ephemeral" in volume:
            yield metadata["namespace"], f"{metadata['name']}-{volume['name']}"
