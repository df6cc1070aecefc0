"""Latency: how long the requests of modelled components take, as it was measured on real ones.

A *distribution* is told by its quantiles, `p10 3.1ms p50 4.1ms p99 10.8ms`, or is one duration, which is then always
taken; between two quantiles all spans are equally likely, and beyond the outermost ones nothing is drawn. A *curve*
tells a span that depends on a size, `0.6ms at 100, 2ms at 1000`: along straight lines between its points, and the last
of them goes on. A *client* of the API has a rate limit, and its requests have a latency, which depends on the verb.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from functools import lru_cache
from random import Random

from ghostfleet.core.durations import parse_duration
from ghostfleet.core.ratelimit import TokenBucket

__all__ = ["Client", "Curve", "Distribution", "parse_curve", "parse_distribution"]

#: What is drawn, in microseconds, each equally likely.
Distribution = tuple[int, ...]
_BITS = 12
_DRAWS = 1 << _BITS
_QUANTILE = re.compile(r"p(\d+(?:\.\d+)?) (\S+)")
_POINT = re.compile(r"(\S+) at (\d+)")


class Client:
    """A component's client of the API."""

    __slots__ = ("_distributions", "_informer", "_known", "_limit", "_random")

    def __init__(
        self,
        limit: TokenBucket | None = None,
        requests: Mapping[str, Distribution] | None = None,
        informer: Distribution = (0,),
        random: Random | None = None,
    ) -> None:
        self._limit = limit
        #: By verb and subresource, `update status`, or by verb.
        self._distributions = requests or {}
        self._informer = informer
        self._random = random or Random(0)
        self._known: dict[tuple[str, str], Distribution] = {}

    def reserve(self, now: int) -> int:
        """The microseconds until the next request may be made."""
        return self._limit.reserve(now) if self._limit is not None else 0

    def latency(self, verb: str, resource: str) -> int:
        """How long one request takes; the resource is told with its subresource, `jobs.batch/status`."""
        found = self._known.get((verb, resource))
        if found is None:
            _, _, subresource = resource.partition("/")
            requests = self._distributions
            found = requests.get(f"{verb} {subresource}") or requests.get(verb) or (0,)
            self._known[verb, resource] = found
        return _drawn(found, self._random)

    def informer_delay(self) -> int:
        """How long after a write has ended this client's informers tell of it."""
        return _drawn(self._informer, self._random)


def _drawn(distribution: Distribution, random: Random) -> int:
    return distribution[random.getrandbits(_BITS)] if len(distribution) > 1 else distribution[0]


@lru_cache(maxsize=256)
def parse_distribution(text: str) -> Distribution:
    """What can be drawn; a ValueError says what is wrong with the text."""
    if not text.startswith("p"):
        return (parse_duration(text),)
    points = [(float(percent) / 100, parse_duration(span)) for percent, span in _pieces(_QUANTILE, text, " ")]
    shares, spans = zip(*points, strict=True)
    if list(shares) != sorted(set(shares)) or list(spans) != sorted(spans) or shares[-1] > 1:
        raise ValueError(f"distribution {text!r}: expected quantiles up to p100 that rise, like p50 4ms p99 10ms")
    return tuple(_interpolated(shares, spans, (draw + 0.5) / _DRAWS) for draw in range(_DRAWS))


class Curve:
    """A span by a size."""

    __slots__ = ("_sizes", "_spans")

    def __init__(self, sizes: tuple[int, ...], spans: tuple[int, ...]) -> None:
        self._sizes = sizes
        self._spans = spans

    def __bool__(self) -> bool:
        return any(self._spans)

    def __call__(self, size: int) -> int:
        """The span at this size, in microseconds."""
        sizes, spans = self._sizes, self._spans
        if len(sizes) > 1 and size > sizes[-1]:
            slope = (spans[-1] - spans[-2]) / (sizes[-1] - sizes[-2])
            return spans[-1] + round((size - sizes[-1]) * slope)
        return _interpolated(sizes, spans, size)


@lru_cache(maxsize=256)
def parse_curve(text: str) -> Curve:
    """A curve from its points, or one that is everywhere the same; a ValueError says what is wrong with the text."""
    if " at " not in text:
        return Curve((0,), (parse_duration(text),))
    points = [(int(size), parse_duration(span)) for span, size in _pieces(_POINT, text, ", ")]
    sizes, spans = zip(*points, strict=True)
    if list(sizes) != sorted(set(sizes)):
        raise ValueError(f"curve {text!r}: expected sizes that rise, like 0.6ms at 100, 2ms at 1000")
    return Curve(sizes, spans)


def _pieces(form: re.Pattern[str], text: str, between: str) -> list[tuple[str, str]]:
    """The parts of a text, which has nothing else."""
    found: list[tuple[str, str]] = form.findall(text)
    if between.join(match[0] for match in form.finditer(text)) != text:
        raise ValueError(f"{text!r}: expected a duration, quantiles like p50 4ms p99 10ms, or points like 0.6ms at 100")
    return found


def _interpolated(places: tuple[float, ...], values: tuple[int, ...], at: float) -> int:
    """The value at a place, on the line between its neighbours; at the ends, that of the outermost one."""
    above = bisect_left(places, at)
    if above == 0 or above == len(places):
        return values[min(above, len(values) - 1)]
    low, high = places[above - 1], places[above]
    return round(values[above - 1] + (values[above] - values[above - 1]) * (at - low) / (high - low))
