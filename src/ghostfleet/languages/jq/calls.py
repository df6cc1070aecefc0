"""Calls in jq: of functions of values, of filters given as parameters, and of functions that are defined in jq."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.jq.codes import Code, Environment, Many, many, one
from ghostfleet.languages.jq.scopes import Function, up

__all__ = ["defined", "native", "parameter"]


def native(function: Callable[..., Any], arguments: list[Code]) -> Code:
    """A function of values: called for all combinations, the first argument varies fastest."""
    function = _charged(function)
    if not arguments:
        return one(lambda _, value: function(value))
    singles = [argument.one for argument in arguments if argument.one is not None]
    if len(singles) == len(arguments):
        if len(singles) == 1:
            only = singles[0]
            return one(lambda env, value: function(value, only(env, value)))
        backwards = singles[::-1]
        return one(lambda env, value: function(value, *[single(env, value) for single in backwards][::-1]))

    def combinations(environment: Environment, value: Any, rest: list[Code]) -> Iterator[tuple[Any, ...]]:
        if not rest:
            yield ()
            return
        for last in rest[-1].many(environment, value):
            for others in combinations(environment, value, rest[:-1]):
                yield (*others, last)

    return many(lambda env, value: (function(value, *given) for given in combinations(env, value, arguments)))


def _charged(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its charge for going through a text, an array or an object."""

    def call(value: Any, *arguments: Any) -> Any:
        kind = type(value)
        if kind is str or kind is list:
            BUDGET.handle(len(value))
        elif kind is dict:
            BUDGET.step(len(value) // 4)
        return function(value, *arguments)

    return call


def parameter(levels: int) -> Code:
    """A filter that was given as a parameter, that many slots outwards: its code, and the environment it is from."""
    outer = up(levels)

    def run(environment: Environment, value: Any) -> Iterable[Any]:
        code, home = outer(environment)[0]
        return code.many(home, value)  # type: ignore[no-any-return]

    def paths(environment: Environment, item: Any) -> Iterable[Any]:
        code, home = outer(environment)[0]
        return code.paths(home, item)  # type: ignore[no-any-return]

    return many(run, paths)


def defined(function: Function, arguments: list[Code], depth: int) -> Code:
    """A function that is defined in jq, called at a depth. Filters are passed on; values are computed first."""
    home = up(depth - function.depth)
    by_value = [argument for argument, name in zip(arguments, function.parameters, strict=True) if name.startswith("$")]

    def frames(environment: Environment, value: Any, inner: Environment, rest: list[Code]) -> Iterator[Environment]:
        if not rest:
            yield inner
            return
        for output in rest[0].many(environment, value):
            yield from frames(environment, value, (output, inner), rest[1:])

    def enter(body: Callable[[], Many], value_of: Callable[[Any], Any]) -> Many:
        def run(environment: Environment, item: Any) -> Iterator[Any]:
            inner = home(environment)
            for argument in arguments:
                inner = ((argument, environment), inner)
            BUDGET.enter()
            try:
                for frame in frames(environment, value_of(item), inner, by_value):
                    yield from body()(frame, item)
            finally:
                BUDGET.leave()

        return run

    # The code is looked up when it is called: a function that calls itself is not compiled yet.
    values = enter(lambda: function.code.many, lambda item: item)
    return many(values, enter(lambda: function.code.paths, lambda item: item[2]))
