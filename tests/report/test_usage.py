"""How GPUs were used: averages over slices, peaks, and that no figure is impossible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.timestamps import MICRO, rfc3339
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.occupancy import COLUMNS
from ghostfleet.report.series import Slices
from ghostfleet.report.usage import held_usage, recorded_usage

START = 1_800_000_000


def holding(lives: list[tuple[int, int | None, int]]) -> list[dict[str, Any]]:
    """Samples whose pods were bound after so many seconds, for so many, with so many GPUs."""
    return [
        {
            "gpuHolds": [
                (rfc3339((START + begin) * MICRO), rfc3339((START + begin + length) * MICRO), gpus)
                if length is not None
                else (rfc3339((START + begin) * MICRO), None, gpus)
            ]
        }
        for begin, length, gpus in lives
    ]


@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90), st.integers(1, 8)), min_size=1, max_size=30))
def test_what_pods_held_is_the_time_between_their_binding_and_their_end(lives):
    usage = held_usage(holding(lives), START + 200.0, 1000.0)
    assert usage is not None
    # Everything is at whole seconds, so the use within each is constant.
    by_second = [sum(gpus for begin, length, gpus in lives if begin <= s < begin + length) for s in range(200)]
    edges = Slices(float(START), 5.0, 40).edges
    known = [each or 0.0 for each in usage.averages("inUse", edges)]
    first = min(begin for begin, _, _ in lives)
    last = max(begin + length for begin, length, _ in lives)
    for at, average in enumerate(known):
        covered = range(max(first, 5 * at), min(last, 5 * at + 5))
        expected = sum(by_second[second] for second in covered) / len(covered) if covered else 0.0
        assert average == pytest.approx(expected, abs=0.006)
    assert usage.peak.in_use == max(by_second)


def test_a_pod_that_has_not_ended_holds_its_gpus_to_the_end():
    usage = held_usage(holding([(10, None, 4)]), START + 60.0, 8.0)
    assert usage is not None
    assert usage.averages("inUse", Slices(START + 20.0, 10.0, 4).edges) == [4, 4, 4, 4]


def test_where_more_is_held_than_was_counted_no_share_is_told():
    # Nodes have come since the run began.
    usage = held_usage(holding([(0, 10, 6), (0, 10, 6)]), START + 10.0, 8.0)
    assert usage is not None
    assert (usage.peak.in_use, usage.peak.there, usage.utilisation) == (12, 0, 0.0)
    assert usage.as_json(START) == {"utilisation": {"peakGpus": 12, "meanGpus": 12.0}}


def test_without_holds_the_use_is_not_known():
    assert held_usage([{}, {"gpuHolds": []}], START, 8.0) is None  # type: ignore[list-item]
    assert recorded_usage([]) is None


def test_holds_that_are_none_are_told():
    with pytest.raises(LabError, match=r"sampled.json: gpuHolds: expected pairs of times"):
        held_usage([{"gpuHolds": [("yesterday", None, 1)]}], START, 8.0)  # type: ignore[typeddict-item]


def test_a_file_that_is_no_series_is_told():
    with pytest.raises(LabError, match=r"gpus.jsonl does not tell how GPUs were used"):
        recorded_usage([{"time": [1, 2], "there": [8, 8]}])


@st.composite
def series(draw: st.DrawFn) -> dict[str, Any]:
    """What a recorder may have seen: anything that is possible."""
    count = draw(st.integers(1, 20))
    columns: dict[str, list[int]] = {name: [] for name in COLUMNS}
    time = START * MICRO
    for _ in range(count):
        there = draw(st.integers(0, 40))
        in_use = draw(st.integers(0, there))
        point = {
            "time": time,
            "there": there,
            "inUse": in_use,
            "byRun": draw(st.integers(0, in_use)),
            "stranded": draw(st.integers(0, there - in_use)),
            "largestBlock": draw(st.integers(0, there - in_use)),
            "waiting": draw(st.integers(0, 50)),
            "waitingPods": draw(st.integers(0, 50)),
            "refusedPods": draw(st.integers(0, 50)),
        }
        for name, number in point.items():
            columns[name].append(number)
        time += draw(st.integers(1, 30 * MICRO))
    return {"request": draw(st.integers(0, 8)), "whole": True, **columns}


@given(st.lists(series(), min_size=1, max_size=3), st.floats(0.5, 50), st.integers(1, 40))
def test_no_figure_is_impossible(told, width, number):
    # One recorder after the other, with time in between of which nothing is known.
    later = 0
    for each in told:
        each["time"] = [time + later for time in each["time"]]
        later += each["time"][-1] - each["time"][0] + 5 * MICRO
    usage = recorded_usage(told)
    assert usage is not None
    figures = usage.as_json(float(START))
    used, broken = figures["utilisation"], figures["fragmentation"]
    for share in (
        used["peak"],
        used["mean"],
        used["meanOfRun"],
        *(broken[key] for key in ("mean", "worst", "atPeakUse")),
    ):
        assert 0 <= share <= 1
    assert used["meanOfRun"] <= used["mean"] <= used["peak"] + 1e-9
    assert 0 <= broken["worstStrandedGpus"] <= broken["worstFreeGpus"]
    assert min(used["peakAfterSeconds"], broken["worstAfterSeconds"], usage.refused_seconds) >= 0
    length = sum((each["time"][-1] - each["time"][0]) / MICRO for each in told)
    assert usage.refused_seconds <= length + 1e-6
    edges = Slices(float(START), width, number).edges
    columns = {name: usage.averages(name, edges) for name in ("there", "inUse", "byRun", "stranded")}
    for there, in_use, by_run, stranded in zip(*columns.values(), strict=True):
        if there is not None:
            assert 0 <= by_run <= in_use + 0.011
            assert in_use + stranded <= there + 0.021


def test_averages_are_of_the_time_that_is_known():
    told = {name: [0, 0, 0] for name in COLUMNS}
    told |= {
        "time": [(START + 10) * MICRO, (START + 15) * MICRO, (START + 20) * MICRO],
        "inUse": [2, 6, 6],
        "there": [8] * 3,
    }
    usage = recorded_usage([{"request": 1, "whole": True, **told}])
    assert usage is not None
    assert usage.averages("inUse", Slices(float(START), 10.0, 3).edges) == [None, 4.0, None]
    assert np.isclose(usage.mean("inUse"), 4.0)
