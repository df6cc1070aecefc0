"""ResourceClaimAllocationLatency: how long claims wait for devices (`slos/resourceclaim_allocation_latency.go`).

The moments are those at which a watch tells of a claim and of its allocation; a claim that has its devices when it is
first seen says nothing and is left out. A claim that was made for a pod also tells how long after the pod that was.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.clusterloader.measurements.measurement import (
    DONE,
    Context,
    MeasurementError,
    Outcome,
    unknown_action,
)
from ghostfleet.clusterloader.measurements.selecting import ObjectSelector
from ghostfleet.clusterloader.params import Params
from ghostfleet.clusterloader.summaries import DataItem, Summary, latency_item, latency_metric, perf_data
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.durations import format_duration
from ghostfleet.drive.interface import PODS, Kind

__all__ = ["ResourceClaimAllocationLatency"]

_CLAIMS = Kind("resource.k8s.io", "v1", "resourceclaims")
_THRESHOLD = 300 * SECOND


class ResourceClaimAllocationLatency:
    """See the module."""

    def __init__(self) -> None:
        self._created: dict[str, int] = {}
        self._allocated: dict[str, int] = {}
        self._owners: dict[str, str] = {}
        self._pods: dict[str, int] = {}
        self._threshold = _THRESHOLD
        self._stops: list[Callable[[], None]] = []

    async def execute(self, context: Context, params: Params) -> Outcome:
        action = params.text("action")
        if action == "start":
            if not self._stops:
                await self._start(context, params)
            return DONE
        if action == "gather":
            if not self._stops:
                raise MeasurementError("the measurement was not started")
            self.dispose()
            return self._gathered(context.identifier, context.cluster.now())
        raise unknown_action(action, "start", "gather")

    def dispose(self) -> None:
        for stop in self._stops:
            stop()
        self._stops = []

    async def _start(self, context: Context, params: Params) -> None:
        if await context.cluster.resolve("resource.k8s.io/v1", "ResourceClaim") is None:
            raise MeasurementError("the cluster does not serve ResourceClaim (resource.k8s.io/v1)")
        self._threshold = params.duration("threshold", _THRESHOLD)
        selector = ObjectSelector.read(params)
        # Claims made from templates have no labels of their own; the pods that they are for do not matter here.
        self._stops.append(selector.watch(context.cluster, _CLAIMS, self._claim_seen))
        self._stops.append(context.cluster.watch(PODS, selector.namespace, "", self._pod_seen))

    def _claim_seen(self, time: int, event: str, claim: Object) -> None:
        uid, status = claim["metadata"]["uid"], claim.get("status") or {}
        if event == "DELETED":
            return
        allocated = bool(status.get("allocation") or status.get("reservedFor") or status.get("devices"))
        if uid not in self._created:
            self._created[uid] = 0 if allocated else time
            for owner in claim["metadata"].get("ownerReferences") or ():
                if owner["kind"] == "Pod":
                    self._owners[uid] = owner["uid"]
        if allocated and uid not in self._allocated:
            self._allocated[uid] = time

    def _pod_seen(self, time: int, event: str, pod: Object) -> None:
        if event != "DELETED":
            self._pods.setdefault(pod["metadata"]["uid"], time)

    def _gathered(self, identifier: str, now: int) -> Outcome:
        known = {uid: time for uid, time in self._created.items() if time}
        allocation = latency_metric(
            self._allocated[uid] - time for uid, time in known.items() if uid in self._allocated
        )
        made = latency_metric(
            max(0, known[claim] - self._pods[pod])
            for claim, pod in self._owners.items()
            if claim in known and pod in self._pods
        )
        items = [
            latency_item("claim_allocation", allocation),
            latency_item("pod_create_to_claim_create", made),
            # The pods of claims are watched, so none is ever asked for.
            DataItem({"PodGetCalls": 0.0}, "count", {"Metric": "pod_get_calls"}),
        ]
        errors = []
        if allocation.perc99 > self._threshold:
            limit = format_duration(self._threshold)
            errors.append(f"claim allocation: expected perc99 <= {limit}, got {format_duration(allocation.perc99)}")
        name = f"ResourceClaimAllocationLatency_{identifier}"
        return Outcome([Summary(name, "json", perf_data(items), now)], errors)
