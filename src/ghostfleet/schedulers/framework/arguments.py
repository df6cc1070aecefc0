"""Reading arguments of plugins from a configuration, with errors that name the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["ConfigError", "only_fields", "plugin_fields", "whole_number"]


class ConfigError(ValueError):
    """What is wrong with a configuration, and where."""


def only_fields(path: str, found: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse fields that are not known."""
    for field in found:
        if field not in known:
            where = f"{path}.{field}" if path else field
            raise ConfigError(f'unknown field "{where}"; known here are {", ".join(known)}')


def plugin_fields(path: str, found: Mapping[str, Any], *known: str) -> None:
    """Refuse arguments of a plugin that are not known."""
    only_fields(path, found, ("apiVersion", "kind", *known))


def whole_number(path: str, value: Any, least: int, most: int | None) -> int:
    """A whole number within limits."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        limits = f"{least} or more" if most is None else f"{least} to {most}"
        raise ConfigError(f"{path}: {value!r} is not a whole number of {limits}")
    return value
