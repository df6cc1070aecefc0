"""The parts that a jq program is made of.

A program is a tree of *filters*: each takes one input and gives any number of outputs. The classes here only hold the
tree; what a filter does is said where it is compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "Alternative",
    "Array",
    "Binary",
    "Bind",
    "Break",
    "Call",
    "Comma",
    "Condition",
    "Definition",
    "Filter",
    "Foreach",
    "Format",
    "Identity",
    "Index",
    "Interpolation",
    "Iterate",
    "Label",
    "Literal",
    "Logic",
    "Object",
    "Pattern",
    "Pipe",
    "Reduce",
    "Slice",
    "Try",
    "Unary",
    "Update",
    "Variable",
]


class Filter:
    """Any part of a program that maps an input to outputs."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Identity(Filter):
    pass


@dataclass(frozen=True, slots=True)
class Literal(Filter):
    value: Any


@dataclass(frozen=True, slots=True)
class Index(Filter):
    """`target[key]`; the key is a filter on the same input as the target."""

    target: Filter
    key: Filter


@dataclass(frozen=True, slots=True)
class Slice(Filter):
    target: Filter
    start: Filter
    end: Filter


@dataclass(frozen=True, slots=True)
class Iterate(Filter):
    target: Filter


@dataclass(frozen=True, slots=True)
class Pipe(Filter):
    left: Filter
    right: Filter


@dataclass(frozen=True, slots=True)
class Comma(Filter):
    left: Filter
    right: Filter


@dataclass(frozen=True, slots=True)
class Binary(Filter):
    """Arithmetic or comparison."""

    operator: str
    left: Filter
    right: Filter


@dataclass(frozen=True, slots=True)
class Logic(Filter):
    """`and` or `or`."""

    operator: str
    left: Filter
    right: Filter


@dataclass(frozen=True, slots=True)
class Alternative(Filter):
    left: Filter
    right: Filter


@dataclass(frozen=True, slots=True)
class Update(Filter):
    """`=`, `|=`, `+=` and so on."""

    operator: str
    left: Filter
    right: Filter


@dataclass(frozen=True, slots=True)
class Unary(Filter):
    operator: str
    operand: Filter


@dataclass(frozen=True, slots=True)
class Condition(Filter):
    test: Filter
    then: Filter
    otherwise: Filter


@dataclass(frozen=True, slots=True)
class Try(Filter):
    body: Filter
    handler: Filter | None


@dataclass(frozen=True, slots=True)
class Pattern:
    """What `as` binds: a variable, or the variables found at elements and keys of a value."""

    name: str = ""
    elements: tuple[Pattern, ...] = ()
    #: key, variable that the value under the key is bound to or "", and pattern for that value or None
    entries: tuple[tuple[Filter, str, Pattern | None], ...] = ()

    def names(self) -> list[str]:
        found = [self.name] if self.name else []
        for element in self.elements:
            found += element.names()
        for _, name, inner in self.entries:
            found += [name] if name else []
            found += inner.names() if inner else []
        return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Bind(Filter):
    """`source as pattern ?// pattern | body`."""

    source: Filter
    patterns: tuple[Pattern, ...]
    body: Filter


@dataclass(frozen=True, slots=True)
class Reduce(Filter):
    source: Filter
    pattern: Pattern
    start: Filter
    update: Filter


@dataclass(frozen=True, slots=True)
class Foreach(Filter):
    source: Filter
    pattern: Pattern
    start: Filter
    update: Filter
    extract: Filter


@dataclass(frozen=True, slots=True)
class Definition(Filter):
    """`def name(parameters): body; rest`. A parameter is a filter, or with a $ before it a value."""

    name: str
    parameters: tuple[str, ...]
    body: Filter
    rest: Filter


@dataclass(frozen=True, slots=True)
class Label(Filter):
    name: str
    body: Filter


@dataclass(frozen=True, slots=True)
class Break(Filter):
    name: str


@dataclass(frozen=True, slots=True)
class Call(Filter):
    name: str
    arguments: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class Variable(Filter):
    name: str


@dataclass(frozen=True, slots=True)
class Array(Filter):
    body: Filter | None


@dataclass(frozen=True, slots=True)
class Object(Filter):
    entries: tuple[tuple[Filter, Filter | None], ...]


@dataclass(frozen=True, slots=True)
class Interpolation(Filter):
    """A text with filters in it, whose outputs are written in a format such as `@json`."""

    parts: tuple[str | Filter, ...]
    format: str


@dataclass(frozen=True, slots=True)
class Format(Filter):
    name: str
