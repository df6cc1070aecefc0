"""Queries: programs of jq, ready to run.

A query is compiled from its text and run on objects; each run gives a list of outputs. KWOK hands gojq objects whose
numbers are all floats, while ours hold ints as JSON has them; so an object is *converted* first, unless the query can
only pass values through: then the outputs are converted, which is far less. Outputs are plain JSON: a float is Go's
float64, an int is Go's int or a big integer, and what `fromjson` read is a `JsonNumber`.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.core.errors import shortened
from ghostfleet.languages.budget import (
    BUDGET,
    LONGEST_EXPRESSION,
    UNLIMITED,
    BudgetExceeded,
    Strikes,
    bounded_source,
    steps_for,
    steps_to_compile,
)
from ghostfleet.languages.errors import Unsupported
from ghostfleet.languages.jq import syntax
from ghostfleet.languages.jq.codes import Break
from ghostfleet.languages.jq.compiler import compile_filter
from ghostfleet.languages.jq.parser import parse
from ghostfleet.languages.jq.scopes import root_scope
from ghostfleet.languages.jq.values import JqError

__all__ = ["Query", "compile_jq"]


class Query:
    """A compiled program."""

    __slots__ = ("_many", "_one", "_passes", "_plain", "_steps", "_strikes", "text")

    def __init__(self, text: str, place: str) -> None:
        self.text = text
        tree = parse(bounded_source(text, LONGEST_EXPRESSION))
        BUDGET.limit = BUDGET.steps + steps_to_compile(text)
        try:
            code = compile_filter(tree, root_scope())
        finally:
            BUDGET.limit = UNLIMITED
        self._one = code.one
        self._many = code.many
        self._plain = code.one if _is_plain(tree) else None
        self._passes = _passes(tree)
        self._steps = steps_for(text)
        self._strikes = Strikes("jq", text, place, self._steps)

    def run(self, obj: Any, now: int = 0) -> list[Any]:
        """All outputs for an object at a time in microseconds; JqError if the program fails on the way."""
        if self._plain is not None:
            return [_part(self._plain((now, None), obj))]
        BUDGET.depth = 0
        try:
            if not self._passes:
                obj = _converted(obj)
                BUDGET.limit = BUDGET.steps + self._steps
                return list(self._many((now, None), obj))
            BUDGET.limit = BUDGET.steps + self._steps
            if self._one is None:
                return [_output(value) for value in self._many((now, None), obj)]
            return [_output(self._one((now, None), obj))]
        except JqError:
            raise
        except (BudgetExceeded, RecursionError) as error:
            counted = self._strikes.counted(error)
            if self._strikes.out:
                self._many, self._one, self._passes = self._strikes.refuse, None, True
            raise counted from None
        except Break:
            raise JqError("a label is left that is not there any more") from None
        except (ValueError, ArithmeticError) as error:
            raise JqError(f"a number is too large: {error}") from None
        finally:
            BUDGET.limit = UNLIMITED

    def __repr__(self) -> str:
        return f"Query({self.text!r})"


def compile_jq(text: str, place: str = "") -> Query:
    """A program, compiled; Unsupported names what is wrong with it, or not supported.

    The place is where the text stands, for messages about its budget.
    """
    try:
        return Query(text, place)
    except (Unsupported, BudgetExceeded) as error:
        raise Unsupported(f"jq {shortened(text)!r}: {error}") from None
    except RecursionError:
        raise Unsupported(f"jq {shortened(text)!r}: nested too deeply") from None


_last: list[Any] = [None, None]


def _converted(obj: Any) -> Any:
    """The object with its ints as floats; a stage asks many things of one object, so the last one is kept."""
    if obj is not _last[0]:
        _last[:] = obj, _part(obj)
    return _last[1]


def _part(value: Any) -> Any:
    """An object or a part of it with its ints as floats. It is not the query's work, so nothing is charged for it."""
    kind = type(value)
    if kind is dict or kind is list:
        before = BUDGET.steps
        made = _floats(value)
        BUDGET.steps = before
        return made
    return float(value) if kind is int else value


def _output(value: Any) -> Any:
    kind = type(value)
    if kind is int:
        return float(value)
    return _floats(value) if kind is dict or kind is list else value


def _floats(value: Any) -> Any:
    """The value with its ints as floats; the same object if there is none."""
    kind = type(value)
    if kind is int:
        return float(value)
    if kind is dict:
        BUDGET.step(len(value) // 8)
        changed = {
            key: new for key, part in value.items() if type(part) in _MAY_HOLD and (new := _floats(part)) is not part
        }
        return value | changed if changed else value
    if kind is list:
        BUDGET.step(1 + len(value) // 8)
        made = [_floats(part) for part in value]
        return made if any(new is not old for new, old in zip(made, value, strict=True)) else value
    return value


def _is_plain(node: syntax.Filter) -> bool:
    """Whether a program does no more than look up a field of a field, so that it needs no budget."""
    while isinstance(node, syntax.Index) and isinstance(node.key, syntax.Literal):
        node = node.target
    return isinstance(node, syntax.Identity)


_MAY_HOLD = frozenset((int, dict, list))
_PASSING_CALLS = frozenset(("not", "type", "ascii_downcase", "ascii_upcase", "trim", "ltrim", "rtrim"))
_PASSING_WITH_ONE = frozenset(("has", "startswith", "endswith", "ltrimstr", "rtrimstr", "trimstr", "test", "split"))
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))


def _passes(node: syntax.Filter) -> bool:
    """Whether all outputs are parts of the input, or texts, booleans and nulls: never a number that jq made."""
    match node:
        case syntax.Identity():
            return True
        case syntax.Literal(value):
            return type(value) not in (int, float)
        case syntax.Index(target, key):
            return _passes(target) and isinstance(key, syntax.Literal)
        case syntax.Iterate(target):
            return _passes(target)
        case syntax.Pipe(left, right) | syntax.Comma(left, right) | syntax.Alternative(left, right):
            return _passes(left) and _passes(right)
        case syntax.Logic(_, left, right):
            return _compares(left) and _compares(right)
        case syntax.Binary(operator, left, right):
            return operator in _COMPARISONS and _compares(left) and _compares(right)
        case syntax.Condition(test, then, otherwise):
            return _compares(test) and _passes(then) and _passes(otherwise)
        case syntax.Try(body, handler):
            return _passes(body) and (handler is None or _passes(handler))
        case syntax.Array(body):
            return body is None or _passes(body)
        case syntax.Call(name, ()):
            return name in _PASSING_CALLS or name in ("empty", "first", "last")
        case syntax.Call("select", (test,)):
            return _compares(test)
        case syntax.Call("map" | "first" | "last", (body,)):
            return _passes(body)
        case syntax.Call(name, (argument,)) if name in _PASSING_WITH_ONE:
            return isinstance(argument, syntax.Literal)
        case syntax.Call("any" | "all", arguments):
            return all(_compares(argument) for argument in arguments)
    return False


def _compares(node: syntax.Filter) -> bool:
    """Whether the outputs of a filter are only looked at, so that an int may stand for a float."""
    match node:
        case syntax.Literal() | syntax.Call("length", ()):
            return True
        case syntax.Pipe(left, right):
            return _passes(left) and _compares(right)
    return _passes(node)
