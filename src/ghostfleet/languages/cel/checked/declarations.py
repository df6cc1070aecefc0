"""Declarations: which functions there are, for which types, and what they do.

A *function* has *overloads*, each with a signature such as `(string) -> int` or, as a *member* behind a dot,
`list(A).(A) -> bool`, and a Python function that does it. A *library* is a list of functions. What an overload costs
is a function of its arguments, which is asked before the call, so that nothing is done that may not be; 1 unless there
is such a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ghostfleet.languages.cel.checked.types import Type, read_type

__all__ = ["Cost", "Function", "Overload", "function", "functions_of", "overload"]

Cost = Callable[[Sequence[Any]], int]


@dataclass(frozen=True, slots=True)
class Overload:
    arguments: tuple[Type, ...]
    result: Type
    member: bool
    call: Callable[..., Any]
    cost: Cost | None = None

    @property
    def is_open(self) -> bool:
        return any(each.is_open for each in self.arguments)


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    overloads: tuple[Overload, ...]


def overload(signature: str, call: Callable[..., Any], cost: Cost | None = None) -> Overload:
    """An overload by its signature, as it would show in a message."""
    left, _, result = signature.partition(" -> ")
    target, dot, arguments = left.partition(".(")
    if not dot:
        target, arguments = "", left.removeprefix("(")
    types = [read_type(each) for each in (*((target,) if target else ()), *_split(arguments.removesuffix(")")))]
    return Overload(tuple(types), read_type(result), bool(target), call, cost)


def _split(arguments: str) -> Iterable[str]:
    depth, start = 0, 0
    for place, character in enumerate(arguments):
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            yield arguments[start:place].strip()
            start = place + 1
    if rest := arguments[start:].strip():
        yield rest


def function(name: str, *overloads: Overload) -> Function:
    return Function(name, overloads)


def functions_of(*libraries: Iterable[Function]) -> dict[str, Function]:
    """All functions by name; libraries may add overloads to functions of others."""
    found: dict[str, Function] = {}
    for each in (each for library in libraries for each in library):
        before = found.get(each.name)
        found[each.name] = Function(each.name, (*before.overloads, *each.overloads)) if before else each
    return found
