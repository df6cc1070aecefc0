"""Arrivals at a rate."""

from __future__ import annotations

from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.clock import SECOND
from ghostfleet.lab.arrivals import parse_rate


def test_a_steady_rate_has_equal_gaps():
    assert list(islice(parse_rate("10/s").times(0), 4)) == [0, 100_000, 200_000, 300_000]
    assert list(islice(parse_rate("steady:30/m").times(0), 3)) == [0, 2 * SECOND, 4 * SECOND]


def test_a_steady_rate_does_not_drift():
    assert list(islice(parse_rate("3/s").times(0), 3001))[-1] == 1000 * SECOND


@given(seed=st.integers())
def test_poisson_arrivals_come_in_order_and_are_the_same_for_the_same_seed(seed):
    times = list(islice(parse_rate("poisson:10/s").times(seed), 50))
    assert all(earlier <= later for earlier, later in pairwise(times))
    assert times == list(islice(parse_rate("poisson:10/s").times(seed), 50))


def test_poisson_arrivals_keep_the_rate_on_average():
    last = list(islice(parse_rate("poisson:10/s").times(1), 20_001))[-1]
    assert last == pytest.approx(2000 * SECOND, rel=0.03)


@pytest.mark.parametrize("text", ["", "10", "10/d", "-1/s", "0/s", "uniform:1/s", "poisson:", "1e3/s", "nan/s"])
def test_what_is_not_a_rate_is_told_with_examples(text):
    with pytest.raises(ValueError, match="10/s or poisson:10/s"):
        parse_rate(text)
