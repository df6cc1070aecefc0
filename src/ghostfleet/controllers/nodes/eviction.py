"""Eviction: pods leave nodes whose NoExecute taints they do not tolerate, or tolerate for a while only.

When a node is tainted, or a pod comes to a tainted node, the pod is deleted at once or after the shortest time for
which it tolerates the taints. When the taints go, so does the plan to delete it.
"""

from __future__ import annotations

from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.nodes.taints import no_execute, tolerated_for
from ghostfleet.controllers.pods import condition_of, delete_pod, disrupted, is_terminal
from ghostfleet.controllers.requests import Request, Steps, update_status
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import Handle
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.subscription import Subscription
from ghostfleet.core.timestamps import rfc3339

__all__ = ["TaintEviction"]

Key = tuple[str, str]


class TaintEviction:
    """Evicts pods from the tainted nodes of one store."""

    def __init__(self, store: Store, profile: Profile) -> None:
        client = profile.api_client("kube-controller-manager", "Taint eviction controller")
        self._store: Reader = store
        self._recorder = EventRecorder(store, "taint-eviction-controller", profile, client)
        self._workers: Workers[Key] = Workers(
            store, self._evict, count=profile.number("eviction.workers"), client=client
        )
        #: Pods that are to go: since when, and the timer.
        self._plans: dict[Key, tuple[int, Handle]] = {}
        self._tainted: dict[str, list[Object]] = {}
        self._subscription = Subscription(lambda: store.listen("pods", self._notice_pod, status=False))
        for node in store.list("nodes"):
            self._look_at(node["metadata"]["name"], no_execute(node))
        store.listen("nodes", self._notice, status=False)

    def _notice(self, change: Change) -> None:
        taints = no_execute(change.new)
        if taints != self._tainted.get(change.name, []):
            self._store.clock.call_soon(self._look_at, change.name, taints)

    def _notice_pod(self, change: Change) -> None:
        new, old = change.new, change.old
        if new is None:
            self._cancel((change.namespace, change.name))
        elif old is None or old["spec"] is not new["spec"]:
            taints = self._tainted.get(new["spec"].get("nodeName", ""))
            if taints:
                self._plan((change.namespace, change.name), new, taints)

    def _look_at(self, name: str, taints: list[Object]) -> None:
        """Think again about all pods of a node."""
        if taints:
            self._tainted[name] = taints
        else:
            self._tainted.pop(name, None)
        self._subscription.subscribe_if(self._tainted or self._plans)
        for pod in list(self._store.having("pods", "node", name)):
            self._plan((pod["metadata"]["namespace"], pod["metadata"]["name"]), pod, taints)

    def _plan(self, key: Key, pod: Object, taints: list[Object]) -> None:
        span = tolerated_for(pod["spec"].get("tolerations") or (), taints) if taints else None
        if span is None:
            self._cancel(key, pod)
            return
        now = self._store.clock.now()
        since, handle = self._plans.get(key) or (now, None)
        if handle is not None:
            if span and handle.time <= since + span:
                return
            handle.cancel()
        self._plans[key] = (since, self._store.clock.call_at(since + span if span else now, self._workers.add, key))

    def _cancel(self, key: Key, pod: Object | None = None) -> None:
        plan = self._plans.pop(key, None)
        if plan is not None:
            plan[1].cancel()
            if pod is not None:
                message = f"Cancelling deletion of Pod {key[0]}/{key[1]}"
                self._recorder.normal(pod, "TaintManagerEviction", message)

    def _evict(self, key: Key) -> Steps:
        if self._plans.pop(key, None) is None:
            return
        pod = self._store.find("pods", *key)
        if pod is None or "deletionTimestamp" in pod["metadata"]:
            return
        self._recorder.normal(pod, "TaintManagerEviction", f"Marking for deletion Pod {key[0]}/{key[1]}")
        condition = condition_of(pod, "DisruptionTarget")
        if not is_terminal(pod) and (condition is None or condition["status"] != "True"):
            marked = yield update_status("pods", pod, self._disrupted)
            if marked is None:
                return
        yield Request("delete", "pods", delete_pod, pod)

    def _disrupted(self, pod: Object) -> Object:
        now, message = rfc3339(self._store.clock.now()), "Taint manager: deleting due to NoExecute taint"
        return disrupted(pod, now, "DeletionByTaintManager", message)
