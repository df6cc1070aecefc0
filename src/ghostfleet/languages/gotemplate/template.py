"""Templates, ready to render, and the objects that rendered ones stand for.

A template is compiled from its text and the functions that the caller provides, such as Now or NodeIP; it is
*rendered* with data and those functions. The pieces of text that a rendering gives are also available one by one,
because YAML is read faster when it is known which of them were quoted.

Reading YAML costs far more than rendering. So what was read is kept by its text; and since texts differ by a name or a
time in nearly every object, also by its *skeleton*: the text with a mark in place of each piece that the function Quote
made. If every mark comes out as a value of its own, then for any other texts in those places the outcome is the same
object with those texts in it. Objects are shared and must not be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ghostfleet.core.yamltext import TooManyValues, YamlError, compose
from ghostfleet.languages.budget import (
    BUDGET,
    LONGEST_TEMPLATE,
    NODES,
    STEPS,
    UNLIMITED,
    BudgetExceeded,
    Strikes,
    bounded_source,
)
from ghostfleet.languages.errors import EvaluationError, Unsupported
from ghostfleet.languages.gotemplate.collections import COLLECTIONS, MUTATING
from ghostfleet.languages.gotemplate.compiler import ROOT, compile_parts
from ghostfleet.languages.gotemplate.dates import dates, moment
from ghostfleet.languages.gotemplate.functions import BUILTINS, Function, from_python
from ghostfleet.languages.gotemplate.loops import Step
from ghostfleet.languages.gotemplate.numbers import NUMBERS
from ghostfleet.languages.gotemplate.parser import parse
from ghostfleet.languages.gotemplate.texts import TEXTS
from ghostfleet.languages.gotemplate.values import MISSING, Quoted, TemplateError
from ghostfleet.languages.gotimes import Time

__all__ = ["Template", "compile_template", "read_yaml", "render_yaml"]

_LIBRARY: dict[str, Function] = BUILTINS | TEXTS | NUMBERS | COLLECTIONS
_DATES = frozenset(dates(lambda: Time(0)))
_LOGIC = ("and", "or")
#: begins and ends every mark; a character for private use, so that a text that has it anyway is just read as it is
_MARK = "\ue0f6"
_MOST_SKELETONS = 256
#: Longer texts are not kept: they would take much memory, and hardly come again.
_LONGEST_KEPT = 16_384
_Filling = Callable[[list[str]], Any]
_Key = tuple[str | None, ...]
_UNKNOWN: Any = object()


class Template:
    """A compiled template."""

    __slots__ = ("_functions", "_main", "_mutates", "_now", "_slots", "_steps", "_strikes", "known", "parts", "text")

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
        #: what it says, by the name of each template in it; the text itself is the one without a name
        self.parts = parse(text.strip(), known)
        for name, parts in self.parts.items():
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


def read_yaml(text: str) -> Any:
    """The value of the first document, as sigs.k8s.io/yaml reads it; None if there is none. It is shared."""
    return _known(text) if len(text) <= _LONGEST_KEPT else _read(text)


@lru_cache(maxsize=1024)
def _known(text: str) -> Any:
    return _read(text)


def _read(text: str) -> Any:
    try:
        return next((value for value, _, _ in compose(text, lenient=True, most=NODES)), None)
    except TooManyValues as error:
        raise BudgetExceeded(f"gives YAML with {error.problem}") from None
    except YamlError as error:
        raise EvaluationError(f"the template gives no YAML: {error}") from None


def render_yaml(template: Template, data: Any, functions: Mapping[str, Callable[..., Any]] | None = None) -> Any:
    """The object that the rendered text stands for. It is shared: do not change it."""
    pieces = template.pieces(data, functions)
    key = tuple([None if type(piece) is Quoted else piece for piece in pieces])
    known = template.known
    filling = known.get(key, _UNKNOWN)
    try:
        if filling is _UNKNOWN:
            # A template that has other text in it for every object is not worth learning from.
            short = len(known) < _MOST_SKELETONS and sum(map(len, pieces)) <= _LONGEST_KEPT
            filling = known.setdefault(key, _learned(key)) if short else None
        if filling is None:
            return read_yaml("".join(pieces))
    except BudgetExceeded as error:
        raise template.exceeded(error) from None
    return filling([piece.value for piece in pieces if type(piece) is Quoted])


def _learned(key: _Key) -> _Filling | None:
    """How to make the object of a skeleton from the texts for its marks; None if the text has to be read."""
    if any(piece is not None and _MARK in piece for piece in key):
        return None
    marks: dict[str, int] = {}
    text = ""
    for piece in key:
        if piece is None:
            mark = f"{_MARK}{len(marks)}{_MARK}"
            marks[mark] = len(marks)
            text += f'"{mark}"'
        else:
            text += piece
    try:
        value = _read(text)
    except EvaluationError:
        return None
    found: list[int] = []
    filling = _filling(value, marks, found)
    if sorted(found) != list(range(len(marks))):
        return None
    return filling or (lambda _: value)


def _filling(value: Any, marks: dict[str, int], found: list[int]) -> _Filling | None:
    """A function that puts texts in the places of marks, or None if there is no mark in the value."""
    if type(value) is str:
        place = marks.get(value)
        if place is None:
            return None
        found.append(place)
        return lambda texts: texts[place]
    if type(value) is dict:
        parts = [(key, part) for key, one in value.items() if (part := _filling(one, marks, found)) is not None]
    elif type(value) is list:
        parts = [(key, part) for key, one in enumerate(value) if (part := _filling(one, marks, found)) is not None]
    else:
        return None
    if not parts:
        return None

    def fill(texts: list[str]) -> Any:
        made = value.copy()
        for key, part in parts:
            made[key] = part(texts)
        return made

    return fill
