"""The small arrays that stand for many workloads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ghostfleet.report.series import Slices, drawn_rows, gpu_use, histogram, packed, slices
from ghostfleet.report.workloads import join

DELAYS = st.one_of(st.floats(0, 1e6, allow_nan=False), st.just(float("nan")))


@given(st.integers(1, 3), st.integers(1, 500), st.data())
def test_what_sticks_out_is_always_drawn(columns, count, data):
    drawn_from = [data.draw(arrays(np.float64, count, elements=DELAYS)) for _ in range(columns)]
    rows = drawn_rows(drawn_from, count, most=60)
    assert len(rows) <= max(60, 20 + 6)
    assert list(rows) == sorted(set(rows))
    for column in drawn_from:
        if not np.isnan(column).all():
            assert np.nanmax(column[rows]) == np.nanmax(column)
            assert np.nanmin(column[rows]) == np.nanmin(column)


@given(arrays(np.float64, st.integers(0, 50), elements=DELAYS))
def test_a_packed_column_keeps_six_digits(column):
    form = packed(column)
    total, seen = 0, []
    for step in form["steps"]:
        total += step or 0
        seen.append(np.nan if step is None else total * form["unit"])
    known = column[~np.isnan(column)]
    tolerance = max(1e-6, 1e-6 * known.max()) if len(known) else 0
    assert np.allclose(seen, column, rtol=0, atol=tolerance, equal_nan=True)


@given(arrays(np.float64, st.integers(1, 200), elements=st.floats(0, 1e5)))
def test_a_histogram_holds_every_delay(column):
    assert sum(histogram(column).counts) == len(column)


def test_a_histogram_of_whole_seconds_has_bins_of_whole_seconds():
    found = histogram(np.array([0.0, 0.0, 1.0, 3.0, np.nan]))
    assert (found.low, found.width) == (-0.5, 1.0)
    assert found.counts == [2, 1, 0, 1] + [0] * 8


@pytest.mark.parametrize("delay", [0.0, 2.0, 2.01, 1e-5])
def test_delays_that_are_all_the_same_do_not_fill_the_histogram(delay):
    counts = histogram(np.full(5, delay)).counts
    assert max(counts) == 5
    assert len(counts) >= 12


def test_slices_count_every_workload_once_in_a_width_that_is_easy_to_read(runs):
    workloads = runs.joined(300).workloads
    over = slices(workloads)
    assert over.width in (1, 2, 5, 10)
    for moment in ("submitted", "decided", "finished"):
        assert sum(over.counted(workloads.at(moment))) == 300


@pytest.mark.parametrize("after", [0.0, 0.0004, 0.3, 3e5, 3e9])
def test_a_run_of_any_length_has_few_slices(runs, after):
    workloads = join([runs.submission("j")], [runs.sample("j", runs.marks(workload=after))]).workloads
    assert 1 <= slices(workloads).number <= 160


@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90), st.integers(1, 8)), min_size=1, max_size=30))
def test_gpu_use_is_the_time_that_workloads_hold_them(lives):
    holds = _Holds(lives)
    over = Slices(1000.0, 5.0, 40)
    use = gpu_use(holds, over)
    assert use is not None
    # Everything is at whole seconds, so the use within each is constant.
    use_by_second = [sum(gpus for begin, length, gpus in lives if begin <= s < begin + length) for s in range(200)]
    assert use.averages == pytest.approx(np.array(use_by_second).reshape(40, 5).mean(axis=1))
    assert use.peak == max(use_by_second) or not any(use_by_second)


class _Holds:
    """Just the columns that GPU use is made of."""

    def __init__(self, lives: list[tuple[int, int, int]]) -> None:
        self.gpus = np.array([gpus for _, _, gpus in lives], dtype=float)
        self._columns = {
            "bound": np.array([1000.0 + begin for begin, _, _ in lives]),
            "finished": np.array([1000.0 + begin + length for begin, length, _ in lives]),
        }

    def at(self, moment: str) -> np.ndarray:
        return self._columns[moment]


def test_a_workload_that_has_not_finished_holds_its_gpus_to_the_end(runs):
    sample = runs.sample("j", runs.marks(workload=1, bound=10, running=20), gpus=4)
    workloads = join([runs.submission("j")], [sample]).workloads
    over = slices(workloads)
    use = gpu_use(workloads, over)
    assert use is not None
    assert use.peak == 4
    assert use.averages[-1] == 4


def test_without_bindings_gpu_use_is_not_known(runs):
    workloads = join([runs.submission("j")], [runs.sample("j", runs.marks(decided=3))]).workloads
    assert gpu_use(workloads, slices(workloads)) is None
