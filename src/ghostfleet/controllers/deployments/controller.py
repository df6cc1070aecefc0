"""The Deployment controller: looks at Deployments when they or their replica sets change.

A Deployment that is paused, or whose number of replicas changed, is only scaled. Otherwise it is rolled out: all at
once after the old pods have ended (Recreate), or pod by pod within its limits (RollingUpdate).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from ghostfleet.controllers.deployments.amounts import (
    DESIRED,
    available,
    max_unavailable,
    new_set_size,
    present,
    proportional_sizes,
    replicas_of,
    wanted,
)
from ghostfleet.controllers.deployments.keeper import DEPLOYMENTS, SetKeeper
from ghostfleet.controllers.deployments.revisions import find_new
from ghostfleet.controllers.deployments.status import (
    has_deadline,
    is_complete,
    put_condition,
    rollout_status,
    stuck_in,
    summed_status,
)
from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.pods import condition_of, controller_of, is_terminal, owner_reference
from ghostfleet.controllers.replicasets import REPLICASETS
from ghostfleet.controllers.requests import Request, Step, Steps
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.profile import Profile
from ghostfleet.core.selectors import selector_from_object
from ghostfleet.core.store import Reader, Store

__all__ = ["DEPLOYMENTS", "DeploymentController"]

Key = tuple[str, str]


class DeploymentController:
    """Rolls the Deployments of one store out."""

    def __init__(self, store: Store, profile: Profile) -> None:
        client = profile.api_client("kube-controller-manager", "Deployment controller")
        self._store: Reader = store
        self._keeper = SetKeeper(store, EventRecorder(store, "deployment-controller", profile, client))
        self._workers: Workers[Key] = Workers(
            store, self._sync, count=profile.number("deployment.workers"), client=client
        )
        #: Replica sets of nobody, by namespace.
        self._orphans: dict[str, dict[str, None]] = {}
        for deployment in store.list(DEPLOYMENTS):
            self._workers.add((deployment["metadata"]["namespace"], deployment["metadata"]["name"]))
        for replica_set in store.list(REPLICASETS):
            self._note_set(replica_set)
        store.listen(DEPLOYMENTS, self._notice)
        store.listen(REPLICASETS, self._notice_set)

    # -- taking note -------------------------------------------------------------------------------------------------

    def _notice(self, change: Change) -> None:
        if change.new is not None:
            self._workers.add((change.namespace, change.name))

    def _notice_set(self, change: Change) -> None:
        replica_set = change.new if change.new is not None else change.old
        assert replica_set is not None
        owner = controller_of(replica_set)
        if owner is not None and owner["kind"] == "Deployment":
            self._workers.add((change.namespace, owner["name"]))
        if change.new is not None:
            self._note_set(change.new)
        else:
            self._orphans.get(change.namespace, {}).pop(change.name, None)

    def _note_set(self, replica_set: Object) -> None:
        metadata = replica_set["metadata"]
        orphans = self._orphans.setdefault(metadata["namespace"], {})
        if controller_of(replica_set) is not None:
            orphans.pop(metadata["name"], None)
        elif metadata["name"] not in orphans:
            orphans[metadata["name"]] = None
            for deployment in self._store.list(DEPLOYMENTS, metadata["namespace"]):
                if selector_from_object(deployment["spec"]["selector"]).matches(metadata.get("labels")):
                    self._workers.add((metadata["namespace"], deployment["metadata"]["name"]))

    # -- acting ------------------------------------------------------------------------------------------------------

    def _sync(self, key: Key) -> Steps:
        deployment = self._store.find(DEPLOYMENTS, *key)
        if deployment is None:
            return
        if "deletionTimestamp" not in deployment["metadata"]:
            yield from self._adopt(deployment)
        sets = self._sets(deployment)
        new = find_new(deployment, sets)
        if "deletionTimestamp" in deployment["metadata"]:
            yield from self._keeper.write_status(deployment, self._summed(deployment, sets, new))
            return
        yield from self._note_pause(deployment)
        deployment = self._store.find(DEPLOYMENTS, *key) or deployment
        if new is not None:
            new = yield from self._keeper.number(deployment, sets, new)
            sets = self._sets(deployment)
            deployment = self._store.find(DEPLOYMENTS, *key) or deployment
        old = [each for each in sets if new is None or each["metadata"]["uid"] != new["metadata"]["uid"]]
        if deployment["spec"].get("paused") or self._is_resized(deployment, sets):
            yield from self._resize(deployment, old, new)
        elif deployment["spec"]["strategy"].get("type") == "Recreate":
            yield from self._recreate(deployment, old, new)
        else:
            yield from self._roll(deployment, old, new)

    def _sets(self, deployment: Object) -> list[Object]:
        uid = deployment["metadata"]["uid"]
        owned = (each for _, each in self._store.owned_by(uid, REPLICASETS))
        return [each for each in owned if (owner := controller_of(each)) is not None and owner["uid"] == uid]

    def _adopt(self, deployment: Object) -> Steps:
        namespace = deployment["metadata"]["namespace"]
        if not self._orphans.get(namespace):
            return
        selector = selector_from_object(deployment["spec"]["selector"])
        for name in list(self._orphans[namespace]):
            found = self._store.find(REPLICASETS, namespace, name)
            if found is not None and selector.matches(found["metadata"].get("labels")):
                yield Request("patch", REPLICASETS, _adopt, deployment, name)

    def _is_resized(self, deployment: Object, sets: list[Object]) -> bool:
        """Whether a set was last sized for another number of replicas than the Deployment asks for now."""
        desired = str(deployment["spec"]["replicas"])
        return any(
            (each["metadata"].get("annotations") or {}).get(DESIRED, desired) != desired
            for each in sets
            if replicas_of(each)
        )

    def _resize(self, deployment: Object, old: list[Object], new: Object | None) -> Steps:
        everything = old + ([new] if new is not None else [])
        active = [each for each in everything if replicas_of(each)]
        desired = deployment["spec"]["replicas"]
        if len(active) <= 1:
            latest = sorted(old, key=lambda each: each["metadata"]["creationTimestamp"])
            only = active[0] if active else new if new is not None else latest[-1] if latest else None
            if only is not None:
                yield from self._keeper.scale(deployment, only, desired)
        elif new is not None and replicas_of(new) == desired == available([new]):
            for each in old:
                yield from self._keeper.scale(deployment, each, 0)
        elif deployment["spec"]["strategy"].get("type") == "RollingUpdate":
            for each, size in proportional_sizes(deployment, active):
                yield from self._keeper.scale(deployment, each, size, force=True)
        if deployment["spec"].get("paused"):
            yield from self._keeper.clean_up(deployment, old)
        sets = self._sets(deployment)
        yield from self._keeper.write_status(deployment, self._summed(deployment, sets, find_new(deployment, sets)))

    def _recreate(self, deployment: Object, old: list[Object], new: Object | None) -> Steps:
        running = [each for each in old if replicas_of(each)]
        for each in running:
            yield from self._keeper.scale(deployment, each, 0)
        if not running and not self._has_pods(old):
            if new is None:
                new = yield from self._keeper.create(deployment, old)
            if new is not None:
                yield from self._keeper.scale(deployment, new, deployment["spec"]["replicas"])
                if is_complete(deployment, deployment.get("status") or {}):
                    yield from self._keeper.clean_up(deployment, old)
        yield from self._tell(deployment)

    def _has_pods(self, sets: list[Object]) -> bool:
        """Whether a pod of these sets has not ended."""
        if present(sets):
            return True
        owned = (pod for each in sets for _, pod in self._store.owned_by(each["metadata"]["uid"], "pods"))
        return any(not is_terminal(pod) for pod in owned)

    def _roll(self, deployment: Object, old: list[Object], new: Object | None) -> Steps:
        if new is None:
            new = yield from self._keeper.create(deployment, old)
            if new is None:
                return
        desired = deployment["spec"]["replicas"]
        size = replicas_of(new)
        target = min(size, desired) if size >= desired else new_set_size(deployment, [*old, new], size)
        if target != size:
            yield from self._keeper.scale(deployment, new, target)
        elif not (yield from self._shrink(deployment, old, new)) and is_complete(
            deployment, deployment.get("status") or {}
        ):
            yield from self._keeper.clean_up(deployment, old)
        yield from self._tell(deployment)

    def _shrink(self, deployment: Object, old: list[Object], new: Object) -> Generator[Step, Any, bool]:
        """Take replicas from the old sets, unhealthy ones first; true when some were taken."""
        active = sorted(
            (each for each in old if replicas_of(each)), key=lambda each: each["metadata"]["creationTimestamp"]
        )
        least = deployment["spec"]["replicas"] - max_unavailable(deployment)
        missing = replicas_of(new) - available([new])
        spare = wanted([*active, new]) - least - missing
        if not active or spare <= 0:
            return False
        sizes = {each["metadata"]["name"]: replicas_of(each) for each in active}
        taken = 0
        for each in active:
            unhealthy = min(spare - taken, replicas_of(each) - available([each]))
            if unhealthy > 0:
                taken += unhealthy
                sizes[each["metadata"]["name"]] -= unhealthy
        usable = available([*active, new]) - least
        for each in active:
            healthy = min(sizes[each["metadata"]["name"]], usable)
            if healthy > 0:
                usable -= healthy
                taken += healthy
                sizes[each["metadata"]["name"]] -= healthy
        for each in active:
            yield from self._keeper.scale(deployment, each, sizes[each["metadata"]["name"]])
        return taken > 0

    # -- status ------------------------------------------------------------------------------------------------------

    def _summed(self, deployment: Object, sets: list[Object], new: Object | None) -> Object:
        return summed_status(deployment, sets, new, self._store.clock.now())

    def _note_pause(self, deployment: Object) -> Steps:
        condition = condition_of(deployment, "Progressing")
        if not has_deadline(deployment) or (condition or {}).get("reason") == "ProgressDeadlineExceeded":
            return
        paused, noted = bool(deployment["spec"].get("paused")), (condition or {}).get("reason") == "DeploymentPaused"
        if paused == noted:
            return
        word = "paused" if paused else "resumed"
        status = put_condition(
            deployment.get("status") or {},
            self._store.clock.now(),
            "Progressing",
            "Unknown",
            f"Deployment{word.capitalize()}",
            f"Deployment is {word}",
        )
        yield from self._keeper.write_status(deployment, status)

    def _tell(self, deployment: Object) -> Steps:
        """Write how the rollout goes; look again when it may be stuck."""
        key = (deployment["metadata"]["namespace"], deployment["metadata"]["name"])
        deployment = self._store.find(DEPLOYMENTS, *key) or deployment
        sets = self._sets(deployment)
        now = self._store.clock.now()
        status = rollout_status(deployment, sets, find_new(deployment, sets), now)
        if status != deployment.get("status"):
            yield from self._keeper.write_status(deployment, status)
            return
        wait = stuck_in(deployment, status, now)
        if wait is not None:
            self._workers.add_after(key, wait)


def _adopt(store: Store, deployment: Object, name: str) -> None:
    """Give a replica set to a Deployment, if it is still nobody's."""
    found = store.find(REPLICASETS, deployment["metadata"]["namespace"], name)
    if found is not None and controller_of(found) is None:
        owners = [*(found["metadata"].get("ownerReferences") or ()), owner_reference(deployment)]
        store.update(REPLICASETS, {**found, "metadata": {**found["metadata"], "ownerReferences": owners}})
