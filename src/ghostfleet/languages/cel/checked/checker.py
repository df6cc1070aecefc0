"""Finds the type of each part of an expression, and which overloads its calls may mean.

What cannot be right is reported in cel-go's words; after a mistake the check goes on, with a type that goes with
everything, so that one mistake is reported once.
"""

from __future__ import annotations

from collections.abc import Mapping as Dict
from typing import Any

from ghostfleet.languages.cel.checked.declarations import Function
from ghostfleet.languages.cel.checked.expressions import (
    CallExpr,
    Comprehension,
    Const,
    Expr,
    Ident,
    ListExpr,
    MapExpr,
    Select,
)
from ghostfleet.languages.cel.checked.issues import Issues
from ghostfleet.languages.cel.checked.types import BOOL, DYN, ERROR, INT, Type, list_of, map_of, optional_of, read_type
from ghostfleet.languages.cel.checked.unification import Mapping, more_general
from ghostfleet.languages.cel.values import Uint

__all__ = ["check"]

_LITERALS: dict[type, Type] = {
    bool: BOOL,
    int: INT,
    Uint: read_type("uint"),
    float: read_type("double"),
    str: read_type("string"),
    bytes: read_type("bytes"),
    type(None): read_type("null_type"),
}


def check(
    expr: Expr,
    variables: Dict[str, Type],
    functions: Dict[str, Function],
    structs: Dict[str, Dict[str, Type]],
    issues: Issues,
) -> Type:
    """The type of an expression; every part of it knows its own afterwards."""
    checker = _Checker(variables, functions, structs, issues)
    checker.check(expr)
    for each in checker.seen:
        each.type = checker.mapping.substitute(each.type, closed=True)
    return expr.type


class _Checker:
    def __init__(
        self,
        variables: Dict[str, Type],
        functions: Dict[str, Function],
        structs: Dict[str, Dict[str, Type]],
        issues: Issues,
    ) -> None:
        self.variables = dict(variables)
        self.functions = functions
        self.structs = structs
        self.issues = issues
        self.mapping = Mapping()
        self.seen: list[Expr] = []

    def check(self, expr: Expr) -> Type:
        self.seen.append(expr)
        match expr:
            case Const():
                expr.type = _LITERALS[type(expr.value)]
            case Ident():
                expr.type = self.variables.get(expr.name) or self.undeclared(expr.at, expr.name)
            case Select():
                expr.type = self.select(expr)
            case CallExpr():
                expr.type = self.call(expr)
            case ListExpr():
                expr.type = self.list(expr)
            case MapExpr():
                expr.type = self.map(expr)
            case Comprehension():
                expr.type = self.comprehension(expr)
        return expr.type

    def undeclared(self, at: int, name: str) -> Type:
        self.issues.report(at, f"undeclared reference to '{name}' (in container '')")
        return ERROR

    def mismatch(self, at: int, expected: Type, actual: Type) -> Type:
        self.issues.report(at, f"expected type '{expected}' but found '{actual}'")
        return ERROR

    def select(self, expr: Select) -> Type:
        name = "" if expr.test else qualified_name(expr)
        if name in self.variables:
            return self.variables[name]
        found = self.field(expr.at, expr.operand, expr.field)
        return BOOL if expr.test else self.mapping.substitute(found)

    def field(self, at: int, operand: Expr, name: str, optional: bool = False) -> Type:
        whole = self.mapping.substitute(self.check(operand))
        target = whole.parameters[0] if whole.is_optional else whole
        if target.kind == "map":
            found = target.parameters[1]
        elif target.kind == "struct":
            found = self.struct_field(at, target, name)
        elif target.kind == "param":
            self.mapping.assign(DYN, target)
            found = DYN
        else:
            if not target.is_dyn and target.kind != "error":
                self.issues.report(at, f"type '{target}' does not support field selection")
            found = DYN
        return optional_of(found) if optional or whole.is_optional else found

    def struct_field(self, at: int, target: Type, name: str) -> Type:
        fields = self.structs.get(target.name)
        if fields is None:
            self.issues.report(at, f"unexpected failed resolution of '{target.name}'")
            return ERROR
        if name not in fields:
            self.issues.report(at, f"undefined field '{name}'")
            return ERROR
        return fields[name]

    def call(self, expr: CallExpr) -> Type:
        if expr.function == "_?._":
            field = expr.args[1]
            self.check(field)
            assert isinstance(field, Const)
            return self.mapping.substitute(self.field(expr.at, expr.args[0], field.value, optional=True))
        for each in expr.args:
            self.check(each)
        if expr.target is not None and self.is_namespaced(expr):
            prefix = qualified_name(expr.target)
            expr.function, expr.target = f"{prefix}.{expr.function}", None
        if expr.target is not None:
            self.check(expr.target)
        function = self.functions.get(expr.function)
        if function is None:
            return self.undeclared(expr.at, expr.function)
        return self.resolve(expr, function)

    def is_namespaced(self, expr: CallExpr) -> bool:
        assert expr.target is not None
        prefix = qualified_name(expr.target)
        return bool(prefix) and f"{prefix}.{expr.function}" in self.functions

    def resolve(self, expr: CallExpr, function: Function) -> Type:
        expr.overloads = []
        if function.name in ("_&&_", "_||_"):
            return self.logic(expr, function)
        given = [each.type for each in ((expr.target, *expr.args) if expr.target else expr.args)]
        result: Type | None = None
        for each in function.overloads:
            if each.member != (expr.target is not None):
                continue
            declared, *arguments = self.mapping.instance((each.result, *each.arguments))
            if not self.mapping.assign_all(given, arguments):
                continue
            expr.overloads.append(each)
            found = self.mapping.substitute(declared)
            if result is None:
                result = found
            elif not result.is_dyn and found != result:
                result = DYN
        if result is None:
            shown = [str(self.mapping.substitute(each, closed=True)) for each in given]
            target = f"{shown.pop(0)}." if expr.target is not None else ""
            signature = f"{target}({', '.join(shown)})"
            self.issues.report(expr.at, f"found no matching overload for '{function.name}' applied to '{signature}'")
            return ERROR
        return result

    def logic(self, expr: CallExpr, function: Function) -> Type:
        expr.overloads.append(function.overloads[0])
        wrong = [each for each in expr.args if not self.mapping.assign(each.type, BOOL)]
        for each in wrong:
            self.mismatch(each.at, BOOL, each.type)
        return ERROR if wrong else BOOL

    def joined(self, before: Type | None, now: Type) -> Type:
        if before is None:
            return now
        return more_general(before, now) if self.mapping.assign(before, now) else DYN

    def unwrapped(self, expr: Expr, optional: bool) -> Type:
        """The type of an element, which must be an optional value if it is marked as one."""
        if not optional or expr.type.is_dyn:
            return expr.type
        if expr.type.is_optional:
            return expr.type.parameters[0]
        self.mismatch(expr.at, optional_of(expr.type), expr.type)
        return expr.type

    def list(self, expr: ListExpr) -> Type:
        item: Type | None = None
        for place, each in enumerate(expr.elements):
            self.check(each)
            item = self.joined(item, self.unwrapped(each, place in expr.optional))
        return list_of(item or self.mapping.fresh())

    def map(self, expr: MapExpr) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for place, (key, value) in enumerate(expr.entries):
            keys = self.joined(keys, self.check(key))
            self.check(value)
            values = self.joined(values, self.unwrapped(value, place in expr.optional))
        if keys is None or values is None:
            return map_of(self.mapping.fresh(), self.mapping.fresh())
        return map_of(keys, values)

    def comprehension(self, expr: Comprehension) -> Type:
        self.check(expr.range)
        accumulated = self.check(expr.init)
        whole = self.mapping.substitute(expr.range.type)
        outer = self.variables
        self.variables = {**outer, expr.accumulator: accumulated}
        around = self.variables
        self.variables = {**around, **dict(zip(expr.variables, self.elements(expr, whole), strict=True))}
        self.check(expr.condition)
        self.expect(expr.condition, BOOL)
        self.check(expr.step)
        self.expect(expr.step, accumulated)
        self.variables = around
        result = self.check(expr.result)
        self.variables = outer
        return self.mapping.substitute(result)

    def elements(self, expr: Comprehension, whole: Type) -> tuple[Type, ...]:
        count = len(expr.variables)
        if whole.kind == "list":
            return (INT, whole.parameters[0])[2 - count :] if count == 2 else (whole.parameters[0],)
        if whole.kind == "map":
            return whole.parameters[:count]
        if whole.kind in ("dyn", "error", "param"):
            self.mapping.assign(DYN, whole)
            return (DYN,) * count
        words = f"expression of type '{whole}' cannot be range of a comprehension (must be list, map, or dynamic)"
        self.issues.report(expr.range.at, words)
        return (ERROR,) * count

    def expect(self, expr: Expr, expected: Type) -> None:
        if not self.mapping.assign(expected, expr.type):
            self.mismatch(expr.at, expected, expr.type)


def qualified_name(expr: Any) -> str:
    """`a.b.c`, if an expression is no more than names."""
    if isinstance(expr, Ident):
        return expr.name
    if isinstance(expr, Select) and not expr.test:
        before = qualified_name(expr.operand)
        return f"{before}.{expr.field}" if before else ""
    return ""
