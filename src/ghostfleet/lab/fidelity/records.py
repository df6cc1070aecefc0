"""Records: what was measured on a real cluster, kept in a file as it goes.

Real time is dear: each measurement is written down as soon as it is there, with its *origin* (the machine, what the
cluster was made of, and when), so that a comparison that was broken off can go on, and one that is made again after a
change of ours need not measure the real cluster again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from ghostfleet.core.clock import WallClock
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.fidelity.experiments import Experiment
from ghostfleet.lab.fidelity.figures import Measurement

__all__ = ["FILE_NAME", "MeasurementRecord", "Origin", "Records", "origin_here"]

FILE_NAME = "real.json"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where and when something was measured, and on what."""

    date: str
    cores: int
    parts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class MeasurementRecord:
    """A measurement and its origin."""

    measurement: Measurement
    origin: Origin


def origin_here(parts: Mapping[str, str]) -> Origin:
    """The origin of what is measured now."""
    return Origin(rfc3339(WallClock().now())[:10], os.cpu_count() or 1, dict(parts))


class Records:
    """The records in one directory."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE_NAME
        self._records: dict[Experiment, MeasurementRecord] = {}

    def read(self) -> None:
        """Take over what was written before; an error if that is no list of records."""
        try:
            content: Any = orjson.loads(self.path.read_bytes())
            for each in content:
                self._put(MeasurementRecord(Measurement(**each["measurement"]), Origin(**each["origin"])))
        except FileNotFoundError:
            return
        except OSError as error:
            raise LabError(f"cannot read {self.path}: {error.strerror}") from None
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise LabError(f"{self.path} holds no measurements: {error}; leave out --reuse to make them anew") from None

    def find(self, experiment: Experiment) -> MeasurementRecord | None:
        """What was measured in this experiment."""
        return self._records.get(experiment)

    def add(self, record: MeasurementRecord) -> None:
        """Keep a record, on disk too."""
        self._put(record)
        temporary = self.path.with_suffix(".part")
        content = orjson.dumps([asdict(each) for each in self._records.values()], option=orjson.OPT_INDENT_2)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(content)
            temporary.replace(self.path)
        except OSError as error:
            raise LabError(f"cannot write {self.path}: {error.strerror}") from None

    def _put(self, record: MeasurementRecord) -> None:
        measured = record.measurement
        self._records[Experiment(measured.test, measured.jobs, measured.nodes)] = record
