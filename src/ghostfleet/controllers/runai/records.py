"""Records: what the controller knows of a RunaiJob's pods without looking at them again.

A pod is *active* until it ends or is to go, and holds its index meanwhile; an index that has succeeded is done with.
Successes and failures are counted when they happen, so that pods which are cleared away later still count.
"""

from __future__ import annotations

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import Clock

__all__ = ["RunaiJobRecord"]

_WAITING, _RUNNING, _SUCCEEDED, _FAILED, _LEAVING = range(5)
_STATES = {"Running": _RUNNING, "Succeeded": _SUCCEEDED, "Failed": _FAILED}


def _state(pod: Object) -> int:
    state = _STATES.get(pod["status"].get("phase"), _WAITING)
    return _LEAVING if state <= _RUNNING and "deletionTimestamp" in pod["metadata"] else state


class RunaiJobRecord:
    """The pods of one job."""

    __slots__ = (
        "_clock",
        "_done",
        "_states",
        "_tries",
        "active",
        "backoff_limit",
        "completions",
        "failed",
        "key",
        "last_failure",
        "own_write",
        "parallelism",
        "running",
        "succeeded",
        "suspended",
    )

    def __init__(self, job: Object, clock: Clock) -> None:
        metadata = job["metadata"]
        self._clock = clock
        self.key: tuple[str, str] = (metadata["namespace"], metadata["name"])
        self.look_at(job)
        #: States of pods that are there, by name.
        self._states: dict[str, int] = {}
        self._done: set[int] = set()
        self._tries: dict[int, int] = {}
        self.active = 0
        self.running = 0
        self.succeeded = 0
        self.failed = 0
        self.last_failure = 0
        #: The controller is creating a pod itself, and needs no reminder of it.
        self.own_write = False

    def look_at(self, job: Object) -> None:
        """Take note of a job's spec."""
        spec = job["spec"]
        self.completions: int = spec.get("completions", 1)
        self.parallelism: int = spec.get("parallelism", 1)
        self.backoff_limit: int = spec.get("backoffLimit", 6)
        self.suspended = bool(spec.get("suspend"))

    def active_pods(self) -> list[str]:
        return [name for name, state in self._states.items() if _is_active(state)]

    def free_indexes(self) -> list[int]:
        """Indexes that are to be tried now."""
        room = min(self.parallelism, self.completions - self.succeeded) - self.active
        if room <= 0:
            return []
        held = {self._place(name)[0] for name in self.active_pods()}
        free = (index for index in range(self.completions) if index not in held and index not in self._done)
        return [index for index, _ in zip(free, range(room), strict=False)]

    def next_try(self, index: int) -> int:
        """The number of an index's next try."""
        return self._tries.get(index, 0)

    def note(self, pod: Object, *, gone: bool) -> bool:
        """Take note of a pod's new state; true when the job is to be looked at again."""
        name = pod["metadata"]["name"]
        before = self._states.get(name)
        after = None if gone else _state(pod)
        if before == after:
            return False
        if after is None:
            del self._states[name]
        else:
            self._states[name] = after
        self.active += _is_active(after) - _is_active(before)
        self.running += (after == _RUNNING) - (before == _RUNNING)
        index, attempt = self._place(name)
        if before is None:
            self._tries[index] = max(self._tries.get(index, 0), attempt + 1)
        if after == _SUCCEEDED and index not in self._done:
            self._done.add(index)
            self.succeeded += 1
        elif after == _FAILED:
            self.failed += 1
            self.last_failure = self._clock.now()
        return True

    def _place(self, pod: str) -> tuple[int, int]:
        """The index and the try in a pod's name; those of a pod with another name are nobody's."""
        index, _, attempt = pod.removeprefix(f"{self.key[1]}-").partition("-")
        return (int(index), int(attempt)) if index.isdecimal() and attempt.isdecimal() else (-1, -1)


def _is_active(state: int | None) -> bool:
    return state is not None and state <= _RUNNING
