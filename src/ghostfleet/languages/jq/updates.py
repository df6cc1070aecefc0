"""The updates of jq: a value with something else at some of its paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ghostfleet.languages.jq.codes import Code, Environment, intact, many
from ghostfleet.languages.jq.paths import Owned, delpaths, getpath, setpath
from ghostfleet.languages.jq.values import JqError, described

__all__ = ["assigned", "assigned_at", "modified", "paths_of"]


def paths_of(target: Code, environment: Environment, value: Any) -> Iterator[list[Any]]:
    """The paths to what a filter gives."""
    for item in target.paths(environment, ((), value, value)):
        if not intact(item):
            raise JqError(f"invalid path against: {described(item[2])}")
        yield list(item[0])


def assigned(target: Code, source: Code) -> Code:
    """`target = source`."""

    def run(environment: Environment, value: Any) -> Iterator[Any]:
        for output in source.many(environment, value):
            made, owned = value, Owned()
            for path in paths_of(target, environment, value):
                made = setpath(made, path, output, owned)
            yield made

    return many(run)


def assigned_at(path: list[Any], source: Code) -> Code:
    """`target = source` where the path to the target is known beforehand."""
    return many(lambda environment, value: (setpath(value, path, output) for output in source.many(environment, value)))


def modified(target: Code, change: Code) -> Code:
    """`target |= change`: the first output of the change, or nothing at all where it has none."""

    def run(environment: Environment, value: Any) -> Iterator[Any]:
        made, owned = value, Owned()
        gone = []
        for path in paths_of(target, environment, value):
            for output in change.many(environment, getpath(made, path)):
                made = setpath(made, path, output, owned)
                break
            else:
                gone.append(path)
        yield delpaths(made, gone)

    return many(run)
