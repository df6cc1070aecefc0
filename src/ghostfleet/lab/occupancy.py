"""Occupancy: how the GPUs of a cluster are used over time, as its API tells it.

The GPUs that are *there* are those that nodes offer as allocatable. *In use* are those that pods hold: what a pod
requests, from its binding to a node until it has ended (Succeeded, Failed or gone), whoever owns it; those that the
run's own pods hold are told apart. A node cannot lend more than it has, and one that is gone lends nothing. All others
are *free*. Free GPUs are *stranded* where the largest request that was seen so far cannot use them: on a node with `n`
free ones a request for `r` leaves `n mod r` over, and on a node that takes no pods, all of them. The *largest block* is
the most that one node has free. Pods without a node *wait*; those of which the scheduler said that no node will do
are *refused*.

All of that is kept up to date by watches of nodes and pods, and a *point* is written down whenever it has changed: what
was true at the end of that instant, and until the next point. So a series of points tells the use at every moment.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import value
from ghostfleet.drive.interface import NODES, PODS, Cluster, Refused
from ghostfleet.lab.survey import GPU_RESOURCES
from ghostfleet.schedulers.framework.podinfo import pod_requests

__all__ = ["COLUMNS", "GpuOccupancy", "Point"]

_ENDS = ("Succeeded", "Failed")
_FORBIDDEN = 403
#: A label that nothing has: to ask for all pods without getting any.
_NOTHING = "ghostfleet.dev/nothing=nothing"


class Point(NamedTuple):
    """What is true from one time on; GPUs, but for the time, in microseconds, and the pods."""

    time: int
    there: int
    in_use: int
    by_run: int
    stranded: int
    largest_block: int
    waiting: int
    waiting_pods: int
    refused_pods: int


#: The fields of a point, by the names that they have in files.
COLUMNS = (
    "time",
    "there",
    "inUse",
    "byRun",
    "stranded",
    "largestBlock",
    "waiting",
    "waitingPods",
    "refusedPods",
)


class _Node:
    """A node: what it offers, and what pods on it hold. It may be unknown, or gone, and pods still name it."""

    __slots__ = ("asked", "by_run", "offers", "open")

    def __init__(self) -> None:
        self.offers = 0
        self.open = False
        self.asked = 0
        self.by_run = 0

    @property
    def in_use(self) -> int:
        return min(self.asked, self.offers)


class _Pod(NamedTuple):
    """What is known of a pod that counts: its node ("" while it waits), its GPUs, and whose it is."""

    node: str
    gpus: int
    ours: bool = False
    refused: bool = False


class GpuOccupancy:
    """Counts GPUs that are there and in use, from watches. `owns` says whether a pod is of the run."""

    def __init__(self, cluster: Cluster, namespaces: Collection[str], owns: Callable[[Object], bool]) -> None:
        self._cluster = cluster
        self._namespaces = sorted(namespaces)
        self._owns = owns
        self._nodes: dict[str, _Node] = {}
        self._pods: dict[str, _Pod] = {}
        #: How many open nodes have so many GPUs free.
        self._free: Counter[int] = Counter()
        #: Free GPUs of nodes that take no pods.
        self._closed = 0
        self._there = self._in_use = self._by_run = 0
        self._waiting = self._waiting_pods = self._refused_pods = 0
        self._columns = {name: array("q") for name in COLUMNS}
        self._time = cluster.now()
        self._changed = False
        self._stops: list[Callable[[], None]] = []
        self._last_spec: tuple[Any, Any, int] = (None, None, 0)
        #: The largest request so far.
        self.request = 0
        #: Whether pods of all namespaces are seen, not only those of the run.
        self.whole = True

    # -- watching ----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Watch all nodes and pods, or the run's pods where no others may be seen."""
        if not self._cluster.info.ghostfleet:
            self.whole = await self._may_see_all()
        self._stops.append(self._cluster.watch(NODES, "", "", self.see_node))
        for namespace in [""] if self.whole else self._namespaces:
            self._stops.append(self._cluster.watch(PODS, namespace, "", self.see_pod))

    async def _may_see_all(self) -> bool:
        try:
            await self._cluster.list(PODS, "", _NOTHING)
        except Refused as refusal:
            if refusal.code != _FORBIDDEN:
                raise
            return False
        return True

    def stop(self) -> None:
        """End the watches; the last point is of now."""
        while self._stops:
            self._stops.pop()()
        self._note()
        now = self._cluster.now()
        if now > self._time:
            self._time = now
            self._write_point()

    # -- what was seen -----------------------------------------------------------------------------------------------

    def points(self) -> Iterator[Point]:
        """All points so far, but for the instant that is not over."""
        return map(Point._make, zip(*self._columns.values(), strict=True))

    def written(self) -> dict[str, Any]:
        """The series as it stands in its file: a list for each column, and what they mean."""
        columns: dict[str, Any] = {name: column.tolist() for name, column in self._columns.items()}
        return {"request": self.request, "whole": self.whole, **columns}

    def see_node(self, now: int, event: str, obj: Object) -> None:
        self._at(now)
        name = obj["metadata"]["name"]
        node = self._nodes.get(name)
        if event == "DELETED":
            if node is not None:
                self._change(name, node, offers=0, is_open=False)
            return
        status = obj.get("status") or {}
        offers = sum(value(amount) for key, amount in (status.get("allocatable") or {}).items() if key in GPU_RESOURCES)
        is_open = not (obj.get("spec") or {}).get("unschedulable") and _ready(status)
        if node is None:
            node = self._nodes[name] = _Node()
        if offers != node.offers or is_open is not node.open:
            self._change(name, node, offers=offers, is_open=is_open)

    def see_pod(self, now: int, event: str, obj: Object) -> None:
        uid = obj["metadata"]["uid"]
        before = self._pods.get(uid)
        after = self._state(before, obj) if event != "DELETED" else None
        # Most of what happens to a pod changes nothing here.
        if after != before:
            self._at(now)
            self._replace(uid, before, after)

    def _state(self, before: _Pod | None, obj: Object) -> _Pod | None:
        """What a pod is now; None when it has ended."""
        spec, status = obj["spec"], obj.get("status") or {}
        if status.get("phase") in _ENDS:
            return None
        node = spec.get("nodeName") or ""
        gpus = before.gpus if before is not None else self._gpus(spec)
        if not node:
            return _Pod("", gpus, refused=_refused(status))
        # On a cluster behind an address a pod may be seen before the workload that it belongs to.
        ours = gpus > 0 and ((before is not None and before.ours) or self._owns(obj))
        return _Pod(node, gpus, ours)

    # -- keeping count -----------------------------------------------------------------------------------------------

    def _at(self, now: int) -> None:
        """Something changes now: what was true until now has come to its end."""
        if now > self._time:
            self._note()
            self._time = now

    def _replace(self, uid: str, before: _Pod | None, after: _Pod | None) -> None:
        if before is not None:
            self._count(before, -1)
        if after is None:
            self._pods.pop(uid, None)
        else:
            self._pods[uid] = after
            self.request = max(self.request, after.gpus)
            self._count(after, 1)
        self._changed = True

    def _count(self, pod: _Pod, sign: int) -> None:
        if not pod.node:
            self._waiting_pods += sign
            self._refused_pods += sign * pod.refused
            self._waiting += sign * pod.gpus
        elif pod.gpus:
            node = self._nodes.get(pod.node)
            if node is None:
                node = self._nodes[pod.node] = _Node()
            asked = sign * pod.gpus
            self._change(pod.node, node, asked=asked, by_run=asked if pod.ours else 0)

    def _change(
        self,
        name: str,
        node: _Node,
        *,
        offers: int | None = None,
        is_open: bool | None = None,
        asked: int = 0,
        by_run: int = 0,
    ) -> None:
        """Change what a node offers, or what pods hold of it; the totals follow."""
        self._total(node, -1)
        node.asked += asked
        node.by_run += by_run
        if offers is not None:
            node.offers = offers
        if is_open is not None:
            node.open = is_open
        self._total(node, 1)
        if not node.offers and not node.asked and not node.open:
            del self._nodes[name]
        self._changed = True

    def _total(self, node: _Node, sign: int) -> None:
        in_use = node.in_use
        free = node.offers - in_use
        self._there += sign * node.offers
        self._in_use += sign * in_use
        self._by_run += sign * min(node.by_run, in_use)
        if not free:
            return
        if not node.open:
            self._closed += sign * free
            return
        self._free[free] += sign
        if not self._free[free]:
            del self._free[free]

    def _gpus(self, spec: Object) -> int:
        """The GPUs that a pod requests; pods of one template share their containers, so that these are counted once."""
        containers, starting = spec["containers"], spec.get("initContainers")
        last = self._last_spec
        if last[0] is containers and last[1] is starting:
            return last[2]
        asked = pod_requests(spec).asked
        gpus = sum(asked.get(name, 0) for name in GPU_RESOURCES)
        self._last_spec = (containers, starting, gpus)
        return gpus

    # -- points ------------------------------------------------------------------------------------------------------

    def _note(self) -> None:
        """Write down what is true at the end of the instant, if it has changed."""
        if self._changed:
            self._changed = False
            self._write_point()

    def _write_point(self) -> None:
        request = self.request
        stranded = self._closed
        if request:
            stranded += sum(free % request * nodes for free, nodes in self._free.items())
        point = (
            self._time,
            self._there,
            self._in_use,
            self._by_run,
            stranded,
            max(self._free, default=0),
            self._waiting,
            self._waiting_pods,
            self._refused_pods,
        )
        for column, number in zip(self._columns.values(), point, strict=True):
            column.append(number)


def _ready(status: Object) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or ())


def _refused(status: Object) -> bool:
    return any(
        each["type"] == "PodScheduled" and each["status"] == "False" and each.get("reason") == "Unschedulable"
        for each in status.get("conditions") or ()
    )
