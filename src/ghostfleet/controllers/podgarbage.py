"""Pod garbage: pods that nobody will ever remove.

Ended pods beyond a limit go, the oldest first; so do pods of nodes that have been gone for a while, and marked pods
that never came to a node. Ended pods are let go as they are; others are called failed first, so that their owners can
count them. The collector works at *ticks*, and only when something waits for it.
"""

from __future__ import annotations

from ghostfleet.controllers.pods import is_terminal, with_condition
from ghostfleet.controllers.workers import Steps, Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339

__all__ = ["PodGarbageCollector"]

Key = tuple[str, str]


class PodGarbageCollector:
    """Collects the pods of one store."""

    def __init__(self, store: Store, profile: Profile) -> None:
        self._store = store
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
        store.listen("nodes", self._notice_node)

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
                yield 1
                if self._store.find("pods", *key) is not None:
                    self._store.delete("pods", *key, grace=0)
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
            yield 1
            pod = self._store.find("pods", *key)
            if pod is None:
                return
            self._store.patch_status("pods", *key, _failed(pod, rfc3339(self._clock.now()), lost=lost))
        yield 1
        if self._store.find("pods", *key) is not None:
            self._store.delete("pods", *key, grace=0)


def _failed(pod: Object, now: str, *, lost: bool) -> Object:
    status = {**pod["status"], "phase": "Failed"}
    if lost:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "observedGeneration": pod["metadata"].get("generation", 1),
            "lastProbeTime": None,
            "lastTransitionTime": now,
            "reason": "DeletionByPodGC",
            "message": "PodGC: node no longer exists",
        }
        status["conditions"] = with_condition(status.get("conditions") or (), condition)
    return status
