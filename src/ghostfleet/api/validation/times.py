"""Timestamps as Kubernetes rewrites them: a *time* in UTC with whole seconds, a *micro time* with exactly six digits.

A micro time with any other number of digits is refused, in the words of Go's `time.Parse`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ghostfleet.core.timestamps import parse_rfc3339, rfc3339, rfc3339_micro

__all__ = ["micro_time", "rfc3339_time"]

_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_SIX_DIGITS = re.compile(r"\.\d{6}")
_ZONE = re.compile(r"Z|[+-]\d\d:\d\d")


@lru_cache(maxsize=4096)
def rfc3339_time(text: str) -> str:
    return rfc3339(parse_rfc3339(text))


@lru_cache(maxsize=4096)
def micro_time(text: str) -> str:
    if seconds := _SECONDS.match(text):
        at = seconds.end()
        digits = _SIX_DIGITS.match(text, at)
        if digits is None:
            raise _mismatch(text, text[at:], ".000000")
        if _ZONE.match(text, digits.end()) is None:
            raise _mismatch(text, text[digits.end() :], "Z07:00")
    try:
        return rfc3339_micro(parse_rfc3339(text))
    except ValueError as problem:
        raise ValueError(str(problem).replace("2006-01-02T15:04:05Z07:00", _MICRO_LAYOUT)) from None


def _mismatch(text: str, rest: str, part: str) -> ValueError:
    return ValueError(f'parsing time "{text}" as "{_MICRO_LAYOUT}": cannot parse "{rest}" as "{part}"')
