"""Fitted figures: which figures of the stress test's models were fitted to published times, and what each is worth.

A *fitted* figure was chosen so that the totals of a published test come out, because nothing else is known of the
cluster it ran on. Its *independent* value is what one would take without that test. The error with a figure left at its
independent value says how much of the agreement is due to fitting it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from ghostfleet.lab.fidelity.published import Comparison, compare
from ghostfleet.lab.progress import Progress
from ghostfleet.lab.stress.modes import MODES, Mode
from ghostfleet.stages.catalogue import stage_documents

__all__ = ["FITTED", "FittedFigure", "Worth", "worths"]

_STARTS = "pod-ready"
_WORK, _CONCURRENCY = "ghostfleet.dev/contended-work", "ghostfleet.dev/contended-concurrency"


@dataclass(frozen=True, slots=True)
class FittedFigure:
    """A figure that was fitted, and what it would be otherwise."""

    mode: str
    figure: str
    fitted: str
    independent: str
    #: Where the independent value comes from.
    reason: str


FITTED = (
    FittedFigure(
        "kind", "pod-ready delay", "7.2-8.2 s", "10-11 s", "what the same authors gave KWOK for a container on kind"
    ),
    FittedFigure("kind", "contended-work", "2.6 s", "0 s", "containers that start together do not slow each other"),
    FittedFigure("kind", "contended-concurrency", "3", "5", "the CPUs of a node"),
    FittedFigure(
        "mcad",
        "discovery.group-versions",
        "30",
        "25",
        "counted: 22 of its Kubernetes, and those of MCAD, its quotas and its metrics",
    ),
)


@dataclass(frozen=True, slots=True)
class Worth:
    """The comparisons of a mode with one figure at its independent value; with none, as it is shipped."""

    mode: str
    figure: FittedFigure | None
    comparisons: tuple[Comparison, ...]


def worths(modes: Iterable[str], progress: Progress, *, iterations: int, seed: int = 0) -> Iterator[Worth]:
    """For each mode with fitted figures: as shipped, and with each figure at its independent value."""
    for name in modes:
        mine = [each for each in FITTED if each.mode == name]
        if mine:
            made = compare([name], progress, iterations=iterations, seed=seed)
            yield Worth(name, None, tuple(made))
        for figure in mine:
            with _independent(MODES[name], figure) as mode:
                made = compare([name], progress, iterations=iterations, seed=seed, instead=mode)
            yield Worth(name, figure, tuple(made))


@contextmanager
def _independent(mode: Mode, figure: FittedFigure) -> Iterator[Mode]:
    """A mode with one figure at its independent value."""
    if mode.dispatcher:
        yield replace(mode, dispatcher=f"{mode.dispatcher}:{figure.figure}={figure.independent}")
        return
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "stage.yaml"
        stage = next(each for each in stage_documents(mode.stages) if each["metadata"]["name"] == _STARTS)
        path.write_text(yaml.safe_dump(_changed(stage, figure)))
        yield replace(mode, stages=(*mode.stages, str(path)))


def _changed(stage: dict[str, Any], figure: FittedFigure) -> dict[str, Any]:
    metadata, spec = stage["metadata"], stage["spec"]
    annotations = dict(metadata["annotations"])
    if figure.figure == "contended-work":
        del annotations[_WORK], annotations[_CONCURRENCY]
    elif figure.figure == "contended-concurrency":
        annotations[_CONCURRENCY] = figure.independent
    else:
        spec = {**spec, "delay": {"durationMilliseconds": 10_000, "jitterDurationMilliseconds": 11_000}}
    return {**stage, "metadata": {**metadata, "annotations": annotations}, "spec": spec}
