"""The operators of CEL, put together from parts that are compiled.

A compiled part is a function of a *scope*, the list of values of variables, and the *type* of its value where that is
known beforehand, so that an operation that can never work is found at compile time. `&&` and `||` absorb errors: if
one side decides, it does not matter that the other one has no value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.cel.functions import Overloads
from ghostfleet.languages.cel.objects import Resources
from ghostfleet.languages.cel.operators import ARITHMETIC, COMPARABLE, COMPARISONS, NEGATIONS, index, is_key
from ghostfleet.languages.cel.values import CelError, Duration, Timestamp, Uint, equal, no_overload, type_name
from ghostfleet.languages.errors import Unsupported

__all__ = ["FORMS", "Compiled", "Scope", "boolean", "overloaded"]

Scope = list[Any]
Kind = type | None


@dataclass(frozen=True, slots=True)
class Compiled:
    """A part of an expression: its value in a scope, and its type and that of its items or keys, or None."""

    value: Callable[[Scope], Any]
    kind: Kind = None
    items: Kind = None


FormCompiler = Callable[..., Compiled]


def _refused(what: str) -> Unsupported:
    return Unsupported(f"found no matching overload for {what!r}")


def _differ(left: Kind, right: Kind) -> bool:
    """Whether two types are known, and not the same."""
    return left is not None and right is not None and left is not right


def _arithmetic(operator: str) -> FormCompiler:
    table = ARITHMETIC[operator]

    def compiled(left: Compiled, right: Compiled) -> Compiled:
        if not any(left.kind in (None, key[0]) and right.kind in (None, key[1]) for key in table):
            raise _refused(f"_{operator}_")
        first, second = left.value, right.value
        known = left.kind if left.kind is right.kind and left.kind in (int, Uint, float, str, bytes, list) else None

        def run(scope: Scope) -> Any:
            one, other = first(scope), second(scope)
            function = table.get((type(one), type(other)))
            if function is None:
                raise no_overload(f"_{operator}_", one, other)
            return function(one, other)

        return Compiled(run, known)

    return compiled


def _comparison(operator: str) -> FormCompiler:
    function = COMPARISONS[operator]

    def compiled(left: Compiled, right: Compiled) -> Compiled:
        known = any(left.kind in (None, key[0]) and right.kind in (None, key[1]) for key in COMPARABLE)
        if not known or _differ(left.kind, right.kind):
            raise _refused(f"_{operator}_")
        first, second = left.value, right.value

        def run(scope: Scope) -> bool:
            one, other = first(scope), second(scope)
            if (type(one), type(other)) not in COMPARABLE:
                raise no_overload(f"_{operator}_", one, other)
            return bool(function(one, other))

        return Compiled(run, bool)

    return compiled


def _equality(negated: bool) -> FormCompiler:
    nothing = type(None)
    nullable = (nothing, Timestamp, Duration)

    def compiled(left: Compiled, right: Compiled) -> Compiled:
        absent = nothing in (left.kind, right.kind) and left.kind in nullable and right.kind in nullable
        if (_differ(left.kind, right.kind) and not absent) or _differ(left.items, right.items):
            raise _refused("_==_")
        first, second = left.value, right.value
        return Compiled(lambda scope: equal(first(scope), second(scope)) != negated, bool)

    return compiled


def _in(left: Compiled, right: Compiled) -> Compiled:
    if right.kind not in (None, list, dict) or _differ(left.kind, right.items):
        raise _refused("@in")
    first, second = left.value, right.value

    def run(scope: Scope) -> bool:
        value, whole = first(scope), second(scope)
        if type(whole) is list:
            BUDGET.step(len(whole) // 4)
            return any(equal(value, part) for part in whole)
        if type(whole) is dict or type(whole) is Resources:
            return is_key(value, whole)
        raise no_overload("@in", value, whole)

    return Compiled(run, bool)


def _index(left: Compiled, right: Compiled) -> Compiled:
    wanted = int if left.kind is list else left.items
    if left.kind not in (None, list, dict) or _differ(right.kind, wanted):
        raise _refused("_[_]")
    first, second = left.value, right.value

    def run(scope: Scope) -> Any:
        whole, key = first(scope), second(scope)
        return whole.get(key) if type(whole) is Resources else index(whole, key)

    return Compiled(run)


def boolean(part: Compiled, what: str) -> Callable[[Scope], Any]:
    """The value of a part that has to be true or false."""
    if part.kind not in (None, bool):
        raise Unsupported(f"found no matching overload for {what!r}: expected type 'bool'")
    return part.value


def _logic(decisive: bool) -> FormCompiler:
    what = "_||_" if decisive else "_&&_"

    def compiled(left: Compiled, right: Compiled) -> Compiled:
        first, second = boolean(left, what), boolean(right, what)

        def run(scope: Scope) -> Any:
            try:
                one = first(scope)
                if one is decisive:
                    return decisive
                problem = None if type(one) is bool else no_overload(what, one)
            except CelError as error:
                problem = error
            other = second(scope)
            if other is decisive:
                return decisive
            if problem is not None:
                raise problem
            if type(other) is not bool:
                raise no_overload(what, other)
            return not decisive

        return Compiled(run, bool)

    return compiled


def _condition(test: Compiled, then: Compiled, otherwise: Compiled) -> Compiled:
    ask = boolean(test, "_?_:_")
    if _differ(then.kind, otherwise.kind):
        raise _refused("_?_:_")
    yes, no = then.value, otherwise.value

    def run(scope: Scope) -> Any:
        answer = ask(scope)
        if type(answer) is not bool:
            raise no_overload("_?_:_", answer)
        return yes(scope) if answer else no(scope)

    return Compiled(run, then.kind if then.kind is otherwise.kind else None)


def _not(part: Compiled) -> Compiled:
    value_of = boolean(part, "!_")

    def run(scope: Scope) -> bool:
        value = value_of(scope)
        if type(value) is not bool:
            raise no_overload("!_", value)
        return not value

    return Compiled(run, bool)


def _negated(part: Compiled) -> Compiled:
    if part.kind is not None and part.kind not in NEGATIONS:
        raise _refused("-_")

    def run(scope: Scope) -> Any:
        value = part.value(scope)
        if type(value) not in NEGATIONS:
            raise no_overload("-_", value)
        return NEGATIONS[type(value)](value)

    return Compiled(run, part.kind)


def _list(*parts: Compiled) -> Compiled:
    values = [part.value for part in parts]
    return Compiled(lambda scope: [value(scope) for value in values], list, _common(parts))


def _common(parts: tuple[Compiled, ...]) -> Kind:
    kinds = {part.kind for part in parts}
    return kinds.pop() if len(kinds) == 1 else None


def _map(*parts: Compiled) -> Compiled:
    keys, values = parts[::2], parts[1::2]

    def run(scope: Scope) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            name = key.value(scope)
            if type(name) not in (str, int, Uint, float, bool):
                raise CelError(f"unsupported key type: {type_name(name)}")
            made[name] = value.value(scope)
        return made

    return Compiled(run, dict, _common(keys))


def overloaded(name: str, overloads: Overloads, parts: list[Compiled]) -> Compiled:
    """A call of a function that does different things for different types."""
    fitting = [
        key
        for key in overloads
        if len(key) == len(parts) and all(part.kind in (None, kind) for part, kind in zip(parts, key, strict=True))
    ]
    if not fitting:
        kinds = ", ".join(part.kind.__name__ if part.kind else "dyn" for part in parts)
        raise Unsupported(f"found no matching overload for {name!r} applied to ({kinds})")
    results = {overloads[key][1] for key in fitting}
    result = results.pop() if len(results) == 1 else None
    values = [part.value for part in parts]

    def call(scope: Scope) -> Any:
        given = [value(scope) for value in values]
        found = overloads.get(tuple(map(type, given)))
        if found is None:
            if name == "size" and type(given[0]) is Resources:
                return len(given[0])
            raise no_overload(name, *given)
        for value in given:
            if type(value) is str or type(value) is bytes:
                BUDGET.handle(len(value))
        return found[0](*given)

    return Compiled(call, result)


#: what makes a part of its operands, by the name of the operator
FORMS: dict[str, FormCompiler] = {
    **{f"_{operator}_": _arithmetic(operator) for operator in ARITHMETIC},
    **{f"_{operator}_": _comparison(operator) for operator in COMPARISONS},
    "_==_": _equality(False),
    "_!=_": _equality(True),
    "_in_": _in,
    "_&&_": _logic(False),
    "_||_": _logic(True),
    "_?_:_": _condition,
    "_[_]": _index,
    "!_": _not,
    "-_": _negated,
    "[]": _list,
    "{}": _map,
}
