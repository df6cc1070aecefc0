"""Timers: jobs that wait for their time.

Many jobs fall due at the same moment, so there is one entry in the clock for each moment, not for each job. A job that
is cancelled stays where it is and is passed over. Where jobs take as much evaluation as one may, the others of their
moment come after whatever else is due.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ghostfleet.core.clock import Clock
from ghostfleet.languages.budget import BUDGET, STEPS
from ghostfleet.stages.playstage import StageJob

__all__ = ["Timers"]


Waiting = TypeVar("Waiting", bound=StageJob)


class Timers(Generic[Waiting]):
    """Jobs by the time at which they are due."""

    def __init__(self, clock: Clock, fire: Callable[[Waiting], None]) -> None:
        self._clock = clock
        #: Whose jobs they are, for the watchdog.
        self.acts_for = self._fire = fire
        self._moments: dict[int, list[Waiting]] = {}

    def __len__(self) -> int:
        """How many jobs wait."""
        return sum(not job.cancelled for jobs in self._moments.values() for job in jobs)

    def add(self, when: int, job: Waiting) -> None:
        jobs = self._moments.get(when)
        if jobs is None:
            self._moments[when] = [job]
            self._clock.call_at(when, self._run, when)
        else:
            jobs.append(job)

    def _run(self, when: int) -> None:
        jobs = iter(self._moments.pop(when))
        most = BUDGET.steps + STEPS
        try:
            for job in jobs:
                if not job.cancelled:
                    self._fire(job)
                    if BUDGET.steps > most:
                        break
        finally:
            # A job that failed, or took long, must not take along what waits behind it.
            for job in jobs:
                self.add(when, job)
