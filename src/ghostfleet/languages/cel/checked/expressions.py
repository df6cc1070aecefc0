"""Expressions that are ready to be checked: macros are written out.

A macro such as `list.all(x, test)` becomes a *comprehension*, a loop with an accumulator: it starts with `init`, and as
long as `condition` holds it becomes the value of `step` for each element; in the end the `result` is worked out.
`cel.bind` is a comprehension over nothing. An expression says where in the text it is, and the checker notes its type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ghostfleet.languages.cel.checked.declarations import Overload
from ghostfleet.languages.cel.checked.issues import Issues
from ghostfleet.languages.cel.checked.types import DYN, Type
from ghostfleet.languages.cel.parser import Call, Field, Literal, Name, Node

__all__ = [
    "ACCUMULATOR",
    "CallExpr",
    "Comprehension",
    "Const",
    "Expr",
    "Ident",
    "ListExpr",
    "MapExpr",
    "Select",
    "expand",
]

ACCUMULATOR = "@result"
_UNUSED = "#unused"
_OPERATORS = {"_in_": "@in"}


class Expr:
    __slots__ = ("at", "type")

    def __init__(self, at: int) -> None:
        self.at = at
        self.type: Type = DYN


class Const(Expr):
    __slots__ = ("value",)

    def __init__(self, at: int, value: Any) -> None:
        super().__init__(at)
        self.value = value


class Ident(Expr):
    __slots__ = ("name",)

    def __init__(self, at: int, name: str) -> None:
        super().__init__(at)
        self.name = name


class Select(Expr):
    """A field; if it is a `test`, only whether there is one."""

    __slots__ = ("field", "operand", "test")

    def __init__(self, at: int, operand: Expr, field: str, test: bool = False) -> None:
        super().__init__(at)
        self.operand = operand
        self.field = field
        self.test = test


class CallExpr(Expr):
    __slots__ = ("args", "function", "overloads", "target")

    def __init__(self, at: int, function: str, args: list[Expr], target: Expr | None = None) -> None:
        super().__init__(at)
        self.function = function
        self.args = args
        self.target = target
        #: which overloads fit, once it is checked
        self.overloads: list[Overload] = []


class ListExpr(Expr):
    __slots__ = ("elements", "optional")

    def __init__(self, at: int, elements: list[Expr], optional: frozenset[int] = frozenset()) -> None:
        super().__init__(at)
        self.elements = elements
        self.optional = optional


class MapExpr(Expr):
    __slots__ = ("entries", "optional")

    def __init__(self, at: int, entries: list[tuple[Expr, Expr]], optional: frozenset[int] = frozenset()) -> None:
        super().__init__(at)
        self.entries = entries
        self.optional = optional


class Comprehension(Expr):
    __slots__ = ("accumulator", "condition", "init", "range", "result", "step", "variables")

    def __init__(
        self,
        at: int,
        range_: Expr,
        variables: tuple[str, ...],
        init: Expr,
        condition: Expr,
        step: Expr,
        result: Expr,
        accumulator: str = ACCUMULATOR,
    ) -> None:
        super().__init__(at)
        self.range = range_
        self.variables = variables
        self.init = init
        self.condition = condition
        self.step = step
        self.result = result
        self.accumulator = accumulator


class _MacroError(Exception):
    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def expand(node: Node, issues: Issues) -> Expr:
    """The expression of a node; macros that are used in a wrong way are reported."""
    match node:
        case Literal(value):
            return Const(node.at, value)
        case Name(name):
            return Ident(node.at, name)
        case Field(target, name):
            return Select(node.at, expand(target, issues), name)
        case Call("[]"):
            return _list(node, issues)
        case Call("{}"):
            return _map(node, issues)
        case Call():
            return _call(node, issues)


def _list(node: Call, issues: Issues) -> Expr:
    plain = [_unwrapped(each) for each in node.arguments]
    optional = frozenset(place for place, (_, optional) in enumerate(plain) if optional)
    return ListExpr(node.at, [expand(each, issues) for each, _ in plain], optional)


def _map(node: Call, issues: Issues) -> Expr:
    keys = [_unwrapped(each) for each in node.arguments[::2]]
    optional = frozenset(place for place, (_, optional) in enumerate(keys) if optional)
    values = node.arguments[1::2]
    entries = [(expand(key, issues), expand(value, issues)) for (key, _), value in zip(keys, values, strict=True)]
    return MapExpr(node.at, entries, optional)


def _unwrapped(node: Node) -> tuple[Node, bool]:
    if isinstance(node, Call) and node.function == "?_":
        return node.arguments[0], True
    return node, False


def _call(node: Call, issues: Issues) -> Expr:
    args = [expand(each, issues) for each in node.arguments]
    target = None if node.target is None else expand(node.target, issues)
    macro = _MACROS.get((node.function, len(args), target is not None))
    if macro is not None:
        try:
            made = macro(node.at, target, args)
        except _MacroError as error:
            issues.report(error.at, str(error))
            return Const(node.at, None)
        if made is not None:
            return made
    return CallExpr(node.at, _OPERATORS.get(node.function, node.function), args, target)


_Macro = Callable[[int, Any, list[Expr]], "Expr | None"]


def _variable(expr: Expr, message: str = "argument must be a simple name") -> str:
    if not isinstance(expr, Ident):
        raise _MacroError(expr.at, message)
    if expr.name in (ACCUMULATOR, "__result__"):
        raise _MacroError(expr.at, "iteration variable overwrites accumulator variable")
    return expr.name


def _variables(args: list[Expr], count: int) -> tuple[str, ...]:
    names = tuple(_variable(each) for each in args[:count])
    if len(set(names)) != count:
        raise _MacroError(args[1].at, f"duplicate variable name: {names[0]}")
    return names


def _has(at: int, _: Any, args: list[Expr]) -> Expr:
    (tested,) = args
    if not isinstance(tested, Select) or tested.test:
        raise _MacroError(tested.at, "invalid argument to has() macro")
    return Select(at, tested.operand, tested.field, test=True)


def _quantifier(decisive: bool, count: int) -> _Macro:
    def macro(at: int, target: Expr, args: list[Expr]) -> Expr:
        def accumulator() -> Expr:
            return Ident(at, ACCUMULATOR)

        undecided = CallExpr(at, "!_", [accumulator()]) if decisive else accumulator()
        step = CallExpr(at, "_||_" if decisive else "_&&_", [accumulator(), args[count]])
        condition = CallExpr(at, "@not_strictly_false", [undecided])
        return Comprehension(
            at, target, _variables(args, count), Const(at, not decisive), condition, step, accumulator()
        )

    return macro


def _exists_one(count: int) -> _Macro:
    def macro(at: int, target: Expr, args: list[Expr]) -> Expr:
        more = CallExpr(at, "_+_", [Ident(at, ACCUMULATOR), Const(at, 1)])
        step = CallExpr(at, "_?_:_", [args[count], more, Ident(at, ACCUMULATOR)])
        result = CallExpr(at, "_==_", [Ident(at, ACCUMULATOR), Const(at, 1)])
        variables = _variables(args, count)
        return Comprehension(at, target, variables, Const(at, 0), Const(at, True), step, result)

    return macro


def _collected(at: int, test: Expr | None, step: Expr, target: Expr, variables: tuple[str, ...], init: Expr) -> Expr:
    """A loop that collects what passes a test."""
    if test is not None:
        step = CallExpr(at, "_?_:_", [test, step, Ident(at, ACCUMULATOR)])
    return Comprehension(at, target, variables, init, Const(at, True), step, Ident(at, ACCUMULATOR))


def _appended(at: int, element: Expr) -> Expr:
    return CallExpr(at, "_+_", [Ident(at, ACCUMULATOR), ListExpr(at, [element])])


def _transform_list(count: int) -> _Macro:
    """`map` and `transformList`, with a test or without."""

    def macro(at: int, target: Expr, args: list[Expr]) -> Expr:
        variables = _variables(args, count)
        test = args[count] if len(args) == count + 2 else None
        return _collected(at, test, _appended(at, args[-1]), target, variables, ListExpr(at, []))

    return macro


def _filter(at: int, target: Expr, args: list[Expr]) -> Expr:
    variables = _variables(args, 1)
    return _collected(at, args[1], _appended(at, Ident(args[0].at, variables[0])), target, variables, ListExpr(at, []))


def _transform_map(with_key: bool) -> _Macro:
    def macro(at: int, target: Expr, args: list[Expr]) -> Expr:
        variables = _variables(args, 2)
        key: list[Expr] = [Ident(at, variables[0])] if with_key else []
        step = CallExpr(at, "cel.@mapInsert", [Ident(at, ACCUMULATOR), *key, args[-1]])
        return _collected(at, args[2] if len(args) == 4 else None, step, target, variables, MapExpr(at, []))

    return macro


def _bound(at: int, name: str, value: Expr, result: Expr) -> Expr:
    return Comprehension(
        at, ListExpr(at, []), (_UNUSED,), value, Const(at, False), Ident(at, name), result, accumulator=name
    )


def _bind(at: int, target: Expr, args: list[Expr]) -> Expr | None:
    if not isinstance(target, Ident) or target.name != "cel":
        return None
    return _bound(at, _variable(args[0], "cel.bind() variable names must be simple identifiers"), args[1], args[2])


def _opt_map(flat: bool) -> _Macro:
    name = "optFlatMap" if flat else "optMap"

    def macro(at: int, target: Expr, args: list[Expr]) -> Expr:
        variable = _variable(args[0], f"{name}() variable name must be a simple identifier")
        bound = _bound(at, variable, CallExpr(at, "value", [], target), args[1])
        some = bound if flat else CallExpr(at, "optional.of", [bound])
        none = CallExpr(at, "optional.none", [])
        return CallExpr(at, "_?_:_", [CallExpr(at, "hasValue", [], target), some, none])

    return macro


def _sort_by(at: int, target: Expr, args: list[Expr]) -> Expr:
    if isinstance(target, Const):
        words = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise _MacroError(target.at, words)
    name = "@__sortBy_input__"
    keys = _transform_list(1)(at, Ident(at, name), args)
    assert keys is not None
    return _bound(at, name, target, CallExpr(at, "@sortByAssociatedKeys", [keys], Ident(at, name)))


#: macros by name, number of arguments, and whether there is a target
_MACROS: dict[tuple[str, int, bool], _Macro] = {
    ("has", 1, False): _has,
    ("all", 2, True): _quantifier(False, 1),
    ("all", 3, True): _quantifier(False, 2),
    ("exists", 2, True): _quantifier(True, 1),
    ("exists", 3, True): _quantifier(True, 2),
    ("exists_one", 2, True): _exists_one(1),
    ("existsOne", 2, True): _exists_one(1),
    ("existsOne", 3, True): _exists_one(2),
    ("map", 2, True): _transform_list(1),
    ("map", 3, True): _transform_list(1),
    ("filter", 2, True): _filter,
    ("transformList", 3, True): _transform_list(2),
    ("transformList", 4, True): _transform_list(2),
    ("transformMap", 3, True): _transform_map(True),
    ("transformMap", 4, True): _transform_map(True),
    ("transformMapEntry", 3, True): _transform_map(False),
    ("transformMapEntry", 4, True): _transform_map(False),
    ("bind", 3, True): _bind,
    ("optMap", 2, True): _opt_map(False),
    ("optFlatMap", 2, True): _opt_map(True),
    ("sortBy", 2, True): _sort_by,
}
