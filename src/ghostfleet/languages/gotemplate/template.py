"""Templates, ready to render.

A template is compiled from its text and the functions that the caller provides, such as Now or NodeIP; it is
*rendered* with data and those functions. The pieces of text that a rendering gives are also available one by one,
because YAML is read faster when it is known which of them were quoted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ghostfleet.languages.budget import (
    BUDGET,
    LONGEST_TEMPLATE,
    STEPS,
    UNLIMITED,
    BudgetExceeded,
    Strikes,
    bounded_source,
)
from ghostfleet.languages.errors import EvaluationError, Unsupported
from ghostfleet.languages.gotemplate.arguments import Function, from_python
from ghostfleet.languages.gotemplate.builtins import BUILTINS
from ghostfleet.languages.gotemplate.collections import COLLECTIONS, MUTATING
from ghostfleet.languages.gotemplate.compiler import ROOT, compile_parts
from ghostfleet.languages.gotemplate.dates import dates, moment
from ghostfleet.languages.gotemplate.loops import Step
from ghostfleet.languages.gotemplate.numbers import NUMBERS
from ghostfleet.languages.gotemplate.parser import parse
from ghostfleet.languages.gotemplate.texts import TEXTS
from ghostfleet.languages.gotemplate.values import MISSING, TemplateError
from ghostfleet.languages.gotimes import Time

__all__ = ["Template", "compile_template"]

_LIBRARY: dict[str, Function] = BUILTINS | TEXTS | NUMBERS | COLLECTIONS
_DATES = frozenset(dates(lambda: Time(0)))
_LOGIC = ("and", "or")


class Template:
    """A compiled template."""

    __slots__ = ("_functions", "_main", "_mutates", "_now", "_slots", "_steps", "_strikes", "known", "text")

    def __init__(self, text: str, functions: Mapping[str, Callable[..., Any]], place: str, steps: int) -> None:
        self.text = bounded_source(text, LONGEST_TEMPLATE)
        #: what is remembered about renderings, for those who read them
        self.known: dict[Any, Any] = {}
        self._functions = functions
        self._now: Callable[[], Any] | None = None
        provided = {name: from_python(name, call) for name, call in functions.items()}
        library = _LIBRARY | (dates(self._time) if "Now" in functions else {})
        known = {*library, *provided, *_LOGIC}
        templates: dict[str, tuple[int, Step]] = {}
        for name, parts in parse(text.strip(), known).items():
            templates[name] = compile_parts(parts, library, provided, templates)
        self._slots, self._main = templates[""]
        self._mutates = any(name in text for name in MUTATING)
        # A template is many lines; the place alone tells which one it is.
        self._strikes = Strikes("template", "" if place else text, place, steps)
        self._steps = steps

    def _time(self) -> Time:
        assert self._now is not None
        return moment(self._now())

    def pieces(self, data: Any, functions: Mapping[str, Callable[..., Any]] | None = None) -> list[str]:
        """The rendered text in pieces; those made by Quote are of the type Quoted."""
        functions = self._functions if functions is None else functions
        self._now = functions.get("Now")
        data = _copied(data) if self._mutates else data
        out: list[str] = []
        frame = [functions, MISSING if data is None else data, *[MISSING] * (self._slots - 2)]
        BUDGET.limit, BUDGET.depth = BUDGET.steps + self._steps, 0
        try:
            self._main(frame, frame[ROOT], out)
        except (BudgetExceeded, RecursionError) as error:
            raise self.exceeded(error) from None
        except EvaluationError:
            raise
        except (ValueError, ArithmeticError, LookupError, TypeError) as error:
            raise TemplateError(str(error)) from None
        finally:
            BUDGET.limit = UNLIMITED
        return out

    def exceeded(self, error: BudgetExceeded | RecursionError) -> BudgetExceeded:
        """The error of a template that goes over its budget, or whose text does when it is read."""
        counted = self._strikes.counted(error)
        if isinstance(error, BudgetExceeded):
            counted.line, counted.action = error.line, error.action
        if self._strikes.out:
            self._main = self._strikes.refuse
        return counted

    def render(self, data: Any, functions: Mapping[str, Callable[..., Any]] | None = None) -> str:
        """The text for some data. The functions are those of compilation, unless others of the same names are given."""
        return "".join(self.pieces(data, functions))

    def __repr__(self) -> str:
        return f"Template({self.text!r})"


def compile_template(
    text: str, functions: Mapping[str, Callable[..., Any]] | None = None, place: str = "", steps: int = STEPS
) -> Template:
    """A template, compiled; Unsupported names what is wrong with it, or not supported.

    The place is where the text stands, for messages about its budget, and that is so many steps for each rendering.
    """
    try:
        return Template(text, functions or {}, place, steps)
    except RecursionError:
        raise Unsupported("template: nested too deeply") from None


def _copied(value: Any) -> Any:
    """A copy for a template that changes the dictionaries it works on."""
    if type(value) is dict:
        return {key: _copied(part) for key, part in value.items()}
    return [_copied(part) for part in value] if type(value) is list else value
