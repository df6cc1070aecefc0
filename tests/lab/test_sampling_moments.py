"""Figures do not depend on when a sample was taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghostfleet.core.clock import SECOND
from ghostfleet.lab.directory import RunDirectory
from ghostfleet.lab.plan import Plan
from ghostfleet.lab.progress import Silent
from ghostfleet.lab.sample import sample
from ghostfleet.lab.scaletest import scale_test
from ghostfleet.lab.submit import Submitter, prepare
from ghostfleet.report.phases import measure
from ghostfleet.report.usage import held_usage
from ghostfleet.report.workloads import join

pytestmark = pytest.mark.fleet

#: Pods that fail now and then, and are replaced.
FAILING = """
apiVersion: batch/v1
kind: Job
spec:
  parallelism: {{workers}}
  completions: {{workers}}
  backoffLimit: 2
  template:
    metadata:
      annotations:
        ghostfleet.dev/duration: {{runtime}}
        ghostfleet.dev/failure-probability: "0.3"
    spec:
      restartPolicy: Never
      containers: [{name: m, image: x, resources: {limits: {nvidia.com/gpu: "{{gpus}}"}}}]
"""

Figures = dict[str, dict[str, float]]


def figures(directory: RunDirectory, *, marks: bool) -> tuple[Figures, set[str]]:
    """The delays of each workload that the files in a directory tell, and which workloads have ended by these."""
    samples = directory.samples()
    if not marks:
        for each in samples:
            each.pop("marks", None)
    measured = measure(join(directory.submissions(), samples), skip_errors=False)
    found: Figures = {name: {} for name in measured.workloads.names}
    for key, column in measured.delays.items():
        for name, delay in zip(measured.workloads.names, column, strict=True):
            if not np.isnan(delay):
                found[name][key] = float(delay)
    ended = [each for each in samples if each["phase"] in ("Succeeded", "Failed")]
    return found, {each["jobName"] for each in ended if not marks or "finished" in each.get("marks", {})}


class Sampling:
    """A scale test during which samples are taken."""

    def __init__(self, fleet: Any, directory: RunDirectory, plan: Plan) -> None:
        self.fleet = fleet
        self.directory = directory
        self.plan = plan
        #: Figures and what had ended, at each time, by marks and by timestamps.
        self.by_marks: list[tuple[Figures, set[str]]] = []
        self.by_stamps: list[tuple[Figures, set[str]]] = []

    def run(self, waits: list[int]) -> None:
        async def work() -> None:
            run = await prepare(self.fleet.cluster, self.directory, self.plan, force=True)
            submitter = Submitter(self.fleet.cluster, self.directory, run)
            test = scale_test(self.fleet.cluster, self.directory, submitter, Silent(), 600 * SECOND)
            await self.fleet.cluster.together([test, self._sampled(waits)])
            await sample(self.fleet.cluster, self.directory, self.plan.kinds())

        self.fleet.cluster.run(work())
        self._look()

    async def _sampled(self, waits: list[int]) -> None:
        for wait in waits:
            await self.fleet.cluster.sleep(wait * SECOND)
            if not self.directory.submissions():
                continue
            await sample(self.fleet.cluster, self.directory, self.plan.kinds())
            self._look()
            # Each sample for itself, as if there had been none before.
            (self.directory.path / "sampled.json").unlink()

    def _look(self) -> None:
        held = held_usage(self.directory.samples(), self.fleet.clock.now() / SECOND, 8.0)
        assert held is None or 0 <= held.peak.in_use <= 8, "nobody holds more than there is"
        self.by_marks.append(figures(self.directory, marks=True))
        self.by_stamps.append(figures(self.directory, marks=False))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(["training", "distributed", "job", "pod", "failing"]),
    workers=st.integers(1, 3),
    gpus=st.integers(1, 4),
    delay=st.integers(0, 20),
    profile=st.sampled_from(["instant", "kubernetes"]),
    waits=st.lists(st.integers(1, 60), min_size=1, max_size=6),
)
def test_what_has_ended_has_the_same_figures_ever_after(
    make_fleet, directory, template, kind, workers, gpus, delay, profile, waits
):
    how = {"template": template(FAILING)} if kind == "failing" else {"type": kind}
    plan = Plan(count=8, workers=workers, gpus=gpus, processes=3, delay=float(delay), runtime="uniform(5s, 90s)", **how)
    # So few GPUs that most workloads are refused at first.
    test = Sampling(make_fleet(nodes=2, gpus=4, profile=profile), directory, plan)
    test.run(waits)
    for *earlier, (final, _) in (test.by_marks, test.by_stamps):
        for early, ended in earlier:
            assert {name: early[name] for name in ended} == {name: final[name] for name in ended}
    # And what is known of the others is known for good, unless their pods are deleted because another has failed.
    *earlier, (final, _) = test.by_stamps
    for early, _ in earlier if kind != "failing" else ():
        for name, known in early.items():
            assert known.items() <= final[name].items()


def test_a_workload_that_waits_for_room_is_not_decided_on_until_it_has_it(make_fleet, directory):
    test = Sampling(make_fleet(nodes=1, gpus=1), directory, Plan(count=2, type="job", runtime="60s"))
    test.run([10])
    for (early, _), (late, _) in (test.by_marks, test.by_stamps):
        assert sorted(each["totalDecided"] for each in late.values()) == [0, 60]
        assert [each["totalDecided"] for each in early.values() if "totalDecided" in each] == [0]


def test_the_decision_of_the_runai_tool_stays_in_its_field(make_fleet, directory):
    fleet = make_fleet(nodes=1, gpus=1)
    fleet.submit(directory, Plan(count=2, type="job", runtime="60s"))
    fleet.clock.advance(10 * SECOND)
    fleet.cluster.run(sample(fleet.cluster, directory, Plan(count=1, type="job").kinds()))
    waiting = next(each for each in directory.samples() if each["phase"] == "Pending")
    # A refusal counts as a decision there.
    assert waiting["podSchedulingDecisionTimestamp"] is not None
    assert waiting["firstPodScheduledTimestamp"] is None


def test_pods_that_replace_failed_ones_do_not_move_the_last_pod(make_fleet, directory, template):
    fleet = make_fleet(nodes=4, gpus=8, profile="kubernetes")
    fleet.test(directory, Plan(count=6, template=template(FAILING), workers=3, runtime="60s"))
    replaced = [each for each in directory.samples() if each["pods"] > 3]
    assert replaced, "some pod must have failed"
    for each in replaced:
        assert each["lastPodCreatedTimestamp"] > each["allPodsCreatedTimestamp"]
        assert each["marks"]["running"] < each["marks"]["ended"]
        assert each["marks"]["bound"] - each["marks"]["decided"] < 30 * SECOND


def test_pods_that_are_cleared_away_one_by_one_change_nothing(make_fleet, directory):
    fleet = make_fleet(nodes=2, gpus=8)
    plan = Plan(count=3, type="job", workers=3)
    fleet.test(directory, plan)
    (directory.path / "timeline.jsonl").unlink()
    kind = plan.kinds()
    fleet.cluster.run(sample(fleet.cluster, directory, kind))
    before = figures(directory, marks=False)
    for job in fleet.names("jobs.batch"):
        first = next(name for name in fleet.names("pods") if name.startswith(job))
        fleet.store.delete("pods", "runai-project-0", first, grace=0)
    fleet.cluster.run(sample(fleet.cluster, directory, kind))
    assert figures(directory, marks=False) == before
