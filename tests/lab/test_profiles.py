"""Every figure that is modelled says what kind of knowledge it is, and where it comes from."""

from __future__ import annotations

import pytest

from ghostfleet.core.profile import ORIGINS
from ghostfleet.lab.fidelity.fitted import FITTED
from ghostfleet.lab.profiles import figures, profiles

NAMES = [each.name for each in profiles()]


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_an_origin_and_a_source(name):
    rows = figures(name)
    assert rows or name == "endings"
    assert [row for row in rows if row.origin not in ORIGINS or not row.source] == []


def test_the_fitted_figures_are_those_that_are_said_to_be():
    fitted = {row.figure for name in NAMES for row in figures(name) if row.origin == "fitted"}
    assert fitted == {
        "pod-ready delay",
        "pod-ready contended-work",
        "pod-ready contended-concurrency",
        "discovery.group-versions",
    }
    assert {each.figure for each in FITTED} == {
        "pod-ready delay",
        "contended-work",
        "contended-concurrency",
        "discovery.group-versions",
    }


def test_an_unknown_name_says_which_there_are():
    with pytest.raises(ValueError, match="unknown profile 'nothing'; known are instant, kind, kubernetes"):
        figures("nothing")
