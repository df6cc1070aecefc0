"""The timeline of a test: when each of its pods was created, got a node, ran and ended, for the report.

Only pods in the test's own namespaces count. Pods that are deleted stay in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ghostfleet.core.changes import Object
from ghostfleet.drive.interface import PODS, Cluster

__all__ = ["PodTimeline", "PodTimes"]


@dataclass(slots=True)
class PodTimes:
    """When a pod came to each point, in microseconds; 0 where it has not."""

    namespace: str
    name: str
    created: int
    bound: int = 0
    running: int = 0
    ended: int = 0
    failed: bool = False
    node: str = ""


class PodTimeline:
    """The pods of one test."""

    def __init__(self, prefix: str) -> None:
        self._prefix = f"{prefix}-"
        self._pods: dict[str, PodTimes] = {}
        self._stop: Callable[[], None] | None = None

    @property
    def pods(self) -> list[PodTimes]:
        return list(self._pods.values())

    def start(self, cluster: Cluster) -> None:
        self._stop = cluster.watch(PODS, "", "", self._seen)

    def stop(self) -> None:
        if self._stop is not None:
            self._stop()
            self._stop = None

    def _seen(self, time: int, event: str, pod: Object) -> None:
        metadata = pod["metadata"]
        namespace = metadata["namespace"]
        if not namespace.startswith(self._prefix):
            return
        known = self._pods.get(metadata["uid"])
        if known is None:
            if event == "DELETED":
                return
            known = self._pods[metadata["uid"]] = PodTimes(namespace, metadata["name"], time)
        if not known.bound and pod["spec"].get("nodeName"):
            known.bound, known.node = time, pod["spec"]["nodeName"]
        phase = (pod.get("status") or {}).get("phase")
        if not known.running and phase == "Running":
            known.running = time
        if not known.ended and (event == "DELETED" or phase in ("Succeeded", "Failed")):
            known.ended, known.failed = time, phase == "Failed"
