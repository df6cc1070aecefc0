"""Runs made up by rule: workloads that arrive steadily, wait for GPUs, run and finish, as a queue on a cluster would."""

from __future__ import annotations

import heapq
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ghostfleet.core.timestamps import MICRO, rfc3339
from ghostfleet.lab.directory import RunDirectory
from ghostfleet.lab.occupancy import COLUMNS
from ghostfleet.lab.records import Run, Sample, Submission
from ghostfleet.report.phases import Measured, measure
from ghostfleet.report.usage import Usage, recorded_usage
from ghostfleet.report.workloads import JoinedRun, join

START = 1_800_000_000 * MICRO
FIELDS = {
    "workload": "workloadCreatedTimestamp",
    "job": "jobCreatedTimestamp",
    "firstPod": "firstPodCreatedTimestamp",
    "lastPod": "lastPodCreatedTimestamp",
    "podGroup": "podGroupCreatedTimestamp",
    "decided": "podSchedulingDecisionTimestamp",
    "bound": "lastPodScheduledTimestamp",
    "running": "lastPodRunningTimestamp",
    "finished": "finishedTimestamp",
    "evicted": "firstEvictionTimestamp",
    "claimRequested": "firstPVCBindRequestTimestamp",
    "claimBound": "firstPVCBindTimestamp",
}


class Runs:
    """Makes up workloads and the files of runs."""

    start = START

    def __init__(self, home: Path) -> None:
        self.home = home

    def marks(self, **seconds: float) -> dict[str, int]:
        """Marks so many seconds after the start."""
        return {key: START + round(value * MICRO) for key, value in seconds.items()}

    def sample(self, name: str, marks: dict[str, int], *, recorded: bool = True, **more: Any) -> Sample:
        """A sample whose timestamps are its marks cut to the second."""
        sample: dict[str, Any] = {"jobName": name, "jobNamespace": "runai-project-0", "projectName": "project-0"}
        sample |= {field: rfc3339(marks[key]) if key in marks else None for key, field in FIELDS.items()}
        sample |= {"backendJobCreatedTimestamp": None, "phase": "Succeeded", "pods": 1, "gpus": 1, "node": "n-1"}
        sample |= {"firstPodRunningTimestamp": sample["lastPodRunningTimestamp"], "failure": "", **more}
        if recorded:
            sample["marks"] = marks
        return sample  # type: ignore[return-value]

    def submission(self, name: str, after: float = 0.0, error: str = "") -> Submission:
        return Submission(name, "project-0", "runai-project-0", START + round(after * MICRO), error)

    def record(self, count: int, gpus: int, **more: Any) -> Run:
        """The record of a run on an embedded cluster."""
        cluster = {
            "address": "embedded",
            "clock": "virtual",
            "version": "v1.36.3",
            "profile": "kubernetes",
            "nodes": gpus // 8,
            "gpus": gpus,
            "gpuProducts": {"NVIDIA-H100-80GB-HBM3": gpus},
        }
        asked = {"type": "training", "count": count, "seed": 0, "processes": 5, "delay": 1.0, "state": "submitted"}
        place = {"project": "project-0", "started": "2027-01-15T08:00:00.000000Z"}
        return Run(**{"run": "1a2b3c4d", **asked, **place, "cluster": cluster, "labSeconds": count / 400, **more})

    def queue(self, count: int, gpus: int, rate: float = 5.0) -> list[dict[str, int]]:
        """The marks of workloads that want one GPU each, first come first served."""
        random = np.random.default_rng(7)
        free = [0.0] * gpus
        lives = []
        for number in range(count):
            at = number // 5 * 5 / rate + random.uniform(0, 0.05)
            life = {"submitted": at}
            at = life["workload"] = at + random.uniform(0.004, 0.02)
            at = life["job"] = at + random.lognormal(-4, 0.4)
            at = life["firstPod"] = at + random.lognormal(-3, 0.5) + (0.4 if number % 211 == 0 else 0)
            life["lastPod"] = at
            at = life["podGroup"] = at + random.lognormal(-4, 0.3)
            at = life["decided"] = max(at + random.lognormal(-3.5, 0.4), heapq.heappop(free))
            at = life["bound"] = at + 0.01
            at = life["running"] = at + random.gamma(4, 0.3)
            at = life["finished"] = at + random.uniform(60, 240)
            heapq.heappush(free, at)
            lives.append(self.marks(**life))
        return lives

    def series(self, lives: list[dict[str, int]], gpus: int) -> dict[str, Any]:
        """What a recorder would have seen of the GPUs: nodes of eight, and a request for two at times."""
        changes = sorted([(life["bound"], 1) for life in lives] + [(life["finished"], -1) for life in lives])
        columns: dict[str, list[int]] = {name: [] for name in COLUMNS}
        held = 0
        for at, (time, change) in enumerate(changes):
            held += change
            free = gpus - held
            point = (time, gpus, held, held, min(free, at % 7), min(free, 8), 0, 0, at % 2)
            for name, number in zip(COLUMNS, point, strict=True):
                columns[name].append(number)
        return {"request": 2, "whole": True, **columns}

    def usage(self, count: int, gpus: int = 100) -> Usage | None:
        return recorded_usage([self.series(self.queue(count, gpus), gpus)])

    def joined(self, count: int, gpus: int = 100, *, recorded: bool = True, name: str = "j-{:06x}") -> JoinedRun:
        """A run as the report reads it, without files."""
        lives = self.queue(count, gpus)
        names = [name.format(number) for number in range(count)]
        return join(
            [
                self.submission(each, (life["submitted"] - START) / MICRO)
                for each, life in zip(names, lives, strict=True)
            ],
            [self.sample(each, life, recorded=recorded) for each, life in zip(names, lives, strict=True)],
        )

    def measured(self, count: int, gpus: int = 100, **more: Any) -> Measured:
        return measure(self.joined(count, gpus, **more))

    def written(
        self, count: int, gpus: int = 100, *, recorded: bool = True, name: str = "j-{:06x}", **more: Any
    ) -> RunDirectory:
        """The files of a run, in a directory of its own."""
        directory = RunDirectory(self.home / "out")
        directory.make()
        lives = self.queue(count, gpus)
        names = [name.format((number * 2_654_435_761) % (1 << 24)) for number in range(count)]
        directory.write_run(self.record(count, gpus, **more))
        if recorded:
            directory.add_occupancy(self.series(lives, gpus))
        directory.write_submissions(
            self.submission(each, (life["submitted"] - START) / MICRO) for each, life in zip(names, lives, strict=True)
        )
        directory.write_samples(
            self.sample(each, life, recorded=recorded, node=f"node-{number % 100}")
            for number, (each, life) in enumerate(zip(names, lives, strict=True))
        )
        return directory


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@pytest.fixture(scope="session")
def session_runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """For a run that several tests look at."""
    return Runs(tmp_path_factory.mktemp("runs"))
