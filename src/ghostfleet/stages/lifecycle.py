"""The lifecycle of a kind: all its stages, and which of them comes next for an object.

Of the stages that match an object one is drawn, by weight. A stage whose weight is *unknown* (the object has something
there that is no number) counts only where all are unknown; if all known weights are 0, one of the known is drawn
evenly; otherwise those of weight 0 have no chance. A *transition* is the outcome: the stage, and how long it waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, NamedTuple

from ghostfleet.core.changes import Object
from ghostfleet.languages.budget import BudgetExceeded
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.stages.selectors import Answers, Ask, Selector, is_among
from ghostfleet.stages.stage import Stage

__all__ = ["Lifecycle", "Transition"]


_PHASE, _DELETION = ".status.phase", ".metadata.deletionTimestamp"
#: Phases that are told apart; there are hardly more.
_PHASES = 64


class Transition(NamedTuple):
    """What is to happen to an object, and after how many microseconds."""

    stage: Stage
    delay: int


class _Requirement(NamedTuple):
    """What the answer to a question must be."""

    number: int
    ask: Ask
    values: frozenset[str] | None
    absent: bool


def _holds(outputs: Sequence[Any], values: frozenset[str] | None) -> bool:
    """Whether there are outputs, or one of them is among the values."""
    if values is None or not outputs:
        return bool(outputs)
    return is_among(outputs, values)


class _Candidate:
    """A stage with its requirements, each with the number of its question among all of the lifecycle."""

    __slots__ = ("conditional", "decided", "named", "requirements", "selector", "stage")

    def __init__(self, stage: Stage, selector: Selector, requirements: Iterable[_Requirement]) -> None:
        self.stage = stage
        self.selector = selector
        self.named = selector.names_some
        self.requirements = tuple(requirements)
        self.conditional = selector.has_conditions
        #: nothing is left to be asked
        self.decided = not self.named and not self.requirements and not self.conditional


class Lifecycle:
    """The stages of one kind, in order."""

    __slots__ = ("_candidates", "_questions", "_sorted", "stages")

    def __init__(self, stages: Iterable[Stage]) -> None:
        self.stages = tuple(stage for stage in stages if stage.selector is not None)
        numbers: dict[str, int] = {_PHASE: 0, _DELETION: 1}
        self._candidates = tuple(
            _Candidate(
                stage,
                stage.selector,
                (
                    _Requirement(
                        numbers.setdefault(each.question.text, len(numbers)),
                        each.question.ask,
                        each.values,
                        each.absent,
                    )
                    for each in stage.selector.requirements
                ),
            )
            for stage in self.stages
            if stage.selector is not None
        )
        self._questions = len(numbers)
        self._sorted: dict[tuple[str | None, bool], tuple[_Candidate, ...]] = {}

    def matching(self, obj: Object, now: int) -> list[Stage]:
        """All stages that select the object; EvaluationError when that cannot be said."""
        found = []
        answers: list[Sequence[Any] | None] | None = None
        for candidate in self._candidates_for(obj):
            if candidate.decided:
                found.append(candidate.stage)
                continue
            if candidate.named and not candidate.selector.names(obj):
                continue
            if answers is None:
                answers = [None] * self._questions
            try:
                for number, ask, values, absent in candidate.requirements:
                    outputs = answers[number]
                    if outputs is None:
                        outputs = answers[number] = ask(obj, now)
                    if not outputs or values is None:
                        if bool(outputs) is absent:
                            break
                    elif is_among(outputs, values) is absent:
                        break
                else:
                    if not candidate.conditional or candidate.selector.agrees(obj, now):
                        found.append(candidate.stage)
            except BudgetExceeded as error:
                raise _of_stage(candidate.stage, error) from None
        return found

    def may_select(self, obj: Object) -> bool:
        """Whether the object's phase and deletion leave any stage at all."""
        return bool(self._candidates_for(obj))

    def _candidates_for(self, obj: Object) -> tuple[_Candidate, ...]:
        """The stages that the object's phase and deletion leave, without what they require of those two.

        Nearly every stage asks for these, and they rule out most stages.
        """
        status = obj.get("status")
        phase = status.get("phase") if type(status) is dict else None
        if phase is not None and type(phase) is not str:
            return self._candidates
        deletion = obj["metadata"].get("deletionTimestamp")
        key = (phase, deletion is not None)
        found = self._sorted.get(key)
        if found is None:
            if len(self._sorted) >= _PHASES:
                return self._candidates
            found = self._sorted[key] = self._left_by(phase, key[1])
        return found

    def _left_by(self, phase: str | None, deleted: bool) -> tuple[_Candidate, ...]:
        outputs: dict[int, Sequence[Any]] = {0: () if phase is None else (phase,)}
        if not deleted:
            outputs[1] = ()
        left = []
        for candidate in self._candidates:
            requirements = []
            for each in candidate.requirements:
                if each.number == 1 and deleted and each.values is None:
                    holds = True
                elif each.number in outputs:
                    holds = _holds(outputs[each.number], each.values)
                else:
                    requirements.append(each)
                    continue
                if holds is each.absent:
                    break
            else:
                left.append(_Candidate(candidate.stage, candidate.selector, requirements))
        return tuple(left)

    def possible(self, obj: Object, now: int) -> list[Stage]:
        """The stages that one may be drawn from."""
        return [stage for stage, _ in _candidates(self.matching(obj, now), Answers(obj, now))]

    def next(self, obj: Object, now: int, rng: Random) -> Transition | None:
        """What comes next for an object; None if nothing does."""
        stages = self.matching(obj, now)
        if not stages:
            return None
        if len(stages) == 1 and stages[0].delay is None:
            return Transition(stages[0], 0)
        answers = Answers(obj, now)
        stage = stages[0] if len(stages) == 1 else _drawn(_candidates(stages, answers), rng)
        if stage.delay is None:
            return Transition(stage, 0)
        try:
            return Transition(stage, stage.delay.draw(answers, rng))
        except BudgetExceeded as error:
            raise _of_stage(stage, error) from None
        except EvaluationError:
            # KWOK plays a stage at once if it cannot tell the delay.
            return Transition(stage, 0)


def _candidates(stages: list[Stage], answers: Answers) -> list[tuple[Stage, int]]:
    """Stages that have a chance, each with its share; equal shares are 1."""
    if len(stages) < 2:
        return [(stage, 1) for stage in stages]
    weights = [_weight(stage, answers) for stage in stages]
    weighed = [(stage, weight) for stage, weight in zip(stages, weights, strict=True) if weight is not None]
    if not weighed:
        return [(stage, 1) for stage in stages]
    if sum(weight for _, weight in weighed) == 0:
        # A negative weight is how KWOK marks an unknown one.
        return [(stage, 1) for stage, weight in weighed if weight >= 0 or len(weighed) == len(stages)]
    return [(stage, weight) for stage, weight in weighed if weight > 0] or [(stages[-1], 1)]


def _weight(stage: Stage, answers: Answers) -> int | None:
    try:
        return stage.weight.get(answers)
    except BudgetExceeded as error:
        raise _of_stage(stage, error) from None


def _of_stage(stage: Stage, error: BudgetExceeded) -> BudgetExceeded:
    """The error that names the stage too."""
    return BudgetExceeded(f"stage {stage.name!r}: {error}")


def _drawn(candidates: list[tuple[Stage, int]], rng: Random) -> Stage:
    point = int(rng.random() * sum(share for _, share in candidates))
    for stage, share in candidates:
        point -= share
        if point < 0:
            return stage
    return candidates[-1][0]
