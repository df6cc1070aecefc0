"""YAML as kubectl reads and writes it.

A plain *scalar* (a word without quotes) stands for what Kubernetes' YAML library takes it for, which is neither YAML
1.1 nor 1.2: `no` and `on` are booleans, `012` is octal, `1e3` is a number, but dates and `1:30` are texts. A value is
*composed* from the events of PyYAML's parser, so that its size can be bounded: in depth, in what *aliases* (`*x`)
repeat, because a few lines of them can stand for gigabytes, and in values where the reader asks for that. Keys become
texts, and one that comes twice is an error, unless the reader is asked to be *lenient*: then the last one counts.
"""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from functools import cmp_to_key
from typing import Any, NoReturn

import yaml

__all__ = ["MAX_DEPTH", "TOO_DEEP", "TooManyValues", "YamlError", "compose", "deeper_than", "emit", "sort_of"]

#: Objects within objects. orjson writes 254 levels, some of which lists and watch events need around an object.
MAX_DEPTH = 240
TOO_DEEP = f"expected at most {MAX_DEPTH} objects or lists within each other"

#: Characters that aliases may repeat: as many as a request may have. Go's YAML counts only values.
_MOST_REPEATED = 3 * 1024 * 1024

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_TAG = "tag:yaml.org,2002:"
_NO_KEY = object()
_MERGE = object()


class YamlError(ValueError):
    """Text that is not YAML, or more than is read. Lines and columns count from 1."""

    def __init__(self, line: int, column: int, problem: str) -> None:
        super().__init__(f"line {line}, column {column}: {problem}")
        self.line = line
        self.column = column
        self.problem = problem


class TooManyValues(YamlError):
    """Text that stands for more values than the reader asked for."""


def compose(text: str, *, lenient: bool = False, most: int = sys.maxsize) -> Iterator[tuple[Any, int, int]]:
    """The value of each document of a text, with the line and column where it starts.

    A document may hold at most so many values; what aliases repeat counts each time.
    """
    try:
        yield from _Composer(text, lenient, most).documents()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ": ".join(filter(None, (error.context, error.problem)))
        raise YamlError(mark.line + 1 if mark else 1, mark.column + 1 if mark else 1, problem) from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise YamlError(1, 1, str(error).replace("\n", " ")) from None


def sort_of(value: Any) -> str:
    """What to call a value in a message."""
    sorts = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "nothing"}
    return sorts.get(type(value), "a number")


def deeper_than(value: Any, limit: int) -> bool:
    """Whether more than `limit` objects and lists lie within each other."""
    level = _containers([value])
    for _ in range(limit):
        if not level:
            return False
        level = _containers(part for whole in level for part in (whole.values() if type(whole) is dict else whole))
    return bool(level)


def _containers(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if type(value) is dict or type(value) is list]


class _Frame:
    """A mapping or list that is being read."""

    __slots__ = ("before", "key", "key_event", "made", "merged", "start")

    def __init__(self, start: Any, before: tuple[int, int]) -> None:
        self.start = start
        #: values and characters that were read before it
        self.before = before
        self.made: Any = {} if isinstance(start, yaml.MappingStartEvent) else []
        self.key: Any = _NO_KEY
        self.key_event: Any = None
        self.merged: set[str] = set()


class _Composer:
    """Makes values from the events of the YAML parser, without recursion."""

    def __init__(self, text: str, lenient: bool, most: int) -> None:
        self.lenient = lenient
        self.most = most
        self.next_event = _LOADER(text).get_event
        #: value, and how many values and characters it comes to
        self.anchors: dict[str, tuple[Any, int, int] | None] = {}
        self.begin()

    def begin(self) -> None:
        """Count from nothing."""
        self.anchors.clear()
        #: values and characters so far, and how many of them aliases repeated
        self.read = self.characters = 0
        self.repeated = self.repeated_characters = 0

    def documents(self) -> Iterator[tuple[Any, int, int]]:
        while (event := self.next_event()) is not None:
            if isinstance(event, yaml.DocumentStartEvent):
                self.begin()
                yield self.document()

    def document(self) -> tuple[Any, int, int]:
        stack: list[_Frame] = []
        while True:
            event = self.next_event()
            before = (self.read, self.characters)
            if isinstance(event, yaml.ScalarEvent):
                value = self.scalar(event)
                self.characters += len(event.value)
            elif isinstance(event, yaml.AliasEvent):
                value = self.alias(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self.open(event, stack)
                continue
            else:
                frame = stack.pop()
                value, event, before = frame.made, frame.start, frame.before
            self.read += 1
            if self.read > self.most:
                mark = event.start_mark
                raise TooManyValues(mark.line + 1, mark.column + 1, f"more than {self.most:,} values")
            if event.anchor and not isinstance(event, yaml.AliasEvent):
                self.anchors[event.anchor] = (value, self.read - before[0], self.characters - before[1])
            if not stack:
                if self.repeated and deeper_than(value, MAX_DEPTH):
                    self.fail(event, TOO_DEEP)
                return value, event.start_mark.line + 1, event.start_mark.column + 1
            self.attach(stack[-1], value, event)

    def fail(self, event: Any, problem: str) -> NoReturn:
        mark = event.start_mark
        raise YamlError(mark.line + 1, mark.column + 1, problem)

    def open(self, event: Any, stack: list[_Frame]) -> None:
        if len(stack) >= MAX_DEPTH:
            self.fail(event, TOO_DEEP)
        if event.anchor:
            self.anchors[event.anchor] = None
        stack.append(_Frame(event, (self.read, self.characters)))

    def alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            self.fail(event, f"unknown anchor '{event.anchor}' referenced")
        anchored = self.anchors[event.anchor]
        if anchored is None:
            self.fail(event, f"anchor '{event.anchor}' value contains itself")
        value, size, characters = anchored
        self.read += size
        self.repeated += size
        self.characters += characters
        self.repeated_characters += characters
        # The share that may be repetition shrinks with the size, as in Go's YAML: from 99 % down to 10 %.
        allowed = min(0.99, max(0.10, 0.99 - 0.89 * (self.read - 400_000) / 3_600_000))
        many = self.repeated > 100 and self.read > 1000 and self.repeated / self.read > allowed
        if many or self.repeated_characters > _MOST_REPEATED:
            self.fail(event, "document contains excessive aliasing")
        return value

    def attach(self, frame: _Frame, value: Any, event: Any) -> None:
        if type(frame.made) is list:
            frame.made.append(value)
        elif frame.key is _NO_KEY:
            frame.key = self.key(value, event)
            frame.key_event = event
        else:
            if frame.key is _MERGE:
                self.merge(frame, value, event)
            elif not self.lenient and frame.key in frame.made and frame.key not in frame.merged:
                self.fail(frame.key_event, f'key "{frame.key}" already set in map')
            else:
                frame.made[frame.key] = value
                frame.merged.discard(frame.key)
            frame.key = _NO_KEY

    def merge(self, frame: _Frame, value: Any, event: Any) -> None:
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(one, dict) for one in sources):
            self.fail(event, "map merge requires map or sequence of maps as the value")
        # kubectl lets a merge win over what stands above it, and what stands below win over the merge.
        for one in reversed(sources):
            frame.made.update(one)
            frame.merged.update(one)

    def key(self, value: Any, event: Any) -> Any:
        if type(value) is str:
            plain = isinstance(event, yaml.ScalarEvent) and event.implicit[0]
            return _MERGE if value == "<<" and plain else value
        if value is None or isinstance(value, (dict, list)):
            self.fail(event, f"expected a text as the key of a map, found {sort_of(value)}")
        return _scalar_text(value)

    def scalar(self, event: Any) -> Any:
        text: str = event.value
        tag = (event.tag or "").removeprefix(_TAG)
        if not tag:
            value = _resolve(text) if event.implicit[0] else text
        elif tag in _TAGGED:
            value = _resolve(text)
            if type(value) not in _TAGGED[tag]:
                self.fail(event, f"cannot decode {sort_of(value)} `{text}` as a !!{tag}")
        else:
            value = self.binary(event) if tag == "binary" else text
        if type(value) is float and (value != value or abs(value) == float("inf")):
            self.fail(event, f"expected a number that JSON has, found {text}")
        return value

    def binary(self, event: Any) -> str:
        try:
            return base64.b64decode(event.value, validate=True).decode()
        except ValueError:
            self.fail(event, "!!binary value contains invalid base64 data")


_TAGGED = {"int": (int,), "float": (float, int), "bool": (bool,), "null": (type(None),)}
_WORDS: dict[str, Any] = {
    form: value
    for value, words in (
        (True, ("y", "yes", "true", "on")),
        (False, ("n", "no", "false", "off")),
        (None, ("null",)),
        (float("inf"), (".inf", "+.inf")),
        (float("-inf"), ("-.inf",)),
    )
    for word in words
    for form in (word, word.upper(), re.sub("[a-z]", lambda letter: letter[0].upper(), word, count=1))
} | {"": None, "~": None, ".nan": float("nan"), ".NaN": float("nan"), ".NAN": float("nan")}
_INTEGER = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_INTEGER_LIMITS = {"": 1 << 64, "+": 1 << 63, "-": (1 << 63) + 1}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_MAYBE_NUMBER = frozenset("+-.0123456789")


def _resolve(text: str) -> Any:
    """What a plain YAML scalar stands for."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _MAYBE_NUMBER:
        return text
    plain = text.replace("_", "")
    match = _INTEGER.fullmatch(plain)
    if match is not None:
        sign, *digits = match.groups()
        number = next(int(run, base) for run, base in zip(digits, (16, 2, 8, 10), strict=True) if run)
        if number < _INTEGER_LIMITS[sign]:
            return -number if sign == "-" else number
    if not _FLOAT.fullmatch(plain):
        return text
    value = float(plain)
    if abs(value) == float("inf"):
        return text
    # JSON, which kubectl makes of the YAML, knows one sort of number: 1e3 is 1000.
    return int(value) if value.is_integer() and abs(value) < 1 << 63 else value


_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:([Tt ])([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")


def emit(value: Any) -> str:
    """YAML as `kubectl -o yaml` prints it: keys sorted, lists not indented, texts quoted that would read as others."""
    events = [
        yaml.StreamStartEvent(),
        yaml.DocumentStartEvent(explicit=False),
        *_events(value),
        yaml.DocumentEndEvent(explicit=False),
        yaml.StreamEndEvent(),
    ]
    text: str = yaml.emit(events, Dumper=_DUMPER, allow_unicode=True)
    return text.removesuffix("...\n")


def _events(value: Any) -> Iterator[yaml.Event]:
    if isinstance(value, dict):
        yield yaml.MappingStartEvent(None, None, True, flow_style=False)
        for key in sorted(value, key=cmp_to_key(_natural_order)):
            yield _text_event(key)
            yield from _events(value[key])
        yield yaml.MappingEndEvent()
    elif isinstance(value, list):
        yield yaml.SequenceStartEvent(None, None, True, flow_style=False)
        for item in value:
            yield from _events(item)
        yield yaml.SequenceEndEvent()
    elif isinstance(value, str):
        yield _text_event(value)
    else:
        yield yaml.ScalarEvent(None, None, (True, True), _scalar_text(value))


def _text_event(text: str) -> yaml.Event:
    if "\n" in text:
        style = "|"
    else:
        style = "" if _reads_as_text(text) else '"'
    return yaml.ScalarEvent(None, None, (True, True), text, style=style)


def _reads_as_text(text: str) -> bool:
    return isinstance(_resolve(text), str) and not _BASE_60.fullmatch(text) and not _is_timestamp(text)


def _is_timestamp(text: str) -> bool:
    match = _TIMESTAMP.fullmatch(text)
    # With a T between date and time there must be a zone, with a space there must be none.
    if match is None or (match[4] and (match[4] == " ") == bool(match[8])):
        return False
    try:
        year, month, day, hour, minute, second = (int(part or 0) for part in match.group(1, 2, 3, 5, 6, 7))
        datetime(year, month, day, hour, minute, second)
    except ValueError:
        return False
    return True


def _scalar_text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, float):
        return _float_text(value)
    return str(value).lower()


def _float_text(value: float) -> str:
    """The shortest digits that name the number, with an exponent from a million on."""
    exact = Decimal(repr(value)).normalize()
    if -4 <= exact.adjusted() < 6:
        return f"{exact:f}"
    return f"{value:.{len(exact.as_tuple().digits) - 1}e}"


def _natural_order(left: str, right: str) -> int:
    """Digits count as numbers (`a9` before `a10`), and what is not a letter comes before letters."""
    for place, (a, b) in enumerate(zip(left, right, strict=False)):
        if a == b:
            continue
        if a.isalpha() or b.isalpha():
            return (a > b) - (a < b) if a.isalpha() and b.isalpha() else a.isalpha() - b.isalpha()
        lead = "1" if "0" in (a, b) and re.search("[1-9][0-9]*$", left[:place]) else "0"
        runs = [_digits_at(text, place) for text in (left, right)]
        one, other = ((int(lead + run), len(run), character) for run, character in zip(runs, (a, b), strict=True))
        return (one > other) - (one < other)
    return len(left) - len(right)


def _digits_at(text: str, place: int) -> str:
    match = re.compile("[0-9]*").match(text, place)
    return match[0] if match else ""
