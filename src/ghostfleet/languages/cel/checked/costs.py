"""What an expression may cost at most, before it is evaluated: cel-go's estimate.

What an expression goes through has a size, which is known for literals and numbers, follows from what is done to
others, or is said of the variables by whoever declares them (`sizes`), by *path*: the names of fields, and `@values`,
`@keys` and `@items` for what is in a map or list. Comprehensions cost as often as there may be elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ghostfleet.languages.cel.checked.callcosts import UNKNOWN, Operand, Size, add, call_estimate, multiply
from ghostfleet.languages.cel.checked.expressions import (
    ACCUMULATOR,
    CallExpr,
    Comprehension,
    Const,
    Expr,
    Ident,
    ListExpr,
    MapExpr,
    Select,
)
from ghostfleet.languages.cel.checked.types import Type

__all__ = ["Sizes", "estimate_cost"]

_LIST_CREATION, _MAP_CREATION = 10, 30
_SCALARS = ("bool", "double", "duration", "int", "timestamp", "uint")

Path = tuple[str, ...]
#: How large what is at a path may be; None where nothing is known.
Sizes = Callable[[Path], int | None]


class _Entries(NamedTuple):
    """The sizes of what a list or map holds."""

    kind: str
    key: Size
    value: Size

    def union(self, other: _Entries | None) -> _Entries | None:
        if other is None:
            return None
        return _Entries(self.kind, self.key.union(other.key), self.value.union(other.value))


class _Variable(NamedTuple):
    path: Path
    size: Size | None
    entries: _Entries | None = None


def estimate_cost(expr: Expr, sizes: Sizes) -> int:
    """The most that evaluating an expression may cost."""
    return _Estimator(sizes).cost(expr)


class _Estimator:
    def __init__(self, sizes: Sizes) -> None:
        self._declared = sizes
        self._paths: dict[Expr, Path] = {}
        self._sizes: dict[Expr, Size] = {}
        self._entries: dict[Expr, _Entries] = {}
        self._variables: dict[str, list[_Variable]] = {}

    def cost(self, expr: Expr) -> int:
        match expr:
            case Ident():
                variable = self._variable(expr)
                self._paths[expr] = variable.path if variable is not None else (expr.name,)
                return 1
            case Select():
                return self._select(expr)
            case CallExpr():
                return self._call(expr)
            case ListExpr():
                costs = [self.cost(each) for each in expr.elements]
                self._entries[expr] = _Entries("list", Size(1, 1), self._together(expr.elements))
                return _sum(*costs, _LIST_CREATION)
            case MapExpr():
                costs = [_sum(self.cost(key), self.cost(value)) for key, value in expr.entries]
                keys, values = ([entry[at] for entry in expr.entries] for at in (0, 1))
                self._entries[expr] = _Entries("map", self._together(keys), self._together(values))
                return _sum(*costs, _MAP_CREATION)
            case Comprehension():
                return self._bind(expr) if _is_bind(expr) else self._loop(expr)
        return 0

    # -- sizes -------------------------------------------------------------------------------------------------------

    def _variable(self, expr: Expr) -> _Variable | None:
        found = self._variables.get(expr.name) if isinstance(expr, Ident) else None
        return found[-1] if found else None

    def _path(self, expr: Expr) -> Path:
        variable = self._variable(expr)
        return variable.path if variable is not None else self._paths.get(expr, ())

    def _size(self, expr: Expr) -> Size | None:
        if expr in self._sizes:
            return self._sizes[expr]
        if (written := _written_size(expr)) is not None:
            return written
        most = self._declared(path) if (path := self._path(expr)) else None
        if most is not None:
            self._sizes[expr] = Size(0, most)
            return self._sizes[expr]
        if _is_scalar(expr.type):
            return Size(1, 1)
        variable = self._variable(expr)
        return variable.size if variable is not None else None

    def _entries_of(self, expr: Expr) -> _Entries | None:
        variable = self._variable(expr)
        return self._entries.get(expr) or (variable.entries if variable is not None else None)

    def _together(self, exprs: list[Expr]) -> Size:
        if not exprs:
            return Size(0, 0)
        found = [self._size(each) or UNKNOWN for each in exprs]
        return Size(min(each.least for each in found), max(each.most for each in found))

    def _operand(self, expr: Expr) -> Operand:
        path = self._path(expr)
        if path and path[0] in (ACCUMULATOR, "__result__"):
            path = ()
        most = self._declared((*path, "@items")) if path else None
        return Operand(expr, expr.type, self._size(expr), Size(0, most) if most is not None else UNKNOWN)

    # -- parts -------------------------------------------------------------------------------------------------------

    def _select(self, expr: Select) -> int:
        cost = self.cost(expr.operand)
        if expr.test:
            return cost
        self._paths[expr] = (*self._path(expr.operand), expr.field)
        return add(cost, 1) if expr.operand.type.kind in ("map", "struct", "param") else cost

    def _call(self, expr: CallExpr) -> int:
        if expr.function == "dyn":
            cost = self.cost(expr.args[0])
            self._copy(expr, expr.args[0])
            return add(cost, 1)
        costs = [self.cost(each) for each in expr.args]
        args = [self._operand(each) for each in expr.args]
        before = self.cost(expr.target) if expr.target is not None else 0
        target = self._operand(expr.target) if expr.target is not None else None
        if expr.function in ("_&&_", "_||_"):
            return _sum(before, *costs)
        if expr.function == "_?_:_":
            return self._conditional(expr, costs)
        # An optional field is asked for without an overload.
        most, result = 0 if expr.overloads else 1, None
        for overload in expr.overloads:
            found = call_estimate(expr.function, overload, target, args)
            most = max(most, found.cost)
            if found.result is not None:
                result = result.union(found.result) if result is not None else found.result
            if expr.function == "_+_":
                self._add_entries(expr)
            if expr.function in ("_[_]", "[_]", "_[?_]") and overload.arguments[0].kind in ("list", "map"):
                entries = self._entries_of(expr.args[0])
                result = entries.value if entries is not None else None
                kind = "@items" if overload.arguments[0].kind == "list" else "@values"
                if expr.function != "_[?_]":
                    self._paths[expr] = (*self._path(expr.args[0]), kind)
            if result is None:
                result = self._size(expr)
        if result is not None:
            self._sizes[expr] = result
        return _sum(before, *costs, most)

    def _conditional(self, expr: CallExpr, costs: list[int]) -> int:
        one, other = expr.args[1:]
        self._sizes[expr] = (self._size(one) or UNKNOWN).union(self._size(other) or UNKNOWN)
        entries = self._entries_of(one)
        if entries is not None and (both := entries.union(self._entries_of(other))) is not None:
            self._entries[expr] = both
        return _sum(costs[0], max(costs[1:]))

    def _add_entries(self, expr: CallExpr) -> None:
        entries = self._entries_of(expr.args[0])
        if entries is not None and (both := entries.union(self._entries_of(expr.args[1]))) is not None:
            self._entries[expr] = both

    def _copy(self, expr: Expr, source: Expr) -> None:
        if (size := self._size(source)) is not None:
            self._sizes[expr] = size
        if (entries := self._entries_of(source)) is not None:
            self._entries[expr] = entries

    # -- comprehensions ----------------------------------------------------------------------------------------------

    def _push(self, name: str, variable: _Variable) -> None:
        self._variables.setdefault(name, []).append(variable)

    def _bind(self, expr: Comprehension) -> int:
        cost = _sum(self.cost(expr.range), self.cost(expr.init))
        self._push(expr.accumulator, self._as_variable(expr.init))
        cost = add(cost, self.cost(expr.result))
        self._variables[expr.accumulator].pop()
        self._copy(expr, expr.result)
        return cost

    def _as_variable(self, expr: Expr) -> _Variable:
        return _Variable(self._path(expr), self._size(expr), self._entries_of(expr))

    def _loop(self, expr: Comprehension) -> int:
        cost = _sum(self.cost(expr.range), self.cost(expr.init))
        self._push(expr.accumulator, self._as_variable(expr.init))
        entries = self._entries_of(expr.range)
        kind = entries.kind if entries is not None else expr.range.type.kind
        for place, name in enumerate(expr.variables):
            self._push(name, self._iterated(expr, entries, kind, place))
        each = _sum(self.cost(expr.condition), self.cost(expr.step))
        for name in expr.variables:
            self._variables[name].pop()
        cost = add(cost, self.cost(expr.result))
        self._variables[expr.accumulator].pop()
        count = self._size(expr.range) or UNKNOWN
        if isinstance(expr.init, (ListExpr, MapExpr)):
            self._sizes[expr] = count
            if (stepped := self._entries_of(expr.step)) is not None:
                self._entries[expr] = stepped
        elif isinstance(expr.init, Const) and (size := self._size(expr.init)) is not None:
            self._sizes[expr] = size
        return add(cost, multiply(count.most, each))

    def _iterated(self, expr: Comprehension, entries: _Entries | None, kind: str, place: int) -> _Variable:
        """A variable of a loop: an element, or a key and a value."""
        is_list, two = kind == "list", len(expr.variables) == 2
        by_value = is_list if not two else place == 1
        size = None if entries is None else entries.value if by_value else entries.key
        words = ("@items", "@values") if by_value else ("@indices", "@keys")
        return _Variable((*self._path(expr.range), words[0] if is_list else words[1]), size)


def _sum(*costs: int) -> int:
    total = 0
    for cost in costs:
        total = add(total, cost)
    return total


def _is_bind(expr: Comprehension) -> bool:
    empty = isinstance(expr.range, ListExpr) and not expr.range.elements
    never = isinstance(expr.condition, Const) and expr.condition.value is False
    return empty and never and expr.accumulator != ACCUMULATOR


def _is_scalar(type_: Type) -> bool:
    return type_.kind in _SCALARS or (type_.is_optional and bool(type_.parameters) and _is_scalar(type_.parameters[0]))


def _written_size(expr: Expr) -> Size | None:
    """The size of what is written out."""
    match expr:
        case Const():
            count = len(expr.value) if isinstance(expr.value, (str, bytes)) else 1
        case ListExpr():
            count = len(expr.elements)
        case MapExpr():
            count = len(expr.entries)
        case _:
            return None
    return Size(count, count)
