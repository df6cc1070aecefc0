"""Values that a stage takes from the object: how long to wait, and how much it weighs.

A *source* is a jq query or a CEL expression. A duration may come as Go writes them (`1m30s`) or as a point in time,
which stands for the span until then; an empty text asks for no delay at all. Anything else, a bare number above all, is
passed over in favour of the number in the stage, which KWOK does in silence and we tell. With a *jitter* the delay is
drawn evenly from between the duration and the jitter; a jitter below the duration is the delay. All durations are
microseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

from ghostfleet.core.durations import parse_duration
from ghostfleet.core.errors import shortened, shown
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.languages.cel import Program
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.languages.govalues import truncated
from ghostfleet.stages.celobjects import compile_stage_cel
from ghostfleet.stages.reading import FieldReader
from ghostfleet.stages.selectors import Answers, Question, question

__all__ = ["Delay", "Duration", "Warn", "Weight", "read_delay", "read_weight"]

Warn = Callable[[str], None]

_ANNOTATIONS = ("metadata", "annotations")
_MILLISECOND = 1000
_INT64 = 1 << 63
_GO_INTEGER = re.compile(r"([+-]?)(?:0[xX]_?([0-9a-fA-F_]+)|0[bB]_?([01_]+)|0[oO]?_?([0-7_]+)|(0|[1-9][0-9_]*))")


class _Source:
    """Where a value comes from: a query or a program; the program wins."""

    __slots__ = ("program", "question")

    def __init__(self, question: Question | None, program: Program | None) -> None:
        self.question = question
        self.program = program


def _read_source(reader: FieldReader | None) -> _Source | None:
    if reader is None:
        return None
    jq, cel = reader.child("jq"), reader.child("cel")
    text = jq.text("expression") if jq is not None else reader.text("expressionFrom")
    place = jq.place("expression") if jq is not None else reader.place("expressionFrom")
    asked = question(text, place) if jq is not None or text else None
    program = compile_stage_cel(cel.text("expression"), cel.place("expression")) if cel is not None else None
    return _Source(asked, program)


class Duration:
    """A span of time, fixed or taken from the object."""

    __slots__ = ("_default", "_name", "_source", "_warn")

    def __init__(self, name: str, default: int | None, source: _Source | None, warn: Warn) -> None:
        self._name = name
        self._default = default
        self._source = source
        self._warn = warn

    @property
    def by_annotation(self) -> bool:
        """Whether nothing but an annotation of the object can make a difference."""
        source = self._source
        return source is None or (
            source.program is None and (source.question is None or source.question.fields[:2] == _ANNOTATIONS)
        )

    def get(self, answers: Answers) -> int | None:
        """Microseconds; None when there is no such delay for this object."""
        source = self._source
        if source is None:
            return self._default
        if source.program is not None:
            return _as_duration(source.program.evaluate(answers.now, self=answers.obj), source.program.text)
        if source.question is None:
            return self._default
        outputs = answers.outputs(source.question)
        if not outputs:
            return self._default
        value = outputs[0]
        if value == "":
            return None
        span = _span(value, answers.now)
        if span is None:
            self._warn(
                f"{self._name}: {shown(value)} from {shortened(source.question.text)} is neither a duration such as "
                f"90s nor a time; KWOK ignores it in silence, and so the delay is {_shown(self._default)}"
            )
            return self._default
        return span


def _shown(us: int | None) -> str:
    return "none" if us is None else f"{us / 1_000_000:g}s"


def _span(value: Any, now: int) -> int | None:
    if type(value) is not str:
        return None
    try:
        return parse_rfc3339(value) - now
    except ValueError:
        pass
    try:
        return parse_duration(value)
    except ValueError:
        return None


def _as_duration(value: Any, text: str) -> int:
    if type(value) is str:
        try:
            return parse_duration(value)
        except ValueError as error:
            raise EvaluationError(f"cel {shown(text)}: {error}") from None
    nanoseconds = _as_int(value, text) if type(value) is not bool else None
    if nanoseconds is None:
        raise EvaluationError(f"cel {shown(text)}: expected a duration, found {shown(value)}")
    return int(nanoseconds / _MILLISECOND)


def _as_int(value: Any, text: str) -> int:
    nanoseconds = getattr(value, "nanoseconds", None)
    if isinstance(nanoseconds, int):
        return nanoseconds
    if isinstance(value, float):
        return truncated(value)
    if isinstance(value, int):
        return int(value)
    raise EvaluationError(f"cel {shown(text)}: expected a number, found {shown(value)}")


class Delay:
    """How long a stage waits before it acts."""

    __slots__ = ("_by_annotation", "_duration", "_jitter", "_usual")

    def __init__(self, duration: Duration, jitter: Duration | None) -> None:
        self._duration = duration
        self._jitter = jitter
        #: without annotations, an object cannot but have the usual delay
        self._by_annotation = duration.by_annotation and (jitter is None or jitter.by_annotation)
        self._usual = self.between(Answers({"metadata": {}}, 0)) if self._by_annotation else ()

    def between(self, answers: Answers) -> tuple[int, ...]:
        """Nothing for no delay, one number for a fixed one, or the two that it is drawn from between."""
        duration = self._duration.get(answers)
        if duration is None:
            return ()
        jitter = self._jitter.get(answers) if self._jitter is not None else None
        if jitter is None:
            return (duration,)
        return (jitter,) if jitter <= duration else (duration, jitter)

    def draw(self, answers: Answers, rng: Random) -> int:
        usual = self._by_annotation and "annotations" not in answers.obj["metadata"]
        bounds = self._usual if usual else self.between(answers)
        if not bounds:
            return 0
        if len(bounds) == 1:
            return bounds[0]
        low, high = bounds
        return low + int(rng.random() * (high - low))


def read_delay(reader: FieldReader, name: str, warn: Warn) -> tuple[Delay, list[str]]:
    """A delay from `spec.delay`, and what may surprise its author."""
    notes: list[str] = []
    duration_source = _read_source(reader.child("durationFrom"))
    jitter_source = _read_source(reader.child("jitterDurationFrom"))
    milliseconds, most = reader.whole("durationMilliseconds"), reader.whole("jitterDurationMilliseconds")
    duration = Duration(f"{name}: delay", (milliseconds or 0) * _MILLISECOND, duration_source, warn)
    if most is None and jitter_source is None:
        return Delay(duration, None), notes
    if jitter_source is not None and jitter_source.question is None:
        notes.append("spec.delay.jitterDurationFrom.cel has no effect in KWOK, nor here")
        jitter_source = None
    if most is not None and milliseconds is not None and most < milliseconds:
        notes.append(
            f"spec.delay.jitterDurationMilliseconds ({most}) is below durationMilliseconds ({milliseconds}), "
            f"so that the delay is {most} ms"
        )
    default = most * _MILLISECOND if most is not None else None
    return Delay(duration, Duration(f"{name}: jitter", default, jitter_source, warn)), notes


class Weight:
    """How much a stage counts among several that match."""

    __slots__ = ("_default", "_source")

    def __init__(self, default: int, source: _Source | None) -> None:
        self._default = default
        self._source = source

    def get(self, answers: Answers) -> int | None:
        """The weight; None when the object has something there that is no number."""
        source = self._source
        if source is None:
            return self._default
        if source.program is not None:
            return _as_int(source.program.evaluate(answers.now, self=answers.obj), source.program.text)
        if source.question is None:
            return self._default
        outputs = answers.outputs(source.question)
        value = outputs[0] if outputs else None
        if type(value) is str:
            return _parse_int(value)
        return truncated(value) if type(value) is float else self._default


def _parse_int(text: str) -> int | None:
    """An integer as Go's ParseInt reads it with base 0: `010` is octal."""
    match = _GO_INTEGER.fullmatch(text)
    if match is None:
        return None
    sign, *runs = match.groups()
    digits, base = next((run, base) for run, base in zip(runs, (16, 2, 8, 10), strict=True) if run is not None)
    if digits.endswith("_") or "__" in digits:
        return None
    value = int(sign + digits.replace("_", ""), base)
    return value if -_INT64 <= value < _INT64 else None


def read_weight(reader: FieldReader) -> Weight:
    """A weight from `spec.weight` and `spec.weightFrom`."""
    return Weight(reader.whole("weight") or 0, _read_source(reader.child("weightFrom")))
