"""Decoding: typed parts of a config from what a file holds.

Keys are read in any case of letters, as Go's JSON does; those that nobody knows are warned about, with a guess at what
was meant. A value of a wrong type is an error with its place; all of them are found, not only the first.
"""

from __future__ import annotations

import types
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from ghostfleet.clusterloader.config import Duration
from ghostfleet.clusterloader.problems import Problem, Problems
from ghostfleet.clusterloader.templates import Document, FieldPath
from ghostfleet.core.durations import parse_duration
from ghostfleet.core.yamltext import sort_of

__all__ = ["Decoder", "camel_case", "shown_path"]

T = TypeVar("T")
_INT32 = range(-(1 << 31), 1 << 31)
_WRONG = object()


def camel_case(name: str) -> str:
    """The name of a field in files: `namespaceRange` for namespace_range."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def shown_path(path: FieldPath) -> str:
    """`steps[0].phases[1].tuningSet`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    #: What it is called in files.
    key: str
    type: Any


@lru_cache(maxsize=64)
def _fields(kind: type) -> dict[str, _Field]:
    """Fields by their keys in lower case, aliases too."""
    hints = get_type_hints(kind)
    found: dict[str, _Field] = {}
    for each in fields(kind):
        key = each.metadata.get("name") or camel_case(each.name)
        for spelling in (key, each.metadata.get("alias")):
            if spelling:
                found[spelling.lower()] = _Field(each.name, key, hints[each.name])
    return found


class Decoder:
    """Decodes one document."""

    def __init__(self, document: Document, problems: Problems) -> None:
        self._document = document
        self._problems = problems

    def decode(self, kind: type[T], value: Any, path: FieldPath = ()) -> T:
        """A part of the config; what cannot be read has its default."""
        made: dict[str, Any] = {}
        if value is None:
            return kind()
        if not isinstance(value, dict):
            self._wrong(path, "an object", value)
            return kind()
        known = _fields(cast(Any, kind))
        for key, part in value.items():
            field = known.get(key.lower())
            if field is None:
                self._unknown(path, key, known)
                continue
            read = self._read(field.type, part, (*path, key))
            if read is not _WRONG and part is not None:
                made[field.name] = read
        return kind(**made)

    def error(self, path: FieldPath, message: str) -> None:
        """Note what is wrong with a field."""
        self._problems.error(self._problem(path, message))

    def warn(self, path: FieldPath, message: str) -> None:
        self._problems.warn(self._problem(path, message))

    def _read(self, kind: Any, value: Any, path: FieldPath) -> Any:
        if value is None:
            return None
        origin = get_origin(kind)
        if origin in (Union, types.UnionType):
            return self._read(next(each for each in get_args(kind) if each is not type(None)), value, path)
        if origin is list:
            return self._list(get_args(kind)[0], value, path)
        if origin is dict:
            return value if isinstance(value, dict) else self._wrong(path, "an object", value)
        if isinstance(kind, type) and is_dataclass(kind):
            return self.decode(kind, value, path)
        return self._scalar(kind, value, path)

    def _list(self, kind: Any, value: Any, path: FieldPath) -> Any:
        if not isinstance(value, list):
            return self._wrong(path, "a list", value)
        read = [self._read(kind, part, (*path, index)) for index, part in enumerate(value)]
        return [each for each in read if each is not _WRONG and each is not None]

    def _scalar(self, kind: Any, value: Any, path: FieldPath) -> Any:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if kind is Duration:
            return self._duration(value, path)
        if kind is str:
            return value if isinstance(value, str) else self._wrong(path, "a text", value)
        if kind is bool:
            return value if isinstance(value, bool) else self._wrong(path, "true or false", value)
        if not is_number:
            return self._wrong(path, "a number", value)
        if kind is float:
            return float(value)
        if value != value or value in (float("inf"), float("-inf")) or int(value) != value or int(value) not in _INT32:
            return self._wrong(path, "a whole number of 32 bits", value)
        return int(value)

    def _duration(self, value: Any, path: FieldPath) -> Any:
        if not isinstance(value, str):
            return self._wrong(path, 'a duration such as "5m"', value)
        try:
            return Duration(parse_duration(value))
        except ValueError as error:
            self.error(path, f'expected a duration such as "5m": {error}')
            return _WRONG

    def _wrong(self, path: FieldPath, wanted: str, value: Any) -> Any:
        found = sort_of(value) if isinstance(value, dict | list | None) else f"{str(value)[:80]!r}"
        self.error(path, f"expected {wanted}, found {found}")
        return _WRONG

    def _unknown(self, path: FieldPath, key: str, known: dict[str, _Field]) -> None:
        near = get_close_matches(key.lower(), known, 1)
        names = ", ".join(dict.fromkeys(each.key for each in known.values()))
        guess = f"did you mean {known[near[0]].key}?" if near else f"known are {names}"
        self.warn((*path, key), f"unknown key, which ClusterLoader2 ignores; {guess}")

    def _problem(self, path: FieldPath, message: str) -> Problem:
        return Problem(self._document.file, self._document.line_of(path), shown_path(path), message)
