"""The functions for numbers that templates get from the library sprig.

They *cast*: a text that looks like a number counts as that number, anything else as 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.gotemplate.fmt import printed
from ghostfleet.languages.gotemplate.functions import Function, charged
from ghostfleet.languages.gotemplate.literals import integer
from ghostfleet.languages.gotemplate.values import Float, Int, Int64, TemplateError, kind_of, number_text
from ghostfleet.languages.govalues import truncated

__all__ = ["NUMBERS", "to_float", "to_int"]

_WRAP = 1 << 64
#: digits that shopspring's decimals keep when they divide
_DIVISION_DIGITS = 16


def wrapped(number: int) -> Int64:
    """An int64, which starts again from below when it gets too large."""
    return Int64((number + (_WRAP >> 1)) % _WRAP - (_WRAP >> 1))


def to_int(value: Any) -> int:
    kind = kind_of(value)
    if kind in ("int", "bool"):
        return int(value)
    if kind == "float":
        return truncated(value)
    if kind == "string":
        return integer(re.sub(r"\.0+$", "", number_text(value))) or 0
    return 0


def to_float(value: Any) -> float:
    kind = kind_of(value)
    if kind in ("int", "bool", "float"):
        return float(value)
    if kind == "string":
        try:
            return float(number_text(value).replace("_", "x"))
        except ValueError:
            return 0.0
    return 0.0


def _quotient(left: int, right: int) -> Int64:
    if right == 0:
        raise TemplateError("runtime error: integer divide by zero")
    quotient = abs(left) // abs(right)
    return wrapped(quotient if (left < 0) == (right < 0) else -quotient)


def _rest(left: int, right: int) -> Int64:
    if right == 0:
        raise TemplateError("runtime error: integer divide by zero")
    rest = abs(left) % abs(right)
    return wrapped(-rest if left < 0 else rest)


def _range(start: int, stop: int, step: int) -> list[Int]:
    if (stop < start and step >= 0) or (stop >= start and step <= 0):
        return []
    numbers = range(start, stop, step)
    BUDGET.step(len(numbers) // 4)
    return [Int(number) for number in numbers]


def _sequence(*numbers: int) -> str:
    if len(numbers) == 1:
        start, end = 1, numbers[0]
        step = width = -1 if end < start else 1
    elif len(numbers) == 2:
        start, end = numbers
        step = width = -1 if end < start else 1
    elif len(numbers) == 3:
        start, width, end = numbers
        step = -1 if end < start else 1
        if step < 0 < width:
            return ""
    else:
        return ""
    return " ".join(str(int(number)) for number in _range(start, end + step, width))


def _rounded(value: Any, places: int, *on: float) -> Float:
    power = 10.0**places
    digit = power * to_float(value)
    up = math.modf(digit)[0] >= (on[0] if on else 0.5)
    return Float((math.ceil(digit) if up else math.floor(digit)) / power)


_EXACT = Context(prec=400)


def _decimal(operation: Callable[[Decimal, Decimal], Decimal]) -> Callable[..., Float]:
    def run(first: Any, *rest: Any) -> Float:
        made = Decimal(repr(to_float(first)))
        for value in rest:
            made = operation(made, Decimal(repr(to_float(value))))
        return Float(made)

    return run


def _divided(left: Decimal, right: Decimal) -> Decimal:
    if not right:
        raise TemplateError("decimal division by 0")
    return round(_EXACT.divide(left, right), _DIVISION_DIGITS)


def _product(first: Any, *rest: Any) -> Int64:
    made = wrapped(to_int(first))
    for value in rest:
        made = wrapped(made * to_int(value))
    return made


def _from_octal(value: Any) -> Int64:
    text = printed(value)
    return Int64(int(text, 8)) if re.fullmatch(r"[+-]?[0-7]+", text) else Int64(0)


_TABLE: dict[str, tuple[str, Callable[..., Any]]] = {
    "int": ("a", lambda value: Int(to_int(value))),
    "int64": ("a", lambda value: Int64(to_int(value))),
    "float64": ("a", lambda value: Float(to_float(value))),
    "toDecimal": ("a", _from_octal),
    "seq": ("i*", _sequence),
    "until": ("i", lambda count: _range(0, count, -1 if count < 0 else 1)),
    "untilStep": ("iii", _range),
    "add1": ("a", lambda value: wrapped(to_int(value) + 1)),
    "add": ("a*", lambda *values: wrapped(sum(map(to_int, values)))),
    "sub": ("aa", lambda left, right: wrapped(to_int(left) - to_int(right))),
    "div": ("aa", lambda left, right: _quotient(to_int(left), to_int(right))),
    "mod": ("aa", lambda left, right: _rest(to_int(left), to_int(right))),
    "mul": ("aa*", _product),
    "add1f": ("a", lambda value: _decimal(_EXACT.add)(value, Int(1))),
    "addf": ("a*", lambda *values: _decimal(_EXACT.add)(Int(0), *values)),
    "subf": ("aa*", _decimal(_EXACT.subtract)),
    "divf": ("aa*", _decimal(_divided)),
    "mulf": ("aa*", _decimal(_EXACT.multiply)),
    "max": ("aa*", lambda *values: Int64(max(map(to_int, values)))),
    "biggest": ("aa*", lambda *values: Int64(max(map(to_int, values)))),
    "min": ("aa*", lambda *values: Int64(min(map(to_int, values)))),
    "maxf": ("aa*", lambda *values: Float(max(map(to_float, values)))),
    "minf": ("aa*", lambda *values: Float(min(map(to_float, values)))),
    "ceil": ("a", lambda value: Float(math.ceil(to_float(value)))),
    "floor": ("a", lambda value: Float(math.floor(to_float(value)))),
    "round": ("aif*", _rounded),
}

NUMBERS: dict[str, Function] = {name: charged(name, *entry) for name, entry in _TABLE.items()}
