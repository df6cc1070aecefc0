"""Replica sets, and replication controllers, which are their older form: as many pods of a template as are asked for.

Pods too few are made in batches of 1, 2, 4 and so on; of pods too many those go first that are unbound, not running,
not ready, cheapest to delete, on nodes with many of their kind, or young.
"""

from __future__ import annotations

from math import log2
from typing import NamedTuple

from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.membership import Members, Memberships
from ghostfleet.controllers.pods import (
    PodCreator,
    condition_of,
    controller_of,
    is_available,
    is_ready,
    owner_reference,
    ready_since,
    removal,
    restarts,
    with_condition,
)
from ghostfleet.controllers.repairing import wake_when_overwritten
from ghostfleet.controllers.requests import Request, Steps, slow_start, update_status
from ghostfleet.controllers.routing import PodRoutes
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.errors import ApiError
from ghostfleet.core.profile import Profile
from ghostfleet.core.selectors import LabelSelector, Requirement, selector_from_object
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.timestamps import parse_rfc3339, rfc3339

__all__ = ["REPLICASETS", "REPLICATION_CONTROLLERS", "ReplicaController"]

REPLICASETS = "replicasets.apps"
REPLICATION_CONTROLLERS = "replicationcontrollers"

_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}

Key = tuple[str, str]


class _Kind(NamedTuple):
    api_version: str
    kind: str
    component: str
    workers: str


_KINDS = {
    REPLICASETS: _Kind("apps/v1", "ReplicaSet", "replicaset-controller", "replicaset.workers"),
    REPLICATION_CONTROLLERS: _Kind(
        "v1", "ReplicationController", "replication-controller", "replicationcontroller.workers"
    ),
}


def _selector(owner: Object) -> LabelSelector:
    selector = owner["spec"].get("selector") or {}
    if owner["kind"] == "ReplicaSet":
        return selector_from_object(selector)
    return LabelSelector(Requirement(key, "=", (value,)) for key, value in selector.items())


class ReplicaController:
    """Keeps the replica sets, or the replication controllers, of one store."""

    def __init__(
        self, store: Store, routes: PodRoutes, creator: PodCreator, profile: Profile, resource: str = REPLICASETS
    ) -> None:
        kind = _KINDS[resource]
        client = profile.api_client("kube-controller-manager", f"{kind.kind} controller")
        self._store: Reader = store
        self._creator = creator
        self._resource = resource
        self._shows_terminating = resource == REPLICASETS
        self._most = profile.number("replicaset.pods-per-sync")
        self._first_batch = profile.number("creation.first-batch")
        self._recorder = EventRecorder(store, kind.component, profile, client)
        self._workers: Workers[Key] = Workers(store, self._sync, count=profile.number(kind.workers), client=client)
        self._memberships = Memberships(
            store, routes, kind.api_version, kind.kind, resource, _selector, self._workers.add
        )
        for owner in store.list(resource):
            self._workers.add((owner["metadata"]["namespace"], owner["metadata"]["name"]))
        store.listen(resource, self._notice)
        wake_when_overwritten(store, resource, self._workers.add)

    def _notice(self, change: Change) -> None:
        new, old = change.new, change.old
        if new is None:
            assert old is not None
            self._memberships.remove(old)
        elif old is None or new["metadata"].get("generation") != old["metadata"].get("generation"):
            if old is None or new["spec"].get("template") != old["spec"].get("template"):
                self._memberships.add(new)
            self._workers.add((change.namespace, change.name))

    def _sync(self, key: Key) -> Steps:
        owner = self._store.find(self._resource, *key)
        if owner is None:
            return
        yield from self._memberships.settle_claims(owner)
        members = self._memberships.of(owner)
        failure: tuple[str, ApiError] | None = None
        active = members.active
        if "deletionTimestamp" not in owner["metadata"]:
            missing = owner["spec"]["replicas"] - members.active
            try:
                if missing > 0:
                    yield from self._create(owner, min(missing, self._most))
                elif missing < 0:
                    yield from self._delete(owner, members, min(-missing, self._most))
            except ApiError as error:
                failure = ("FailedCreate" if missing > 0 else "FailedDelete", error)
        # Like Kubernetes, the status shows what was there before; the pods just made bring the next sync.
        status = self._status(owner, members, active, failure)
        if status != owner.get("status"):
            yield update_status(self._resource, owner, status)
        if failure is not None:
            raise failure[1]
        wait = self._next_available(owner, members)
        if wait is not None:
            self._workers.add_after(key, wait)

    # -- pods --------------------------------------------------------------------------------------------------------

    def _create(self, owner: Object, count: int) -> Steps:
        reference = [owner_reference(owner)]
        request = Request("create", "pods", self._create_pod, owner, reference)
        yield from slow_start([request] * count, self._first_batch)

    def _create_pod(self, store: Store, owner: Object, reference: list[Object]) -> None:
        template = owner["spec"]["template"]
        self._creator.create(store, owner, template, reference=reference, recorder=self._recorder)

    def _delete(self, owner: Object, members: Members, count: int) -> Steps:
        crowd: dict[str, int] = {}
        for pod in self._related(owner, members):
            node = pod["spec"].get("nodeName", "")
            crowd[node] = crowd.get(node, 0) + 1
        now = self._store.clock.now()
        pods = sorted(members.active_pods(), key=lambda pod: _rank(pod, crowd, now))
        yield [removal(owner, pod, self._recorder) for pod in pods[:count]]

    def _related(self, owner: Object, members: Members) -> list[Object]:
        """Active pods of the owner and of those that have the same controller as it has."""
        parent = controller_of(owner)
        if parent is None:
            return members.active_pods()
        siblings = [each for _, each in self._store.owned_by(parent["uid"], self._resource)]
        return [pod for each in siblings for pod in self._memberships.of(each).active_pods()]

    # -- status ------------------------------------------------------------------------------------------------------

    def _status(self, owner: Object, members: Members, active: int, failure: tuple[str, ApiError] | None) -> Object:
        old = owner.get("status") or {}
        seconds = owner["spec"].get("minReadySeconds", 0)
        now = self._store.clock.now()
        if active != members.active:
            # Pods were made or marked in this very sync; they count from the next one on.
            status = {**old, "replicas": active}
        else:
            ready = members.ready
            available = ready
            if seconds and ready:
                available = sum(is_available(pod, seconds, now) for pod in members.active_pods())
            numbers = {
                "fullyLabeledReplicas": members.labelled,
                "readyReplicas": ready,
                "availableReplicas": available,
            }
            status = {key: value for key, value in old.items() if key not in numbers}
            status |= {"replicas": active} | {key: value for key, value in numbers.items() if value}
        if self._shows_terminating:
            status["terminatingReplicas"] = members.terminating
        status["observedGeneration"] = owner["metadata"].get("generation", 1)
        return _with_failure(status, owner, failure, rfc3339(now))

    def _next_available(self, owner: Object, members: Members) -> int | None:
        """Microseconds until the next ready pod has been so for long enough."""
        seconds = owner["spec"].get("minReadySeconds", 0)
        if not seconds or not members.ready:
            return None
        now = self._store.clock.now()
        times = (ready_since(pod) for pod in members.active_pods())
        waits = [since + seconds * SECOND - now for since in times if since is not None]
        return min((wait for wait in waits if wait > 0), default=None)


def _with_failure(status: Object, owner: Object, failure: tuple[str, ApiError] | None, now: str) -> Object:
    known = condition_of(owner, "ReplicaFailure")
    if failure is None and known is None:
        return status
    conditions = [each for each in status.get("conditions") or () if each["type"] != "ReplicaFailure"]
    if failure is not None:
        reason, error = failure
        fresh = {"type": "ReplicaFailure", "status": "True", "lastTransitionTime": now, "reason": reason}
        conditions = with_condition(conditions, known or {**fresh, "message": error.message})
    rest = {key: value for key, value in status.items() if key != "conditions"}
    return {**rest, "conditions": conditions} if conditions else rest


def _rank(pod: Object, crowd: dict[str, int], now: int) -> tuple[int, int, int, int, int, int, int, int, str]:
    """Sorts pods so that the first to go come first."""
    metadata = pod["metadata"]
    node = pod["spec"].get("nodeName", "")
    since = ready_since(pod)
    cost = (metadata.get("annotations") or {}).get(_COST, "0")
    return (
        1 if node else 0,
        _PHASES.get(pod["status"].get("phase", ""), 1),
        1 if is_ready(pod) else 0,
        int(cost) if cost.lstrip("-").isdigit() else 0,
        -crowd.get(node, 0),
        _age_rank(since, now) if since is not None else -1,
        -restarts(pod),
        _age_rank(parse_rfc3339(metadata["creationTimestamp"]), now),
        metadata["uid"],
    )


def _age_rank(then: int, now: int) -> int:
    """Ages on a logarithmic scale, so that pods made at about the same time go in no particular order."""
    age = now - then
    return int(log2(age * 1000)) if age > 0 else -1
