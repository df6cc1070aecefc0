"""Questions about objects: jq queries, and the short way to answer the usual ones.

Nearly all queries of stages only follow a *trail*: fields (`.status.phase`, `.metadata.annotations["x"]`), all items of
a list (`.status.conditions.[]`), and items with some text in a field (`select(.type == "Ready")`). Trails are followed
here step by step, without the machinery of the language; every other query is left to it. As in KWOK, null is no
answer, a query that fails on the way has none at all, and all numbers of an object are floats. A query that goes over
its budget is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.languages.jq import JqError, Query, compile_jq, syntax
from ghostfleet.languages.jq.parser import parse

__all__ = ["Ask", "Question", "question"]

#: Answers a question about an object at a time.
Ask = Callable[[Object, int], Sequence[Any]]

#: A field; all items (None); or those items with a text in a field.
_Step = str | None | tuple[str, str]


class Question:
    """A query, ready to be asked."""

    __slots__ = ("ask", "fields", "text")

    def __init__(self, text: str, place: str) -> None:
        query = compile_jq(text, place)
        self.text = text
        #: the trail, where it is nothing but fields
        self.fields: tuple[str, ...] = ()
        trail = _trail(parse(text))
        if trail is None:
            self.ask = _by_query(query)
        elif all(type(step) is str for step in trail):
            self.fields = tuple(str(step) for step in trail)
            self.ask = _by_fields(self.fields)
        else:
            steps = tuple(trail)
            self.ask = (_by_items(steps) if None in steps else None) or _by_trail(steps)


def question(text: str, place: str = "") -> Question:
    """A question from the text of a query and its place in the stage; Unsupported names what is wrong with it."""
    return Question(text, place)


def _by_query(query: Query) -> Ask:
    def ask(obj: Object, now: int) -> Sequence[Any]:
        try:
            return [output for output in query.run(obj, now) if output is not None]
        except JqError:
            return ()

    return ask


def _by_fields(fields: tuple[str, ...]) -> Ask:
    def ask(obj: Object, now: int) -> Sequence[Any]:  # noqa: ARG001 - a trail does not depend on the time
        value: Any = obj
        for field in fields:
            if type(value) is not dict:
                return ()
            value = value.get(field)
            if value is None:
                return ()
        return (float(value),) if type(value) is int else (value,)

    return ask


def _by_trail(trail: tuple[_Step, ...]) -> Ask:
    def ask(obj: Object, now: int) -> Sequence[Any]:  # noqa: ARG001 - a trail does not depend on the time
        values: list[Any] = [obj]
        for step in trail:
            found = _next(values, step)
            if found is None:
                return ()
            values = found
        return [float(value) if type(value) is int else value for value in values if value is not None]

    return ask


def _by_items(trail: tuple[_Step, ...]) -> Ask | None:
    """The usual trail through one list, `.status.conditions.[] | select(.type == "Ready") | .status`, in one go."""
    place = trail.index(None)
    before, after = trail[:place], trail[place + 1 :]
    wanted, text = "", ""
    if after and type(after[0]) is tuple:
        wanted, text = after[0]
        after = after[1:]
    if not all(type(step) is str for step in (*before, *after)):
        return None
    fields, rest = tuple(map(str, before)), tuple(map(str, after))
    general = _by_trail(trail)

    def ask(obj: Object, now: int) -> Sequence[Any]:
        value: Any = obj
        for field in fields:
            if type(value) is not dict:
                return ()
            value = value.get(field)
        if type(value) is not list:
            return general(obj, now) if type(value) is dict else ()
        found = []
        for item in value:
            if type(item) is not dict:
                return general(obj, now)
            if wanted and item.get(wanted) != text:
                continue
            inner: Any = item
            for field in rest:
                if type(inner) is not dict:
                    break
                inner = inner.get(field)
            else:
                if inner is not None:
                    found.append(float(inner) if type(inner) is int else inner)
                continue
            if inner is not None:
                return ()
        return found

    return ask


def _next(values: list[Any], step: _Step) -> list[Any] | None:
    """The values one step further; None if one of them cannot be gone on from."""
    found: list[Any] = []
    for value in values:
        kind = type(value)
        if step is None:
            if kind is list:
                found += value
            elif kind is dict:
                found += [value[key] for key in sorted(value)]
            else:
                return None
        elif kind is dict:
            if type(step) is str:
                found.append(value.get(step))
            elif value.get(step[0]) == step[1]:
                found.append(value)
        elif value is not None:
            return None
        elif type(step) is str:
            found.append(None)
    return found


def _trail(node: syntax.Filter) -> list[_Step] | None:
    """The steps of a query that only follows a trail; None for any other."""
    match node:
        case syntax.Identity():
            return []
        case syntax.Index(target, syntax.Literal(str(field))):
            start = _trail(target)
            return None if start is None else [*start, field]
        case syntax.Iterate(target):
            start = _trail(target)
            return None if start is None else [*start, None]
        case syntax.Pipe(left, right):
            start, rest = _trail(left), _trail(right)
            return None if start is None or rest is None else start + rest
        case syntax.Call(
            "select",
            (
                syntax.Binary(
                    "==", syntax.Index(syntax.Identity(), syntax.Literal(str(field))), syntax.Literal(str(text))
                ),
            ),
        ):
            return [(field, text)]
    return None
