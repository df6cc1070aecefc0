"""Params of a measurement or a dependency: values by name, read with the type that is wanted.

Numbers and booleans may be texts, as in ClusterLoader2. A name that is read is remembered, so that one that nobody has
asked for can be told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ghostfleet.core.durations import parse_duration

__all__ = ["ParamError", "Params"]

_NOTHING: Any = object()


class ParamError(ValueError):
    """A param that is missing or of a wrong type."""


class Params:
    """Values by name."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._asked: set[str] = set()

    def text(self, name: str, default: str = _NOTHING) -> str:
        value = self.value(name, default)
        if not isinstance(value, str):
            raise ParamError(f"params.{name}: expected a text, found {value!r}")
        return value

    def number(self, name: str, default: float = _NOTHING) -> float:
        value = self.value(name, default)
        try:
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise ValueError
            return float(value)
        except ValueError:
            raise ParamError(f"params.{name}: expected a number, found {value!r}") from None

    def integer(self, name: str, default: int = _NOTHING) -> int:
        number = self.number(name, default)
        if number != number or abs(number) == float("inf") or number != int(number):
            raise ParamError(f"params.{name}: expected a whole number, found {number:g}")
        return int(number)

    def boolean(self, name: str, default: bool = _NOTHING) -> bool:
        value = self.value(name, default)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if not isinstance(value, bool):
            raise ParamError(f"params.{name}: expected true or false, found {value!r}")
        return value

    def duration(self, name: str, default: int = _NOTHING) -> int:
        """Microseconds."""
        value = self.value(name, default)
        if isinstance(value, int) and value is default:
            return value
        if not isinstance(value, str):
            raise ParamError(f'params.{name}: expected a duration such as "5m", found {value!r}')
        try:
            return parse_duration(value)
        except ValueError as error:
            raise ParamError(f"params.{name}: {error}") from None

    def texts(self, name: str, default: list[str] = _NOTHING) -> list[str]:
        value = self.value(name, default)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise ParamError(f"params.{name}: expected a list of texts, found {value!r}")
        return value

    def value(self, name: str, default: Any = _NOTHING) -> Any:
        """Whatever it is; the default where it is not there."""
        self._asked.add(name)
        value = self._values.get(name)
        if value is None:
            if default is _NOTHING:
                raise ParamError(f"params.{name}: missing")
            return default
        return value

    def inner(self, name: str) -> Params:
        """Params within params; none where they are not there."""
        value = self.value(name, {})
        if not isinstance(value, dict):
            raise ParamError(f"params.{name}: expected an object, found {value!r}")
        return Params(value)

    def unasked(self) -> list[str]:
        """Names that nobody has asked for."""
        return sorted(set(self._values) - self._asked)
