"""The real KAI and ours decide the same, on its own programs and on what they did before."""

from __future__ import annotations

import pytest

from programs.kai.cases import CASES, Case
from programs.kai.comparison import compare, compare_recorded, load_recorded
from programs.kai.sides import Real

NAMES = [case.name for case in CASES]


@pytest.fixture(scope="module")
def real(program, tmp_path_factory):
    """A cluster with KAI's own programs."""
    with Real(program("kai", "scheduler"), tmp_path_factory.mktemp("kai")).started() as started:
        yield started


@pytest.mark.real
@pytest.mark.timeout(300)
@pytest.mark.xdist_group("kai-real")
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_both_come_to_the_same_state(case: Case, real: Real) -> None:
    comparison = compare(real, case)
    assert not comparison.unexplained, str(comparison)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_ours_comes_to_the_state_that_the_real_one_came_to(case: Case) -> None:
    comparison = compare_recorded(load_recorded()[case.name], case)
    assert not comparison.unexplained, str(comparison)


def test_every_case_was_recorded() -> None:
    assert sorted(load_recorded()) == sorted(set(NAMES))
