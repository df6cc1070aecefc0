"""The values of a mix file: what a single field of a class may hold, as a ValueError in words when it does not.

What is drawn is written in one of four ways, whatever it is (see `mix`): a value, a list of values, an object of
values with their weights, or words with brackets. Sizes are bounded, so that a slip of the finger does not fill the
machine; the bounds are estimated, far above what a test needs and far below what a machine cannot bear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ghostfleet.core.names import is_dns1123_label, is_dns1123_subdomain, is_label_value, is_qualified_name
from ghostfleet.core.yamltext import sort_of
from ghostfleet.lab.arrivals import Arrivals, ArrivalSchedule, parse_rate
from ghostfleet.lab.mix import Draw, always, one_of, read_duration, uniform_in_words
from ghostfleet.stages.distributions import parse_distribution

__all__ = [
    "annotation_texts",
    "arrivals",
    "class_name",
    "durations",
    "file_name",
    "gpus",
    "label_key",
    "label_texts",
    "namespaces",
    "priority_class",
    "queues",
    "weight",
    "workers",
]

T = TypeVar("T")
#: What is wrong with a text, in the words of the API.
Check = Callable[[str], list[str]]

_MOST_VALUES = 10_000
_MOST_TIMES = 1_000_000
_MOST_GPUS = 1_000
_MOST_WORKERS = 100_000
_MOST_WEIGHT = 1e9
_LAST_POINT = 1 - 2**-53


def class_name(value: Any) -> str:
    """It is the value of a label, and should be easy to type."""
    return _checked(value, is_dns1123_label)


def file_name(value: Any) -> str:
    return _checked(value, lambda name: ["expected the path of a file"] if "\0" in name else [])


def label_key(value: Any) -> str:
    return _checked(value, is_qualified_name)


def priority_class(value: Any) -> str:
    return _checked(value, is_dns1123_subdomain)


def weight(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _MOST_WEIGHT:
        raise ValueError(f"expected a number above 0, up to {_MOST_WEIGHT:,.0f}, found {_shown(value)}")
    return float(value)


def gpus(value: Any) -> Draw[int]:
    return _numbers(value, 0, _MOST_GPUS)


def workers(value: Any, least: int) -> Draw[int]:
    return _numbers(value, least, _MOST_WORKERS)


def durations(value: Any) -> Draw[int]:
    return _drawn(value, read_duration, parse_distribution)


def namespaces(value: Any) -> Draw[str]:
    return _drawn(value, lambda each: _checked(each, is_dns1123_label))


def queues(value: Any) -> Draw[str]:
    return _drawn(value, lambda each: _checked(each, is_label_value))


def label_texts(value: Any) -> Mapping[str, str]:
    return _texts(value, is_label_value)


def annotation_texts(value: Any) -> Mapping[str, str]:
    return _texts(value, lambda _: [])


def arrivals(value: Any) -> Arrivals:
    """A rate, or the times themselves."""
    if isinstance(value, str):
        return parse_rate(value)
    if not isinstance(value, list) or not 1 <= len(value) <= _MOST_TIMES:
        raise ValueError(
            f"expected a rate such as poisson:10/s, or a list of 1 to {_MOST_TIMES:,} times such as [0s, 90s], found "
            f"{_shown(value)}"
        )
    return ArrivalSchedule(tuple(sorted(read_duration(each) for each in value)))


# -- what is drawn ---------------------------------------------------------------------------------------------------


def _drawn(value: Any, single: Callable[[Any], T], words: Callable[[str], Draw[T]] | None = None) -> Draw[T]:
    if isinstance(value, list | dict) and not 1 <= len(value) <= _MOST_VALUES:
        raise ValueError(f"expected 1 to {_MOST_VALUES:,} values, found {len(value):,}")
    if isinstance(value, list):
        return one_of([single(each) for each in value])
    if isinstance(value, dict):
        return one_of([single(each) for each in value], [weight(each) for each in value.values()])
    if words is not None and isinstance(value, str) and "(" in value:
        return words(value)
    return always(single(value))


def _numbers(value: Any, least: int, most: int) -> Draw[int]:
    def single(each: Any) -> int:
        # The keys of an object are texts.
        number = int(each) if isinstance(each, str) and each.isascii() and each.isdigit() and len(each) < 10 else each
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
            raise ValueError(f"expected a whole number from {least} to {most:,}, found {_shown(each)}")
        return number

    drawn = _drawn(value, single, uniform_in_words)
    for end in (0.0, _LAST_POINT):
        single(drawn(end))
    return drawn


# -- texts -----------------------------------------------------------------------------------------------------------


def _checked(value: Any, check: Check) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"expected a text, found {_shown(value)}")
    problems = check(value)
    if problems:
        raise ValueError(f"{_shown(value)}: {problems[0]}")
    return value


def _texts(value: Any, check: Check) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object of texts, found {_shown(value)}")
    for key, each in value.items():
        label_key(key)
        if not isinstance(each, str):
            raise ValueError(f"{key}: expected a text, found {_shown(each)}")
        problems = check(each)
        if problems:
            raise ValueError(f"{key}: {problems[0]}")
    return value


def _shown(value: Any) -> str:
    """A value in a message: what it is, or itself where it is short."""
    if isinstance(value, dict | list) or value is None:
        return sort_of(value)
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
