"""Work queues: what a controller still has to look at.

A controller listens to the store and only takes note, by adding a *key* to its queue; the queue calls it back, on the
clock, once per key however often the key was added meanwhile. So every controller acts after the write that woke it,
never inside it, and always on the newest state.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from ghostfleet.core.clock import Clock, Handle
from ghostfleet.core.metrics import Metrics
from ghostfleet.core.watchdog import component_of

__all__ = ["WorkQueue", "tell_of_queue"]

Key = TypeVar("Key", bound=Hashable)


#: What kube-controller-manager calls its queues, by our components; a second queue of one has its function's name.
_NAMES = {
    "cronjobs": "cronjob",
    "daemonsets": "daemonset",
    "deployments": "deployment",
    "disruption": "disruption",
    "endpoints": "endpoint",
    "garbage": "garbage_collector_attempt_to_delete",
    "jobs": "job",
    "namespaces": "namespace",
    "nodes": "node_lifecycle_controller",
    "quotas": "resourcequota_primary",
    "replicasets": "replicaset",
    "statefulsets": "statefulset",
}
_USUAL = frozenset(("_sync", "_work"))


def tell_of_queue(metrics: Metrics, work: Callable[..., object], numbers: Callable[[], tuple[int, int, int]]) -> None:
    """Make a queue known under the names that Kubernetes' queues have: `numbers` are its adds, depth and retries."""
    component = component_of(work).rpartition(".")[2]
    name, function = _NAMES.get(component, component), getattr(work, "__name__", "")
    labels = (name if function in _USUAL else f"{name}{function}",)
    adds = metrics.family("workqueue_adds_total", "counter", "Keys that were added to a queue.", "name")
    adds.read_from(lambda: {labels: numbers()[0]})
    depth = metrics.family("workqueue_depth", "gauge", "Keys that wait in a queue.", "name")
    depth.read_from(lambda: {labels: numbers()[1]})
    retries = metrics.family("workqueue_retries_total", "counter", "Keys that were tried again.", "name")
    retries.read_from(lambda: {labels: numbers()[2]})


class WorkQueue(Generic[Key]):
    """Keys to work on, each once, in the order in which they came."""

    def __init__(self, clock: Clock, work: Callable[[Key], None]) -> None:
        self._clock = clock
        #: Whose work it is, for the watchdog.
        self.acts_for = self._work = work
        self._pending: dict[Key, None] = {}
        self._later: dict[Key, Handle] = {}
        self._handle: Handle | None = None
        self._adds = 0
        tell_of_queue(clock.metrics, work, lambda: (self._adds, len(self._pending), 0))

    def __len__(self) -> int:
        return len(self._pending) + len(self._later)

    def add(self, key: Key) -> None:
        """Work on `key` as soon as whatever runs now has ended."""
        self._adds += 1
        self._pending[key] = None
        if self._handle is None:
            self._handle = self._clock.call_soon(self._run)

    def add_after(self, key: Key, delay: int) -> None:
        """Work on `key` after `delay` microseconds; a later request for the same key replaces an earlier one."""
        waiting = self._later.pop(key, None)
        if waiting is not None:
            waiting.cancel()
        self._later[key] = self._clock.call_later(delay, self._due, key)

    def _due(self, key: Key) -> None:
        del self._later[key]
        self.add(key)

    def _run(self) -> None:
        self._handle = None
        pending, self._pending = self._pending, {}
        try:
            while pending:
                key = next(iter(pending))
                del pending[key]
                self._work(key)
        finally:
            # Work that failed must not take along what waits behind it.
            for key in pending:
                self.add(key)
