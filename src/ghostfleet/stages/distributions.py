"""Distributions: spans of time that are drawn, not fixed.

Users write them as `90s` (always the same), `uniform(1s, 5s)`, `normal(5s, 1s)` (mean and deviation), `exponential(2s)`
(mean), `lognormal(2s, 0.5)` (median and the deviation of the logarithm) or `pareto(1s, 1.5)` (least and exponent). What
is drawn is never negative and never longer than ten years. A draw depends on a *key* and the seed alone, so that an
object gets the same span however often it is asked for, and in whatever order objects are asked.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

from ghostfleet.core.durations import parse_duration

__all__ = ["LONGEST", "Distribution", "chance", "parse_distribution"]

#: Microseconds from a number in [0, 1).
Distribution = Callable[[float], int]

#: The tails of some shapes have no end; what is drawn from them is cut here, at ten years.
LONGEST = 10 * 365 * 24 * 3600 * 1_000_000

_CALL = re.compile(r"([a-z]+)\(([^()]*)\)")
_UNIT = 1 << 53
_NORMAL = NormalDist()
# Beyond these a float overflows; what comes of them is far over the longest span.
_MOST_EXPONENT = 700.0
_LEAST_PARETO = 0.06


def chance(seed: int | str, *key: str) -> float:
    """A number in [0, 1) that is the same for the same key."""
    digest = hashlib.blake2b("\0".join((str(seed), *key)).encode(), digest_size=8).digest()
    return (int.from_bytes(digest) >> 11) / _UNIT


@lru_cache(maxsize=1024)
def parse_distribution(text: str) -> Distribution:
    """A distribution from its text; ValueError says what is wrong with it."""
    match = _CALL.fullmatch(text.strip())
    if match is None:
        fixed = _duration(text.strip(), text)
        return lambda _: fixed
    name, arguments = match[1], [part.strip() for part in match[2].split(",")]
    make = _SHAPES.get(name)
    if make is None:
        raise ValueError(f"distribution {text!r}: expected a duration or one of {', '.join(_SHAPES)}, found {name!r}")
    if len(arguments) != _ARGUMENTS[name]:
        raise ValueError(f"distribution {text!r}: {name} takes {_ARGUMENTS[name]} values, found {len(arguments)}")
    return make(arguments, text)


def _duration(part: str, text: str) -> int:
    try:
        span = parse_duration(part)
    except ValueError:
        raise ValueError(f"distribution {text!r}: expected a duration such as 90s, found {part!r}") from None
    if span < 0:
        raise ValueError(f"distribution {text!r}: expected a duration from 0 on, found {part!r}")
    return span


def _number(part: str, text: str) -> float:
    try:
        number = float(part)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise ValueError(f"distribution {text!r}: expected a number above 0, found {part!r}")
    return number


def _uniform(arguments: list[str], text: str) -> Distribution:
    low, high = (_duration(part, text) for part in arguments)
    return lambda point: low + int(point * (high - low))


def _normal(arguments: list[str], text: str) -> Distribution:
    mean, deviation = (_duration(part, text) for part in arguments)
    return lambda point: max(0, int(mean + deviation * _quantile(point)))


def _exponential(arguments: list[str], text: str) -> Distribution:
    mean = _duration(arguments[0], text)
    return lambda point: int(-math.log1p(-point) * mean)


def _lognormal(arguments: list[str], text: str) -> Distribution:
    median, deviation = _duration(arguments[0], text), _number(arguments[1], text)
    return lambda point: _cut(median * math.exp(min(deviation * _quantile(point), _MOST_EXPONENT)))


def _pareto(arguments: list[str], text: str) -> Distribution:
    least, exponent = _duration(arguments[0], text), max(_number(arguments[1], text), _LEAST_PARETO)
    return lambda point: _cut(least * (1.0 - point) ** (-1.0 / exponent))


def _cut(span: float) -> int:
    return int(min(span, LONGEST))


def _quantile(point: float) -> float:
    # The very ends stand for infinity; half a step inside them is as far as it goes.
    return _NORMAL.inv_cdf(min(max(point, 0.5 / _UNIT), 1 - 0.5 / _UNIT))


_SHAPES: dict[str, Callable[[list[str], str], Distribution]] = {
    "uniform": _uniform,
    "normal": _normal,
    "exponential": _exponential,
    "lognormal": _lognormal,
    "pareto": _pareto,
}
_ARGUMENTS = {"uniform": 2, "normal": 2, "exponential": 1, "lognormal": 2, "pareto": 2}
