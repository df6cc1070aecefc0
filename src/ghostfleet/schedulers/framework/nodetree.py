"""The order in which nodes are looked at: zone by zone in turns.

A *zone* is a node's region and zone labels together. Each round takes one node of every zone, so that pods which take
the first nodes that fit are spread over zones. The order lasts until a node comes, goes or changes its zone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

__all__ = ["NodeTree"]

_ZONE, _OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
_REGION, _OLD_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"


class NodeTree:
    """Slots of nodes by zone."""

    def __init__(self) -> None:
        self._zones: dict[str, dict[str, int]] = {}
        self._zone_of: dict[str, str] = {}
        self._order: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self._zone_of)

    def put(self, name: str, slot: int, labels: Mapping[str, str]) -> None:
        """A node came, or its labels changed."""
        zone = _zone(labels)
        known = self._zone_of.get(name)
        if known == zone:
            return
        if known is not None:
            self.remove(name)
        self._zone_of[name] = zone
        self._zones.setdefault(zone, {})[name] = slot
        self._order = None

    def remove(self, name: str) -> None:
        """A node went."""
        zone = self._zone_of.pop(name)
        members = self._zones[zone]
        del members[name]
        if not members:
            del self._zones[zone]
        self._order = None

    def order(self) -> NDArray[np.int64]:
        """All slots in turns of zones, twice over, so that a walk from any start needs no wrapping."""
        if self._order is None:
            zones = [np.fromiter(members.values(), np.int64, len(members)) for members in self._zones.values()]
            slots = np.concatenate(zones) if zones else np.empty(0, np.int64)
            if len(zones) > 1:
                turn = np.concatenate([np.arange(len(zone)) for zone in zones])
                rank = np.repeat(np.arange(len(zones)), [len(zone) for zone in zones])
                slots = slots[np.lexsort((rank, turn))]
            self._order = np.concatenate([slots, slots])
        return self._order


def _zone(labels: Mapping[str, str]) -> str:
    zone = labels[_OLD_ZONE] if _OLD_ZONE in labels else labels.get(_ZONE, "")
    region = labels[_OLD_REGION] if _OLD_REGION in labels else labels.get(_REGION, "")
    return f"{region}:\0:{zone}" if region or zone else ""
