"""Checks of literals that Kubernetes makes once the types are right: durations, timestamps, patterns and formats."""

from __future__ import annotations

from collections.abc import Iterator

from ghostfleet.languages.budget import BudgetExceeded
from ghostfleet.languages.cel.checked.expressions import CallExpr, Comprehension, Const, Expr, ListExpr, MapExpr, Select
from ghostfleet.languages.cel.checked.issues import Issues
from ghostfleet.languages.cel.checked.library.formatting import CLAUSES, clauses, unknown_clause
from ghostfleet.languages.cel.values import CelError

__all__ = ["validate"]

_CONVERSIONS = ("duration", "timestamp")


def validate(expr: Expr, issues: Issues) -> None:
    """Reports literals that would fail whenever the expression is evaluated, and lists and maps of this and that."""
    for each, formatted in _parts(expr):
        if not formatted:
            _check_elements(each, issues)
        if not isinstance(each, CallExpr) or not each.overloads:
            continue
        if each.function in _CONVERSIONS and _literal(each.args[:1]):
            _try(each, each.args[:1], issues)
        elif each.function == "format" and isinstance(each.target, Const) and isinstance(each.args[0], ListExpr):
            _check_format(each, each.target.value, each.args[0], issues)
        elif each.function == "matches":
            pattern = each.args[-1:]
            if _literal(pattern):
                _try(each, [Const(0, ""), *pattern], issues)


def _check_format(call: CallExpr, text: str, values: ListExpr, issues: Issues) -> None:
    """Whether a text has places for just these values, and each is of a type that fits its place."""
    used = 0
    for _, verb in clauses(text):
        if verb not in CLAUSES:
            issues.report(call.at, unknown_clause(verb))
            return
        if used == len(values.elements):
            issues.report(call.at, f"index {used} out of range")
            return
        value = values.elements[used]
        used += 1
        words, kinds = CLAUSES[verb]
        if value.type.kind not in ("dyn", *kinds):
            issues.report(value.at, f"error during formatting: {words}, was given {value.type.name}")
            return
    if len(values.elements) > used:
        given = f"(expected {used}, got {len(values.elements)})"
        issues.report(call.at, f"too many arguments supplied to string.format {given}")


def _literal(args: list[Expr]) -> bool:
    return len(args) == 1 and isinstance(args[0], Const)


def _try(call: CallExpr, args: list[Expr], issues: Issues) -> None:
    try:
        call.overloads[0].call(*(each.value for each in args if isinstance(each, Const)))
    except (CelError, BudgetExceeded):
        issues.report(args[-1].at, f"invalid {call.function} argument")


def _check_elements(expr: Expr, issues: Issues) -> None:
    """Elements of a list are to be of one type, as are the keys and the values of a map."""
    if isinstance(expr, ListExpr):
        _check_types([(each, place in expr.optional) for place, each in enumerate(expr.elements)], issues)
    elif isinstance(expr, MapExpr):
        _check_types([(key, False) for key, _ in expr.entries], issues)
        _check_types([(value, place in expr.optional) for place, (_, value) in enumerate(expr.entries)], issues)


def _check_types(elements: list[tuple[Expr, bool]], issues: Issues) -> None:
    types = [
        each.type.parameters[0] if optional and each.type.is_optional else each.type for each, optional in elements
    ]
    for (each, _), type_ in zip(elements, types, strict=True):
        if type_ != types[0]:
            issues.report(each.at, f"expected type '{types[0]}' but found '{type_}'")
            return


def _parts(expr: Expr, formatted: bool = False) -> Iterator[tuple[Expr, bool]]:
    """All parts of an expression, and whether they are values to be formatted, which may be of any type."""
    yield expr, formatted
    inner: list[Expr] = []
    match expr:
        case Select():
            inner = [expr.operand]
        case CallExpr():
            inner = [*([expr.target] if expr.target is not None else []), *expr.args]
        case ListExpr():
            inner = expr.elements
        case MapExpr():
            inner = [each for entry in expr.entries for each in entry]
        case Comprehension():
            inner = [expr.range, expr.init, expr.condition, expr.step, expr.result]
    formatted = formatted or (isinstance(expr, CallExpr) and expr.function == "format")
    for each in inner:
        yield from _parts(each, formatted)
