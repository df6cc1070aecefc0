"""Seeded randomness: one stream for each component.

A *stream* is a random generator with a name. Its seed is a hash of the run's seed and that name, so that one component
which draws more does not disturb the others, and a run is the same on every machine. `Streams` hands them out. Names
and uids that Kubernetes would draw at random are drawn from a stream too.
"""

from __future__ import annotations

import hashlib
from random import Random

__all__ = ["ALPHABET", "Streams", "suffix", "uid"]

#: Letters of generated names: no vowels and no digits that look like them, so that no words come out.
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"

#: Two letters at a time, the first of them counting fastest.
_PAIRS = tuple(first + second for second in ALPHABET for first in ALPHABET)

_UUID_FREE_BITS = ~((0xF << 76) | (0x3 << 62)) & ((1 << 128) - 1)
_UUID_FIXED_BITS = (0x4 << 76) | (0x2 << 62)


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


def uid(rng: Random) -> str:
    """A random UUID of version 4, as Kubernetes gives to objects."""
    digits = f"{rng.getrandbits(128) & _UUID_FREE_BITS | _UUID_FIXED_BITS:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def suffix(rng: Random, length: int = 5) -> str:
    """The random end of a generated name, such as `x7k2q`."""
    # Only getrandbits is drawn from: what Random.choice makes of the same bits differs between Python versions.
    bits = rng.getrandbits(8 * length + 24)
    letters = ""
    for _ in range(length // 2):
        bits, index = divmod(bits, len(_PAIRS))
        letters += _PAIRS[index]
    return letters + ALPHABET[bits % len(ALPHABET)] if length % 2 else letters
