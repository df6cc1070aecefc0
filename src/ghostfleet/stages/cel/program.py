"""Programs: expressions of CEL, ready to evaluate.

A program is compiled from its text and evaluated with values for its variables; in stages there is one, `self`, the
object. Pods and nodes are Go structs there, everything else is a map, in which a key that is missing is an error. What
KWOK adds to the standard library is here too: Now, SinceSecond, UnixSecond and Quantity, also behind a dot. An
evaluator of our own is less than a library weighs, knows KWOK's additions, and takes its time from the cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ghostfleet.stages.cel.compiler import Names, compile_node
from ghostfleet.stages.cel.objects import as_struct
from ghostfleet.stages.cel.parser import parse
from ghostfleet.stages.cel.values import CelError
from ghostfleet.stages.errors import Unsupported

__all__ = ["Program", "compile_cel"]


class Program:
    """A compiled expression."""

    __slots__ = ("_value", "_variables", "text")

    def __init__(self, text: str, variables: Sequence[str]) -> None:
        self.text = text
        self._variables = tuple(variables)
        self._value = compile_node(parse(text), Names(["", *variables])).value

    def evaluate(self, now: int = 0, /, **variables: Any) -> Any:
        """The value at a time in microseconds; CelError if there is none."""
        try:
            return self._value([now, *[as_struct(variables[name]) for name in self._variables]])
        except CelError:
            raise
        except RecursionError:
            raise CelError("nested too deeply") from None
        except (ValueError, ArithmeticError) as error:
            raise CelError(f"out of range: {error}") from None

    def __repr__(self) -> str:
        return f"Program({self.text!r})"


def compile_cel(text: str, variables: Sequence[str] = ("self",)) -> Program:
    """An expression, compiled; Unsupported names what is wrong with it, or not supported."""
    try:
        return Program(text, variables)
    except Unsupported as error:
        raise Unsupported(f"cel {text!r}: {error}") from None
    except RecursionError:
        raise Unsupported(f"cel {text!r}: nested too deeply") from None
