"""The device taint eviction controller: deletes pods that use devices with NoExecute taints which they do not tolerate.

While no device is tainted it only looks at slices and rules. Then pods are looked at again when taints change, when
their claims are allocated or reserved, and when they come to a node; one that has to go does so at its time, unless the
taint goes first.
"""

from __future__ import annotations

from ghostfleet.api.podclaims import CLAIMS, SLICES, TAINT_RULES, allocation_of, consumers_of
from ghostfleet.controllers.devicetaints.evictions import Eviction, eviction_of
from ghostfleet.controllers.devicetaints.rulestatus import CONDITION, PERIOD, rule_condition
from ghostfleet.controllers.devicetaints.taints import DeviceTaints
from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.pods import condition_of, delete_pod, disrupted, with_condition
from ghostfleet.controllers.requests import Request, Steps, update_status
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import Handle
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.subscription import Subscription
from ghostfleet.core.timestamps import parse_rfc3339, rfc3339

__all__ = ["DeviceTaintEviction"]

#: `pods` or the rules' own resource, namespace, name.
Key = tuple[str, str, str]


class DeviceTaintEviction:
    """Evicts the pods of one store from their devices."""

    def __init__(self, store: Store, profile: Profile) -> None:
        client = profile.api_client("kube-controller-manager", "Device taint eviction controller")
        self._store: Reader = store
        self._recorder = EventRecorder(store, "device-taint-eviction-controller", profile, client)
        count = profile.number("device-taint-eviction.workers")
        self._workers: Workers[Key] = Workers(store, self._sync, count=count, client=client)
        self._taints = DeviceTaints(store)
        #: Pods that are to go.
        self._plans: dict[Key, Eviction] = {}
        #: How many pods each rule has evicted, by its uid.
        self._evicted: dict[str, int] = {}
        self._look: Handle | None = None
        self._claims = Subscription(lambda: store.listen(CLAIMS, self._notice_claim))
        self._pods = Subscription(lambda: store.listen("pods", self._notice_pod, status=False))
        for resource_slice in store.list(SLICES):
            self._taints.change_slice(None, resource_slice)
        for rule in store.list(TAINT_RULES):
            self._taints.change_rule(rule["metadata"]["name"], rule)
            self._workers.add((TAINT_RULES, "", rule["metadata"]["name"]))
        store.listen(SLICES, self._notice_slice)
        store.listen(TAINT_RULES, self._notice_rule)
        if self._taints:
            self._look_soon()

    # -- taking note -------------------------------------------------------------------------------------------------

    def _notice_slice(self, change: Change) -> None:
        if self._taints.change_slice(change.old, change.new):
            self._look_soon()

    def _notice_rule(self, change: Change) -> None:
        old, new = change.old, change.new
        if new is None:
            self._evicted.pop((old or {})["metadata"]["uid"], None)
        elif old is None or old["spec"] != new["spec"]:
            # The status tells of it before any pod goes.
            self._workers.add((TAINT_RULES, "", change.name))
        if self._taints.change_rule(change.name, new):
            self._look_soon()

    def _notice_claim(self, change: Change) -> None:
        for claim in (change.old, change.new):
            if claim is not None and (change.new is None or allocation_of(change.new) is not None):
                self._look_at_consumers(claim)

    def _notice_pod(self, change: Change) -> None:
        if change.new is None:
            self._plans.pop(("pods", change.namespace, change.name), None)
        elif "resourceClaims" in change.new["spec"]:
            self._plan(change.new)

    # -- planning ----------------------------------------------------------------------------------------------------

    def _look_soon(self) -> None:
        if self._look is None:
            self._look = self._store.clock.call_soon(self._look_at_all)

    def _look_at_all(self) -> None:
        """Taints changed: think again about all pods that use devices."""
        self._look = None
        for key in list(self._plans):
            pod = self._store.find("pods", *key[1:])
            if pod is not None:
                self._plan(pod)
        if self._taints:
            for claim in self._store.list(CLAIMS):
                if self._is_tainted(claim):
                    self._look_at_consumers(claim)
        self._claims.subscribe_if(self._taints or self._plans)
        self._pods.subscribe_if(self._taints or self._plans)

    def _is_tainted(self, claim: Object) -> bool:
        results = ((allocation_of(claim) or {}).get("devices") or {}).get("results") or ()
        return any(any(self._taints.of(each["driver"], each["pool"], each["device"])) for each in results)

    def _look_at_consumers(self, claim: Object) -> None:
        for consumer in consumers_of(claim):
            if consumer.get("resource") == "pods" and not consumer.get("apiGroup"):
                pod = self._store.find("pods", claim["metadata"]["namespace"], consumer["name"])
                if pod is not None and pod["metadata"]["uid"] == consumer["uid"]:
                    self._plan(pod)

    def _plan(self, pod: Object) -> None:
        key = ("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])
        if "deletionTimestamp" in pod["metadata"]:
            self._plans.pop(key, None)
            return
        eviction = eviction_of(self._store, self._taints, pod)
        if eviction is None:
            if self._plans.pop(key, None) is not None:
                self._recorder.normal(pod, "DeviceTaintManagerEviction", "Cancelling deletion")
            return
        if self._plans.get(key) != eviction:
            self._plans[key] = eviction
            self._workers.add_after(key, eviction.when - self._store.clock.now())
            self._tell_rules(eviction)

    def _tell_rules(self, eviction: Eviction) -> None:
        """The status of rules has to follow, but not for each pod."""
        for name, rule in self._taints.rules.items():
            if rule["metadata"]["uid"] in eviction.rules:
                self._workers.add_after((TAINT_RULES, "", name), PERIOD)

    # -- acting ------------------------------------------------------------------------------------------------------

    def _sync(self, key: Key) -> Steps:
        return self._evict(key) if key[0] == "pods" else self._tell(key)

    def _evict(self, key: Key) -> Steps:
        plan, pod = self._plans.get(key), self._store.find("pods", *key[1:])
        if plan is None or pod is None or "deletionTimestamp" in pod["metadata"]:
            self._plans.pop(key, None)
            return
        now = self._store.clock.now()
        if plan.when > now:
            self._workers.add_after(key, plan.when - now)
            return
        del self._plans[key]
        self._recorder.normal(pod, "DeviceTaintManagerEviction", "Marking for deletion")
        condition = condition_of(pod, "DisruptionTarget")
        if condition is None or condition["status"] != "True":
            pod = yield update_status("pods", pod, self._disrupted)
            if pod is None:
                return
        if (yield Request("delete", "pods", delete_pod, pod)):
            for rule in sorted(plan.rules):
                self._evicted[rule] = self._evicted.get(rule, 0) + 1
            self._tell_rules(plan)

    def _disrupted(self, pod: Object) -> Object:
        now, message = rfc3339(self._store.clock.now()), "Device Taint manager: deleting due to NoExecute taint"
        return disrupted(pod, now, "DeletionByDeviceTaintManager", message)

    def _tell(self, key: Key) -> Steps:
        rule = self._store.find(*key)
        if rule is None:
            return
        known, now = condition_of(rule, CONDITION), self._store.clock.now()
        if known is not None and known.get("observedGeneration") == rule["metadata"].get("generation", 1):
            since = now - parse_rfc3339(known["lastTransitionTime"])
            if since < PERIOD:
                self._workers.add_after(key, PERIOD - since)
                return
        condition = rule_condition(self._store, self._taints, rule, self._evicted.get(rule["metadata"]["uid"], 0))
        if known is not None and all(known.get(field) == value for field, value in condition.items()):
            return
        yield update_status(TAINT_RULES, rule, lambda current: self._with_condition(current, condition))

    def _with_condition(self, rule: Object, condition: Object) -> Object:
        status = rule.get("status") or {}
        stamped = {**condition, "lastTransitionTime": rfc3339(self._store.clock.now())}
        return {**status, "conditions": with_condition(status.get("conditions") or (), stamped)}
