"""The fleet, as kwok-controller: fake nodes, and pods that live on them by their stages.

This puts the parts together: stages from the catalogue and those applied to the cluster, the stage controller, leases,
addresses and capacity. `Fleet(api, streams)` plays the set `fast`. If the stages say nothing about nodes, nodes are
played by the set `fast` all the same, for without nodes there is nothing to be played. What goes wrong on the way, and
what KWOK would keep silent about, is told once to the log and kept in `problems`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from ghostfleet.api.verbs import Api
from ghostfleet.core.clock import VirtualClock
from ghostfleet.core.latency import Client
from ghostfleet.core.randomness import Streams
from ghostfleet.stages.applied import AppliedStages
from ghostfleet.stages.catalogue import StageSet, join, load_stages
from ghostfleet.stages.claims import PreparedClaims
from ghostfleet.stages.controller import StageController
from ghostfleet.stages.devices import Devices
from ghostfleet.stages.funcmap import Addresses, FuncMap
from ghostfleet.stages.leases import Leases
from ghostfleet.stages.lifecycle import Behaviour
from ghostfleet.stages.playstage import EventSink, StageRunner
from ghostfleet.stages.pods import Capacity, NodeRules, PodRules
from ghostfleet.stages.readiness import Readiness
from ghostfleet.stages.settings import StageSettings
from ghostfleet.stages.stage import Stage

__all__ = ["Fleet"]

_MOST_PROBLEMS = 1000
_HEARTBEAT = "node-heartbeat"

_log = logging.getLogger(__name__)


class Fleet:
    """The stage controllers of one cluster, with the leases, addresses and capacity of its fake nodes."""

    def __init__(
        self,
        api: Api,
        streams: Streams,
        stages: StageSet | str | Path | Iterable[str | Path] = "fast",
        settings: StageSettings | None = None,
        recorder: EventSink | None = None,
        client: Client | None = None,
    ) -> None:
        self.settings = settings = settings or StageSettings()
        #: what went wrong, or may surprise, each once
        self.problems: dict[str, None] = {}
        store, clock = api.store, api.clock
        mode = settings.leases or ("lazy" if isinstance(clock, VirtualClock) else "live")
        self.leases = Leases(store, mode)
        self._addresses = Addresses(settings.pod_range)
        capacity = Capacity()
        self._nodes = NodeRules(store, settings, self.leases, self._addresses, capacity)
        Devices(store)
        funcmap = FuncMap(clock, self._addresses, self._nodes.node, f"v{settings.compatibility}.0")
        behaviour = Behaviour(store, streams.seed, self._warn, commands=settings.commands)
        claims = PreparedClaims(store, self._look_at_pod, recorder)
        self._pods = PodRules(store, settings, self._nodes, self._addresses, capacity, behaviour, claims, recorder)
        Readiness(store, self._pods.may_play)
        runner = StageRunner(api, funcmap, recorder)
        rng = streams.stream("stages")
        self.controller = StageController(api, runner, rng, self._warn, reevaluate=settings.reevaluate, client=client)
        self._nodes.controller = self.controller
        self.controller.set_rules("v1", "Node", self._nodes)
        self.controller.set_rules("v1", "Pod", self._pods)
        for node in store.list("nodes"):
            self._nodes.adopt(node)
        for pod in store.list("pods"):
            self._pods.adopt(pod)
        self._loaded = self._complete(stages)
        self._applied: list[Stage] = []
        self._running = True
        self.controller.set_stages(self._loaded)
        AppliedStages(store, settings.compatibility, self._warn, self._apply)

    @property
    def stages(self) -> list[Stage]:
        """The stages that were loaded at the start."""
        return list(self._loaded)

    def fail_node(self, name: str) -> None:
        """A node stops: no lease, no heartbeat, and nothing happens on it any more."""
        self._nodes.fail(name)

    def recover_node(self, name: str) -> None:
        """A node that failed goes on."""
        self._nodes.recover(name)

    def scaled(self, running: bool) -> None:
        """KWOK's controller is scaled to zero, so that another one can play nodes and pods, or back."""
        if running != self._running:
            self._running = running
            self.leases.pause(not running)
            self._set_stages()

    def _complete(self, stages: StageSet | str | Path | Iterable[str | Path]) -> list[Stage]:
        compatibility = self.settings.compatibility
        if not isinstance(stages, StageSet):
            stages = load_stages(stages, compatibility=compatibility, warn=self._warn)
        for note in stages.notes:
            self._warn(note)
        chosen = list(stages.stages)
        if not any(stage.kind == "Node" and stage.api_version == "v1" for stage in chosen):
            default = load_stages("fast", compatibility=compatibility, warn=self._warn)
            chosen += [stage for stage in default.stages if stage.kind == "Node"]
        if not self.settings.heartbeats:
            chosen = [stage for stage in chosen if not stage.name.startswith(_HEARTBEAT)]
        return chosen

    def _look_at_pod(self, namespace: str, name: str) -> None:
        self.controller.note("v1", "Pod", namespace, name)

    def _apply(self, applied: list[Stage]) -> None:
        self._applied = applied
        self._set_stages()

    def _set_stages(self) -> None:
        self.controller.set_stages(join([*self._loaded, *self._applied]) if self._running else ())

    def _warn(self, message: str) -> None:
        if message not in self.problems and len(self.problems) < _MOST_PROBLEMS:
            self.problems[message] = None
            _log.warning("%s", message)
