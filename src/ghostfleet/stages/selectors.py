"""Selectors: which objects a stage is for.

A selector is an AND of *requirements*: labels and annotations that must be equal, jq queries whose outputs must be (or
not be) among some texts, and CEL expressions that must be true. They are tried in this order and the first that fails
ends the trial. A jq query that fails on an object has no outputs; a CEL expression that fails is an error, which ends
the matching of that object for all stages. Several stages ask the same queries, so a trial works with *answers*: the
outputs of each query that some stage has asked already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ghostfleet.core.changes import Object
from ghostfleet.core.errors import shown
from ghostfleet.languages.cel import Program
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.stages.celobjects import compile_stage_cel
from ghostfleet.stages.questions import Question, question
from ghostfleet.stages.reading import Reader, StageError

__all__ = ["Answers", "Operator", "Requirement", "Selector", "is_among", "read_selector"]

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist"]
_OPERATORS: tuple[Operator, ...] = ("In", "NotIn", "Exists", "DoesNotExist")


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


class Requirement:
    """One question and what its outputs must be."""

    __slots__ = ("absent", "question", "values")

    def __init__(self, question: Question, operator: Operator, values: Sequence[str] = ()) -> None:
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
        requirements: Sequence[Requirement],
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


def read_selector(reader: Reader) -> Selector:
    """A selector from `spec.selector`."""
    requirements: list[Requirement] = []
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


def _read_requirement(reader: Reader) -> Requirement:
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
    return Requirement(question(reader.text("key"), reader.place("key")), known, values)
