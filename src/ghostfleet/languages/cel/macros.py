"""The macros of CEL that go through a list, or the keys of a map.

In `exists` and `all` an error counts only if no element decides the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.cel.forms import Compiled, Scope
from ghostfleet.languages.cel.values import CelError, no_overload
from ghostfleet.languages.errors import Unsupported

__all__ = ["MACROS", "macro"]

_Elements = Callable[[Scope], Any]
_Steps = list[Callable[[Scope], Any]]
_Loop = Callable[[_Elements, _Steps], Callable[[Scope], Any]]


def _truth(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise no_overload("a test", value)


def _search(decisive: bool) -> _Loop:
    def make(elements: _Elements, steps: _Steps) -> Callable[[Scope], bool]:
        test = steps[0]

        def run(scope: Scope) -> bool:
            problem: CelError | None = None
            for element in elements(scope):
                try:
                    if _truth(test([*scope, element])) is decisive:
                        return decisive
                except CelError as error:
                    problem = error
            if problem is not None:
                raise problem
            return not decisive

        return run

    return make


def _exists_one(elements: _Elements, steps: _Steps) -> Callable[[Scope], bool]:
    return lambda scope: sum(_truth(steps[0]([*scope, element])) for element in elements(scope)) == 1


def _filtered(elements: _Elements, steps: _Steps) -> Callable[[Scope], list[Any]]:
    return lambda scope: [element for element in elements(scope) if _truth(steps[0]([*scope, element]))]


def _mapped(elements: _Elements, steps: _Steps) -> Callable[[Scope], list[Any]]:
    *tests, change = steps

    def run(scope: Scope) -> list[Any]:
        scopes = ([*scope, element] for element in elements(scope))
        return [change(inner) for inner in scopes if all(_truth(test(inner)) for test in tests)]

    return run


def _counted(values: list[Any]) -> Iterator[Any]:
    """The values, a step for each that is asked for."""
    for value in values:
        BUDGET.step()
        yield value


MACROS: dict[str, _Loop] = {
    "all": _search(False),
    "exists": _search(True),
    "exists_one": _exists_one,
    "existsOne": _exists_one,
    "filter": _filtered,
    "map": _mapped,
}


def macro(name: str, whole: Compiled, parts: list[Compiled]) -> Compiled:
    """A macro over a list or map; its parts know one variable more, the element."""
    if whole.kind not in (None, list, dict):
        raise Unsupported(f"{name}() goes through lists and maps only")
    for part in parts if name != "map" else parts[:-1]:
        if part.kind not in (None, bool):
            raise Unsupported(f"{name}() expects a test that is true or false")

    def elements(scope: Scope) -> Any:
        value = whole.value(scope)
        if type(value) is list:
            return _counted(value)
        if type(value) is dict:
            BUDGET.step(len(value))
            return _counted(sorted(value, key=str))
        raise no_overload(name, value)

    run = MACROS[name](elements, [part.value for part in parts])
    return Compiled(run, list if name in ("map", "filter") else bool)
