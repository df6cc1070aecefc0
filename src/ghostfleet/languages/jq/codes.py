"""Compiled filters, and the ways to put them together.

A *code* is a filter as Python functions. They take an *environment*, which holds the values of variables as nested
pairs, innermost first, and an input. `many` gives the outputs, lazily; `one` gives the only output, where it is known
that there is always exactly one, and is much faster. `paths` does the same on *tracked* inputs: triples of the path
followed so far, the value found there, and the value at hand, which is no longer the same once it was computed.
What combines filters without looking at values serves both ways, with `value_of` to look at a tracked one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ghostfleet.languages.budget import BUDGET, CAUGHT
from ghostfleet.languages.jq.values import Halt, JqError, described, index

__all__ = [
    "Break",
    "Code",
    "Environment",
    "Many",
    "alternative",
    "chain",
    "choice",
    "comma",
    "elements",
    "guarded",
    "identity",
    "indexed",
    "intact",
    "iterated",
    "labelled",
    "literal",
    "logic",
    "many",
    "one",
    "operation",
    "pipe",
    "selection",
    "unfolded",
]

Environment = Any
Many = Callable[[Environment, Any], Iterable[Any]]
One = Callable[[Environment, Any], Any]


class Code:
    __slots__ = ("many", "one", "paths", "test")

    def __init__(self, many: Many, one: One | None = None, paths: Many | None = None, test: One | None = None) -> None:
        self.many = many
        self.one = one
        self.paths = paths or _untracked(many)
        #: of a filter that only lets inputs pass or not: what decides
        self.test = test


class Break(Exception):
    """Leaves the label of the same identity."""

    def __init__(self, label: object) -> None:
        self.label = label


def _untracked(many: Many) -> Many:
    def paths(environment: Environment, item: Any) -> Iterator[Any]:
        path, found, value = item
        for output in many(environment, value):
            yield path, found, output

    return paths


def _value(item: Any) -> Any:
    return item[2]


def _same(item: Any) -> Any:
    return item


def one(function: One, paths: Many | None = None) -> Code:
    """A filter with always one output."""
    return Code(lambda environment, value: (function(environment, value),), function, paths)


def many(function: Many, paths: Many | None = None) -> Code:
    return Code(function, None, paths)


def intact(item: Any) -> bool:
    """Whether the value at hand is still the one that the path leads to."""
    _, found, value = item
    if type(value) in (list, dict):
        return value is found
    return type(value) is type(found) and (value == found or value != value)


def _followed(item: Any, key: Any, value: Any) -> Any:
    return (*item[0], key), value, value


identity = one(lambda _, value: value, lambda _, item: (item,))


def literal(value: Any) -> Code:
    return one(lambda _, __: value)


def chain(target: Code, names: tuple[str, ...]) -> Code:
    """Fields of fields: `target.a.b.c`."""

    def follow(_: Environment, value: Any) -> Any:
        for name in names:
            if type(value) is dict:
                value = value.get(name)
            elif value is None:
                return None
            else:
                raise JqError(f"expected an object but got: {described(value)}")
        return value

    def paths(environment: Environment, item: Any) -> Iterator[Any]:
        for found in target.paths(environment, item):
            for name in names:
                found = _step(found, name, index(found[2], name))
            yield found

    if target is identity:
        return one(follow, paths)
    first = target.one
    if first is not None:
        return one(lambda environment, value: follow(environment, first(environment, value)), paths)
    return many(lambda env, value: (follow(env, found) for found in target.many(env, value)), paths)


def _step(item: Any, key: Any, value: Any) -> Any:
    if not intact(item):
        raise JqError(f"invalid path against: {described(item[2])}")
    return _followed(item, key, value)


def indexed(target: Code, key: Code, lookup: Callable[[Any, Any], Any]) -> Code:
    """A part of the target, under a key that is computed from the same input."""

    def run(environment: Environment, value: Any) -> Iterator[Any]:
        for wanted in key.many(environment, value):
            for found in target.many(environment, value):
                yield lookup(found, wanted)

    def paths(environment: Environment, item: Any) -> Iterator[Any]:
        for wanted in key.many(environment, item[2]):
            for found in target.paths(environment, item):
                yield _step(found, wanted, lookup(found[2], wanted))

    first, second = target.one, key.one
    if first is None or second is None:
        return many(run, paths)

    def single(environment: Environment, value: Any) -> Any:
        wanted = second(environment, value)
        return lookup(first(environment, value), wanted)

    return one(single, paths)


def elements(value: Any) -> Iterable[Any]:
    """What `.[]` gives: the values of an object come in the order of its keys."""
    if type(value) is list:
        BUDGET.step(len(value))
        return value
    if type(value) is dict:
        BUDGET.step(len(value))
        return [value[key] for key in sorted(value)]
    raise JqError("cannot iterate over: null" if value is None else f"cannot iterate over: {described(value)}")


def iterated(target: Code) -> Code:
    def run(environment: Environment, value: Any) -> Iterator[Any]:
        for found in target.many(environment, value):
            yield from elements(found)

    def paths(environment: Environment, item: Any) -> Iterator[Any]:
        for found in target.paths(environment, item):
            value = found[2]
            keys = sorted(value) if type(value) is dict else range(len(value) if type(value) is list else 0)
            parts = elements(value)
            if not intact(found):
                raise JqError(f"invalid path on iterating against: {described(value)}")
            for key, part in zip(keys, parts, strict=True):
                yield _followed(found, key, part)

    first = target.one
    if first is None:
        return many(run, paths)

    def each(environment: Environment, value: Any) -> Iterable[Any]:
        found = first(environment, value)
        if type(found) is not list:
            return elements(found)
        # As above, without another call.
        BUDGET.steps += len(found)
        if BUDGET.steps > BUDGET.limit:
            BUDGET.exceeded()
        return found

    return many(each, paths)


def _piped(left: Many, right: Many) -> Many:
    def run(environment: Environment, item: Any) -> Iterator[Any]:
        for output in left(environment, item):
            yield from right(environment, output)

    return run


def pipe(left: Code, right: Code) -> Code:
    if left is identity:
        return right
    if right is identity:
        return left
    paths = _piped(left.paths, right.paths)
    first, second = left.one, right.one
    if first is not None and second is not None:
        return one(lambda env, value: second(env, first(env, value)), paths)
    if first is not None:
        return many(lambda env, value: right.many(env, first(env, value)), paths)
    if second is not None:
        return many(lambda env, value: (second(env, output) for output in left.many(env, value)), paths)
    test = right.test
    if test is not None:
        return many(
            lambda env, value: (output for output in left.many(env, value) if not _false(test(env, output))), paths
        )
    return many(_piped(left.many, right.many), paths)


def comma(left: Code, right: Code) -> Code:
    def both(first: Many, second: Many) -> Many:
        def run(environment: Environment, item: Any) -> Iterator[Any]:
            BUDGET.step()
            yield from first(environment, item)
            yield from second(environment, item)

        return run

    return many(both(left.many, right.many), both(left.paths, right.paths))


def _false(value: Any) -> bool:
    return value is None or value is False


def choice(test: Code, then: Code, otherwise: Code) -> Code:
    """`if`: one branch for each output of the test."""

    def branch(first: Many, second: Many, value_of: Callable[[Any], Any]) -> Many:
        def run(environment: Environment, item: Any) -> Iterator[Any]:
            for output in test.many(environment, value_of(item)):
                yield from (second if _false(output) else first)(environment, item)

        return run

    paths = branch(then.paths, otherwise.paths, _value)
    ask, yes, no = test.one, then.one, otherwise.one
    if ask is not None and yes is not None and no is not None:
        return one(lambda env, value: (no if _false(ask(env, value)) else yes)(env, value), paths)
    return many(branch(then.many, otherwise.many, _same), paths)


def selection(test: Code) -> Code:
    """`select`: the input, once for each true output of the test."""

    def kept(value_of: Callable[[Any], Any]) -> Many:
        def run(environment: Environment, item: Any) -> Iterator[Any]:
            for output in test.many(environment, value_of(item)):
                if not _false(output):
                    yield item

        return run

    ask = test.one
    if ask is None:
        return many(kept(_same), kept(_value))
    return Code(lambda env, value: () if _false(ask(env, value)) else (value,), None, kept(_value), ask)


def logic(operator: str, left: Code, right: Code) -> Code:
    """`and`, `or`: the right side is asked only where the left does not decide."""
    decided = operator == "or"

    def run(environment: Environment, value: Any) -> Iterator[bool]:
        for output in left.many(environment, value):
            if _false(output) != decided:
                yield decided
            else:
                yield from (not _false(other) for other in right.many(environment, value))

    first, second = left.one, right.one
    if first is None or second is None:
        return many(run)
    if decided:
        return one(lambda env, value: not _false(first(env, value)) or not _false(second(env, value)))
    return one(lambda env, value: not _false(first(env, value)) and not _false(second(env, value)))


def alternative(left: Code, right: Code) -> Code:
    """`//`: the outputs of the left that are neither null nor false, or if there are none those of the right."""

    def either(first: Many, second: Many, value_of: Callable[[Any], Any]) -> Many:
        def run(environment: Environment, item: Any) -> Iterator[Any]:
            empty = True
            for output in first(environment, item):
                if not _false(value_of(output)):
                    empty = False
                    yield output
            if empty:
                yield from second(environment, item)

        return run

    paths = either(left.paths, right.paths, _value)
    first, second = left.one, right.one
    if first is None or second is None:
        return many(either(left.many, right.many, _same), paths)

    def chosen(environment: Environment, value: Any) -> Any:
        output = first(environment, value)
        return second(environment, value) if _false(output) else output

    return one(chosen, paths)


def guarded(body: Code, handler: Code | None) -> Code:
    """`try`: outputs up to the first error, which the handler gets."""

    def attempt(first: Many, second: Many | None, caught: Callable[[Any, Any], Any]) -> Many:
        def run(environment: Environment, item: Any) -> Iterator[Any]:
            try:
                yield from first(environment, item)
                return
            except Halt:
                raise
            except JqError as error:
                problem = error.value
            BUDGET.step(CAUGHT)
            if second is not None:
                yield from second(environment, caught(item, problem))

        return run

    values = attempt(body.many, handler.many if handler else None, lambda _, problem: problem)
    paths = attempt(body.paths, handler.paths if handler else None, lambda item, problem: (item[0], item[1], problem))
    return many(values, paths)


def labelled(body: Code) -> Code:
    """`label`: what its own break leaves. The label itself is a variable of the environment."""

    def left_by(inner: Many) -> Many:
        def run(environment: Environment, item: Any) -> Iterator[Any]:
            label = object()
            try:
                yield from inner((label, environment), item)
            except Break as left:
                if left.label is not label:
                    raise

        return run

    return many(left_by(body.many), left_by(body.paths))


def operation(operator: Callable[[Any, Any], Any], left: Code, right: Code) -> Code:
    """Arithmetic or comparison of all pairs of outputs; the left side varies fastest."""

    def run(environment: Environment, value: Any) -> Iterator[Any]:
        for other in right.many(environment, value):
            for output in left.many(environment, value):
                BUDGET.step()
                yield operator(output, other)

    first, second = left.one, right.one
    if first is None or second is None:
        return many(run)

    def single(environment: Environment, value: Any) -> Any:
        # The right side goes first in gojq, which shows when both fail.
        other = second(environment, value)
        return operator(first(environment, value), other)

    return one(single)


def unfolded(steps: Callable[[Environment, Any, bool], Iterable[tuple[bool, Any]]]) -> Code:
    """A filter that calls itself, without the depth of Python's stack: a step says whether to output or to descend."""

    def walk(tracked: bool) -> Many:
        def run(environment: Environment, item: Any) -> Iterator[Any]:
            pending = [iter(steps(environment, item, tracked))]
            while pending:
                for output, part in pending[-1]:
                    BUDGET.step()
                    if output:
                        yield part
                    else:
                        pending.append(iter(steps(environment, part, tracked)))
                        break
                else:
                    pending.pop()

        return run

    return many(walk(False), walk(True))
