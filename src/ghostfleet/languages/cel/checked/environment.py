"""Environments: what an expression may name, and what comes of compiling it there.

An environment declares variables with their types, functions, and *structs*, types with fields. It is never changed:
`extended` makes another one with more in it. `compile` checks an expression against it and makes a `Checked` program,
which knows the type of its value and is evaluated with values for the variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ghostfleet.languages.budget import BUDGET, STEPS, BudgetExceeded
from ghostfleet.languages.cel.checked.checker import check
from ghostfleet.languages.cel.checked.costs import Sizes, estimate_cost
from ghostfleet.languages.cel.checked.declarations import Function, functions_of
from ghostfleet.languages.cel.checked.expressions import Expr, expand
from ghostfleet.languages.cel.checked.issues import CompileError, Issues, syntax_message
from ghostfleet.languages.cel.checked.plan import Step, planned
from ghostfleet.languages.cel.checked.types import Type, read_type
from ghostfleet.languages.cel.checked.validators import validate
from ghostfleet.languages.cel.checked.values import CostExceeded
from ghostfleet.languages.cel.parser import SyntaxProblem, parse
from ghostfleet.languages.cel.values import CelError, TypeName

__all__ = ["Checked", "Environment"]

#: names that stand for types
_TYPES = {
    **{name: read_type(f"type({name})") for name in ("bool", "bytes", "double", "int", "string", "uint", "null_type")},
    "list": read_type("type(list(dyn))"),
    "map": read_type("type(map(dyn, dyn))"),
    "type": read_type("type"),
    "google.protobuf.Timestamp": read_type("type(timestamp)"),
    "google.protobuf.Duration": read_type("type(duration)"),
    "optional_type": read_type("type(optional_type(dyn))"),
}


class Checked:
    """A compiled expression."""

    __slots__ = ("_expr", "_limit", "_size", "_step", "_variables", "output", "text")

    def __init__(
        self, text: str, expr: Expr, step: Step, size: int, variables: tuple[str, ...], cost_limit: int
    ) -> None:
        self.text = text
        self._expr = expr
        #: steps of the budget; with a limit of costs it is that limit which ends an evaluation
        self._limit = cost_limit or STEPS
        #: the type of the value
        self.output = expr.type
        self._step = step
        self._size = size
        self._variables = variables

    def estimated_cost(self, sizes: Sizes) -> int:
        """The most that an evaluation may cost; `sizes` says how large values of variables may be."""
        return estimate_cost(self._expr, sizes)

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """The value with these values of the variables; CelError if there is none."""
        given = [values[name] for name in self._variables]
        frame = [0, *given, *([None] * (self._size - len(given) - 1))]
        BUDGET.limit = BUDGET.steps + self._limit
        try:
            return self._step(frame)
        except CelError:
            raise
        except BudgetExceeded:
            raise CostExceeded("operation cancelled: actual cost limit exceeded") from None
        except RecursionError:
            raise CelError("nested too deeply") from None
        except (TypeError, ValueError, ArithmeticError) as error:
            # Nothing that an expression does may be the end of who evaluates it.
            raise CelError(f"no such overload: {error}") from None


class Environment:
    """What expressions may name."""

    def __init__(
        self,
        functions: Mapping[str, Function],
        variables: Mapping[str, Type] | None = None,
        structs: Mapping[str, Mapping[str, Type]] | None = None,
        cost_limit: int = 0,
    ) -> None:
        self.functions = functions
        self.variables = dict(variables or {})
        self.structs = dict(structs or {})
        #: how much evaluating an expression may cost, 0 for anything
        self.cost_limit = cost_limit

    def extended(
        self,
        *,
        variables: Mapping[str, Type | str] | None = None,
        structs: Mapping[str, Mapping[str, Type | str]] | None = None,
        functions: Iterable[Function] = (),
        cost_limit: int | None = None,
    ) -> Environment:
        """This environment with more in it; types may be given as they are written."""
        return Environment(
            functions_of(self.functions.values(), functions),
            self.variables | _read(variables or {}),
            self.structs | {name: _read(fields) for name, fields in (structs or {}).items()},
            self.cost_limit if cost_limit is None else cost_limit,
        )

    def compile(self, text: str) -> Checked:
        """An expression, compiled; CompileError names all that is wrong with it."""
        # Literals are converted, and patterns tried, while compiling.
        BUDGET.limit = BUDGET.steps + STEPS
        issues = Issues(text)
        strange: list[SyntaxProblem] = []
        try:
            node = parse(text, optionals=True, strange=strange)
            for problem in strange:
                issues.report(problem.at, syntax_message(problem))
            expr = expand(node, issues)
            if not issues:
                check(expr, _TYPES | self.variables, self.functions, self.structs, issues)
            if not issues:
                validate(expr, issues)
        except SyntaxProblem as problem:
            for each in (*strange, problem):
                issues.report(each.at, syntax_message(each))
        except RecursionError:
            issues.report(0, "expression recursion limit exceeded: 250")
        if issues:
            raise CompileError(f"compilation failed: {issues}")
        constants = {name: TypeName(name) for name in _TYPES}
        names = tuple(self.variables)
        try:
            step, size = planned(expr, names, constants, self.cost_limit)
        except (CelError, BudgetExceeded) as error:
            raise CompileError(f"program instantiation failed: {error}") from None
        except RecursionError:
            raise CompileError("compilation failed: expression recursion limit exceeded") from None
        return Checked(text, expr, step, size, names, self.cost_limit)


def _read(types: Mapping[str, Type | str]) -> dict[str, Type]:
    return {name: read_type(each) if isinstance(each, str) else each for name, each in types.items()}
