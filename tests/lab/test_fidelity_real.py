"""Fidelity against a real cluster: figures from marks, verdicts, and records that outlive a run."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.clock import SECOND
from ghostfleet.drive.embedded import Embedded
from ghostfleet.lab.directory import RunDirectory
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.fidelity import (
    Experiment,
    Line,
    Measurement,
    MeasurementRecord,
    Origin,
    RealComparison,
    Records,
    Size,
    experiments,
    measure,
    worst_first,
)
from ghostfleet.lab.fidelity.figures import FIGURES, SCRIPT, figures_of
from ghostfleet.lab.fidelity.sides import Embedding
from ghostfleet.lab.fidelity.stalls import probed
from ghostfleet.lab.fidelity.verdicts import judge
from ghostfleet.lab.progress import Silent

STEPS = ("workload", "firstPod", "bound", "running", "ended", "finished")
HERE = Origin("2026-01-01", 2, {"Kubernetes": "v1.36.3"})


def job(*seconds):
    return {step: int(second * 1_000_000) for step, second in zip(STEPS, seconds, strict=True)}


def line(real, ours, *, total=False):
    return Line("stress", 1, 4, "a phase", "p50", total, real, ours)


def test_figures_are_percentiles_of_phases_and_ends_from_the_first_creation():
    found = figures_of([job(10, 11, 11.5, 20, 30, 31), job(12, 15, 15.5, 26, 36, 39)])
    assert found["podCreated.p50"] == 2.0
    assert found["podCreated.p90"] == pytest.approx(2.8)
    assert found["complete.p50"] == 2.0
    assert found["job.p90"] == pytest.approx(26.4)
    assert (found["lastPodCreated"], found["lastPodSucceeded"], found["lastJobComplete"]) == (5.0, 26.0, 29.0)
    assert set(found) == {figure.key for figure in FIGURES} - {SCRIPT}


def test_figures_of_one_job_are_its_own_and_marks_that_are_missing_give_none():
    found = figures_of([{"workload": 0, "firstPod": 500_000}])
    assert found == {"podCreated.p50": 0.5, "podCreated.p90": 0.5, "lastPodCreated": 0.5}
    assert figures_of([]) == {}


def test_a_mark_that_was_told_before_its_cause_is_no_negative_time():
    assert figures_of([job(1.0, 0.99, 1, 1, 1, 1)])["podCreated.p50"] == 0.0


@given(st.lists(st.lists(st.integers(0, 10**9), min_size=6, max_size=6).map(sorted), min_size=1, max_size=30))
def test_a_percentile_lies_between_the_extremes_and_the_median_is_not_above_the_ninth_tenth(times):
    marks = [dict(zip(STEPS, each, strict=True)) for each in times]
    found = figures_of(marks)
    lives = [each[-1] - each[0] for each in times]
    assert min(lives) <= found["job.p50"] * 1e6 + 1
    assert found["job.p90"] * 1e6 - 1 <= max(lives)
    assert found["job.p50"] <= found["job.p90"]


def test_a_total_may_be_wrong_by_a_tenth_and_a_phase_by_a_fifth_or_half_a_second():
    assert line(100, 110, total=True).met
    assert not line(100, 110.1, total=True).met
    assert not line(1, 1.2, total=True).met
    assert line(100, 80).met
    assert not line(100, 79.9).met
    assert line(0.1, 0.6).met
    assert not line(0.1, 0.61).met
    assert line(0, 0).met
    assert not line(0, 0.6).met


def test_the_median_of_one_request_may_be_wrong_by_a_fifth_or_five_milliseconds():
    assert line(0.006, 0.001).met
    assert line(0.02, 0.0249).met
    assert not line(0.02, 0.0255).met
    assert not line(0.006, 0.0).met
    assert Line("stress", 1, 4, "a phase", "p90", False, 0.02, 0.4).met


def test_the_worst_is_the_one_that_uses_up_most_of_its_goal():
    good, fair, bad = line(100, 101), line(0.006, 0.002), line(100, 70)
    assert worst_first([good, fair, bad]) == [bad, fair, good]
    assert [each.used <= 1 for each in (good, fair, bad)] == [True, True, False]


def test_only_tests_and_figures_that_both_have_are_judged():
    real = [Measurement("stress", 1, 4, {"podCreated.p50": 1.0, SCRIPT: 23.0})]
    real += [Measurement("stress", 2, 4, {SCRIPT: 24.0}), Measurement("stress", 1, 5, {SCRIPT: 24.0})]
    ours = [Measurement("stress", 1, 4, {SCRIPT: 22.0})]
    (only,) = judge(real, ours)
    assert (only.jobs, only.title, only.total, only.error) == (1, "what the script counts", True, -1 / 23)


def test_records_are_found_again_by_experiment_and_number_of_nodes(tmp_path):
    records = Records(tmp_path / "out")
    record = MeasurementRecord(Measurement("stress", 3, 4, {SCRIPT: 23.5}), HERE)
    records.add(record)
    again = Records(tmp_path / "out")
    again.read()
    assert again.find(Experiment("stress", 3, 4)) == record
    assert again.find(Experiment("stress", 3, 5)) is None
    assert again.find(Experiment("scale-test", 3, 4)) is None


@pytest.mark.parametrize("content", ["{", "[1]", '[{"measurement": {}, "origin": {}}]'])
def test_a_file_that_holds_no_records_is_named(tmp_path, content):
    (tmp_path / "real.json").write_text(content)
    with pytest.raises(LabError, match=r"real\.json holds no measurements"):
        Records(tmp_path).read()


def test_both_tests_are_made_on_both_sides_and_equal_sides_differ_by_nothing(tmp_path):
    comparison = RealComparison(tmp_path, Records(tmp_path), Silent(), profile="kubernetes", seed=1)
    comparison.run(experiments([Size(3, 4)]), lambda: Embedding(seed=1))
    told = [str(each.experiment) for each in comparison.compared]
    assert told == ["scale-test, 3 Jobs on 4 nodes", "stress, 3 Jobs on 4 nodes"]
    lines = [line for each in comparison.compared for line in each.lines]
    assert len(lines) == 2 * len(FIGURES) - 1
    assert all(line.error == 0.0 and line.met for line in lines)
    assert {each["measurement"]["test"] for each in json.loads((tmp_path / "real.json").read_text())} == {
        "scale-test",
        "stress",
    }
    assert (tmp_path / "real-scale-test-3x4" / "timeline.jsonl").exists()
    assert (tmp_path / "embedded-stress-3x4" / "timeline.jsonl").exists()


def test_sizes_differ_in_their_nodes_too_and_each_gets_a_cluster_of_its_own():
    assert [str(each) for each in experiments([Size(3, 4), Size(2, 9), Size(3, 1)])][::2] == [
        "scale-test, 2 Jobs on 9 nodes",
        "scale-test, 3 Jobs on 1 node",
        "scale-test, 3 Jobs on 4 nodes",
    ]


def test_phases_of_one_request_take_the_time_of_one(tmp_path):
    comparison = RealComparison(tmp_path, Records(tmp_path), Silent(), profile="kubernetes", seed=1)
    comparison.run([Experiment("scale-test", 5, 4)], lambda: Embedding(seed=1))
    seconds = comparison.compared[0].ours.seconds
    for phase in ("podCreated.p50", "scheduled.p50"):
        assert 0.001 < seconds[phase] < 0.02, phase


def test_a_figure_that_is_changed_changes_its_phase_by_as_much(tmp_path):
    slow = tmp_path / "slow.yaml"
    figure = "request.create-binding: {value: 200ms, origin: chosen, source: a slow server}"
    slow.write_text(f"basedOn: kubernetes\nfigures:\n  {figure}\n")
    found = []
    for profile in ("kubernetes", str(slow)):
        with Embedding(profile=profile, seed=1).cluster(4, Silent()) as cluster:
            experiment = Experiment("scale-test", 5, 4)
            found.append(measure(cluster, experiment, RunDirectory(tmp_path / "out"), Silent(), seed=1).seconds)
    usual, changed = found
    assert changed["scheduled.p50"] == pytest.approx(0.2, abs=0.01)
    assert changed["job.p50"] - usual["job.p50"] == pytest.approx(0.2, abs=0.05)


def test_what_is_on_record_is_not_measured_again(tmp_path):
    records = Records(tmp_path)
    records.add(MeasurementRecord(Measurement("stress", 2, 4, {SCRIPT: 1.0}), HERE))
    comparison = RealComparison(tmp_path, records, Silent(), profile="kubernetes", seed=0)

    def unwanted():
        raise AssertionError("a real cluster was asked for")

    comparison.run([Experiment("stress", 2, 4)], unwanted)
    (compared,) = comparison.compared
    assert not compared.met
    assert compared.lines[0].real == 1.0


@pytest.mark.replaces
def test_a_real_cluster_that_stands_still_is_measured_again_and_the_best_counts(tmp_path, monkeypatch):
    stalls = iter([9.0, 4.0, 6.0])
    made = []

    def measured(cluster, experiment, *_, **__):
        made.append(experiment)
        return Measurement(*experiment, {SCRIPT: 1.0}, next(stalls, 0.0))

    monkeypatch.setattr("ghostfleet.lab.fidelity.comparing.measure", measured)
    records = Records(tmp_path)
    comparison = RealComparison(tmp_path, records, Silent(), profile="kubernetes", seed=0)
    experiment = Experiment("stress", 1, 1)
    comparison.run([experiment], Embedding)
    assert len(made) == 4
    assert comparison.compared[0].real.measurement.stalled == 4.0
    assert records.find(experiment).measurement.stalled == 4.0


def test_a_probe_tells_how_long_a_cluster_stood_still():
    class Busy(Embedded):
        async def get(self, *place):
            if self.now() > start + 2 * SECOND:
                await self.sleep(3 * SECOND)
            return await super().get(*place)

    with Embedding().cluster(1, Silent()) as cluster:

        async def work(seconds):
            await cluster.sleep(seconds * SECOND)
            return "done"

        start = cluster.now()
        busy = Busy(cluster.cluster)
        answer, stalled = busy.run(probed(busy, work(1)))
        assert (answer, stalled < 0.1) == ("done", True)
        answer, stalled = busy.run(probed(busy, work(4)))
        assert (answer, stalled) == ("done", pytest.approx(3, abs=0.1))


def test_an_experiment_that_breaks_off_keeps_those_before(tmp_path):
    comparison = RealComparison(tmp_path, Records(tmp_path), Silent(), profile="kubernetes", seed=0)

    class Breaking(Embedding):
        def cluster(self, nodes, progress):
            if Records(tmp_path).path.exists():
                raise KeyboardInterrupt
            return super().cluster(nodes, progress)

    with pytest.raises(KeyboardInterrupt):
        comparison.run(experiments([Size(2, 4)]), Breaking)
    assert [each.experiment.test for each in comparison.compared] == ["scale-test"]
    kept = Records(tmp_path)
    kept.read()
    assert kept.find(Experiment("scale-test", 2, 4)) is not None
