"""The objects that rendered templates stand for, without reading the same YAML again and again.

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
from ghostfleet.languages.budget import NODES, BudgetExceeded
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.languages.gotemplate.template import Template
from ghostfleet.languages.gotemplate.values import Quoted

__all__ = ["read_yaml", "render_yaml"]

#: begins and ends every mark; a character for private use, so that a text that has it anyway is just read as it is
_MARK = "\ue0f6"
_MOST_SKELETONS = 256
#: Longer texts are not kept: they would take much memory, and hardly come again.
_LONGEST_KEPT = 16_384

_Filling = Callable[[list[str]], Any]
_Key = tuple[str | None, ...]


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


_UNKNOWN: Any = object()


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
