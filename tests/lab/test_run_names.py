"""Names of runs and workloads."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.lab.errors import LabError
from ghostfleet.lab.plan import ATTEMPTS, MOST, namer, run_id


@given(run=st.text(alphabet="0123456789abcdef", min_size=8, max_size=8), count=st.integers(1, 300))
def test_no_two_attempts_of_a_run_have_one_name(run, count):
    name = namer(run, count)
    names = [name(number, attempt) for number in range(count) for attempt in range(ATTEMPTS)]
    assert len(set(names)) == len(names)


def test_fifty_thousand_names_are_different():
    name = namer("0123abcd", 50_000)
    assert len({name(number, 0) for number in range(50_000)}) == 50_000


def test_names_are_j_and_six_hexadecimal_digits():
    name = namer("0123abcd", 100)
    assert all(re.fullmatch("j-[0-9a-f]{6}", name(number, 0)) for number in range(100))


def test_names_follow_from_the_run_alone():
    assert [namer("a", 9)(number, 0) for number in range(9)] == [namer("a", 9)(number, 0) for number in range(9)]
    assert namer("a", 9)(0, 0) != namer("b", 9)(0, 0)


def test_more_workloads_than_names_are_refused():
    with pytest.raises(LabError, match="at most 2,097,152 workloads"):
        namer("a", MOST + 1)


def test_a_run_has_eight_digits_that_follow_from_its_facts():
    assert re.fullmatch("[0-9a-f]{8}", run_id(1, "x"))
    assert run_id(1, "x") == run_id(1, "x")
    assert run_id(1, "x") != run_id(2, "x")
