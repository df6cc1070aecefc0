"""Arguments of plugins: texts that mean numbers or durations; what cannot be read counts as not given, as in KAI."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["duration", "number"]

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")


def number(arguments: Mapping[str, str], name: str, default: float) -> float:
    try:
        return float(arguments.get(name, default))
    except ValueError:
        return default


def duration(arguments: Mapping[str, str], name: str) -> float:
    """Seconds; a negative or unreadable duration is none at all."""
    text = arguments.get(name, "")
    if not re.fullmatch(f"(?:{_PART.pattern})+", text):
        return 0.0
    return sum(float(amount) * _UNITS[unit] for amount, unit in _PART.findall(text))
