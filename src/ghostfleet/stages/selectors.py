"""Selectors: which objects a stage is for.

A selector is an AND of *requirements*: labels and annotations that must be equal, jq queries whose outputs must be (or
not be) among some texts, and CEL expressions that must be true. They are tried in this order and the first that fails
ends the trial. A jq query that fails on an object has no outputs; a CEL expression that fails is an error, which ends
the matching of that object for all stages. Several stages ask the same queries, so a trial works with *answers*: the
outputs of each query that some stage has asked already.

Nearly all queries, or *questions*, only follow a *trail*: fields (`.status.phase`, `.metadata.annotations["x"]`), all
items of a list (`.status.conditions.[]`), and items with some text in a field (`select(.type == "Ready")`). Trails are
followed here step by step, without the machinery of jq; every other query is left to it. As in KWOK, null is no answer
and all numbers of an object are floats. A query that goes over its budget is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from ghostfleet.core.changes import Object
from ghostfleet.core.errors import shown
from ghostfleet.languages.cel import Program
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.languages.jq import JqError, Query, compile_jq, syntax
from ghostfleet.languages.jq.parser import parse
from ghostfleet.stages.celobjects import compile_stage_cel
from ghostfleet.stages.reading import FieldReader, StageError

__all__ = ["Answers", "Ask", "Question", "Selector", "is_among", "question", "read_selector"]

#: Answers a question about an object at a time.
Ask = Callable[[Object, int], Sequence[Any]]

#: A field; all items (None); or those items with a text in a field.
_Step = str | None | tuple[str, str]
_Operator = Literal["In", "NotIn", "Exists", "DoesNotExist"]
_OPERATORS: tuple[_Operator, ...] = ("In", "NotIn", "Exists", "DoesNotExist")


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


class Answers:
    """What jq queries say about one object, each asked at most once."""

    __slots__ = ("_known", "now", "obj")

    def __init__(self, obj: Object, now: int) -> None:
        self.obj = obj
        self.now = now
        self._known: dict[str, Sequence[Any]] = {}

    def outputs(self, question: Question) -> Sequence[Any]:
        found = self._known.get(question.text)
        if found is None:
            found = self._known[question.text] = question.ask(self.obj, self.now)
        return found


class _Requirement:
    """One question and what its outputs must be."""

    __slots__ = ("absent", "question", "values")

    def __init__(self, question: Question, operator: _Operator, values: Sequence[str] = ()) -> None:
        self.question = question
        #: NotIn and DoesNotExist are the others, turned round
        self.absent = operator in ("NotIn", "DoesNotExist")
        self.values = frozenset(values) if operator in ("In", "NotIn") else None

    def holds(self, answers: Answers) -> bool:
        outputs = answers.outputs(self.question)
        if self.values is None:
            return bool(outputs) is not self.absent
        return is_among(outputs, self.values) is not self.absent


def is_among(outputs: Sequence[Any], values: frozenset[str]) -> bool:
    """Whether one of the outputs is one of the texts."""
    for output in outputs:
        kind = type(output)
        # Numbers of the object itself are floats, which KWOK compares with nothing.
        if kind is str:
            if output in values:
                return True
        elif kind is bool:
            if ("true" if output else "false") in values:
                return True
        elif kind is int and str(output) in values:
            return True
    return False


class Selector:
    """Requirements that an object must all meet, tried in order."""

    __slots__ = ("_annotations", "_conditions", "_labels", "requirements")

    def __init__(
        self,
        labels: Mapping[str, str],
        annotations: Mapping[str, str],
        requirements: Sequence[_Requirement],
        conditions: Sequence[Program],
    ) -> None:
        self._labels = tuple(labels.items())
        self._annotations = tuple(annotations.items())
        self.requirements = tuple(requirements)
        self._conditions = tuple(conditions)

    def matches(self, answers: Answers) -> bool:
        """Whether an object is selected; EvaluationError if a CEL expression does not go together with it."""
        if not self.names(answers.obj):
            return False
        for requirement in self.requirements:
            if not requirement.holds(answers):
                return False
        return self.agrees(answers.obj, answers.now)

    @property
    def has_conditions(self) -> bool:
        """Whether there are CEL expressions."""
        return bool(self._conditions)

    @property
    def names_some(self) -> bool:
        """Whether there are labels or annotations to be looked at."""
        return bool(self._labels or self._annotations)

    def names(self, obj: Object) -> bool:
        """Whether labels and annotations are right."""
        metadata = obj["metadata"]
        return not (
            (self._labels and not _equal(self._labels, metadata.get("labels")))
            or (self._annotations and not _equal(self._annotations, metadata.get("annotations")))
        )

    def agrees(self, obj: Object, now: int) -> bool:
        """Whether all CEL expressions are true."""
        for condition in self._conditions:
            value = condition.evaluate(now, self=obj)
            if type(value) is not bool:
                raise EvaluationError(f"cel {shown(condition.text)}: expected true or false, found {shown(value)}")
            if not value:
                return False
        return True


def _equal(wanted: tuple[tuple[str, str], ...], found: Mapping[str, str] | None) -> bool:
    return found is not None and all(found.get(key) == value for key, value in wanted)


def read_selector(reader: FieldReader) -> Selector:
    """A selector from `spec.selector`."""
    requirements: list[_Requirement] = []
    conditions: list[Program] = []
    for each in reader.children("matchExpressions"):
        jq, cel = each.child("jq"), each.child("cel")
        # The older form has the fields of `jq` in the expression itself.
        if jq is None and each.text("key"):
            jq = each
        if jq is not None:
            requirements.append(_read_requirement(jq))
        elif cel is not None:
            conditions.append(compile_stage_cel(cel.text("expression"), cel.place("expression")))
        else:
            raise StageError(f"{each.path}: expected jq, cel or key")
    return Selector(reader.mapping("matchLabels"), reader.mapping("matchAnnotations"), requirements, conditions)


def _read_requirement(reader: FieldReader) -> _Requirement:
    operator, values = reader.text("operator"), reader.texts("values")
    for known in _OPERATORS:
        if operator == known:
            break
    else:
        raise StageError(
            f"{reader.place('operator')}: expected one of {', '.join(_OPERATORS)}, found {shown(operator)}"
        )
    if known in ("In", "NotIn") and not values:
        raise StageError(f"{reader.place('values')}: {known} needs at least one value")
    if known in ("Exists", "DoesNotExist") and values:
        raise StageError(f"{reader.place('values')}: {known} takes no values")
    return _Requirement(question(reader.text("key"), reader.place("key")), known, values)
