"""Kubernetes' quantities: `quantity("10Gi").compareTo(...)`."""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.core import quantity
from ghostfleet.languages.cel.checked.declarations import Function, function, overload
from ghostfleet.languages.cel.values import CelError, Quantity

__all__ = ["QUANTITIES"]

_Q = "kubernetes.Quantity"
_WHOLE = 10**9
_INT64 = 1 << 63


def _parsed(text: str) -> Quantity:
    try:
        return Quantity(quantity.parse(text))
    except ValueError as error:
        raise CelError(str(error)) from None


def compare(left: Quantity, right: Quantity) -> int:
    return (left.amount.nano > right.amount.nano) - (left.amount.nano < right.amount.nano)


def _is_integer(amount: Quantity) -> bool:
    return amount.amount.nano % _WHOLE == 0 and -_INT64 <= amount.amount.nano // _WHOLE < _INT64


def _as_integer(amount: Quantity) -> int:
    if not _is_integer(amount):
        raise CelError("cannot convert value to integer")
    return amount.amount.nano // _WHOLE


def _with(change: Callable[[quantity.Quantity, quantity.Quantity], quantity.Quantity]) -> list[Callable[..., Quantity]]:
    def of_quantities(left: Quantity, right: Quantity) -> Quantity:
        return Quantity(change(left.amount, right.amount))

    def with_int(left: Quantity, right: int) -> Quantity:
        return Quantity(change(left.amount, quantity.from_value(right, "DecimalExponent")))

    return [of_quantities, with_int]


_ADD, _ADD_INT = _with(quantity.add)
_SUB, _SUB_INT = _with(quantity.sub)

QUANTITIES: list[Function] = [
    function("quantity", overload(f"(string) -> {_Q}", _parsed)),
    function("isQuantity", overload("(string) -> bool", quantity.is_valid)),
    function("sign", overload(f"({_Q}) -> int", lambda amount: compare(amount, Quantity(quantity.ZERO)))),
    function("isGreaterThan", overload(f"{_Q}.({_Q}) -> bool", lambda left, right: compare(left, right) > 0)),
    function("isLessThan", overload(f"{_Q}.({_Q}) -> bool", lambda left, right: compare(left, right) < 0)),
    function("compareTo", overload(f"{_Q}.({_Q}) -> int", compare)),
    function("asApproximateFloat", overload(f"{_Q}.() -> double", float)),
    function("asInteger", overload(f"{_Q}.() -> int", _as_integer)),
    function("isInteger", overload(f"{_Q}.() -> bool", _is_integer)),
    function("add", overload(f"{_Q}.({_Q}) -> {_Q}", _ADD), overload(f"{_Q}.(int) -> {_Q}", _ADD_INT)),
    function("sub", overload(f"{_Q}.({_Q}) -> {_Q}", _SUB), overload(f"{_Q}.(int) -> {_Q}", _SUB_INT)),
]
