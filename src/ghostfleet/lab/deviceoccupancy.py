"""The DRA devices of a cluster over time, and how long claims wait for theirs, as its API tells it.

Devices are *there* when a slice of the newest generation of their pool publishes them, and *allocated* when some claim
holds them (with admin access nobody holds a device). A claim *waits* until it is allocated. A *point* is written
whenever one of these has changed: what was true at the end of that instant, and until the next point. For each claim in
the run's namespaces that came while it was watched, its *times* tell when it was seen created, allocated, and reserved
for somebody, 0 where that did not happen.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from ghostfleet.core.changes import Object
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.drive.interface import Cluster
from ghostfleet.lab.deviceclaims import CLAIM
from ghostfleet.lab.types import KindName

__all__ = ["CLAIM_TIMES", "COLUMNS", "DeviceOccupancy", "Point"]

_SLICE = KindName("resource.k8s.io/v1", "ResourceSlice")
#: Driver, pool, device.
_Device = tuple[str, str, str]


class Point(NamedTuple):
    """What is true from one time on, in microseconds."""

    time: int
    there: int
    allocated: int
    claims: int
    waiting: int


#: The fields of a point, by the names that they have in files.
COLUMNS = ("time", "there", "allocated", "claims", "waitingClaims")
#: What is known of a claim, in the order in which it comes.
CLAIM_TIMES = ("created", "allocated", "reserved")


class _Pool:
    """How many devices each slice of a pool has, by generation and name."""

    __slots__ = ("slices",)

    def __init__(self) -> None:
        self.slices: dict[str, tuple[int, int]] = {}

    @property
    def devices(self) -> int:
        newest = max((generation for generation, _ in self.slices.values()), default=0)
        return sum(count for generation, count in self.slices.values() if generation == newest)


class DeviceOccupancy:
    """Counts devices that are there and allocated, from watches of slices and claims."""

    def __init__(self, cluster: Cluster, namespaces: Collection[str]) -> None:
        self._cluster = cluster
        self._namespaces = frozenset(namespaces)
        #: When the watches began.
        self._since = ""
        self._pools: dict[tuple[str, str], _Pool] = {}
        #: Which devices claims hold, by uid; none while they wait.
        self._claims: dict[str, tuple[_Device, ...] | None] = {}
        self._held: Counter[_Device] = Counter()
        self._there = self._waiting = 0
        self._columns = {name: array("q") for name in COLUMNS}
        self._times: dict[str, list[int]] = {}
        self._time = cluster.now()
        self._changed = False
        self._stops: list[Callable[[], None]] = []

    async def start(self) -> None:
        """Watch slices and claims, if the cluster has such kinds."""
        self._since = rfc3339(self._cluster.now())
        for name, see in ((_SLICE, self.see_slice), (CLAIM, self.see_claim)):
            kind = await self._cluster.resolve(*name)
            if kind is not None:
                self._stops.append(self._cluster.watch(kind, "", "", see))

    def stop(self) -> None:
        """End the watches; the last point is of now."""
        while self._stops:
            self._stops.pop()()
        self._note()
        now = self._cluster.now()
        if now > self._time:
            self._time = now
            self._write_point()

    @property
    def seen(self) -> bool:
        """Whether there were any devices or claims."""
        return any(self._columns["there"]) or any(self._columns["claims"])

    def written(self) -> dict[str, Any]:
        """The series as it stands in its file: a list for each column, and the times of claims."""
        columns: dict[str, Any] = {name: column.tolist() for name, column in self._columns.items()}
        times = {name: [each[at] for each in self._times.values()] for at, name in enumerate(CLAIM_TIMES)}
        return {**columns, "claimTimes": times}

    # -- seeing ------------------------------------------------------------------------------------------------------

    def see_slice(self, now: int, event: str, obj: Object) -> None:
        self._at(now)
        spec = obj["spec"]
        key = spec["driver"], spec["pool"]["name"]
        pool = self._pools.setdefault(key, _Pool())
        self._there -= pool.devices
        if event == "DELETED":
            pool.slices.pop(obj["metadata"]["name"], None)
        else:
            count = len(spec.get("devices") or ())
            pool.slices[obj["metadata"]["name"]] = spec["pool"].get("generation", 0), count
        self._there += pool.devices
        if not pool.slices:
            del self._pools[key]
        self._changed = True

    def see_claim(self, now: int, event: str, obj: Object) -> None:
        metadata, status = obj["metadata"], obj.get("status") or {}
        uid, allocation = metadata["uid"], status.get("allocation")
        held = tuple(_held(allocation)) if allocation is not None else None
        if event == "DELETED":
            self._at(now)
            self._forget(uid)
            return
        if uid not in self._claims or self._claims[uid] != held:
            self._at(now)
            self._forget(uid)
            self._claims[uid] = held
            self._held.update(held or ())
            self._waiting += held is None
        if metadata["namespace"] in self._namespaces:
            self._time_claim(now, event, metadata, allocation is not None, bool(status.get("reservedFor")))

    def _forget(self, uid: str) -> None:
        self._changed = True
        if uid in self._claims:
            held = self._claims.pop(uid)
            self._waiting -= held is None
            for device in held or ():
                self._held[device] -= 1
                if not self._held[device]:
                    del self._held[device]

    def _time_claim(self, now: int, event: str, metadata: Object, allocated: bool, reserved: bool) -> None:
        times = self._times.get(metadata["uid"])
        if times is None:
            if event != "ADDED" or metadata["creationTimestamp"] < self._since:
                return
            times = self._times[metadata["uid"]] = [now, 0, 0]
        if allocated and not times[1]:
            times[1] = now
        if reserved and not times[2]:
            times[2] = now

    # -- points ------------------------------------------------------------------------------------------------------

    def _at(self, now: int) -> None:
        """Something changes now: what was true until now has come to its end."""
        if now > self._time:
            self._note()
            self._time = now

    def _note(self) -> None:
        if self._changed:
            self._changed = False
            self._write_point()

    def _write_point(self) -> None:
        point = Point(self._time, self._there, len(self._held), len(self._claims), self._waiting)
        for column, number in zip(self._columns.values(), point, strict=True):
            column.append(number)


def _held(allocation: Object) -> list[_Device]:
    results = (allocation.get("devices") or {}).get("results") or ()
    return [(each["driver"], each["pool"], each["device"]) for each in results if not each.get("adminAccess")]
