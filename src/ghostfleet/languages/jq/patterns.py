"""What `as` does: takes a value apart and binds variables to its parts.

A *binder* gives the environments that come of a value; a key that is computed may give several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from ghostfleet.languages.jq.codes import Code, Environment
from ghostfleet.languages.jq.syntax import Filter, Pattern
from ghostfleet.languages.jq.values import JqError, described, index

__all__ = ["Binder", "compile_pattern"]

Binder = Callable[[Environment, Any], Iterable[Environment]]


class _Scope(Protocol):
    def slot(self, name: str, sort: str) -> Any: ...


S = TypeVar("S", bound=_Scope)


def compile_pattern(pattern: Pattern, scope: S, compile_filter: Callable[[Filter, S], Code]) -> tuple[Binder, S]:
    """The binder of a pattern, and the scope within which its variables are known."""
    if pattern.name:
        return (lambda environment, value: ((value, environment),)), scope.slot(pattern.name, "variable")
    if pattern.elements:
        return _elements(pattern, scope, compile_filter)
    return _entries(pattern, scope, compile_filter)


def _elements(pattern: Pattern, scope: S, compile_filter: Callable[[Filter, S], Code]) -> tuple[Binder, S]:
    binders = []
    for element in pattern.elements:
        binder, scope = compile_pattern(element, scope, compile_filter)
        binders.append(binder)

    def bind(environment: Environment, value: Any, place: int = 0) -> Iterator[Environment]:
        if not (value is None or type(value) is list):
            raise JqError(f"expected an array but got: {described(value)}")
        if place == len(binders):
            yield environment
            return
        for inner in binders[place](environment, index(value, place)):
            yield from bind(inner, value, place + 1)

    return bind, scope


def _entries(pattern: Pattern, scope: S, compile_filter: Callable[[Filter, S], Code]) -> tuple[Binder, S]:
    steps: list[tuple[Code, bool, Binder | None]] = []
    for key_node, name, inner in pattern.entries:
        key = compile_filter(key_node, scope)
        if name:
            scope = scope.slot(name, "variable")
        binder = None
        if inner is not None:
            binder, scope = compile_pattern(inner, scope, compile_filter)
        steps.append((key, bool(name), binder))

    def bind(environment: Environment, value: Any, place: int = 0) -> Iterator[Environment]:
        if place == len(steps):
            yield environment
            return
        key, named, binder = steps[place]
        for wanted in key.many(environment, value):
            part = index(value, wanted)
            frame = (part, environment) if named else environment
            for inner in binder(frame, part) if binder else (frame,):
                yield from bind(inner, value, place + 1)

    return bind, scope
