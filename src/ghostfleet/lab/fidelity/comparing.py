"""Comparing: the same experiments on a real cluster and on the embedded one, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ghostfleet.lab.directory import RunDirectory
from ghostfleet.lab.fidelity.experiments import Experiment, measure
from ghostfleet.lab.fidelity.figures import Measurement
from ghostfleet.lab.fidelity.records import MeasurementRecord, Records, origin_here
from ghostfleet.lab.fidelity.sides import Embedding, Side
from ghostfleet.lab.fidelity.stalls import LONGEST_STALL
from ghostfleet.lab.fidelity.verdicts import Line, judge
from ghostfleet.lab.progress import Progress

__all__ = ["Compared", "RealComparison"]

#: How often an experiment is made at most on a real cluster that stands still.
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Compared:
    """One experiment on both sides."""

    experiment: Experiment
    real: MeasurementRecord
    ours: Measurement

    @property
    def lines(self) -> list[Line]:
        return judge([self.real.measurement], [self.ours])

    @property
    def met(self) -> bool:
        return all(line.met for line in self.lines)


class RealComparison:
    """Makes experiments on both sides; what is known of the real one already is taken from the records."""

    def __init__(self, directory: Path, records: Records, progress: Progress, *, profile: str, seed: int) -> None:
        self._directory = directory
        self._records = records
        self._progress = progress
        self._seed = seed
        self._ours = Embedding(profile=profile, seed=seed)
        #: What is done so far.
        self.compared: list[Compared] = []

    def run(self, wanted: Sequence[Experiment], real: Callable[[], Side]) -> None:
        """Make all experiments; `real` gives the real side where it is needed."""
        side: Side | None = None
        for experiment in wanted:
            record = self._records.find(experiment)
            if record is None:
                side = side or real()
                record = self._real(side, experiment)
            ours = self._measure(self._ours, "embedded", experiment)
            self.compared.append(Compared(experiment, record, ours))

    def _real(self, side: Side, experiment: Experiment) -> MeasurementRecord:
        """Measure on the real side; if that stands still meanwhile, a few times, of which the best counts."""
        best, least = None, float("inf")
        for _ in range(_TRIES):
            measured = self._measure(side, "real", experiment)
            stalled = measured.stalled or 0.0
            if best is None or stalled < least:
                best, least = MeasurementRecord(measured, origin_here(side.parts)), stalled
                self._records.add(best)
            if stalled <= LONGEST_STALL:
                break
            self._progress.say(f"real cluster: {experiment}: it stood still for {stalled:.1f} s meanwhile")
        assert best is not None
        return best

    def _measure(self, side: Side, name: str, experiment: Experiment) -> Measurement:
        directory = RunDirectory(self._directory / f"{name}-{experiment.test}-{experiment.jobs}x{experiment.nodes}")
        self._progress.say(f"{name} cluster: {experiment}")
        with side.cluster(experiment.nodes, self._progress) as cluster:
            return measure(cluster, experiment, directory, self._progress, seed=self._seed, keep=side.fresh)
