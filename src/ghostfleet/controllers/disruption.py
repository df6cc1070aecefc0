"""Disruption budgets: how many pods of an application may be taken away right now.

A budget says how many of its pods must stay *healthy* (ready, and not on their way out), as a number or as a share of
the pods that their owners want. Pods whose eviction was granted do not count as healthy, whether they are marked yet
or not; one that is not marked for too long counts again.
"""

from __future__ import annotations

from ghostfleet.controllers.deployments.amounts import resolve_percent
from ghostfleet.controllers.pods import controller_of, is_ready, with_condition
from ghostfleet.controllers.requests import Steps, update_status
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.profile import Profile
from ghostfleet.core.selectors import LabelSelector, selector_from_object
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.subscription import Subscription
from ghostfleet.core.timestamps import parse_rfc3339, rfc3339

__all__ = ["BUDGETS", "DisruptionController"]

BUDGETS = "poddisruptionbudgets.policy"
#: What owns pods, or the owners of pods, and says how many it wants.
_SCALED = {
    ("apps/v1", "ReplicaSet"): "replicasets.apps",
    ("apps/v1", "Deployment"): "deployments.apps",
    ("apps/v1", "StatefulSet"): "statefulsets.apps",
    ("v1", "ReplicationController"): "replicationcontrollers",
}

Key = tuple[str, str]


class DisruptionController:
    """Keeps the status of the budgets of one store."""

    def __init__(self, store: Store, profile: Profile) -> None:
        self._store: Reader = store
        self._timeout = profile.duration("disruption.deletion-timeout")
        self._workers: Workers[Key] = Workers(
            store,
            self._sync,
            count=profile.number("disruption.workers"),
            client=profile.api_client("kube-controller-manager", "Disruption controller"),
        )
        #: Selectors of budgets by namespace and name, and the pods they select.
        self._budgets: dict[str, dict[str, LabelSelector]] = {}
        self._pods: dict[Key, dict[str, Object]] = {}
        self._subscription = Subscription(lambda: store.listen("pods", self._notice_pod))
        for budget in store.list(BUDGETS):
            self._begin(budget)
        store.listen(BUDGETS, self._notice)
        for resource in _SCALED.values():
            store.listen(resource, self._notice_owner)

    # -- taking note -------------------------------------------------------------------------------------------------

    def _begin(self, budget: Object) -> None:
        namespace, name = budget["metadata"]["namespace"], budget["metadata"]["name"]
        selector = selector_from_object(budget["spec"].get("selector"))
        self._budgets.setdefault(namespace, {})[name] = selector
        self._subscription.subscribe_if(self._budgets)
        self._pods[namespace, name] = {
            pod["metadata"]["name"]: pod
            for pod in self._store.list("pods", namespace)
            if selector.matches(pod["metadata"].get("labels"))
        }
        self._workers.add((namespace, name))

    def _notice(self, change: Change) -> None:
        new, old = change.new, change.old
        if new is None:
            self._budgets[change.namespace].pop(change.name)
            if not self._budgets[change.namespace]:
                del self._budgets[change.namespace]
                self._subscription.subscribe_if(self._budgets)
            del self._pods[change.namespace, change.name]
        elif old is None or old["spec"] != new["spec"]:
            self._begin(new)
        else:
            self._workers.add((change.namespace, change.name))

    def _notice_pod(self, change: Change) -> None:
        budgets = self._budgets.get(change.namespace)
        if not budgets:
            return
        labels = change.new["metadata"].get("labels") if change.new is not None else None
        for name, selector in budgets.items():
            pods = self._pods[change.namespace, name]
            if change.new is not None and selector.matches(labels):
                pods[change.name] = change.new
            elif pods.pop(change.name, None) is None:
                continue
            self._workers.add((change.namespace, name))

    def _notice_owner(self, change: Change) -> None:
        for name in self._budgets.get(change.namespace, ()):
            self._workers.add((change.namespace, name))

    # -- acting ------------------------------------------------------------------------------------------------------

    def _sync(self, key: Key) -> Steps:
        budget = self._store.find(BUDGETS, *key)
        if budget is None:
            return
        status = self._status(budget)
        if status != budget.get("status"):
            # Evictions may be granted while this waits for its turn.
            written = yield update_status(BUDGETS, budget, self._status)
            status = written["status"] if written is not None else {}
        if status.get("disruptedPods"):
            self._workers.add_after(key, self._timeout)

    def _status(self, budget: Object) -> Object:
        pods = list(self._pods[budget["metadata"]["namespace"], budget["metadata"]["name"]].values())
        old = budget.get("status") or {}
        now = self._store.clock.now()
        expected, desired = self._expected(budget, pods)
        disrupted = {
            name: time
            for name, time in (old.get("disruptedPods") or {}).items()
            if any(pod["metadata"]["name"] == name and "deletionTimestamp" not in pod["metadata"] for pod in pods)
            and parse_rfc3339(time) + self._timeout > now
        }
        healthy = sum(
            is_ready(pod) and "deletionTimestamp" not in pod["metadata"] and pod["metadata"]["name"] not in disrupted
            for pod in pods
        )
        allowed = max(healthy - desired, 0) if expected > 0 else 0
        generation = budget["metadata"].get("generation", 1)
        status: Object = {
            "observedGeneration": generation,
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
        }
        if disrupted:
            status["disruptedPods"] = disrupted
        status["conditions"] = _conditions(old, allowed > 0, generation, rfc3339(now))
        return status

    def _expected(self, budget: Object, pods: list[Object]) -> tuple[int, int]:
        """How many pods there should be, and how many of them must stay healthy."""
        spec = budget["spec"]
        least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
        if most is not None:
            expected = self._scale(pods)
            return expected, max(expected - resolve_percent(most, expected, up=True), 0)
        if isinstance(least, str):
            expected = self._scale(pods)
            return expected, resolve_percent(least, expected, up=True)
        return len(pods), least or 0

    def _scale(self, pods: list[Object]) -> int:
        """How many pods the owners of these want in all."""
        owners: dict[str, int] = {}
        for pod in pods:
            owner = controller_of(pod)
            if owner is None or owner["uid"] in owners:
                continue
            found = self._find(owner, pod["metadata"]["namespace"])
            parent = controller_of(found) if found is not None else None
            if parent is not None and found is not None:
                found = self._find(parent, pod["metadata"]["namespace"]) or found
            if found is not None:
                owners[owner["uid"]] = 0
                owners[found["metadata"]["uid"]] = found["spec"].get("replicas", 1)
        return sum(owners.values())

    def _find(self, owner: Object, namespace: str) -> Object | None:
        resource = _SCALED.get((owner["apiVersion"], owner["kind"]))
        return self._store.find(resource, namespace, owner["name"]) if resource is not None else None


def _conditions(old: Object, allowed: bool, generation: int, now: str) -> list[Object]:
    conditions = old.get("conditions") or []
    value = "True" if allowed else "False"
    before = next((each for each in conditions if each["type"] == "DisruptionAllowed"), None)
    condition = {
        "type": "DisruptionAllowed",
        "status": value,
        "observedGeneration": generation,
        "lastTransitionTime": before["lastTransitionTime"] if before and before["status"] == value else now,
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
    }
    return with_condition(conditions, condition)
