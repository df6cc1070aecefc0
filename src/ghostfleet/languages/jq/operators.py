"""The operators of jq: arithmetic on numbers, texts, arrays and objects, as gojq does it.

Two ints stay exact, however large; an int and a float make a float. A *table* names the function of each operator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.govalues import truncated
from ghostfleet.languages.jq.values import JqError, compare, described, is_number, number, preview, to_float

__all__ = ["OPERATORS", "add", "negate", "plus", "split"]


#: gojq has integers of any size; no stage has a use for those of more than 20,000 digits
_WIDEST = 1 << 65_536


def _numbers(left: Any, right: Any) -> tuple[Any, Any] | None:
    """Both as ints or both as floats, or None if one is no number."""
    if not (is_number(left) and is_number(right)):
        return None
    left, right = number(left), number(right)
    if type(left) is int and type(right) is int:
        return left, right
    return to_float(left), to_float(right)


def _misfit(verb: str, left: Any, right: Any) -> JqError:
    return JqError(f"cannot {verb}: {described(number(left))} and {described(number(right))}")


def _narrow(number: Any) -> Any:
    if type(number) is int and not -_WIDEST < number < _WIDEST:
        raise JqError("an integer is too large")
    return number


def add(left: Any, right: Any) -> Any:
    if (pair := _numbers(left, right)) is not None:
        return _narrow(pair[0] + pair[1])
    kind = type(left)
    if kind is type(right) and kind in (str, list):
        BUDGET.handle(len(left) + len(right))
        return left + right
    if kind is dict and type(right) is dict:
        BUDGET.step((len(left) + len(right)) // 8)
        return left | right
    if left is None:
        return right
    if right is None:
        return left
    raise _misfit("add", left, right)


def subtract(left: Any, right: Any) -> Any:
    if (pair := _numbers(left, right)) is not None:
        return _narrow(pair[0] - pair[1])
    if type(left) is list and type(right) is list:
        BUDGET.step(len(left) * len(right) // 4)
        return [one for one in left if all(compare(one, other) for other in right)]
    raise _misfit("subtract", left, right)


def multiply(left: Any, right: Any) -> Any:
    if (pair := _numbers(left, right)) is not None:
        return _narrow(pair[0] * pair[1])
    if type(left) is dict and type(right) is dict:
        return _merged(left, right)
    for text, times in ((left, right), (right, left)):
        if type(text) is str and (count := to_float(times)) is not None:
            return _repeated(text, count)
    raise _misfit("multiply", left, right)


def _merged(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    BUDGET.step(1 + len(left) // 8 + len(right))
    made = dict(left)
    for key, value in right.items():
        old = made.get(key)
        made[key] = _merged(old, value) if type(old) is dict and type(value) is dict else value
    return made


def _repeated(text: str, count: float) -> str | None:
    if count < 0 or count != count:
        return None
    times = int(min(count, 1 << 31))
    # gojq's own bound is 2 GiB
    if len(text.encode()) * times >= 1 << 31:
        raise JqError(f"repeat string result too large: {preview(text)} * {preview(count)}")
    BUDGET.handle(len(text) * times)
    return text * times


def divide(left: Any, right: Any) -> Any:
    if (pair := _numbers(left, right)) is not None:
        one, other = pair
        if other == 0:
            raise JqError(f"cannot divide {described(one)} by: {described(other)}")
        if type(one) is int and one % other == 0:
            return one // other
        return float(to_float(one) or 0.0) / float(to_float(other) or 0.0)
    if type(left) is str and type(right) is str:
        return split(left, right) if left else []
    raise _misfit("divide", left, right)


def split(text: str, separator: str) -> list[str]:
    BUDGET.handle(len(text))
    BUDGET.step((text.count(separator) if separator else len(text)) // 2)
    return text.split(separator) if separator else list(text)


def modulo(left: Any, right: Any) -> Any:
    pair = _numbers(left, right)
    if pair is None:
        raise _misfit("modulo", left, right)
    one, other = pair
    if type(one) is float:
        if one != one or other != other:
            return math.nan
        one, other = truncated(one), truncated(other)
    if other == 0:
        raise JqError(f"cannot modulo {described(pair[0])} by: {described(pair[1])}")
    rest = abs(one) % abs(other)
    return -rest if one < 0 else rest


def negate(value: Any) -> Any:
    if not is_number(value):
        raise JqError(f"cannot negate: {described(value)}")
    return -number(value)


def plus(value: Any) -> Any:
    if not is_number(value):
        raise JqError(f"cannot plus: {described(value)}")
    return value


#: function of each operator
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": modulo,
    "==": lambda left, right: compare(left, right) == 0,
    "!=": lambda left, right: compare(left, right) != 0,
    "<": lambda left, right: compare(left, right) < 0,
    "<=": lambda left, right: compare(left, right) <= 0,
    ">": lambda left, right: compare(left, right) > 0,
    ">=": lambda left, right: compare(left, right) >= 0,
}
