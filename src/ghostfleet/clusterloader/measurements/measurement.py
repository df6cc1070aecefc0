"""What a measurement is: something that a test starts, gathers and disposes of.

It is one for each method and identifier, and *executed* for every action that steps ask of it. What comes of that is an
*outcome*: summaries for the report directory, and errors, with which the step has failed; both may be there at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ghostfleet.clusterloader.params import Params
from ghostfleet.clusterloader.requests import Requests
from ghostfleet.clusterloader.summaries import Summary
from ghostfleet.drive.interface import Cluster

__all__ = ["DONE", "Context", "Measurement", "MeasurementError", "Outcome", "unknown_action"]


class MeasurementError(Exception):
    """A measurement that cannot do what it is asked to do; the message says why."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an action."""

    summaries: Sequence[Summary] = ()
    errors: Sequence[str] = ()
    #: Nothing else of the test makes sense any more.
    fatal: bool = False
    #: What is worth knowing, but no error.
    notes: Sequence[str] = ()


#: Nothing to tell.
DONE = Outcome()


@dataclass(slots=True)
class Context:
    """What a measurement is given, besides its params."""

    cluster: Cluster
    #: What the measurement is called.
    identifier: str = ""
    #: Whether `Exec` may run commands on this machine.
    allow_exec: bool = False
    #: The prefix of the test's namespaces.
    prefix: str = ""
    #: How far something that is waited for has come.
    advance: Callable[[str, int, int], None] = field(default=lambda _what, _done, _of: None)
    #: What the test has sent so far.
    requests: Requests = field(default_factory=Requests)


class Measurement(Protocol):
    """One measurement of a test."""

    async def execute(self, context: Context, params: Params, /) -> Outcome: ...

    def dispose(self) -> None:
        """The test is over."""
        ...


def unknown_action(action: str, *known: str) -> MeasurementError:
    return MeasurementError(f"unknown action {action!r}; expected {' or '.join(known)}")
