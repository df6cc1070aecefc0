"""Makes Python functions of expressions that have been checked.

A function takes a *frame*: the cost so far, the values of the variables, then a slot for each variable of a loop.
Errors are CelErrors; `&&` and `||` do without the value of one side if the other decides. If the cost is to be counted,
each step adds to it, in the units of cel-go, and past the limit nothing goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ghostfleet.core.goregex import RegexError, compile_regex
from ghostfleet.languages.cel.checked.access import (
    compared,
    elements,
    has,
    index,
    no_overload,
    optional,
    optional_index,
    select,
)
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
from ghostfleet.languages.cel.checked.values import CostExceeded, Failure, Optional, accepts, equal, size_of, type_name
from ghostfleet.languages.cel.values import CelError

__all__ = ["Frame", "Step", "is_in_list", "planned"]

Frame = list[Any]
Step = Callable[[Frame], Any]

#: what making a list or a map costs (cel-go, common/cost.go)
_LIST_COST, _MAP_COST = 10, 30
_TRAVERSAL = 0.1
#: functions of one literal whose value is known at once
_FOLDED = ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")


def is_constant(expr: Expr) -> bool:
    """Whether an expression is made of literals only."""
    match expr:
        case ListExpr():
            return not expr.optional and all(map(is_constant, expr.elements))
        case MapExpr():
            return not expr.optional and all(is_constant(each) for entry in expr.entries for each in entry)
    return isinstance(expr, Const)


def planned(expr: Expr, variables: Sequence[str], constants: dict[str, Any], limit: int) -> tuple[Step, int]:
    """The function of an expression, and how many slots its frame has; a limit of 0 is none.

    A CelError if some part of it can have no value, whatever the variables are."""
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
                return self.list_literal(expr)
            case MapExpr():
                return self.map_literal(expr)
            case Comprehension():
                return self.comprehension(expr)
        raise TypeError(expr)

    def paid(self, step: Step, cost: int = 1) -> Step:
        """A step with a price."""
        if not self.limit:
            return step
        limit = self.limit

        def run(frame: Frame) -> Any:
            pay(frame, cost, limit)
            return step(frame)

        return run

    def free(self, step: Step) -> Step:
        """A step whose value is always the same, worked out once."""
        value = step([0])
        return lambda _: value

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
            return lambda frame: has(operand(frame), field)
        return self.paid(lambda frame: select(operand(frame), field))

    def list_literal(self, expr: ListExpr) -> Step:
        parts = [self.plan(each) for each in expr.elements]
        marked = expr.optional
        if not marked:
            made = lambda frame: [each(frame) for each in parts]  # noqa: E731
            return self.free(made) if is_constant(expr) else self.paid(made, _LIST_COST)

        def run(frame: Frame) -> list[Any]:
            made = []
            for place, each in enumerate(parts):
                value = each(frame)
                if place not in marked:
                    made.append(value)
                elif optional(value).present:
                    made.append(value.value)
            return made

        return self.paid(run, _LIST_COST)

    def map_literal(self, expr: MapExpr) -> Step:
        entries = [(self.plan(key), self.plan(value)) for key, value in expr.entries]
        marked = expr.optional

        def run(frame: Frame) -> dict[Any, Any]:
            made: dict[Any, Any] = {}
            for place, (key, value) in enumerate(entries):
                name, part = key(frame), value(frame)
                if type(name) in (list, dict, Optional):
                    raise CelError(f"unsupported key type: {type_name(name)}")
                if place in marked:
                    if not optional(part).present:
                        continue
                    part = part.value
                made[name] = part
            return made

        return self.free(run) if is_constant(expr) else self.paid(run, _MAP_COST)

    def arguments(self, expr: CallExpr) -> list[Step]:
        return [self.plan(each) for each in ((expr.target, *expr.args) if expr.target is not None else expr.args)]

    def call(self, expr: CallExpr) -> Step:
        steps = self.arguments(expr)
        given = [each.type for each in ((expr.target, *expr.args) if expr.target is not None else expr.args)]
        if expr.function in _FOLDED and is_constant(expr.args[0]):
            call, value = expr.overloads[0].call, steps[0]
            return self.free(lambda frame: call(value(frame)))
        if expr.function == "@in" and isinstance(expr.args[1], ListExpr) and is_constant(expr.args[1]):
            value, whole = steps
            return lambda frame: is_in_list(value(frame), whole(frame))
        if len(expr.overloads) == 1 and not any(each.is_open or each.kind == "null" for each in given):
            self.try_patterns(expr)
            return self.direct(steps, expr.overloads[0])
        return self.dispatched(expr.function, steps, expr.overloads)

    def try_patterns(self, expr: CallExpr) -> None:
        """Searches with patterns that are literals can be tried before there is any value."""
        if expr.function in ("find", "findAll") and isinstance(expr.args[0], Const):
            try:
                compile_regex(expr.args[0].value)
            except RegexError as error:
                raise CelError(str(error)) from None

    def direct(self, steps: list[Step], overload: Overload) -> Step:
        call, limit, cost = overload.call, self.limit, overload.cost
        if not limit:
            return lambda frame: call(*[step(frame) for step in steps])

        def run(frame: Frame) -> Any:
            values = [step(frame) for step in steps]
            pay(frame, cost(values) if cost is not None else 1, limit)
            return call(*values)

        return run

    def dispatched(self, name: str, steps: list[Step], overloads: list[Overload]) -> Step:
        """A call that depends on what its arguments turn out to be."""
        tests = [(each, [accepts(argument) for argument in each.arguments]) for each in overloads]
        limit = self.limit

        def run(frame: Frame) -> Any:
            values = [step(frame) for step in steps]
            for each, fits in tests:
                if all(test(value) for test, value in zip(fits, values, strict=True)):
                    if limit:
                        pay(frame, each.cost(values) if each.cost is not None else 1, limit)
                    return each.call(*values)
            raise no_overload(name, values)

        return run

    def logic(self, expr: CallExpr, decisive: bool) -> Step:
        first, second = (self.plan(each) for each in expr.args)

        def run(frame: Frame) -> Any:
            problem: CelError | None = None
            for term in (first, second):
                try:
                    value = term(frame)
                    if value is decisive:
                        return decisive
                    if value is not (not decisive):
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
            return lambda frame: compared(first(frame), second(frame), wanted)

        def run(frame: Frame) -> bool:
            left, right = first(frame), second(frame)
            pay(frame, math.ceil(min(size_of(left), size_of(right)) * _TRAVERSAL), limit)
            return compared(left, right, wanted)

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
            value = optional(first(frame))
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
        collects = _collected(expr)
        if collects is not None:
            self.slots = {**result_slots, **dict(zip(expr.variables, variables, strict=True))}
            test = None if collects[0] is None else self.plan(collects[0])
            element = self.plan(collects[1])
            self.slots = outer
            return self.collecting(whole, variables, test, element)
        if isinstance(expr.condition, Const) and expr.condition.value is False:

            def bind(frame: Frame) -> Any:
                frame[accumulator] = _caught(init, frame)
                return result(frame)

            return bind

        def run(frame: Frame) -> Any:
            found = elements(whole(frame), len(variables))
            frame[accumulator] = _caught(init, frame)
            for element in found:
                for slot, value in zip(variables, element, strict=True):
                    frame[slot] = value
                if condition(frame) is not True:
                    break
                frame[accumulator] = _caught(step, frame)
            return result(frame)

        return run

    def collecting(self, whole: Step, variables: list[int], test: Step | None, element: Step) -> Step:
        """A loop that makes a list of what passes a test: it is appended to, not made anew each time."""
        limit = self.limit

        def run(frame: Frame) -> list[Any]:
            made: list[Any] = []
            for values in elements(whole(frame), len(variables)):
                for slot, value in zip(variables, values, strict=True):
                    frame[slot] = value
                if limit:
                    pay(frame, 1 if test is not None else 0, limit)
                if test is not None:
                    passed = test(frame)
                    if type(passed) is not bool:
                        raise CelError("no such overload")
                    if not passed:
                        continue
                if limit:
                    pay(frame, _LIST_COST + 2, limit)
                made.append(element(frame))
            return made

        return run

    def slot(self) -> int:
        self.size += 1
        return self.size - 1


def _collected(expr: Comprehension) -> tuple[Expr | None, Expr] | None:
    """The test and the element of a loop that only collects, as `map` and `filter` do."""
    step, test = expr.step, None
    if isinstance(step, CallExpr) and step.function == "_?_:_" and isinstance(step.args[2], Ident):
        test, step = step.args[0], step.args[1]
    if not isinstance(expr.init, ListExpr) or expr.init.elements or not isinstance(step, CallExpr):
        return None
    if step.function != "_+_" or not isinstance(step.args[0], Ident) or step.args[0].name != expr.accumulator:
        return None
    added = step.args[1]
    return (test, added.elements[0]) if isinstance(added, ListExpr) and len(added.elements) == 1 else None


def is_in_list(value: Any, whole: list[Any]) -> bool:
    return any(equal(value, each) for each in whole)


def pay(frame: Frame, cost: int, limit: int) -> None:
    frame[0] += cost
    if frame[0] > limit:
        raise CostExceeded("operation cancelled: actual cost limit exceeded")


def _caught(step: Step, frame: Frame) -> Any:
    """The value of a step, or its error, for a loop to carry along."""
    try:
        return step(frame)
    except CostExceeded:
        raise
    except CelError as error:
        return Failure(error)


def _dotted(expr: Expr) -> str:
    if isinstance(expr, Ident):
        return expr.name
    if isinstance(expr, Select):
        before = _dotted(expr.operand)
        return f"{before}.{expr.field}" if before else ""
    return ""
