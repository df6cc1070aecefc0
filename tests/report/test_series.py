"""The small arrays that stand for many workloads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ghostfleet.report.series import drawn_rows, histogram, packed, slices
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
