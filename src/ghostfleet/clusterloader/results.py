"""Results: what came of a test and of its steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ghostfleet.clusterloader.summaries import Summary

__all__ = ["StepResult", "TestResult"]


@dataclass(slots=True)
class StepResult:
    """What came of a step: of each of its measurements, or of all its phases together."""

    name: str
    #: Errors of the step's phases.
    errors: list[str] = field(default_factory=list)
    #: Measurements with their errors.
    substeps: list[tuple[str, list[str]]] = field(default_factory=list)
    #: In cluster time, and in real time, microseconds.
    modelled: int = 0
    real: int = 0

    def all_errors(self) -> list[str]:
        return [*self.errors, *(error for _, errors in self.substeps for error in errors)]


@dataclass(slots=True)
class TestResult:
    """What came of a test."""

    #: Its scenario's identifier, or the config's name.
    name: str
    config_name: str
    #: Of the scenario of a suite; "" otherwise.
    identifier: str
    path: Path
    #: What went wrong before the first step, or besides the steps.
    errors: list[str] = field(default_factory=list)
    steps: list[StepResult] = field(default_factory=list)
    summaries: list[Summary] = field(default_factory=list)
    #: What is worth knowing, but no error.
    notes: list[str] = field(default_factory=list)
    #: Objects that phases have created, patched and deleted.
    objects: dict[str, int] = field(default_factory=dict)
    #: In cluster time, and in real time, microseconds; clean-up included.
    modelled: int = 0
    real: int = 0

    def all_errors(self) -> list[str]:
        return [*self.errors, *(error for step in self.steps for error in step.all_errors())]

    def note(self, line: str) -> None:
        if line not in self.notes:
            self.notes.append(line)
