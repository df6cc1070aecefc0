"""The StatefulSet controller: pods come and go in the order of their numbers.

Unless the set manages its pods in parallel, each pod waits for the one before it to be available, and pods too many go
one by one from the last. An update replaces pods from the last down to the *partition*, one at a time, each after the
one before it is available again. Pods below the partition stay with, and come back with, the revision that was
current.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.membership import Memberships
from ghostfleet.controllers.pods import PodCreator, delete_pod, is_terminal, owner_reference, ready_since
from ghostfleet.controllers.repairing import wake_when_overwritten
from ghostfleet.controllers.requests import Request, Step, Steps, update_status
from ghostfleet.controllers.revisions import current_revision, revision_template, revisions_of, trim_history
from ghostfleet.controllers.routing import PodRoutes
from ghostfleet.controllers.statefulsets.replicas import (
    CLAIMS,
    claim_names,
    create_claims,
    create_replica,
    is_running_and_available,
    ordinal_of,
    ordinals,
    revision_name,
)
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.errors import ApiError
from ghostfleet.core.profile import Profile
from ghostfleet.core.selectors import LabelSelector, selector_from_object
from ghostfleet.core.store import Reader, Store

__all__ = ["STATEFULSETS", "StatefulSetController"]

STATEFULSETS = "statefulsets.apps"

Key = tuple[str, str]
_Found = Generator[Step, Any, bool]


def _selector(owner: Object) -> LabelSelector:
    return selector_from_object(owner["spec"]["selector"])


class StatefulSetController:
    """Keeps the StatefulSets of one store."""

    def __init__(self, store: Store, routes: PodRoutes, creator: PodCreator, profile: Profile) -> None:
        client = profile.api_client("kube-controller-manager", "StatefulSet controller")
        self._store: Reader = store
        self._creator = creator
        self._recorder = EventRecorder(store, "statefulset-controller", profile, client)
        self._workers: Workers[Key] = Workers(
            store, self._sync, count=profile.number("statefulset.workers"), client=client
        )
        self._memberships = Memberships(
            store, routes, "apps/v1", "StatefulSet", STATEFULSETS, _selector, self._workers.add
        )
        for owner in store.list(STATEFULSETS):
            self._workers.add((owner["metadata"]["namespace"], owner["metadata"]["name"]))
        store.listen(STATEFULSETS, self._notice)
        wake_when_overwritten(store, STATEFULSETS, self._workers.add)

    def _notice(self, change: Change) -> None:
        new, old = change.new, change.old
        if new is None:
            assert old is not None
            self._memberships.remove(old)
        elif old is None or new["metadata"].get("generation") != old["metadata"].get("generation"):
            if old is None:
                self._memberships.add(new)
            self._workers.add((change.namespace, change.name))

    def _sync(self, key: Key) -> Steps:
        owner = self._store.find(STATEFULSETS, *key)
        if owner is None:
            return
        yield from self._memberships.settle_claims(owner)
        revisions = revisions_of(self._store, owner)
        update = yield from current_revision(owner, revisions)
        named = (owner.get("status") or {}).get("currentRevision")
        current = next((each for each in revisions if each["metadata"]["name"] == named), update)
        failure: ApiError | None = None
        if "deletionTimestamp" not in owner["metadata"]:
            try:
                yield from self._manage(owner, current, update)
            except ApiError as error:
                failure = error
        status = self._status(owner, current, update)
        yield from self._write_status(owner, status)
        pods = self._memberships.of(owner).pods.values()
        used = {status["currentRevision"], status["updateRevision"], *map(revision_name, pods)}
        yield from trim_history(self._store, owner, used)
        if failure is not None:
            raise failure
        self._look_again(key, owner)

    # -- pods --------------------------------------------------------------------------------------------------------

    def _manage(self, owner: Object, current: Object, update: Object) -> Steps:
        wanted, orderly = ordinals(owner), owner["spec"].get("podManagementPolicy") != "Parallel"
        for ordinal in wanted:
            if (yield from self._keep(owner, ordinal, current, update, orderly=orderly)):
                return
        if (yield from self._shrink(owner, orderly=orderly)):
            return
        if owner["spec"]["updateStrategy"].get("type") != "OnDelete":
            yield from self._update(owner, update)

    def _replicas(self, owner: Object) -> dict[int, Object]:
        pods = self._memberships.of(owner).pods.values()
        return {number: pod for pod in pods if (number := ordinal_of(owner, pod)) is not None}

    def _keep(self, owner: Object, ordinal: int, current: Object, update: Object, *, orderly: bool) -> _Found:
        """See to the pod of an ordinal; true when all others have to wait for it."""
        pod = self._replicas(owner).get(ordinal)
        if pod is not None and is_terminal(pod):
            if "deletionTimestamp" not in pod["metadata"]:
                yield from self._delete(owner, pod)
            return True if orderly else "deletionTimestamp" in pod["metadata"]
        if pod is None:
            yield from self._create(owner, ordinal, current, update)
            return orderly
        if pod["status"].get("phase") == "Pending":
            yield from self._claims(owner, ordinal)
        if not orderly:
            return False
        seconds = owner["spec"].get("minReadySeconds", 0)
        marked = "deletionTimestamp" in pod["metadata"]
        return marked or not is_running_and_available(pod, seconds, self._store.clock.now())

    def _create(self, owner: Object, ordinal: int, current: Object, update: Object) -> Steps:
        strategy = owner["spec"]["updateStrategy"]
        rolling = strategy.get("rollingUpdate")
        start = ordinals(owner).start
        kept = (owner.get("status") or {}).get("currentReplicas", 0) if rolling is None else rolling.get("partition", 0)
        old = strategy.get("type") == "RollingUpdate" and ordinal < start + kept
        revision = current if old else update
        yield from self._claims(owner, ordinal)
        yield Request("create", "pods", self._create_pod, owner, ordinal, revision)

    def _create_pod(self, store: Store, owner: Object, ordinal: int, revision: Object) -> None:
        own = owner["metadata"]["name"]
        what = f"Create Pod {own}-{ordinal} in StatefulSet {own}"
        template = revision_template(revision)
        try:
            pod = create_replica(store, self._creator, owner, ordinal, template, revision["metadata"]["name"])
        except ApiError as error:
            self._tell(owner, what, error)
            raise
        if pod is not None:
            self._tell(owner, what)

    def _claims(self, owner: Object, ordinal: int) -> Steps:
        namespace, name = owner["metadata"]["namespace"], owner["metadata"]["name"]
        missing = [
            claim for _, claim in claim_names(owner, ordinal) if self._store.find(CLAIMS, namespace, claim) is None
        ]
        if missing:
            for claim in (yield Request("create", CLAIMS, create_claims, owner, ordinal)):
                message = f"Create Claim {claim} Pod {name}-{ordinal} in StatefulSet {name} success"
                self._recorder.normal(owner, "SuccessfulCreate", message)

    def _shrink(self, owner: Object, *, orderly: bool) -> _Found:
        """Delete the pods beyond the set's ordinals, the last first; true when the rest has to wait."""
        wanted = ordinals(owner)
        replicas = self._replicas(owner)
        surplus = sorted((number for number in replicas if number not in wanted), reverse=True)
        seconds, now = owner["spec"].get("minReadySeconds", 0), self._store.clock.now()
        unhealthy = [
            number for number in sorted(replicas) if not is_running_and_available(replicas[number], seconds, now)
        ]
        for number in surplus:
            pod = replicas[number]
            if "deletionTimestamp" in pod["metadata"]:
                if orderly:
                    return True
                continue
            if orderly and number in unhealthy and number != unhealthy[0]:
                return True
            yield from self._hand_claims_over(owner, pod, number)
            yield from self._delete(owner, pod)
            if orderly:
                return True
        return False

    def _hand_claims_over(self, owner: Object, pod: Object, ordinal: int) -> Steps:
        """Where claims go with pods that are scaled away, make the pod their owner."""
        policy = owner["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
        if policy.get("whenScaled") != "Delete":
            return
        for _, name in claim_names(owner, ordinal):
            claim = self._store.find(CLAIMS, owner["metadata"]["namespace"], name)
            if claim is not None:
                reference = {**owner_reference(pod), "controller": False}
                metadata = {**claim["metadata"], "ownerReferences": [reference]}
                yield Request("update", CLAIMS, Store.update, CLAIMS, {**claim, "metadata": metadata})

    def _update(self, owner: Object, update: Object) -> Steps:
        rolling = owner["spec"]["updateStrategy"].get("rollingUpdate") or {}
        wanted = ordinals(owner)
        replicas = self._replicas(owner)
        seconds, now = owner["spec"].get("minReadySeconds", 0), self._store.clock.now()
        for number in reversed(wanted[rolling.get("partition", 0) :]):
            pod = replicas.get(number)
            if pod is None:
                return
            marked = "deletionTimestamp" in pod["metadata"]
            if revision_name(pod) != update["metadata"]["name"] and not marked:
                yield from self._delete(owner, pod)
                return
            if marked or not is_running_and_available(pod, seconds, now):
                return

    def _delete(self, owner: Object, pod: Object) -> Steps:
        if (yield Request("delete", "pods", delete_pod, pod)):
            self._tell(owner, f"Delete Pod {pod['metadata']['name']} in StatefulSet {owner['metadata']['name']}")

    def _tell(self, owner: Object, what: str, error: ApiError | None = None) -> None:
        verb = what.partition(" ")[0]
        if error is None:
            self._recorder.normal(owner, f"Successful{verb}", f"{what} successful")
        else:
            self._recorder.warning(owner, f"Failed{verb}", f"{what} failed error: {error.message}")

    # -- status ------------------------------------------------------------------------------------------------------

    def _look_again(self, key: Key, owner: Object) -> None:
        seconds = owner["spec"].get("minReadySeconds", 0)
        if seconds:
            now = self._store.clock.now()
            times = (ready_since(pod) for pod in self._memberships.of(owner).pods.values())
            waits = [since + seconds * SECOND - now for since in times if since is not None]
            wait = min((wait for wait in waits if wait > 0), default=None)
            if wait is not None:
                self._workers.add_after(key, wait)

    def _write_status(self, owner: Object, status: Object) -> Steps:
        found = self._store.current(STATEFULSETS, owner)
        if found is not None and found.get("status") != status:
            yield update_status(STATEFULSETS, owner, status)

    def _status(self, owner: Object, current: Object, update: Object) -> Object:
        seconds, now = owner["spec"].get("minReadySeconds", 0), self._store.clock.now()
        pods = list(self._memberships.of(owner).pods.values())
        steady = [revision_name(pod) for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        newest, oldest = update["metadata"]["name"], current["metadata"]["name"]
        ready = [pod for pod in pods if is_running_and_available(pod, 0, now)]
        numbers = {
            "readyReplicas": len(ready),
            "currentReplicas": steady.count(oldest),
            "updatedReplicas": steady.count(newest),
        }
        all_updated = numbers["updatedReplicas"] == owner["spec"]["replicas"] == len(ready) == len(pods)
        if owner["spec"]["updateStrategy"].get("type") == "RollingUpdate" and all_updated:
            oldest, numbers["currentReplicas"] = newest, numbers["updatedReplicas"]
        status: Object = {
            "observedGeneration": owner["metadata"].get("generation", 1),
            "replicas": len(pods),
            "availableReplicas": sum(is_running_and_available(pod, seconds, now) for pod in ready),
            "currentRevision": oldest,
            "updateRevision": newest,
            "collisionCount": (owner.get("status") or {}).get("collisionCount", 0),
        }
        return status | {key: value for key, value in numbers.items() if value}
