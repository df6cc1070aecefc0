"""Pods as MCAD counts them: by the wrapper they belong to, and on the nodes they take room on.

A pod belongs to the wrapper whose *name* it has in a label, in whatever namespace. Only the requests of its containers
count. The *pod counter* keeps, for each wrapper, how many pods are in which phase, what the running ones ask for, and
which of the pending ones found no node; it is brought up to date by each change of a pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Store
from ghostfleet.dispatchers.mcad.amounts import Amounts, listed, total
from ghostfleet.dispatchers.mcad.conditions import PodCounts
from ghostfleet.dispatchers.mcad.wrapper import APPWRAPPERS, Key

__all__ = ["LABELS", "OwnPods", "PodCounter", "label_of", "pod_amounts", "takes_room"]

#: The labels by which pods name their wrapper, the older one first.
LABELS = ("appwrapper.mcad.ibm.com", "workload.codeflare.dev/appwrapper")
_REMEMBERED = 4096
_FIELDS = {"Pending": "pending", "Running": "running", "Succeeded": "succeeded", "Failed": "failed"}


class _Requests:
    """The requests of pods; those that share their containers are summed up once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[list[Object], Amounts]] = {}

    def of(self, pod: Object) -> Amounts:
        containers = pod["spec"]["containers"]
        found = self._known.get(id(containers))
        # What is kept here keeps its list alive, so that no other list can have its identity.
        if found is not None and found[0] is containers:
            return found[1]
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        amounts = total(listed((each.get("resources") or {}).get("requests")) for each in containers)
        self._known[id(containers)] = (containers, amounts)
        return amounts


_requests = _Requests()


def pod_amounts(pod: Object) -> Amounts:
    """What the containers of a pod request."""
    return _requests.of(pod)


def takes_room(pod: Object, rule: str) -> bool:
    """Whether a pod takes room on its node: `running` pods only, or all that are `bound` and not over."""
    if not pod["spec"].get("nodeName"):
        return False
    phase = (pod.get("status") or {}).get("phase")
    return phase == "Running" if rule == "running" else phase not in ("Succeeded", "Failed")


def label_of(pod: Object) -> str:
    """The name of the wrapper that a pod belongs to."""
    labels = pod["metadata"].get("labels")
    if not labels:
        return ""
    return labels.get(LABELS[1]) or labels.get(LABELS[0]) or ""


class _Group:
    """The pods of one wrapper."""

    __slots__ = ("counts", "unscheduled")

    def __init__(self) -> None:
        self.counts = PodCounts()
        self.unscheduled: dict[tuple[str, str], Object] = {}


class PodCounter:
    """The pods of all wrappers of one store."""

    def __init__(self, store: Store, pods: Iterable[Object], *, with_succeeded: bool) -> None:
        #: Whether pods that have succeeded still count as using what they asked for.
        self._with_succeeded = with_succeeded
        self._groups: dict[str, _Group] = {}
        for pod in pods:
            self._add(pod, 1)
        self.stop = store.listen("pods", self._notice)

    def counts(self, key: Key) -> PodCounts:
        """The pods of the wrappers of this name, in whatever namespace; not to be changed."""
        group = self._groups.get(key[1])
        return group.counts if group is not None else PodCounts()

    def unscheduled(self, key: Key) -> list[Object]:
        """The conditions of pending pods for which no node was found."""
        group = self._groups.get(key[1])
        return [_unscheduled(pod) for pod in group.unscheduled.values()] if group is not None else []

    def _notice(self, change: Change) -> None:
        old, new = change.old, change.new
        if old is not None and new is not None and _counts_alike(old, new):
            if new["status"].get("phase") == "Pending":
                self._look_for_node(new)
            return
        if old is not None:
            self._add(old, -1)
        if new is not None:
            self._add(new, 1)

    def _look_for_node(self, pod: Object) -> None:
        """Note whether a pending pod has been found to fit on no node."""
        group = self._groups.get(label_of(pod))
        if group is not None:
            place = (pod["metadata"]["namespace"], pod["metadata"]["name"])
            if _is_unschedulable(pod["status"]):
                group.unscheduled[place] = pod
            else:
                group.unscheduled.pop(place, None)

    def _add(self, pod: Object, by: int) -> None:
        name = label_of(pod)
        if not name:
            return
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _Group()
        counts = group.counts
        status = pod.get("status") or {}
        field = _FIELDS.get(status.get("phase", ""))
        if field is not None:
            setattr(counts, field, getattr(counts, field) + by)
        if field == "running" or (field == "succeeded" and self._with_succeeded):
            counts.used = counts.used.plus(pod_amounts(pod).times(by))
        place = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        if by > 0 and field == "pending" and _is_unschedulable(status):
            group.unscheduled[place] = pod
        else:
            group.unscheduled.pop(place, None)
        if by < 0 and not (counts.pending or counts.running or counts.succeeded or counts.failed):
            del self._groups[name]


class OwnPods:
    """The pods that wrappers own, by way of their items: counted when somebody asks."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def stop(self) -> None:
        """Nothing is listened to."""

    def counts(self, key: Key) -> PodCounts:
        counts = PodCounts()
        for pod in self._pods(key):
            field = _FIELDS.get((pod.get("status") or {}).get("phase", ""))
            if field is not None:
                setattr(counts, field, getattr(counts, field) + 1)
            if field == "running":
                counts.used = counts.used.plus(pod_amounts(pod))
        return counts

    def unscheduled(self, key: Key) -> list[Object]:
        """The conditions of pending pods for which no node was found."""
        return [_unscheduled(pod) for pod in self._pods(key) if _is_unschedulable(pod.get("status") or {})]

    def _pods(self, key: Key) -> Iterator[Object]:
        wrapper = self._store.find(APPWRAPPERS, *key)
        if wrapper is not None:
            yield from self._below(wrapper)

    def _below(self, owner: Object) -> Iterator[Object]:
        for resource, obj in self._store.owned_by(owner["metadata"]["uid"]):
            if resource == "pods":
                yield obj
            else:
                yield from self._below(obj)


def _unscheduled(pod: Object) -> Object:
    return {"podname": pod["metadata"]["name"], "conditions": pod["status"]["conditions"]}


def _counts_alike(old: Object, new: Object) -> bool:
    """Whether a change of a pod makes no difference to what is counted."""
    same = (old.get("status") or {}).get("phase") == (new.get("status") or {}).get("phase")
    return same and old["metadata"].get("labels") is new["metadata"].get("labels")


def _is_unschedulable(status: Object) -> bool:
    for each in status.get("conditions") or ():
        if each["type"] == "PodScheduled":
            # Co-schedulers say so of every pod of a group that waits for the others.
            waits = "pod group" in each.get("message", "").lower()
            return each["status"] == "False" and each.get("reason") == "Unschedulable" and not waits
    return False
