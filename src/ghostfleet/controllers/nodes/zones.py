"""Zones: how fast failed nodes are given up.

Nodes of one region and zone fail together. In a *normal* zone, one node after the other is tainted at a steady rate.
Where most of a zone's nodes have failed (*partial* disruption), something larger is wrong: a large zone is treated
slowly, a small one not at all. When no node of any zone is ready, it is more likely that nobody can see them, and
nothing is done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Literal

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND, Clock, Handle
from ghostfleet.core.profile import Profile
from ghostfleet.core.ratelimit import TokenBucket

__all__ = ["Zones", "zone_of"]

State = Literal["initial", "normal", "partial", "full"]

_EXCLUDED = "node.kubernetes.io/exclude-disruption"


def zone_of(node: Object) -> str:
    labels = node["metadata"].get("labels") or {}
    region = labels.get("topology.kubernetes.io/region", "")
    return f"{region}:{labels.get('topology.kubernetes.io/zone', '')}"


class _Zone:
    """One zone: its nodes, whether they are ready, and those that wait to be tainted."""

    __slots__ = ("bucket", "handle", "nodes", "ready", "state", "stopped", "waiting")

    def __init__(self, rate: float) -> None:
        self.nodes: dict[str, bool] = {}
        self.ready = 0
        self.state: State = "initial"
        self.bucket = TokenBucket(rate or None)
        self.stopped = False
        self.waiting: deque[str] = deque()
        self.handle: Handle | None = None


class Zones:
    """All zones. `taint` is called with the name of a node whose turn it is."""

    def __init__(self, clock: Clock, profile: Profile, taint: Callable[[str], None]) -> None:
        self._clock = clock
        self._taint = taint
        self._rate = profile.ratio("node.eviction-rate")
        self._slow_rate = profile.ratio("node.secondary-eviction-rate")
        self._large = profile.number("node.large-cluster")
        self._threshold = profile.ratio("node.unhealthy-zone")
        self._meter = profile.meter("Node lifecycle controller", f"{self._rate:g} failed nodes/s a zone")
        self._zones: dict[str, _Zone] = {}
        self._places: dict[str, str] = {}

    def note(self, node: Object, ready: bool) -> None:
        """Take note of a node's readiness."""
        name, zone = node["metadata"]["name"], zone_of(node)
        if self._places.get(name, zone) != zone:
            self.forget(name)
        if _EXCLUDED in (node["metadata"].get("labels") or {}):
            return
        self._places[name] = zone
        if zone not in self._zones:
            self._zones[zone] = _Zone(self._rate)
        found = self._zones[zone]
        found.ready += ready - found.nodes.get(name, False)
        found.nodes[name] = ready

    def forget(self, name: str) -> None:
        zone = self._zones.get(self._places.pop(name, ""))
        if zone is not None:
            zone.ready -= zone.nodes.pop(name, False)

    @property
    def all_down(self) -> bool:
        """Whether no node of any zone is ready."""
        return any(zone.nodes for zone in self._zones.values()) and not any(zone.ready for zone in self._zones.values())

    def assess(self) -> tuple[bool, bool]:
        """Bring the states of the zones up to date; whether all were down before, and whether all are now."""
        live = [zone for zone in self._zones.values() if zone.nodes]
        before, after = bool(live) and all(zone.state == "full" for zone in live), self.all_down
        for zone in live:
            state: State = "full" if after else self._state(zone)
            if state != zone.state:
                zone.state = state
                self._set_rate(zone, stop=after)
        return before, after

    def enqueue(self, node: Object) -> None:
        """Let a node wait for its turn to be tainted."""
        zone = self._zones.get(zone_of(node))
        name = node["metadata"]["name"]
        if zone is not None and name not in zone.waiting:
            zone.waiting.append(name)
            self._go_on(zone)

    def dequeue(self, node: Object) -> None:
        zone = self._zones.get(zone_of(node))
        if zone is not None and node["metadata"]["name"] in zone.waiting:
            zone.waiting.remove(node["metadata"]["name"])

    def _state(self, zone: _Zone) -> State:
        down = len(zone.nodes) - zone.ready
        if not zone.ready:
            return "full"
        return "partial" if down > 2 and down / len(zone.nodes) >= self._threshold else "normal"

    def _set_rate(self, zone: _Zone, *, stop: bool) -> None:
        partial = zone.state == "partial"
        zone.stopped = stop or (partial and len(zone.nodes) <= self._large)
        rate = self._slow_rate if partial else self._rate
        if (rate or 0.0) != zone.bucket.qps:
            zone.bucket = TokenBucket(rate or None)
        if zone.handle is not None:
            zone.handle.cancel()
            zone.handle = None
        self._go_on(zone)

    def _go_on(self, zone: _Zone) -> None:
        if zone.handle is not None or zone.stopped or not zone.waiting:
            return
        now = self._clock.now()
        delay = 0 if zone.bucket.try_accept(now) else int(SECOND / max(zone.bucket.qps, 1e-9))
        if delay and self._meter is not None:
            self._meter.wait(now, delay)
        zone.handle = self._clock.call_later(delay, self._next, zone)

    def _next(self, zone: _Zone) -> None:
        zone.handle = None
        if zone.waiting and not zone.stopped:
            self._taint(zone.waiting.popleft())
            self._go_on(zone)
