"""Pods that are to go: those that were asked to, and garbage, which nobody will ever remove.

A pod on a node is deleted in two steps: the API marks it and gives it its grace period, then the node stops its
containers and removes it. Where nobody plays the nodes, the *terminator* stands in for the second step: containers that
do not exist stop as quickly as well-behaved ones do. Where somebody does, it only ends what is still there when its
grace is over, which happens on nodes that have failed; unlike in a real cluster, such pods do not stay for ever.

As garbage, ended pods beyond a limit go, the oldest first; so do pods of nodes that have been gone for a while, and
marked pods that never came to a node. Ended pods are let go as they are; others are called failed first, so that their
owners can count them. The collector works at *ticks*, and only when something waits for it.
"""

from __future__ import annotations

from ghostfleet.controllers.pods import is_terminal, with_condition
from ghostfleet.controllers.queue import WorkQueue
from ghostfleet.controllers.requests import Steps, delete, update_status
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.timestamps import rfc3339

__all__ = ["STOPPING", "PodGarbageCollector", "PodTerminator"]

#: How long well-behaved containers take to stop.
STOPPING = SECOND

Key = tuple[str, str]


class PodGarbageCollector:
    """Collects the pods of one store."""

    def __init__(self, store: Store, profile: Profile) -> None:
        self._store: Reader = store
        self._clock = store.clock
        self._start = store.clock.now()
        self._period = profile.duration("pod-garbage.period")
        self._quarantine = profile.duration("pod-garbage.quarantine")
        self._limit = profile.number("pod-garbage.terminated-limit")
        #: Ended pods, in the order of their end, and whether some of them are to go at the next tick.
        self._ended: dict[Key, None] = {}
        self._crowded = False
        self._workers: Workers[tuple[str, str, str]] = Workers(
            store,
            self._collect,
            count=1,
            client=profile.api_client("kube-controller-manager", "Pod garbage collector"),
        )
        for pod in store.list("pods"):
            self._consider(pod["metadata"]["namespace"], pod["metadata"]["name"], None, pod)
        store.listen("pods", self._notice)
        store.listen("nodes", self._notice_node, status=False)

    def _notice(self, change: Change) -> None:
        if change.new is None:
            self._ended.pop((change.namespace, change.name), None)
        else:
            self._consider(change.namespace, change.name, change.old, change.new)

    def _consider(self, namespace: str, name: str, old: Object | None, new: Object) -> None:
        if is_terminal(new):
            if (namespace, name) not in self._ended:
                self._ended[namespace, name] = None
                if self._limit and len(self._ended) > self._limit and not self._crowded:
                    self._crowded = True
                    self._at_tick(("ended", "", ""), 0)
            return
        node = new["spec"].get("nodeName")
        if node:
            if (old is None or old["spec"] is not new["spec"]) and self._store.find("nodes", "", node) is None:
                self._at_tick(("node", "", node), self._quarantine)
        elif "deletionTimestamp" in new["metadata"]:
            self._at_tick(("unbound", namespace, name), 0)

    def _notice_node(self, change: Change) -> None:
        if change.new is None:
            self._at_tick(("node", "", change.name), self._quarantine)

    def _at_tick(self, task: tuple[str, str, str], delay: int) -> None:
        """Do a task at the first tick after a delay, which itself begins at a tick where there is one."""
        time = self._clock.now()
        if delay:
            time = self._tick_after(time) + delay
        self._workers.add_after(task, self._tick_after(time) - self._clock.now())

    def _tick_after(self, time: int) -> int:
        return self._start + -(-(time - self._start) // self._period) * self._period

    def _collect(self, task: tuple[str, str, str]) -> Steps:
        what, namespace, name = task
        if what == "ended":
            self._crowded = False
            surplus = sorted(self._ended, key=self._age)[: max(len(self._ended) - self._limit, 0)]
            for key in surplus:
                yield delete("pods", *key)
        elif what == "unbound":
            pod = self._store.find("pods", namespace, name)
            if pod is not None and "deletionTimestamp" in pod["metadata"] and not pod["spec"].get("nodeName"):
                yield from self._remove((namespace, name))
        elif self._store.find("nodes", "", name) is None:
            for pod in list(self._store.having("pods", "node", name)):
                yield from self._remove((pod["metadata"]["namespace"], pod["metadata"]["name"]), lost=True)

    def _age(self, key: Key) -> tuple[bool, str, str]:
        """Evicted pods first, then the oldest."""
        pod = self._store.get("pods", *key)
        return pod["status"].get("reason") != "Evicted", pod["metadata"]["creationTimestamp"], key[1]

    def _remove(self, key: Key, *, lost: bool = False) -> Steps:
        pod = self._store.find("pods", *key)
        if pod is None:
            return
        if not is_terminal(pod):
            failed = yield update_status("pods", pod, lambda current: self._failed(current, lost=lost))
            if failed is None:
                return
        yield delete("pods", *key)

    def _failed(self, pod: Object, *, lost: bool) -> Object:
        status = {**pod["status"], "phase": "Failed"}
        if lost:
            condition = {
                "type": "DisruptionTarget",
                "status": "True",
                "observedGeneration": pod["metadata"].get("generation", 1),
                "lastProbeTime": None,
                "lastTransitionTime": rfc3339(self._clock.now()),
                "reason": "DeletionByPodGC",
                "message": "PodGC: node no longer exists",
            }
            status["conditions"] = with_condition(status.get("conditions") or (), condition)
        return status


class PodTerminator:
    """Removes marked pods from one store when their containers have stopped."""

    def __init__(self, store: Store, stopping: int | None = STOPPING) -> None:
        """Pods have `stopping` microseconds to stop, or all of their grace when it is None."""
        self._store = store
        self._stopping = stopping
        self._queue: WorkQueue[tuple[str, str, str]] = WorkQueue(store.clock, self._work)
        store.listen("pods", self._notice, status=False)

    def _notice(self, change: Change) -> None:
        if change.new is None or "deletionTimestamp" not in change.new["metadata"]:
            return
        if change.old is not None and "deletionTimestamp" in change.old["metadata"]:
            return
        metadata = change.new["metadata"]
        grace = metadata.get("deletionGracePeriodSeconds", 0) * SECOND
        if grace:
            delay = grace if self._stopping is None else min(grace, self._stopping)
            self._queue.add_after((change.namespace, change.name, metadata["uid"]), delay)

    def _work(self, key: tuple[str, str, str]) -> None:
        namespace, name, uid = key
        pod = self._store.find("pods", namespace, name)
        if pod is not None and pod["metadata"]["uid"] == uid:
            self._store.delete("pods", namespace, name, grace=0)
