"""The functions of jq that take filters and are not worth defining in jq itself, or would be too slow that way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.jq.codes import (
    Code,
    Environment,
    Many,
    elements,
    guarded,
    identity,
    intact,
    iterated,
    many,
    one,
    pipe,
    selection,
    unfolded,
)
from ghostfleet.languages.jq.operators import add
from ghostfleet.languages.jq.ordering import extreme, grouped, sorted_by, unique_by
from ghostfleet.languages.jq.paths import getpath
from ghostfleet.languages.jq.regex import captures, match
from ghostfleet.languages.jq.updates import modified, paths_of
from ghostfleet.languages.jq.values import JqError, compare, described, is_number, wrong_type

__all__ = ["SPECIAL"]


def _path(target: Code) -> Code:
    return many(lambda environment, value: paths_of(target, environment, value))


def _getpath(path: Code) -> Code:
    def run(environment: Environment, value: Any) -> Iterator[Any]:
        for keys in path.many(environment, value):
            yield getpath(value, keys)

    def paths(environment: Environment, item: Any) -> Iterator[Any]:
        way, _, value = item
        for keys in path.many(environment, value):
            found = getpath(value, keys)
            if not intact(item):
                raise JqError(f"invalid path against: {described(value)}")
            yield (*way, *keys), found, found

    return many(run, paths)


_EACH = iterated(identity)


def _mapped(change: Code) -> Code:
    changed = pipe(_EACH, change)
    return one(lambda environment, value: list(changed.many(environment, value)))


def _by(name: str, function: Callable[[str, Any, list[Any]], Any]) -> Callable[[Code], Code]:
    """A function that orders an array by what a filter gives for each element."""

    def compiled(key: Code) -> Code:
        def run(environment: Environment, value: Any) -> Any:
            keys = [list(key.many(environment, part)) for part in elements(value)]
            if type(value) is not list:
                raise wrong_type(name, value, keys)
            return function(name, value, keys)

        return one(run)

    return compiled


def _first(source: Code) -> Code:
    def head(run: Many) -> Many:
        def first(environment: Environment, item: Any) -> Iterator[Any]:
            for output in run(environment, item):
                yield output
                return

        return first

    return many(head(source.many), head(source.paths))


def _last(source: Code) -> Code:
    def run(environment: Environment, value: Any) -> list[Any]:
        outputs: list[Any] = []
        for output in source.many(environment, value):
            outputs = [output]
        return outputs

    return many(run)


def _is_empty(source: Code) -> Code:
    def run(environment: Environment, value: Any) -> bool:
        return all(False for _ in source.many(environment, value))

    return one(run)


def _range(start: Code, end: Code, step: Code) -> Code:
    def run(environment: Environment, value: Any) -> Iterator[Any]:
        for first in start.many(environment, value):
            for last in end.many(environment, value):
                for width in step.many(environment, value):
                    yield from _numbers(first, last, width)

    return many(run)


def _numbers(first: Any, last: Any, width: Any) -> Iterator[Any]:
    for bound in (first, last, width):
        if not is_number(bound):
            raise wrong_type("range", bound)
    upwards = compare(width, 0)
    while upwards * compare(first, last) < 0:
        BUDGET.step()
        yield first
        first = add(first, width)


def _recurse(step: Code) -> Code:
    def steps(environment: Environment, item: Any, tracked: bool) -> Iterable[tuple[bool, Any]]:
        yield True, item
        for part in (step.paths if tracked else step.many)(environment, item):
            yield False, part

    return unfolded(steps)


def _while(test: Code, step: Code) -> Code:
    def steps(environment: Environment, item: Any, tracked: bool) -> Iterable[tuple[bool, Any]]:
        for output in test.many(environment, item[2] if tracked else item):
            if output is not None and output is not False:
                yield True, item
                for part in (step.paths if tracked else step.many)(environment, item):
                    yield False, part

    return unfolded(steps)


def _until(test: Code, step: Code) -> Code:
    def steps(environment: Environment, item: Any, tracked: bool) -> Iterable[tuple[bool, Any]]:
        for output in test.many(environment, item[2] if tracked else item):
            if output is not None and output is not False:
                yield True, item
            else:
                for part in (step.paths if tracked else step.many)(environment, item):
                    yield False, part

    return unfolded(steps)


def _repeat(body: Code) -> Code:
    def forever(run: Many) -> Many:
        def again(environment: Environment, item: Any) -> Iterator[Any]:
            while True:
                BUDGET.step()
                yield from run(environment, item)

        return again

    return many(forever(body.many), forever(body.paths))


def _sub(pattern: Code, new: Code, flags: Code) -> Code:
    def run(environment: Environment, value: Any) -> Iterator[Any]:
        for wanted in pattern.many(environment, value):
            for letters in flags.many(environment, value):
                yield from _replaced(value, match(value, wanted, letters, False), new, environment)

    return many(run)


def _replaced(text: str, matches: list[Any], new: Code, environment: Environment) -> list[Any]:
    """The text with its matches replaced; a filter with several outputs makes as many texts."""
    made: list[Any] = []
    place = 0
    for found in matches:
        before = text[place : found["offset"]]
        BUDGET.step()
        for count, output in enumerate(new.many(environment, captures(found["captures"]))):
            if count == len(made):
                made.append("")
            made[count] = add(made[count], add(before, output))
        place = found["offset"] + found["length"]
    return [one_text + text[place:] for one_text in made] or [text]


_NOTHING = many(lambda _, __: (), lambda _, __: ())
_ZERO, _ONE = one(lambda _, __: 0), one(lambda _, __: 1)

SPECIAL: dict[str, Callable[..., Code]] = {
    "empty/0": lambda: _NOTHING,
    "path/1": _path,
    "getpath/1": _getpath,
    "select/1": selection,
    "map/1": _mapped,
    "map_values/1": lambda change: modified(_EACH, change),
    "recurse/0": lambda: _recurse(guarded(_EACH, None)),
    "recurse/1": _recurse,
    "recurse/2": lambda step, test: _recurse(pipe(step, selection(test))),
    "while/2": _while,
    "until/2": _until,
    "repeat/1": _repeat,
    "first/1": _first,
    "last/1": _last,
    "isempty/1": _is_empty,
    "range/1": lambda end: _range(_ZERO, end, _ONE),
    "range/2": lambda start, end: _range(start, end, _ONE),
    "range/3": _range,
    "sub/3": _sub,
    "sort_by/1": _by("sort_by", sorted_by),
    "group_by/1": _by("group_by", grouped),
    "unique_by/1": _by("unique_by", unique_by),
    "min_by/1": _by("min_by", lambda name, value, keys: extreme(name, value, keys, True)),
    "max_by/1": _by("max_by", lambda name, value, keys: extreme(name, value, keys, False)),
}
