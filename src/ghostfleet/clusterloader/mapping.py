"""The mapping: the values that templates see as `.Name`.

They come from override files, the later ones counting more, from `Nodes` and `ImageRegistry`, and from environment
variables that begin with `CL2_`. A variable that an override file sets to something else is an error, for nobody could
tell which of them counts. Numbers of files are Go's float64, those of the environment int64 where they are whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ghostfleet.clusterloader.problems import ConfigError
from ghostfleet.core.yamltext import YamlError, compose, sort_of
from ghostfleet.languages.gotemplate.values import Float, Int, Int64

__all__ = ["MOST_VALUES", "TemplateMapping", "base_mapping", "read_text", "template_value"]

TemplateMapping = dict[str, Any]
#: Values in one file of a test, counted with what aliases repeat.
MOST_VALUES = 200_000
_PREFIX = "CL2_"
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_BOOLEANS = {**dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True)} | dict.fromkeys(
    ("0", "f", "F", "FALSE", "false", "False"), False
)


def base_mapping(
    overrides: Iterable[Path], nodes: int, registry: str, environment: Mapping[str, str]
) -> TemplateMapping:
    """The values that all templates of a test see."""
    mapping: TemplateMapping = {}
    origins: dict[str, Path] = {}
    for path in overrides:
        for key, value in _override(path).items():
            mapping[key], origins[key] = template_value(value), path
    mapping |= {"Nodes": Int(nodes), "ImageRegistry": registry}
    for key, text in sorted(environment.items()):
        if not key.startswith(_PREFIX):
            continue
        value = _from_environment(text)
        if key in origins and mapping[key] != value:
            raise ConfigError(
                f"{origins[key]}: {key} is {_shown(mapping[key])} here and {_shown(value)} in the environment; "
                "set it in one place only"
            )
        mapping[key] = value
    return mapping


def template_value(value: Any) -> Any:
    """A value of a file as templates see it: every number is a float64."""
    kind = type(value)
    if kind is int or kind is float:
        return Float(value)
    if kind is dict:
        return {key: template_value(part) for key, part in value.items()}
    return [template_value(part) for part in value] if kind is list else value


def read_text(path: Path, what: str) -> str:
    """The text of a file; a ConfigError in one line when there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read {what} {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: expected UTF-8 text, found other bytes") from None


def _override(path: Path) -> dict[str, Any]:
    try:
        found = [value for value, _, _ in compose(read_text(path, "overrides"), lenient=True, most=MOST_VALUES)]
    except YamlError as error:
        raise ConfigError(f"{path}: {error}") from None
    if not found or found[0] is None:
        return {}
    if not isinstance(found[0], dict):
        raise ConfigError(f"{path}: expected an object of names and values, found {sort_of(found[0])}")
    return found[0]


def _from_environment(text: str) -> Any:
    """An int, a float, a boolean, or a text; whichever it can be first."""
    if _INTEGER.match(text) and -(1 << 63) <= int(text) < 1 << 63:
        return Int64(text)
    try:
        return Float(text)
    except ValueError:
        return _BOOLEANS.get(text, text)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value:g}"
