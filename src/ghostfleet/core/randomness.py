"""Seeded randomness: one stream for each component.

A *stream* is a random generator with a name. Its seed is a hash of the run's seed and that name, so that one component
which draws more does not disturb the others, and a run is the same on every machine. `Streams` hands them out.
"""

from __future__ import annotations

import hashlib
from random import Random

__all__ = ["Streams"]


class Streams:
    """All random streams of one run. The seeds `7` and `"7"` are the same seed."""

    def __init__(self, seed: int | str) -> None:
        self.seed = seed
        self._streams: dict[str, Random] = {}

    def stream(self, name: str) -> Random:
        """The stream of this name; the same one at each call."""
        found = self._streams.get(name)
        if found is None:
            found = self._streams[name] = Random(self._seed_of(name))
        return found

    def _seed_of(self, name: str) -> int:
        return int.from_bytes(hashlib.sha256(f"{self.seed}\0{name}".encode()).digest())
