r"""Kubernetes' JSONPath: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`, `.metadata.labels.a\.b`.

This is the dialect of client-go, which printer columns and scale paths of custom resources are written in. A path is a
chain of *steps*; each takes the values found so far and gives those it leads to. A step to a field that is not there
leads nowhere, which is no error; a step that makes no sense for the value (an index past the end, a filter on a map)
ends the search with nothing found, and so does one that leads to more values than anybody would print. Braces and the
leading dot may be left out. Templates of text and ranges are kubectl's own business.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ghostfleet.core.errors import shortened

__all__ = ["JsonPath", "compile"]

Step = Callable[[list[Any]], list[Any]]

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FIELD = re.compile(r"(?:\\.|[^\\ \t\r\n.,\[\]$@{}])*", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[0-9.]*")
_WORD = re.compile(r"[^ \t\r\n.,\[\]$@{}]+")
_SLICE = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_QUOTED = re.compile(r"""(["'])((?:(?!\1)[^\\\n]|\\.)*)\1""")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"'}


#: Characters of a path, and values that a step may lead to: far more than a column of a table has.
_LONGEST = 4_096
_MOST_VALUES = 5_000


class _Senseless(Exception):
    """A step that makes no sense for the value it was given."""


class JsonPath:
    """A compiled path."""

    __slots__ = ("_steps", "text")

    def __init__(self, text: str, steps: list[Step]) -> None:
        self.text = text
        self._steps = steps

    def find(self, obj: Any) -> list[Any]:
        """All values the path leads to."""
        try:
            return _walk(self._steps, [obj])
        except _Senseless:
            return []

    def first(self, obj: Any) -> Any:
        """The first value the path leads to; None if there is none."""
        found = self.find(obj)
        return found[0] if found else None


@lru_cache(maxsize=1024)
def compile(path: str) -> JsonPath:
    """Compile a path; a ValueError says what is wrong with it."""
    if len(path) > _LONGEST:
        raise ValueError(f"JSONPath {shortened(path)!r}: expected at most {_LONGEST} characters")
    text = path.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    if text[:1].isalpha() or text[:1] == "_":
        text = f".{text}"
    if not text:
        raise ValueError("a JSONPath must not be empty")
    try:
        return JsonPath(path, _Parser(text).steps())
    except ValueError as error:
        raise ValueError(f"JSONPath {path!r}: {error}") from None


class _Parser:
    """Reads a path from left to right. What stands in brackets is read by a parser of its own."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def steps(self) -> list[Step]:
        steps: list[Step] = []
        while self.position < len(self.text):
            steps += self.next_steps(steps)
        return steps

    def next_steps(self, before: list[Step]) -> list[Step]:
        character = self.text[self.position]
        if self.text.startswith("[?(", self.position):
            return [self.filter()]
        if self.text.startswith("..", self.position):
            if before and before[-1] is _descend:
                raise ValueError("invalid multiple recursive descent")
            return self.descent()
        if character in " @$":
            self.position += 1
            return []
        if character == "[":
            return self.brackets()
        if character == ".":
            self.position += 1
            return [self.field()]
        return [self.literal(character)]

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.position)
        if match is None:
            raise ValueError(f"unrecognized character in action: {self.text[self.position :]!r}")
        self.position = match.end()
        return match[0]

    def field(self) -> Step:
        name = self.take(_FIELD)
        if self.text.startswith("\\", self.position):
            raise ValueError("a backslash at the end escapes nothing")
        return _children if name == "*" else _field(name.replace("\\", ""))

    def descent(self) -> list[Step]:
        self.position += 2
        following = self.text[self.position : self.position + 1]
        if following.isalnum() or following == "_":
            return [_descend, self.field()]
        return [_descend]

    def literal(self, character: str) -> Step:
        if character in "\"'":
            match = _QUOTED.match(self.text, self.position)
            if match is None:
                raise ValueError("unterminated quoted string")
            self.position = match.end()
            return _constant(_ESCAPE.sub(_unescaped, match[2]))
        if character in "+-" or character.isdecimal():
            return _constant(_number(self.take(_NUMBER)))
        word = self.take(_WORD)
        if word not in ("true", "false"):
            raise ValueError(f"unrecognized identifier {word}")
        return _constant(word == "true")

    def brackets(self) -> list[Step]:
        end = self.text.find("]", self.position)
        if end < 0:
            raise ValueError("unterminated array")
        inside = self.text[self.position + 1 : end]
        self.position = end + 1
        if "," in inside:
            members = [_Parser(f"[{part.strip(' ')}]").steps() for part in inside.split(",")]
            return [_union(members)]
        if re.fullmatch(r"'[^']*'", inside):
            return _Parser(f".{inside[1:-1]}").steps()
        match = _SLICE.fullmatch(":" if inside == "*" else inside)
        if match is None:
            raise ValueError(f"invalid array index {inside}")
        start, stop, step = (_index(part) for part in match.groups())
        return [_elements(start, stop, step, single=match[2] is None)]

    def filter(self) -> Step:
        start = self.position + 3
        end = self.end_of_filter(start)
        self.position = end + 2
        condition = self.text[start:end]
        match = _COMPARISON.fullmatch(condition)
        if match is None:
            return _having(_Parser(condition).steps())
        left, compares, right = match.groups()
        if compares not in _OPERATORS:
            raise ValueError(f"unrecognized filter operator {compares}")
        sides = [_Parser(side).steps() for side in (left, right)]
        return _comparing(sides[0], sides[1], compares)

    def end_of_filter(self, start: int) -> int:
        """Where the `)]` is that closes the filter; parentheses within the one quoted text do not count."""
        quote = ""
        closed = False
        for place in range(start, len(self.text)):
            character = self.text[place]
            if character in "\"'" and not quote:
                quote = character
            elif character == quote and self.text[place - 1] != "\\":
                closed = True
            elif character == ")" and closed == bool(quote):
                if self.text[place + 1 : place + 2] != "]":
                    raise ValueError("unclosed array expect ]")
                return place
        raise ValueError("unterminated filter")


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        return chr(int(code, 16))
    if match[4] not in _ESCAPED:
        raise ValueError(f"unquote string error: invalid syntax {match[0]}")
    return _ESCAPED[match[4]]


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"cannot parse number {text}") from None


def _index(part: str | None) -> int | None:
    digits = (part or "").removeprefix(":")
    if digits == "-":
        raise ValueError("array index - is not a number")
    return int(digits) if digits else None


def _walk(steps: list[Step], values: list[Any]) -> list[Any]:
    for step in steps:
        values = step(values)
        if len(values) > _MOST_VALUES:
            raise _Senseless
    return values


def _constant(value: Any) -> Step:
    return lambda values: [value] * len(values)


def _field(name: str) -> Step:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _children(values: list[Any]) -> list[Any]:
    return [part for value in values for part in _parts(value)]


def _descend(values: list[Any]) -> list[Any]:
    """Every value at any depth that has something in it, the outer ones first."""
    found: list[Any] = []
    pending = values[::-1]
    while pending:
        value = pending.pop()
        if value and isinstance(value, (dict, list, str)):
            found.append(value)
            pending += reversed(_parts(value))
        if len(found) > _MOST_VALUES:
            raise _Senseless
    return found


def _elements(start: int | None, stop: int | None, step: int | None, *, single: bool) -> Step:
    def elements(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise _Senseless
            first, last = _bounds(start, stop, len(value), single)
            if first == last:
                return found
            if not 0 <= first < len(value) or not first < last <= len(value) or (step is not None and step <= 0):
                raise _Senseless
            found += value[first : last : step or 1]
        return found

    return elements


def _bounds(start: int | None, stop: int | None, length: int, single: bool) -> tuple[int, int]:
    first = (start or 0) + (length if (start or 0) < 0 else 0)
    if single:
        return first, first + 1
    last = length if stop is None else stop + (length if stop < 0 else 0)
    return first, last


def _union(members: list[list[Step]]) -> Step:
    def union(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for steps in members:
            found += _walk(steps, values)
            if len(found) > _MOST_VALUES:
                raise _Senseless
        return found

    return union


def _having(steps: list[Step]) -> Step:
    def leads_somewhere(item: Any) -> bool:
        try:
            return bool(_walk(steps, [item]))
        except _Senseless:
            return True

    return lambda values: [item for value in values for item in _items(value) if leads_somewhere(item)]


def _comparing(left: list[Step], right: list[Step], compares: str) -> Step:
    def holds(item: Any) -> bool:
        lefts, rights = _walk(left, [item]), _walk(right, [item])
        if not lefts or not rights:
            return False
        if len(lefts) > 1 or len(rights) > 1 or type(lefts[0]) is not type(rights[0]):
            raise _Senseless
        if not isinstance(lefts[0], (str, int, float)) or (isinstance(lefts[0], bool) and compares not in ("==", "!=")):
            raise _Senseless
        return _OPERATORS[compares](lefts[0], rights[0])

    return lambda values: [item for value in values for item in _items(value) if holds(item)]


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _Senseless
    return value
