"""Rate limits as client-go has them, and how long they held something up.

A *token bucket* holds up to `burst` tokens and gains `qps` of them a second; each request takes one, and a request that
finds none waits for its own. A *work queue limiter* says how long an item must wait before it is tried again: longer
after each failure, until it is forgotten. Nothing here reads a clock: the time, in microseconds, is passed in. The
arithmetic is that of golang.org/x/time/rate (floating tokens, whole nanoseconds), so waits agree with the real ones.

A limit, this one or another such as a node's work, is *saturated* while at least one waits because of it; waits that
overlap count once. A *meter* belongs to one limit and adds that up as it happens, at the price of an addition for each
wait and of nothing where nobody waits.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol

__all__ = [
    "ItemBucket",
    "ItemExponentialBackoff",
    "ItemLimiter",
    "MaxOf",
    "Meter",
    "Meters",
    "Saturated",
    "TokenBucket",
    "controller_limiter",
    "saturated_since",
]

_SECOND = 1_000_000


class Saturated(NamedTuple):
    """One limit, and how long it was saturated."""

    component: str
    limit: str
    #: How long at least one waited, in microseconds.
    time: int
    #: How many waited their turn, and for how long all of them together; 0 where they are not counted.
    waits: int
    waited: int

    def written(self) -> dict[str, Any]:
        """For records; times in seconds."""
        return {
            "component": self.component,
            "limit": self.limit,
            "seconds": self.time / _SECOND,
            "waits": self.waits,
            "waitedSeconds": self.waited / _SECOND,
        }


class Meter:
    """What one limit has held up so far."""

    __slots__ = ("_open", "_since", "_time", "_until", "_waited", "_waits", "component", "limit")

    def __init__(self, component: str, limit: str) -> None:
        self.component = component
        self.limit = limit
        self._time = 0
        self._until = 0
        self._waits = 0
        self._waited = 0
        self._open = 0
        self._since = 0

    def wait(self, now: int, delay: int) -> None:
        """One waits from now on, for so long; `now` never goes back."""
        end = now + delay
        until = self._until
        if end > until:
            self._time += end - (until if until > now else now)
            self._until = end
        self._waits += 1
        self._waited += delay

    def begin(self, now: int) -> None:
        """One begins to wait, until `end`; who does is not counted."""
        if not self._open:
            self._since = now
        self._open += 1

    def end(self, now: int) -> None:
        """One of those who began to wait does no more."""
        self._open -= 1
        if not self._open:
            self._time += now - self._since

    def reading(self, now: int) -> Saturated:
        """What has come about by now; what is known to come is left out."""
        ahead = max(0, self._until - now)
        running = now - self._since if self._open else 0
        return Saturated(self.component, self.limit, self._time - ahead + running, self._waits, self._waited)


class Meters:
    """The meters of one cluster; those of components that come into being later are added then."""

    def __init__(self) -> None:
        self._meters: list[Meter] = []

    def add(self, meter: Meter) -> None:
        self._meters.append(meter)

    def reading(self, now: int) -> list[Saturated]:
        """All limits, in the order in which they were added."""
        return [meter.reading(now) for meter in self._meters]


def saturated_since(before: Sequence[Saturated], after: Sequence[Saturated]) -> list[Saturated]:
    """What came about between two times at which meters were read; the worst first, and nothing that nobody felt."""
    found = [
        new._replace(time=new.time - old.time, waits=new.waits - old.waits, waited=new.waited - old.waited)
        for old, new in zip(before, after, strict=False)
    ]
    found += after[len(before) :]
    return sorted((each for each in found if each.time > 0), key=lambda each: (-each.time, each.component, each.limit))


class TokenBucket:
    """A client's rate limit. Without `qps` (None, zero or less) it lets everything pass at once.

    A `meter` is told of all who have to wait.
    """

    __slots__ = ("_last_us", "_meter", "_tokens", "burst", "qps")

    def __init__(self, qps: float | None, burst: int = 1, meter: Meter | None = None) -> None:
        if qps is not None and qps > 0 and burst < 1:
            raise ValueError(f"a rate limit of {qps} requests a second needs a burst of 1 or more, not {burst}")
        #: client-go keeps QPS as a 32-bit float, which shows in waits for rates such as 0.1
        self.qps: float = struct.unpack("f", struct.pack("f", qps))[0] if qps is not None and qps > 0 else 0.0
        self.burst = burst
        self._tokens = float(burst)
        self._last_us: int | None = None
        self._meter = meter

    def reserve(self, now_us: int) -> int:
        """Take a token; the microseconds until it may be used."""
        if not self.qps:
            return 0
        tokens = self._tokens_at(now_us) - 1.0
        self._tokens = tokens
        self._last_us = now_us
        if tokens >= 0:
            return 0
        wait = -(-self._wait_ns(tokens) // 1000)
        if self._meter is not None:
            self._meter.wait(now_us, wait)
        return wait

    def try_accept(self, now_us: int) -> bool:
        """Take a token if there is one now."""
        if not self.qps:
            return True
        tokens = self._tokens_at(now_us) - 1.0
        if tokens < 0 and self._wait_ns(tokens) > 0:
            return False
        self._tokens = tokens
        self._last_us = now_us
        return True

    def _tokens_at(self, now_us: int) -> float:
        elapsed_us = 0 if self._last_us is None else max(now_us - self._last_us, 0)
        return min(self._tokens + elapsed_us / 1_000_000 * self.qps, float(self.burst))

    def _wait_ns(self, tokens: float) -> int:
        return int(-tokens / self.qps * 1e9)


class ItemLimiter(Protocol):
    """How long an item of a work queue waits before it is tried again."""

    def when(self, item: Hashable, now_us: int = 0, /) -> int: ...

    def forget(self, item: Hashable, /) -> None: ...

    def retries(self, item: Hashable, /) -> int: ...


class ItemExponentialBackoff:
    """`base_us` after the first failure of an item, then twice as long each time, up to `max_us`."""

    __slots__ = ("_failures", "base_us", "max_us")

    def __init__(self, base_us: int, max_us: int) -> None:
        self.base_us = base_us
        self.max_us = max_us
        self._failures: dict[Hashable, int] = {}

    def when(self, item: Hashable, _now_us: int = 0, /) -> int:
        failures = self._failures.get(item, 0)
        self._failures[item] = failures + 1
        return min(self.base_us << min(failures, 63), self.max_us)

    def forget(self, item: Hashable, /) -> None:
        self._failures.pop(item, None)

    def retries(self, item: Hashable, /) -> int:
        return self._failures.get(item, 0)


class ItemBucket:
    """A token bucket that all items of a work queue share."""

    __slots__ = ("bucket",)

    def __init__(self, bucket: TokenBucket) -> None:
        self.bucket = bucket

    def when(self, _item: Hashable, now_us: int = 0, /) -> int:
        return self.bucket.reserve(now_us)

    def forget(self, _item: Hashable, /) -> None:
        """Nothing is kept for an item."""

    def retries(self, _item: Hashable, /) -> int:
        return 0


class MaxOf:
    """Several limiters at once; the slowest one decides."""

    __slots__ = ("limiters",)

    def __init__(self, *limiters: ItemLimiter) -> None:
        self.limiters = limiters

    def when(self, item: Hashable, now_us: int = 0, /) -> int:
        # Each limiter must be asked, for each keeps its own count.
        return max((limiter.when(item, now_us) for limiter in self.limiters), default=0)

    def forget(self, item: Hashable, /) -> None:
        for limiter in self.limiters:
            limiter.forget(item)

    def retries(self, item: Hashable, /) -> int:
        return max((limiter.retries(item) for limiter in self.limiters), default=0)


def controller_limiter() -> MaxOf:
    """What Kubernetes' controllers use: 5 ms doubling up to 1000 s for an item, and 10 a second (burst 100) for all."""
    return MaxOf(ItemExponentialBackoff(5_000, 1_000_000_000), ItemBucket(TokenBucket(10, 100)))
