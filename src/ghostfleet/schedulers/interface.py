"""How a scheduler of your own is plugged in: a snapshot in, decisions out.

A *scheduler* is any class with a method `schedule(snapshot)` that answers what to do: `Bind(pod, node)` for a pod
that is to run on a node, `Refuse(pod, message)` for one that cannot run now. The *snapshot* shows nodes, with what
they have and what is left of it, and the pods that wait for this scheduler, by priority and age; it is a picture to
look at and to reserve room in (`NodeView.take`), and nothing in the cluster changes until the decisions are written.
Pods ask for the scheduler by spec.schedulerName, which is the class attribute `name`. A file with such a class is
named `path.py:Class`.

The *runner* calls the scheduler whenever pods or nodes changed while pods wait, and writes what it decides: bindings,
and for refused pods the PodScheduled condition and an event. A pod that the scheduler says nothing about just waits
on.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ghostfleet.api.subresources import bound
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import Clock, Handle
from ghostfleet.core.quantity import milli, value
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.schedulers.kube.recorder import Recorder
from ghostfleet.schedulers.kube.requests import CPU, PODS, is_counted, pod_requests

__all__ = ["Bind", "NodeView", "PodView", "Refuse", "Runner", "Scheduler", "Snapshot", "load_scheduler"]


@dataclass(frozen=True)
class PodView:
    """A pod that waits: the object, and what it asks for (CPU in thousandths)."""

    object: Object
    requests: Mapping[str, int]

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.object['metadata']['namespace']}/{self.object['metadata']['name']}"

    @property
    def priority(self) -> int:
        return self.object["spec"].get("priority") or 0


@dataclass
class NodeView:
    """A node: the object, the pods on it, and what is left of its resources."""

    object: Object
    free: dict[str, int]
    pods: list[Object] = field(default_factory=list)

    @property
    def name(self) -> str:
        name: str = self.object["metadata"]["name"]
        return name

    @property
    def labels(self) -> Mapping[str, str]:
        return self.object["metadata"].get("labels") or {}

    def fits(self, pod: PodView) -> bool:
        """Whether there is room for a pod."""
        room = all(self.free.get(resource, 0) >= amount for resource, amount in pod.requests.items() if amount)
        return room and self.free.get(PODS, 0) > 0

    def take(self, pod: PodView) -> None:
        """Count a pod as being here, in this snapshot only."""
        for resource, amount in pod.requests.items():
            self.free[resource] = self.free.get(resource, 0) - amount
        self.free[PODS] = self.free.get(PODS, 0) - 1
        self.pods.append(pod.object)


@dataclass(frozen=True)
class Snapshot:
    """What a scheduler sees."""

    nodes: list[NodeView]
    #: Pods that wait for it, the most important first, then the oldest.
    pending: list[PodView]
    #: Cluster time in microseconds.
    now: int


@dataclass(frozen=True)
class Bind:
    """Run a pod on a node."""

    pod: PodView
    node: str


@dataclass(frozen=True)
class Refuse:
    """Tell that a pod cannot run now, and why."""

    pod: PodView
    message: str


class Scheduler(Protocol):
    """What a scheduler must have."""

    #: What pods ask for by spec.schedulerName.
    name: str

    def schedule(self, snapshot: Snapshot) -> Iterable[Bind | Refuse]:
        """Decide about pods that wait."""


def load_scheduler(place: str) -> Scheduler:
    """Make the scheduler that `path.py:Class` names."""
    path, separator, class_name = place.rpartition(":")
    if not separator or not path.endswith(".py"):
        raise ValueError(f"scheduler {place!r}: expected path.py:Class")
    if not Path(path).is_file():
        raise ValueError(f"scheduler {place!r}: there is no file {path}")
    name = f"ghostfleet_scheduler_{Path(path).stem.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"scheduler {place!r}: {path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and the like look their module up by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    made = getattr(module, class_name, None)
    if not isinstance(made, type):
        raise ValueError(f"scheduler {place!r}: there is no class {class_name} in {path}")
    try:
        scheduler = made()
    except TypeError as error:
        raise ValueError(f"scheduler {place!r}: {class_name} cannot be made without arguments: {error}") from None
    if not isinstance(getattr(scheduler, "name", None), str) or not callable(getattr(scheduler, "schedule", None)):
        raise ValueError(f"scheduler {place!r}: {class_name} needs a `name` and a method `schedule(snapshot)`")
    plugged: Scheduler = scheduler
    return plugged


class Runner:
    """Runs a scheduler on one store and one clock."""

    def __init__(self, store: Store, clock: Clock, scheduler: Scheduler) -> None:
        self._store = store
        self._clock = clock
        self._scheduler = scheduler
        #: Whose decisions they are, for the watchdog.
        self.acts_for = scheduler.schedule
        self._recorder = Recorder(store, scheduler.name)
        self._handle: Handle | None = None
        self._pending: dict[tuple[str, str], None] = {}
        self._stops = [store.listen("pods", self._pod_changed), store.listen("nodes", lambda _: self._soon())]
        for pod in store.list("pods"):
            if self._waits(pod):
                self._pending[pod["metadata"]["namespace"], pod["metadata"]["name"]] = None
        self._soon()

    def stop(self) -> None:
        """Take no more notice of the store."""
        for stop in self._stops:
            stop()
        if self._handle is not None:
            self._handle.cancel()

    def _waits(self, pod: Object) -> bool:
        spec = pod["spec"]
        mine = spec.get("schedulerName") == self._scheduler.name and not spec.get("schedulingGates")
        return mine and not spec.get("nodeName") and "deletionTimestamp" not in pod["metadata"] and not _over(pod)

    def _pod_changed(self, change: Change) -> None:
        place = (change.namespace, change.name)
        if change.new is not None and self._waits(change.new):
            fresh = place not in self._pending
            self._pending[place] = None
            if not fresh and change.old is not None and change.old["spec"] == change.new["spec"]:
                # Only its status was written, most likely by ourselves.
                return
        else:
            self._pending.pop(place, None)
        self._soon()

    def _soon(self) -> None:
        if self._handle is None and self._pending:
            self._handle = self._clock.call_soon(self._run)

    def _run(self) -> None:
        self._handle = None
        for decision in self._scheduler.schedule(self.snapshot()):
            if isinstance(decision, Bind):
                self._bind(decision)
            else:
                self._refuse(decision)

    def snapshot(self) -> Snapshot:
        """The cluster as it is now."""
        views: dict[str, NodeView] = {}
        for node in self._store.list("nodes"):
            listed = (node.get("status") or {}).get("allocatable") or {}
            free = {
                name: milli(amount) if name == CPU else value(amount)
                for name, amount in listed.items()
                if is_counted(name) or name == PODS
            }
            views[node["metadata"]["name"]] = NodeView(node, free)
        for pod in self._store.list("pods"):
            view = views.get(pod["spec"].get("nodeName", ""))
            if view is not None and not _over(pod):
                view.take(PodView(pod, pod_requests(pod["spec"]).asked))
        pods = [self._store.find("pods", *place) for place in self._pending]
        pending = [PodView(pod, pod_requests(pod["spec"]).asked) for pod in pods if pod is not None]
        pending.sort(key=lambda view: (-view.priority, view.object["metadata"]["creationTimestamp"]))
        return Snapshot(list(views.values()), pending, self._clock.now())

    def _bind(self, decision: Bind) -> None:
        pod = self._current(decision.pod)
        if pod is None:
            return
        if self._store.find("nodes", "", decision.node) is None:
            name = self._scheduler.name
            raise ValueError(f"scheduler {name}: there is no node {decision.node!r} to bind {decision.pod.key} to")
        self._store.update("pods", bound(pod, decision.node, rfc3339(self._clock.now()), {}))
        self._recorder.record_bindings([(pod, decision.node)])

    def _refuse(self, decision: Refuse) -> None:
        pod = self._current(decision.pod)
        if pod is None:
            return
        status = pod.get("status") or {}
        known = [each for each in status.get("conditions") or () if each.get("type") == "PodScheduled"]
        if known and known[0].get("message") == decision.message:
            return
        others = [each for each in status.get("conditions") or () if each.get("type") != "PodScheduled"]
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": known[0].get("lastTransitionTime") if known else rfc3339(self._clock.now()),
            "reason": "Unschedulable",
            "message": decision.message,
        }
        self._recorder.record(pod, "Warning", "FailedScheduling", "Scheduling", decision.message)
        metadata = pod["metadata"]
        changed = {**status, "conditions": [*others, condition]}
        self._store.patch_status("pods", metadata["namespace"], metadata["name"], changed)

    def _current(self, view: PodView) -> Object | None:
        """The pod as it is stored, if it still waits."""
        metadata = view.object["metadata"]
        pod = self._store.find("pods", metadata["namespace"], metadata["name"])
        return pod if pod is not None and pod["metadata"]["uid"] == metadata["uid"] and self._waits(pod) else None


def _over(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
