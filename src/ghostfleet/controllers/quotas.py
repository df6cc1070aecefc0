"""Resource quotas: what is used of them, counted as objects come, change and go.

What a new object takes is charged when it is admitted. This controller counts for itself, object by object, and writes
down what it finds: what ended pods and deleted objects give back, and what a new or changed quota covers.
"""

from __future__ import annotations

from ghostfleet.api.podresources import ResourceList
from ghostfleet.api.quotas import QUOTAS, counts_towards, matches_scopes, usage_of
from ghostfleet.controllers.repairing import is_overwritten
from ghostfleet.controllers.requests import Steps, update_status
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.profile import Profile
from ghostfleet.core.quantity import ZERO, add, sub
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.subscription import Subscription

__all__ = ["QuotaController"]

#: Published: kube-controller-manager's --resource-quota-sync-period.
_RESYNC = 300 * SECOND

Key = tuple[str, str]


class QuotaController:
    """Keeps the status of the quotas of one store."""

    def __init__(self, store: Store, profile: Profile) -> None:
        self._store: Reader = store
        self._workers: Workers[Key] = Workers(
            store,
            self._sync,
            count=profile.number("quota.workers"),
            client=profile.api_client("kube-controller-manager", "Quota controller"),
        )
        #: What is used of each quota, by namespace and name.
        self._used: dict[str, dict[str, ResourceList]] = {}
        self._everything = Subscription(lambda: store.listen_to_all(self._notice))
        for quota in store.list(QUOTAS):
            self._begin(quota)
        store.listen(QUOTAS, self._notice_quota, status=False)

    def _notice(self, change: Change) -> None:
        quotas = self._used.get(change.namespace)
        if not quotas or change.resource == "events":
            return
        now = self._store.clock.now()
        for name, used in quotas.items():
            if change.old is None and change.resource == QUOTAS and change.name == name:
                # A new quota counts itself when it begins.
                continue
            quota = self._store.find(QUOTAS, change.namespace, name)
            if quota is not None and self._count(quota, used, change, now):
                self._workers.add((change.namespace, name))

    def _notice_quota(self, change: Change) -> None:
        new, old = change.new, change.old
        if new is None:
            names = self._used[change.namespace]
            del names[change.name]
            if not names:
                del self._used[change.namespace]
                self._everything.subscribe_if(self._used)
        elif old is None or old["spec"] != new["spec"]:
            self._begin(new)
        elif is_overwritten(change):
            # The controller of Kubernetes does not look at it, but goes through all quotas now and then.
            self._workers.add_after((change.namespace, change.name), _RESYNC)

    def _begin(self, quota: Object) -> None:
        """Count all that is there."""
        namespace, name = quota["metadata"]["namespace"], quota["metadata"]["name"]
        used: ResourceList = dict.fromkeys(quota["spec"].get("hard") or {}, ZERO)
        self._used.setdefault(namespace, {})[name] = used
        self._everything.subscribe_if(self._used)
        now = self._store.clock.now()
        for resource in self._store.resources():
            if any(counts_towards(resource, each) for each in used):
                for obj in self._store.list(resource, namespace):
                    self._count(quota, used, Change(0, resource, namespace, "", None, obj), now)
        self._workers.add((namespace, name))

    def _count(self, quota: Object, used: ResourceList, change: Change, now: int) -> bool:
        """Take what a change gives or takes into account; true when it does."""
        resource = change.resource
        if resource == "pods" and _takes_the_same(change):
            return False
        if not any(counts_towards(resource, name) for name in used):
            return False
        before, after = self._usage(quota, resource, change.old, now), self._usage(quota, resource, change.new, now)
        if before == after:
            return False
        for name in used:
            if name in after:
                used[name] = add(used[name], after[name])
            if name in before:
                used[name] = sub(used[name], before[name])
        return True

    def _usage(self, quota: Object, resource: str, obj: Object | None, now: int) -> ResourceList:
        if obj is None or not matches_scopes(quota, resource, obj):
            return {}
        return usage_of(resource, obj, now)

    def _sync(self, key: Key) -> Steps:
        quota = self._store.find(QUOTAS, *key)
        if quota is None:
            return
        if self._status(quota) != quota.get("status"):
            yield update_status(QUOTAS, quota, self._status)

    def _status(self, quota: Object) -> Object:
        used = self._used[quota["metadata"]["namespace"]][quota["metadata"]["name"]]
        return {"hard": quota["spec"].get("hard") or {}, "used": {name: str(used[name]) for name in used}}


def _takes_the_same(change: Change) -> bool:
    """Whether a change of a pod can make no difference to what it takes."""
    old, new = change.old, change.new
    return (
        old is not None
        and new is not None
        and old["spec"].get("containers") is new["spec"].get("containers")
        and old["status"].get("phase") == new["status"].get("phase")
        and old["metadata"].get("deletionTimestamp") == new["metadata"].get("deletionTimestamp")
    )
