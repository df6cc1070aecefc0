"""A cluster: clock, store, API and controllers put together.

This is the whole embedded cluster without any socket: `Cluster(clock)` is ready to use, `cluster.api` has the verbs. On
a virtual clock nothing happens until the clock is run; on a wall clock something must drive it (the server does).
"""

from __future__ import annotations

from ghostfleet.api.builtin import load_registry
from ghostfleet.api.conversion import storage_key
from ghostfleet.api.verbs import Api
from ghostfleet.controllers.bootstrap import announce, bootstrap
from ghostfleet.controllers.definitions import DefinitionController
from ghostfleet.controllers.garbage import GarbageCollector
from ghostfleet.controllers.namespaces import NamespaceController
from ghostfleet.controllers.termination import PodTerminator
from ghostfleet.core.bucket import index_by_label, index_by_node
from ghostfleet.core.clock import Clock, VirtualClock
from ghostfleet.core.randomness import Streams
from ghostfleet.core.store import Store

__all__ = ["Cluster"]


class Cluster:
    """One embedded cluster."""

    def __init__(self, clock: Clock | None = None, *, seed: int | str = 0, history: int = 32_768) -> None:
        self.clock = clock or VirtualClock()
        self.streams = Streams(seed)
        self.registry = load_registry()
        self.store = Store(self.clock, self.streams, history=history)
        self.store.register("pods", {"node": index_by_node(), "job": index_by_label("batch.kubernetes.io/job-name")})
        for resource in self.registry:
            self.store.register(storage_key(resource))
        self.api = Api(self.store, self.registry, self.streams)
        self._controllers = (
            GarbageCollector(self.store, self.registry),
            NamespaceController(self.store, self.registry),
            DefinitionController(self.store, self.registry),
            PodTerminator(self.store),
        )
        bootstrap(self.store)
        self._settle()

    def announce(self, address: str, port: int) -> None:
        """Put the address at which the cluster is served into its own endpoints."""
        announce(self.store, address, port)
        self._settle()

    def _settle(self) -> None:
        if isinstance(self.clock, VirtualClock):
            self.clock.settle()
