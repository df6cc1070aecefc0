"""The lifecycle of an object: which of its kind's stages comes next, and what a pod says about that itself.

Of the stages that match an object one is drawn, by weight. A stage whose weight is *unknown* (the object has something
there that is no number) counts only where all are unknown; if all known weights are 0, one of the known is drawn
evenly; otherwise those of weight 0 have no chance. A *transition* is the outcome: the stage, and how long it waits.

The *behaviour* of a single pod is what it asks for by annotations of its own, or of the Job it belongs to:
`ghostfleet.dev/duration` is how long the pod runs, `ghostfleet.dev/startup` how long it takes to come up,
`ghostfleet.dev/failure-probability` how likely it fails when it ends. Spans are durations or distributions (`90s`,
`exponential(2s)`). These replace the delay of the stage that brings a pod to the phase Running or Succeeded; a pod that
states how long it runs, but that no stage ends, is ended here. Where a pod does not say so itself, its commands may
(see commands). What is drawn for a pod depends on the seed and its uid only, so that it is the same after each change
of the pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.languages.budget import BudgetExceeded
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.stages.catalogue import load_stages
from ghostfleet.stages.commands import ENDLESS, Commands, time_of, times_of
from ghostfleet.stages.distributions import chance, parse_distribution
from ghostfleet.stages.selectors import Answers, Ask, Selector, is_among
from ghostfleet.stages.stage import Stage
from ghostfleet.stages.values import Warn

__all__ = ["Behaviour", "Lifecycle", "Transition"]

_PHASE, _DELETION = ".status.phase", ".metadata.deletionTimestamp"
#: Phases that are told apart; there are hardly more.
_PHASES = 64
_DURATION = "ghostfleet.dev/duration"
_STARTUP = "ghostfleet.dev/startup"
_FAILURE = "ghostfleet.dev/failure-probability"
_KNOWN = (_DURATION, _STARTUP, _FAILURE)


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


_ENDINGS = Path(__file__).parent / "data" / "endings"


class Behaviour:
    """Startup time, run time and failure of pods, as their annotations or those of their Job say."""

    def __init__(self, store: Store, seed: int | str, warn: Warn, *, commands: Commands = "ignored") -> None:
        self._jobs = store.bucket("jobs.batch").find
        self._seed = seed
        self._warn = warn
        self._heeds = commands != "ignored"
        self._plays = commands == "played"
        self._ends: dict[str, Stage] = {stage.phase: stage for stage in load_stages(_ENDINGS).stages}
        self._read: dict[int, tuple[list[Object], int | None]] = {}

    def adjusted(self, pod: Object, transition: Transition | None, now: int) -> Transition | None:
        """What comes next for a pod, after what its stages say."""
        if transition is None:
            if not _runs(pod):
                return None
        elif transition.stage.phase not in ("Running", "Succeeded"):
            return transition
        annotations = self._annotations(pod) or {}
        if not annotations and not self._heeds:
            return transition
        if transition is not None and transition.stage.phase == "Running":
            span = self._span(pod, annotations, _STARTUP)
            if span is None and self._plays:
                span = self._preparing(pod, transition)
            return transition if span is None else Transition(transition.stage, span)
        span = self._span(pod, annotations, _DURATION)
        if span is None and self._heeds:
            span = self._time_of(pod)
            if span == ENDLESS:
                return None
            if not self._plays or (transition is None and pod["spec"].get("restartPolicy", "Always") == "Always"):
                span = None
        if transition is None and span is None:
            return None
        stage = transition.stage if transition is not None else self._ends["Succeeded"]
        if self._fails(pod, annotations):
            stage = self._ends["Failed"]
        if span is None:
            assert transition is not None
            return Transition(stage, transition.delay)
        return Transition(stage, span - _running_for(pod, now))

    def _annotations(self, pod: Object) -> dict[str, str] | None:
        """The annotations that matter, of the pod and of its Job; those of the pod count more."""
        found: dict[str, str] | None = None
        metadata = pod["metadata"]
        for owner in metadata.get("ownerReferences") or ():
            if owner["kind"] == "Job":
                job = self._jobs(metadata["namespace"], owner["name"])
                if job is not None and "annotations" in job["metadata"]:
                    found = _chosen(job["metadata"]["annotations"])
        if "annotations" in metadata:
            own = _chosen(metadata["annotations"])
            return {**found, **own} if found else own
        return found

    def _span(self, pod: Object, annotations: dict[str, str], annotation: str) -> int | None:
        text = annotations.get(annotation)
        if text is None:
            return None
        try:
            distribution = parse_distribution(text)
        except ValueError as error:
            self._warn(f"annotation {annotation}: {error}")
            return None
        return distribution(chance(self._seed, annotation, pod["metadata"]["uid"]))

    def _fails(self, pod: Object, annotations: dict[str, str]) -> bool:
        text = annotations.get(_FAILURE)
        if text is None:
            return False
        try:
            probability = float(text)
        except ValueError:
            probability = -1.0
        if not 0 <= probability <= 1:
            self._warn(f"annotation {_FAILURE}: expected a number from 0 to 1, found {text!r}")
            return False
        return chance(self._seed, _FAILURE, pod["metadata"]["uid"]) < probability

    def _time_of(self, pod: Object) -> int | None:
        """How long a pod runs by its commands; pods of one template share their containers, which are read once."""
        containers = pod["spec"]["containers"]
        known = self._read.get(id(containers))
        if known is None or known[0] is not containers:
            known = (containers, times_of(containers))
            if len(self._read) > 1024:
                self._read.clear()
            self._read[id(containers)] = known
        return known[1]

    @staticmethod
    def _preparing(pod: Object, transition: Transition) -> int | None:
        """How long a pod takes to come up, if its init containers say how long each of them takes."""
        spans = [time_of(container) or 0 for container in pod["spec"].get("initContainers") or ()]
        return transition.delay + sum(spans) if any(spans) else None


def _chosen(annotations: dict[str, str] | None) -> dict[str, str]:
    return {key: annotations[key] for key in _KNOWN if key in annotations} if annotations else {}


def _runs(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def _running_for(pod: Object, now: int) -> int:
    """Whole seconds for which the first container has been running; statuses know no finer times."""
    for status in pod.get("status", {}).get("containerStatuses") or ():
        started = ((status.get("state") or {}).get("running") or {}).get("startedAt")
        if started:
            return max(0, now - now % SECOND - parse_rfc3339(started))
    return 0
