"""Makes Python functions of expressions that have been checked.

A function takes a *frame*: the cost so far, the values of the variables, then a slot for each variable of a loop. Errors are
CelErrors; `&&` and `||` do without the value of one side if the other decides. If the cost is to be counted, each step adds
to it, in the units of cel-go, and past the limit nothing goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ghostfleet.languages.cel.checked.declarations import Overload
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
from ghostfleet.languages.cel.checked.values import (
    NONE,
    CostExceeded,
    Failure,
    Optional,
    accepts,
    equal,
    size_of,
    type_name,
)
from ghostfleet.languages.cel.operators import is_key
from ghostfleet.languages.cel.values import CelError, TypeName, Uint

__all__ = ["Frame", "Step", "has_loop", "planned"]

Frame = list[Any]
Step = Callable[[Frame], Any]

_NUMBERS = (int, Uint, float)
#: what making a list or a map costs (cel-go, common/cost.go)
_LIST_COST, _MAP_COST = 10, 30
_TRAVERSAL = 0.1


def has_loop(expr: Expr) -> bool:
    """Whether some part of an expression is evaluated more than once."""
    match expr:
        case Comprehension():
            return not isinstance(expr.condition, Const) or expr.condition.value is True or any(
                map(has_loop, (expr.init, expr.result))
            )
        case CallExpr():
            return any(map(has_loop, expr.args)) or (expr.target is not None and has_loop(expr.target))
        case Select():
            return has_loop(expr.operand)
        case ListExpr():
            return any(map(has_loop, expr.elements))
        case MapExpr():
            return any(has_loop(each) for entry in expr.entries for each in entry)
    return False


def planned(expr: Expr, variables: Sequence[str], constants: dict[str, Any], limit: int) -> tuple[Step, int]:
    """The function of an expression, and how many slots its frame has; a limit of 0 is none."""
    planner = _Planner({name: place + 1 for place, name in enumerate(variables)}, constants, limit)
    step = planner.plan(expr)
    return step, planner.size


class _Planner:
    def __init__(self, slots: dict[str, int], constants: dict[str, Any], limit: int) -> None:
        self.slots = slots
        self.constants = constants
        self.limit = limit
        self.size = len(slots) + 1
        self.plans: dict[str, Callable[[CallExpr], Step]] = {
            "_&&_": lambda expr: self.logic(expr, False),
            "_||_": lambda expr: self.logic(expr, True),
            "_?_:_": self.conditional,
            "@not_strictly_false": self.not_strictly_false,
            "_==_": lambda expr: self.equality(expr, True),
            "_!=_": lambda expr: self.equality(expr, False),
            "_[_]": self.index,
            "_[?_]": self.optional_index,
            "_?._": self.optional_index,
            "or": self.either,
            "orValue": self.either,
        }

    def plan(self, expr: Expr) -> Step:
        match expr:
            case Const():
                value = expr.value
                return lambda _: value
            case Ident():
                return self.ident(expr)
            case Select():
                return self.select(expr)
            case CallExpr():
                return self.plans.get(expr.function, self.call)(expr)
            case ListExpr():
                return self.list(expr)
            case MapExpr():
                return self.map(expr)
            case Comprehension():
                return self.comprehension(expr)
        raise TypeError(expr)

    def paid(self, step: Step, cost: int = 1) -> Step:
        """A step with a price."""
        if not self.limit:
            return step
        limit = self.limit

        def run(frame: Frame) -> Any:
            value = step(frame)
            pay(frame, cost, limit)
            return value

        return run

    def ident(self, expr: Ident) -> Step:
        slot = self.slots.get(expr.name)
        if slot is None:
            value = self.constants[expr.name]
            return lambda _: value

        def read(frame: Frame) -> Any:
            value = frame[slot]
            if type(value) is Failure:
                raise value.error
            return value

        return self.paid(read)

    def select(self, expr: Select) -> Step:
        name = _dotted(expr)
        if name and name in self.constants and not expr.test:
            value = self.constants[name]
            return lambda _: value
        operand, field = self.plan(expr.operand), expr.field
        if expr.test:
            return lambda frame: _has(operand(frame), field)
        return self.paid(lambda frame: select(operand(frame), field))

    def list(self, expr: ListExpr) -> Step:
        elements = [self.plan(each) for each in expr.elements]
        optional = expr.optional
        if not optional:
            return self.paid(lambda frame: [each(frame) for each in elements], _LIST_COST)

        def run(frame: Frame) -> list[Any]:
            made = []
            for place, each in enumerate(elements):
                value = each(frame)
                if place not in optional:
                    made.append(value)
                elif _optional(value).present:
                    made.append(value.value)
            return made

        return self.paid(run, _LIST_COST)

    def map(self, expr: MapExpr) -> Step:
        entries = [(self.plan(key), self.plan(value)) for key, value in expr.entries]
        optional = expr.optional

        def run(frame: Frame) -> dict[Any, Any]:
            made: dict[Any, Any] = {}
            for place, (key, value) in enumerate(entries):
                name, part = key(frame), value(frame)
                if type(name) not in (str, bool, *_NUMBERS):
                    raise CelError(f"unsupported key type: {type_name(name)}")
                if place in optional:
                    if not _optional(part).present:
                        continue
                    part = part.value
                if name in made:
                    raise CelError(f"map key conflict: {name}")
                made[name] = part
            return made

        return self.paid(run, _MAP_COST)

    def arguments(self, expr: CallExpr) -> list[Step]:
        return [self.plan(each) for each in ((expr.target, *expr.args) if expr.target is not None else expr.args)]

    def call(self, expr: CallExpr) -> Step:
        steps = self.arguments(expr)
        given = [each.type for each in ((expr.target, *expr.args) if expr.target is not None else expr.args)]
        if len(expr.overloads) == 1 and not any(each.is_open for each in given):
            return self.direct(steps, expr.overloads[0])
        return self.dispatched(expr.function, steps, expr.overloads)

    def direct(self, steps: list[Step], overload: Overload) -> Step:
        call, limit, cost = overload.call, self.limit, overload.cost
        if not limit:
            return lambda frame: call(*[step(frame) for step in steps])

        def run(frame: Frame) -> Any:
            values = [step(frame) for step in steps]
            result = call(*values)
            pay(frame, cost(values, result) if cost is not None else 1, limit)
            return result

        return run

    def dispatched(self, name: str, steps: list[Step], overloads: list[Overload]) -> Step:
        """A call that depends on what its arguments turn out to be."""
        tests = [(each, [accepts(argument) for argument in each.arguments]) for each in overloads]
        limit = self.limit

        def run(frame: Frame) -> Any:
            values = [step(frame) for step in steps]
            for each, fits in tests:
                if all(test(value) for test, value in zip(fits, values, strict=True)):
                    result = each.call(*values)
                    if limit:
                        pay(frame, each.cost(values, result) if each.cost is not None else 1, limit)
                    return result
            raise no_overload(name, values)

        return run

    def logic(self, expr: CallExpr, decisive: bool) -> Step:
        first, second = (self.plan(each) for each in expr.args)

        def run(frame: Frame) -> bool:
            problem: CelError | None = None
            for term in (first, second):
                try:
                    value = term(frame)
                    if value is decisive:
                        return decisive
                    if type(value) is not bool:
                        problem = problem or CelError("no such overload")
                except CostExceeded:
                    raise
                except CelError as error:
                    problem = problem or error
            if problem is not None:
                raise problem
            return not decisive

        return run

    def conditional(self, expr: CallExpr) -> Step:
        test, yes, no = (self.plan(each) for each in expr.args)

        def run(frame: Frame) -> Any:
            answer = test(frame)
            if type(answer) is not bool:
                raise CelError("no such overload")
            return yes(frame) if answer else no(frame)

        return run

    def not_strictly_false(self, expr: CallExpr) -> Step:
        (tested,) = (self.plan(each) for each in expr.args)

        def run(frame: Frame) -> bool:
            try:
                return tested(frame) is not False
            except CostExceeded:
                raise
            except CelError:
                return True

        return self.paid(run)

    def equality(self, expr: CallExpr, wanted: bool) -> Step:
        first, second = (self.plan(each) for each in expr.args)
        limit = self.limit
        if not limit:
            return lambda frame: equal(first(frame), second(frame)) is wanted

        def run(frame: Frame) -> bool:
            left, right = first(frame), second(frame)
            pay(frame, math.ceil(min(size_of(left), size_of(right)) * _TRAVERSAL), limit)
            return equal(left, right) is wanted

        return run

    def index(self, expr: CallExpr) -> Step:
        whole, key = (self.plan(each) for each in expr.args)
        return self.paid(lambda frame: index(whole(frame), key(frame)))

    def optional_index(self, expr: CallExpr) -> Step:
        whole, key = (self.plan(each) for each in expr.args)
        return self.paid(lambda frame: optional_index(whole(frame), key(frame)))

    def either(self, expr: CallExpr) -> Step:
        """`or` and `orValue` of an optional value: the other side is asked only if it is needed."""
        if expr.target is None:
            return self.call(expr)
        first, second = self.plan(expr.target), self.plan(expr.args[0])
        unwraps = expr.function == "orValue"

        def run(frame: Frame) -> Any:
            value = _optional(first(frame))
            if value.present:
                return value.value if unwraps else value
            return second(frame)

        return self.paid(run, 0)

    def comprehension(self, expr: Comprehension) -> Step:
        whole, init = self.plan(expr.range), self.plan(expr.init)
        outer = self.slots
        accumulator = self.slot()
        variables = [self.slot() for _ in expr.variables]
        self.slots = {**outer, expr.accumulator: accumulator}
        result_slots = self.slots
        self.slots = {**result_slots, **dict(zip(expr.variables, variables, strict=True))}
        condition, step = self.plan(expr.condition), self.plan(expr.step)
        self.slots = result_slots
        result = self.plan(expr.result)
        self.slots = outer
        if isinstance(expr.condition, Const) and expr.condition.value is False:

            def bind(frame: Frame) -> Any:
                frame[accumulator] = _caught(init, frame)
                return result(frame)

            return bind

        def run(frame: Frame) -> Any:
            elements = _elements(whole(frame), len(variables))
            frame[accumulator] = _caught(init, frame)
            for element in elements:
                for slot, value in zip(variables, element, strict=True):
                    frame[slot] = value
                if condition(frame) is not True:
                    break
                frame[accumulator] = _caught(step, frame)
            return result(frame)

        return run

    def slot(self) -> int:
        self.size += 1
        return self.size - 1


def pay(frame: Frame, cost: int, limit: int) -> None:
    frame[0] += cost
    if frame[0] > limit:
        raise CostExceeded("operation cancelled: actual cost limit exceeded")


def no_overload(name: str, values: Sequence[Any]) -> CelError:
    return CelError(f"no such overload: {name}({', '.join(map(type_name, values))})")


def _caught(step: Step, frame: Frame) -> Any:
    """The value of a step, or its error, for a loop to carry along."""
    try:
        return step(frame)
    except CostExceeded:
        raise
    except CelError as error:
        return Failure(error)


def _elements(whole: Any, count: int) -> list[tuple[Any, ...]]:
    if type(whole) is list:
        return [(each,) for each in whole] if count == 1 else list(enumerate(whole))
    if isinstance(whole, dict):
        keys = sorted(whole, key=str)
        return [(key,) for key in keys] if count == 1 else [(key, whole[key]) for key in keys]
    raise CelError("got '" + type_name(whole) + "', expected iterable type")


def _dotted(expr: Expr) -> str:
    if isinstance(expr, Ident):
        return expr.name
    if isinstance(expr, Select):
        before = _dotted(expr.operand)
        return f"{before}.{expr.field}" if before else ""
    return ""


def _optional(value: Any) -> Optional:
    if type(value) is not Optional:
        raise CelError("no such overload")
    return value


def select(value: Any, field: str) -> Any:
    """`value.field`."""
    if isinstance(value, dict):
        try:
            return value[field]
        except KeyError:
            raise CelError(f"no such key: {field}") from None
    if type(value) is Optional:
        return optional_index(value, field)
    raise CelError("no such overload")


def _has(value: Any, field: str) -> bool:
    if isinstance(value, dict):
        return field in value or hasattr(value, "__missing__")
    if type(value) is Optional:
        return value.present and _has(value.value, field)
    raise CelError("no such overload")


def index(value: Any, key: Any) -> Any:
    """`value[key]`."""
    if type(value) is Optional:
        return optional_index(value, key)
    if isinstance(value, dict):
        if type(key) is str or is_key(key, value):
            try:
                return value[key]
            except KeyError:
                pass
        raise CelError(f"no such key: {_key(key)}")
    if type(value) is list:
        if type(key) not in _NUMBERS or (type(key) is float and not key.is_integer()):
            raise CelError(f"unsupported index type '{type_name(key)}' in list")
        if not 0 <= key < len(value):
            raise CelError(f"index out of bounds: {int(key)}")
        return value[int(key)]
    raise CelError("no such overload")


def _key(key: Any) -> str:
    return str(key).lower() if type(key) is bool else str(key)


def optional_index(value: Any, key: Any) -> Optional:
    """`value[?key]` and `value.?key`."""
    if type(value) is Optional:
        return optional_index(value.value, key) if value.present else NONE
    if isinstance(value, dict):
        if hasattr(value, "__missing__") or is_key(key, value):
            return Optional(value[key])
        return NONE
    if type(value) is list:
        if type(key) not in _NUMBERS:
            raise CelError(f"unsupported index type '{type_name(key)}' in list")
        return Optional(value[int(key)]) if 0 <= key < len(value) else NONE
    raise CelError("no such overload")


def type_of(value: Any) -> TypeName:
    return TypeName(type_name(value))
