"""The life of nodes: a node that gives no sign of life for too long is called unknown, tainted, and its pods not ready.

Signs of life are heartbeats in the node's Ready condition and renewals of its lease. They are looked at every few
seconds (*ticks*), and a node is given a *grace period*, a new one a longer one. Conditions of a node become NoSchedule
taints at once; a node that is not ready also gets a NoExecute taint, as fast as its zone allows. Nodes that something
else vouches for (`beats`) are alive without giving signs, which spares a large fleet millions of writes: whoever plays
fake nodes, which have no kubelet, knows which of them are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.nodes.taints import NOT_READY, UNREACHABLE, change_taints
from ghostfleet.controllers.nodes.zones import Zones
from ghostfleet.controllers.pods import condition_of, with_condition
from ghostfleet.controllers.requests import Request, Steps, update_status
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import Handle
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.subscription import Subscription
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.stages.leases import LEASES
from ghostfleet.stages.nodes import FAILED_ANNOTATION, FAKE_ANNOTATION

__all__ = ["NodeLifecycle", "fake_and_well"]

_LEASE_NAMESPACE = "kube-node-lease"
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
#: Which condition in which status becomes which taint.
_TAINT_OF = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
_OWN_TAINTS = frozenset((*_TAINT_OF.values(), _UNSCHEDULABLE))
_WATCHED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_LABELS = (("kubernetes.io/os", "beta.kubernetes.io/os"), ("kubernetes.io/arch", "beta.kubernetes.io/arch"))


class _Health:
    """When a node gave its last sign of life, and the timer that waits for the next."""

    __slots__ = ("heartbeat", "seen", "timer")

    def __init__(self, seen: int, heartbeat: Any) -> None:
        self.seen = seen
        self.heartbeat = heartbeat
        self.timer: Handle | None = None


class NodeLifecycle:
    """Watches the nodes of one store."""

    def __init__(self, store: Store, profile: Profile, beats: Callable[[str], bool] = lambda _: False) -> None:
        client = profile.api_client("kube-controller-manager", "Node lifecycle controller")
        self._store: Reader = store
        self._clock = store.clock
        self._beats = beats
        self._period = profile.duration("node.monitor-period")
        self._grace = profile.duration("node.grace-period")
        self._first_grace = profile.duration("node.startup-grace-period")
        self._start = store.clock.now()
        self._recorder = EventRecorder(store, "node-controller", profile, client)
        self._health: dict[str, _Health] = {}
        self._zones = Zones(store.clock, profile, self._drive_away)
        self._workers: Workers[str] = Workers(store, self._sync, client=client)
        self._checks: Workers[str] = Workers(store, self._check, client=client)
        self._drives: Workers[str] = Workers(store, self._taint, client=client)
        self._pods: Workers[tuple[str, str]] = Workers(store, self._mark, client=client)
        #: Nodes that are not ready: only while there are some is it of interest who comes to them.
        self._not_ready: set[str] = set()
        self._subscription = Subscription(lambda: store.listen("pods", self._notice_pod, status=False))
        for node in store.list("nodes"):
            self._begin(node)
        store.listen("nodes", self._notice)
        store.listen(LEASES, self._notice_lease)

    # -- taking note -------------------------------------------------------------------------------------------------

    def _begin(self, node: Object) -> None:
        name = node["metadata"]["name"]
        ready = condition_of(node, "Ready")
        self._health[name] = _Health(self._clock.now(), (ready or {}).get("lastHeartbeatTime"))
        message = f"Node {name} event: Registered Node {name} in Controller"
        self._recorder.normal(node, "RegisteredNode", message)
        self._note(node)

    def _notice(self, change: Change) -> None:
        new, old = change.new, change.old
        if new is None:
            assert old is not None
            self._forget(old)
        elif old is None:
            self._begin(new)
        else:
            health = self._health[change.name]
            beat = (condition_of(new, "Ready") or {}).get("lastHeartbeatTime")
            if beat != health.heartbeat:
                health.heartbeat = beat
                health.seen = self._clock.now()
            if (
                old.get("status") is not new.get("status")
                or old["spec"] is not new["spec"]
                or self._labels_differ(old, new)
            ):
                self._note(new)

    def look_at(self, name: str) -> None:
        """Whoever vouches for a node has changed its mind."""
        node = self._store.find("nodes", "", name)
        if node is not None and name in self._health:
            self._wait(node)

    def _labels_differ(self, old: Object, new: Object) -> bool:
        return any(old["metadata"].get(key) is not new["metadata"].get(key) for key in ("labels", "annotations"))

    def _note(self, node: Object) -> None:
        name = node["metadata"]["name"]
        ready = condition_of(node, "Ready")
        self._zones.note(node, ready is not None and ready["status"] == "True")
        if ready is not None and ready["status"] != "True":
            self._not_ready.add(name)
        else:
            self._not_ready.discard(name)
        self._subscription.subscribe_if(self._not_ready)
        self._workers.add(name)
        self._checks.add_after(name, self._next_tick(self._clock.now()) - self._clock.now())
        self._wait(node)

    def _forget(self, node: Object) -> None:
        name = node["metadata"]["name"]
        health = self._health.pop(name)
        if health.timer is not None:
            health.timer.cancel()
        self._zones.dequeue(node)
        self._zones.forget(name)
        self._not_ready.discard(name)
        self._subscription.subscribe_if(self._not_ready)
        self._recorder.normal(node, "RemovingNode", f"Node {name} event: Removing Node {name} from Controller")

    def _notice_lease(self, change: Change) -> None:
        health = self._health.get(change.name)
        if change.new is None or health is None or change.namespace != _LEASE_NAMESPACE:
            return
        before = (change.old or {}).get("spec", {}).get("renewTime")
        if change.new["spec"].get("renewTime") != before:
            health.seen = self._clock.now()

    def _notice_pod(self, change: Change) -> None:
        """A pod that comes to a node which is not ready is not ready either."""
        new, old = change.new, change.old
        if new is None or (old is not None and old["spec"] is new["spec"]):
            return
        name = new["spec"].get("nodeName")
        came = old is None or old["spec"].get("nodeName") != name
        if came and name in self._not_ready and _is_ready(new):
            self._pods.add((change.namespace, change.name))

    # -- signs of life -----------------------------------------------------------------------------------------------

    def _next_tick(self, time: int) -> int:
        return self._start + -(-(time - self._start) // self._period) * self._period

    def _wait(self, node: Object) -> None:
        """Set the timer of a node that has to give signs of life."""
        health = self._health[node["metadata"]["name"]]
        ready = condition_of(node, "Ready")
        silent = ready is not None and ready["status"] == "Unknown"
        if silent or self._beats(node["metadata"]["name"]):
            if health.timer is not None:
                health.timer.cancel()
                health.timer = None
        elif health.timer is None:
            # It may have been vouched for until now.
            health.seen = self._clock.now()
            self._set_timer(node["metadata"]["name"], health, self._grace if ready is not None else self._first_grace)

    def _set_timer(self, name: str, health: _Health, grace: int) -> None:
        silent_at = self._next_tick(self._next_tick(health.seen) + grace + 1)
        health.timer = self._clock.call_at(silent_at, self._look, name)

    def _look(self, name: str) -> None:
        health, node = self._health[name], self._store.get("nodes", "", name)
        health.timer = None
        grace = self._grace if condition_of(node, "Ready") is not None else self._first_grace
        if self._next_tick(health.seen) + grace < self._clock.now():
            self._checks.add(name)
        else:
            self._set_timer(name, health, grace)

    def _is_unknown(self, name: str) -> bool:
        node = self._store.find("nodes", "", name)
        ready = condition_of(node, "Ready") if node is not None else None
        return ready is not None and ready["status"] == "Unknown"

    def _is_silent(self, node: Object) -> bool:
        name = node["metadata"]["name"]
        health = self._health[name]
        grace = self._grace if condition_of(node, "Ready") is not None else self._first_grace
        return not self._beats(name) and self._next_tick(health.seen) + grace < self._clock.now()

    # -- acting ------------------------------------------------------------------------------------------------------

    def _check(self, name: str) -> Steps:
        """What happens at a tick: silent nodes become unknown, and pods have to leave nodes that are not ready."""
        node = self._store.find("nodes", "", name)
        if node is None:
            return
        ready = condition_of(node, "Ready")
        if self._is_silent(node) and (ready is None or ready["status"] != "Unknown"):
            node = yield update_status("nodes", node, self._unknown)
            if node is None:
                return
            if ready is not None and ready["status"] == "True":
                self._recorder.normal(node, "NodeNotReady", f"Node {name} status is now: NodeNotReady")
                for pod in list(self._store.having("pods", "node", name)):
                    if _is_ready(pod):
                        place = (pod["metadata"]["namespace"], pod["metadata"]["name"])
                        if not (yield Request("update", "pods/status", self._mark_if_unknown, name, *place)):
                            # The node came back while this waited for its turn.
                            break
        was_down, is_down = self._zones.assess()
        if is_down and not was_down:
            # Nobody can see any node: the fault is hardly theirs.
            for each in self._store.list("nodes"):
                yield from self._welcome_back(each)
        elif was_down and not is_down:
            self._begin_anew()
        else:
            yield from self._judge(name)

    def _judge(self, name: str) -> Steps:
        node = self._store.find("nodes", "", name)
        ready = condition_of(node, "Ready") if node is not None else None
        if node is None or ready is None:
            return
        if ready["status"] == "True":
            yield from self._welcome_back(node)
            return
        wrong, right = (UNREACHABLE, NOT_READY) if ready["status"] == "False" else (NOT_READY, UNREACHABLE)
        taints = {taint["key"] for taint in node["spec"].get("taints") or () if taint.get("effect") == "NoExecute"}
        if wrong in taints:
            yield Request("patch", "nodes", self._swap, name, right, wrong)
        elif right not in taints and not self._zones.all_down:
            self._zones.enqueue(node)

    def _begin_anew(self) -> None:
        now = self._clock.now()
        for health in self._health.values():
            health.seen = now
        for node in self._store.list("nodes"):
            self._checks.add_after(node["metadata"]["name"], self._period)

    def _welcome_back(self, node: Object) -> Steps:
        name = node["metadata"]["name"]
        self._zones.dequeue(node)
        taints = [taint["key"] for taint in node["spec"].get("taints") or () if taint.get("effect") == "NoExecute"]
        if NOT_READY in taints or UNREACHABLE in taints:
            gone = ((NOT_READY, "NoExecute"), (UNREACHABLE, "NoExecute"))
            yield Request("patch", "nodes", change_taints, name, (), gone)

    def _drive_away(self, name: str) -> None:
        self._drives.add(name)

    def _taint(self, name: str) -> Steps:
        """Give a node that is still not ready the taint that its pods have to leave for."""
        node = self._store.find("nodes", "", name)
        ready = condition_of(node, "Ready") if node is not None else None
        if ready is not None and ready["status"] != "True":
            pair = (NOT_READY, UNREACHABLE) if ready["status"] == "False" else (UNREACHABLE, NOT_READY)
            yield Request("patch", "nodes", self._swap, name, *pair)

    def _swap(self, store: Store, name: str, right: str, wrong: str) -> None:
        taint = {"key": right, "effect": "NoExecute", "timeAdded": rfc3339(self._clock.now())}
        change_taints(store, name, [taint], [(wrong, "NoExecute")])

    def _unknown(self, node: Object) -> Object:
        """The status of a silent node: its conditions are Unknown."""
        now = rfc3339(self._clock.now())
        conditions = list((node.get("status") or {}).get("conditions") or ())
        for kind in _WATCHED:
            before = condition_of(node, kind)
            if before is None:
                fresh = {
                    "type": kind,
                    "status": "Unknown",
                    "lastHeartbeatTime": node["metadata"]["creationTimestamp"],
                    "lastTransitionTime": now,
                    "reason": "NodeStatusNeverUpdated",
                    "message": "Kubelet never posted node status.",
                }
                conditions = with_condition(conditions, fresh)
            elif before["status"] != "Unknown":
                stopped = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
                lost = {**before, "status": "Unknown", "lastTransitionTime": now, **stopped}
                conditions = with_condition(conditions, lost)
        return {**(node.get("status") or {}), "conditions": conditions}

    def _mark(self, key: tuple[str, str]) -> Steps:
        """A pod came to a node that is not ready."""
        yield Request("update", "pods/status", self._mark_pod, *key)

    def _mark_if_unknown(self, store: Store, node: str, namespace: str, name: str) -> bool:
        unknown = self._is_unknown(node)
        if unknown:
            self._mark_pod(store, namespace, name)
        return unknown

    def _mark_pod(self, store: Store, namespace: str, name: str) -> None:
        pod = store.find("pods", namespace, name)
        ready = condition_of(pod, "Ready") if pod is not None else None
        if pod is None or ready is None or ready["status"] == "False":
            return
        lost = {**ready, "status": "False", "lastTransitionTime": rfc3339(self._clock.now())}
        conditions = with_condition(pod["status"]["conditions"], lost)
        store.patch_status("pods", namespace, name, {**pod["status"], "conditions": conditions})
        self._recorder.warning(pod, "NodeNotReady", "Node is not ready")

    def _sync(self, name: str) -> Steps:
        """Turn conditions into taints, and keep the old labels of a node's system as the new ones say."""
        node = self._store.find("nodes", "", name)
        if node is None:
            return
        wanted = {
            key
            for condition in (node.get("status") or {}).get("conditions") or ()
            if (key := _TAINT_OF.get((condition["type"], condition["status"]))) is not None
        }
        if node["spec"].get("unschedulable"):
            wanted.add(_UNSCHEDULABLE)
        present = {
            taint["key"]
            for taint in node["spec"].get("taints") or ()
            if taint.get("effect") == "NoSchedule" and taint["key"] in _OWN_TAINTS
        }
        if wanted != present:
            yield Request("patch", "nodes", self._change, name, wanted - present, present - wanted)
        labels = node["metadata"].get("labels") or {}
        kept = {old: labels[key] for key, old in _LABELS if key in labels and labels.get(old) != labels[key]}
        if kept:
            yield Request("patch", "nodes", _label, name, kept)

    def _change(self, store: Store, name: str, missing: set[str], surplus: set[str]) -> None:
        """Give a node NoSchedule taints, and take others from it."""
        now = rfc3339(self._clock.now())
        added = [{"key": key, "effect": "NoSchedule", "timeAdded": now} for key in sorted(missing)]
        change_taints(store, name, added, [(key, "NoSchedule") for key in surplus])


def _label(store: Store, name: str, labels: dict[str, str]) -> None:
    current = store.get("nodes", "", name)
    metadata = {**current["metadata"], "labels": {**(current["metadata"].get("labels") or {}), **labels}}
    store.update("nodes", {**current, "metadata": metadata})


def fake_and_well(store: Reader) -> Callable[[str], bool]:
    """Whether a node is alive where nobody plays them: those are that are marked as fake, and not as failed."""

    def beats(name: str) -> bool:
        annotations = store.get("nodes", "", name)["metadata"].get("annotations") or {}
        return bool(annotations.get(FAKE_ANNOTATION) == "fake") and FAILED_ANNOTATION not in annotations

    return beats


def _is_ready(pod: Object) -> bool:
    ready = condition_of(pod, "Ready")
    return ready is not None and ready["status"] == "True"
