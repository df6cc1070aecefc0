"""Fidelity: how near the embedded cluster comes to real ones, those of others and one that is started here."""

from ghostfleet.lab.fidelity.comparing import Compared, RealComparison
from ghostfleet.lab.fidelity.experiments import Experiment, Size, experiments, measure
from ghostfleet.lab.fidelity.figures import Measurement
from ghostfleet.lab.fidelity.published import (
    LARGEST_ERROR,
    MEAN_ERROR,
    Comparison,
    compare,
    holds,
    mean_error,
    published_modes,
    source,
)
from ghostfleet.lab.fidelity.records import MeasurementRecord, Origin, Records
from ghostfleet.lab.fidelity.sides import RealPlane, Running
from ghostfleet.lab.fidelity.verdicts import (
    ONE_REQUEST,
    PHASE_ERROR,
    PHASE_SECONDS,
    REQUEST_SECONDS,
    TOTAL_ERROR,
    Line,
    judge,
    worst_first,
)

__all__ = [
    "LARGEST_ERROR",
    "MEAN_ERROR",
    "ONE_REQUEST",
    "PHASE_ERROR",
    "PHASE_SECONDS",
    "REQUEST_SECONDS",
    "TOTAL_ERROR",
    "Compared",
    "Comparison",
    "Experiment",
    "Line",
    "Measurement",
    "MeasurementRecord",
    "Origin",
    "RealComparison",
    "RealPlane",
    "Records",
    "Running",
    "Size",
    "compare",
    "experiments",
    "holds",
    "judge",
    "mean_error",
    "measure",
    "published_modes",
    "source",
    "worst_first",
]
