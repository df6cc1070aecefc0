"""Budgets: how much the evaluation of a user's text may do.

Every expression, query and template comes from a user, and one thread serves the whole cluster. So an evaluation gets a
budget of *steps*, counted and not timed, so that the same text on the same object always ends the same way. Going once
round a loop, calling a function of the text's own and carrying out one part of a template are a step each; functions
take one for every `CHUNK` characters or elements that they read or make, and more where they are slow. As a text of
`CHUNK` characters costs a step, the steps bound the memory too. *Depth* counts calls within calls.

There is one `BUDGET`, that of the evaluation under way: evaluations never nest, and they all belong to one thread.
While there is none it has no limit, so that whoever uses a function of a language for other ends need not know.
Functions charge it before they do the work, wherever there is a loop, a recursion or a growing value; nothing is
charged for what takes no longer than reading it in the text. `Strikes` keeps a text that goes over its budget again and
again from being evaluated at all, since it would be tried for every object of a cluster.
"""

from __future__ import annotations

import sys
from typing import Any, Final, NoReturn

from ghostfleet.core.errors import shortened
from ghostfleet.languages.errors import EvaluationError, Unsupported

__all__ = [
    "BUDGET",
    "CAUGHT",
    "CHUNK",
    "DEPTH",
    "LONGEST_EXPRESSION",
    "LONGEST_TEMPLATE",
    "NODES",
    "STEPS",
    "UNLIMITED",
    "BudgetExceeded",
    "Strikes",
    "bounded_source",
    "steps_for",
    "steps_to_compile",
]

# All of these are chosen: far above what the stages of KWOK, of its users and of our sets need (a pod of 20 containers
# takes about 300 steps), and low enough that the costliest evaluation ends within a few tenths of a second.

#: steps of one evaluation
STEPS: Final = 50_000
#: calls within calls: of templates by each other, and of functions that are defined in jq
DEPTH: Final = 100
#: characters or elements that a function handles in one step
CHUNK: Final = 64
#: values in the YAML that a template gives
NODES: Final = 50_000
#: characters of a jq query or a CEL expression, and of a template
LONGEST_EXPRESSION: Final = 16_384
LONGEST_TEMPLATE: Final = 65_536
#: the limit while nothing is evaluated
UNLIMITED: Final = sys.maxsize
#: steps of an error that the text itself catches
CAUGHT: Final = 4
#: steps of a call, for what it takes to enter and to leave
_CALL: Final = 3
#: steps times characters of an expression: a long one does more in each step
_STEP_CHARACTERS: Final = 5_000_000
#: times that a text may go over its budget
_MOST_STRIKES: Final = 10


class BudgetExceeded(EvaluationError):
    """An evaluation that would do more than it may; nothing in any of the languages catches it."""


class Budget:
    """What the evaluation under way has done, and may do. The count goes on from one evaluation to the next."""

    __slots__ = ("depth", "limit", "steps")

    def __init__(self) -> None:
        self.steps = 0
        #: where the count must stop; an evaluation sets it for as long as it lasts, and the depth to 0 before calls
        self.limit = UNLIMITED
        self.depth = 0

    def step(self, count: int = 1) -> None:
        """Charge steps that are about to be done."""
        self.steps += count
        if self.steps > self.limit:
            self.exceeded()

    def handle(self, size: int) -> None:
        """Charge for so many characters or elements that are about to be read or made."""
        if size >= CHUNK:
            self.steps += size // CHUNK
            if self.steps > self.limit:
                self.exceeded()

    def enter(self) -> None:
        """A call within what is under way."""
        self.step(_CALL)
        if self.depth >= DEPTH:
            raise BudgetExceeded(f"more than {DEPTH} calls within each other")
        self.depth += 1

    def leave(self) -> None:
        self.depth -= 1

    def exceeded(self) -> NoReturn:
        # What is charged for was not done.
        self.steps = self.limit + 1
        raise BudgetExceeded("")


BUDGET: Final = Budget()


def steps_for(source: str) -> int:
    """The steps of an expression: fewer if it is long, since it then does more in each."""
    return min(STEPS, _STEP_CHARACTERS // max(1, len(source)))


def steps_to_compile(source: str) -> int:
    """The parts that a text may be compiled to: some are compiled more than once, but none many times."""
    return 1_000 + 4 * len(source)


def bounded_source(source: str, most: int) -> str:
    """The text, if it is not too long to be compiled."""
    if len(source) > most:
        raise Unsupported(f"expected at most {most:,} characters, found {len(source):,}")
    return source


class Strikes:
    """How often a text went over its budget; at last it is not evaluated any more."""

    __slots__ = ("_count", "_steps", "what")

    def __init__(self, sort: str, source: str, place: str, steps: int = STEPS) -> None:
        self._steps = steps
        #: place, language and text, for messages
        self.what = f"{place}: {sort}" if place else sort
        if source:
            self.what += f" {shortened(source)!r}"
        self._count = 0

    def counted(self, error: BudgetExceeded | RecursionError) -> BudgetExceeded:
        """The error that names the place."""
        if self.out:
            return self._refusal
        self._count += 1
        why = "values or calls lie too deeply within each other" if isinstance(error, RecursionError) else str(error)
        return BudgetExceeded(f"{self.what}: {why or f'more than {self._steps:,} steps'}")

    @property
    def out(self) -> bool:
        return self._count >= _MOST_STRIKES

    def refuse(self, *_: Any) -> NoReturn:
        """What takes the place of an evaluation from then on."""
        raise self._refusal

    @property
    def _refusal(self) -> BudgetExceeded:
        return BudgetExceeded(f"{self.what}: went over its budget {_MOST_STRIKES} times and is not evaluated any more")
