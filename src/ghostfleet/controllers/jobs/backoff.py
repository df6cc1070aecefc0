"""Back-off: how long a Job waits before it replaces failed pods.

Ten seconds after the first failure, twice as long after each further one, ten minutes at most; a success starts the
count anew. Where each index has its own limit it also has its own wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.timestamps import parse_rfc3339

__all__ = ["Failures", "failure_count", "finished_at", "remaining"]

FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
IGNORED_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"


class Failures(NamedTuple):
    """Failures since the last success, and when the last one was."""

    number: int = 0
    last: int = 0

    def after(self, succeeded: Sequence[Object], failed: Sequence[Object]) -> Failures:
        """The failures once these pods have ended too."""
        if not failed:
            return _NONE if succeeded else self
        times = sorted(map(finished_at, failed))
        if not succeeded:
            return Failures(self.number + len(times), times[-1])
        success = max(map(finished_at, succeeded))
        times = [time for time in times if time > success]
        return Failures(len(times), times[-1]) if times else _NONE


_NONE = Failures()


def remaining(failures: int, last: int, now: int, base: int, limit: int) -> int:
    """Microseconds left to wait after a number of failures, the last of them at `last`."""
    if not failures:
        return 0
    wait = min(base << min(failures - 1, 40), limit)
    return max(wait - (now - last), 0)


def finished_at(pod: Object) -> int:
    """When a pod ended: its last container did, or it lost its readiness, or it was to go."""
    status, metadata = pod["status"], pod["metadata"]
    times: list[str] = [
        ((each.get("state") or {}).get("terminated") or {}).get("finishedAt") or ""
        for each in status.get("containerStatuses") or ()
    ]
    if times and all(times):
        return max(map(parse_rfc3339, times))
    for condition in status.get("conditions") or ():
        if condition["type"] == "Ready" and condition["status"] == "False" and condition.get("lastTransitionTime"):
            return parse_rfc3339(condition["lastTransitionTime"])
    if "deletionTimestamp" in metadata:
        grace = metadata.get("deletionGracePeriodSeconds") or 0
        return parse_rfc3339(metadata["deletionTimestamp"]) - grace * SECOND
    return parse_rfc3339(metadata["creationTimestamp"])


def failure_count(pod: Object, annotation: str = FAILURE_COUNT) -> int:
    """How often the index of a pod had failed before it."""
    text = (pod["metadata"].get("annotations") or {}).get(annotation, "")
    return int(text) if text.isascii() and text.isdigit() else 0
