"""The constructs of jq that bind variables: `as`, `reduce` and `foreach`.

They come in two forms, for plain and for tracked inputs, because gojq follows paths through all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ghostfleet.languages.budget import BUDGET, CAUGHT
from ghostfleet.languages.jq.codes import Code, Environment, Many, many, one
from ghostfleet.languages.jq.patterns import Binder
from ghostfleet.languages.jq.values import JqError

__all__ = ["bound", "folded", "scanned"]


def bound(source: Code, ways: list[tuple[Binder, Code]], nulls: int, *, simple: bool) -> Code:
    """`source as pattern ?// pattern | body`: the first way that raises no error. `nulls` slots come before its own."""
    values = _bound(source, [(binder, body.many) for binder, body in ways], nulls, lambda item: item)
    paths = _bound(source, [(binder, body.paths) for binder, body in ways], nulls, lambda item: item[2])
    first, body = source.one, ways[0][1].one
    if simple and first is not None and body is not None:
        return one(lambda env, value: body((first(env, value), env), value), paths)
    return many(values, paths)


def _bound(source: Code, ways: list[tuple[Binder, Many]], nulls: int, value_of: Callable[[Any], Any]) -> Many:
    def run(environment: Environment, item: Any) -> Iterator[Any]:
        for value in source.many(environment, value_of(item)):
            inner = environment
            for _ in range(nulls):
                inner = (None, inner)
            for place, (binder, body) in enumerate(ways):
                try:
                    for frame in binder(inner, value):
                        yield from body(frame, item)
                    break
                except JqError:
                    if place == len(ways) - 1:
                        raise
                    BUDGET.step(CAUGHT)

    return run


def folded(source: Code, start: Code, binder: Binder, update: Code) -> Code:
    """`reduce`: the last output of each update is the next state."""

    def run(environment: Environment, value: Any) -> Iterator[Any]:
        for state in start.many(environment, value):
            for output in source.many(environment, value):
                for frame in binder(environment, output):
                    for changed in update.many(frame, state):
                        state = changed
            yield state

    def paths(environment: Environment, item: Any) -> Iterator[Any]:
        for path, found, state in start.paths(environment, item):
            for way, place, output in source.paths(environment, (path, found, item[2])):
                for frame in binder(environment, output):
                    for _, __, changed in update.paths(frame, (way, place, state)):
                        state = changed
            yield path, found, state

    return many(run, paths)


def scanned(source: Code, start: Code, binder: Binder, update: Code, extract: Code) -> Code:
    """`foreach`: every state on the way."""

    def run(environment: Environment, value: Any) -> Iterator[Any]:
        for state in start.many(environment, value):
            for output in source.many(environment, value):
                for frame in binder(environment, output):
                    for changed in update.many(frame, state):
                        state = changed
                        yield from extract.many(frame, state)

    def paths(environment: Environment, item: Any) -> Iterator[Any]:
        for path, found, state in start.paths(environment, item):
            for way, place, output in source.paths(environment, (path, found, item[2])):
                for frame in binder(environment, output):
                    for changed in update.paths(frame, (way, place, state)):
                        state = changed[2]
                        yield from extract.paths(frame, changed)

    return many(run, paths)
