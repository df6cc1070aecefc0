"""Programs: expressions of CEL, ready to evaluate.

A program is compiled from its text and evaluated with values for its variables; in stages there is one, `self`, the
object. Objects are maps, in which a key that is missing is an error, unless they are shown as Go structs. What KWOK
adds to the standard library is here too: Now, SinceSecond, UnixSecond and Quantity, also behind a dot. An evaluator of
our own is less than a library weighs, knows KWOK's additions, and takes its time from the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ghostfleet.core.errors import shortened
from ghostfleet.languages.budget import (
    BUDGET,
    LONGEST_EXPRESSION,
    UNLIMITED,
    BudgetExceeded,
    Strikes,
    bounded_source,
    steps_for,
)
from ghostfleet.languages.cel.compiler import Names, compile_node
from ghostfleet.languages.cel.parser import parse
from ghostfleet.languages.cel.values import CelError
from ghostfleet.languages.errors import Unsupported

__all__ = ["Program", "compile_cel"]


class Program:
    """A compiled expression."""

    __slots__ = ("_show", "_steps", "_strikes", "_value", "_variables", "text")

    def __init__(self, text: str, variables: Sequence[str], show: Callable[[Any], Any] | None, place: str) -> None:
        self.text = text
        self._show = show
        self._variables = tuple(variables)
        self._value = compile_node(parse(bounded_source(text, LONGEST_EXPRESSION)), Names(["", *variables])).value
        self._steps = steps_for(text)
        self._strikes = Strikes("cel", text, place, self._steps)

    def evaluate(self, now: int = 0, /, **variables: Any) -> Any:
        """The value at a time in microseconds; CelError if there is none."""
        values = [variables[name] for name in self._variables]
        if self._show is not None:
            values = [self._show(value) for value in values]
        BUDGET.limit = BUDGET.steps + self._steps
        try:
            return self._value([now, *values])
        except CelError:
            raise
        except (BudgetExceeded, RecursionError) as error:
            counted = self._strikes.counted(error)
            if self._strikes.out:
                self._value = self._strikes.refuse
            raise counted from None
        except (ValueError, ArithmeticError) as error:
            raise CelError(f"out of range: {error}") from None
        finally:
            BUDGET.limit = UNLIMITED

    def __repr__(self) -> str:
        return f"Program({self.text!r})"


def compile_cel(
    text: str, variables: Sequence[str] = ("self",), *, show: Callable[[Any], Any] | None = None, place: str = ""
) -> Program:
    """An expression, compiled; Unsupported names what is wrong with it, or not supported.

    `show` says how the values of variables look to the expression, where they are not plain JSON. The place is where
    the text stands, for messages about its budget.
    """
    try:
        return Program(text, variables, show, place)
    except Unsupported as error:
        raise Unsupported(f"cel {shortened(text)!r}: {error}") from None
    except RecursionError:
        raise Unsupported(f"cel {shortened(text)!r}: nested too deeply") from None
