"""Which limits held things up."""

from __future__ import annotations

from ghostfleet.lab.occupancy import COLUMNS
from ghostfleet.report.page import report_page
from ghostfleet.report.usage import recorded_usage
from ghostfleet.report.why import held_up

LIMITS = [
    {"component": "Job controller", "limit": "20 requests/s", "seconds": 61.2, "waits": 1220, "waitedSeconds": 300.0},
    {"component": "Scheduler", "limit": "50 requests/s", "seconds": 3.0, "waits": 1, "waitedSeconds": 3.0},
]


def crowded(seconds: int):
    told = {name: [0, 0] for name in COLUMNS}
    told |= {"time": [0, seconds * 1_000_000], "refusedPods": [7, 0], "there": [8, 8], "inUse": [8, 8], "byRun": [8, 8]}
    return recorded_usage([{"request": 1, "whole": True, **told}])


def test_the_worst_comes_first_with_its_value_and_how_long_it_was_saturated(runs):
    found = held_up(runs.record(10, 80, limits=LIMITS), crowded(10))
    assert [each.sentence for each in found] == [
        "Job controller: 20 requests/s, saturated for 1 min 01 s",
        "Nodes: room for pods, saturated for 10 s",
        "Scheduler: 50 requests/s, saturated for 3 s",
    ]
    assert [each.detail for each in found] == [
        "1,220 requests had to wait",
        "up to 7 pods at once",
        "1 request had to wait",
    ]


def test_the_page_says_what_held_things_up(runs):
    page = report_page(runs.measured(5), runs.record(5, 80, limits=LIMITS))
    assert ">20 requests/s</td>" in page
    assert "1 min 01 s" in page


def test_the_page_of_a_real_cluster_says_that_its_limits_are_not_known(runs):
    page = report_page(runs.measured(5), runs.record(5, 80))
    assert "is told by clusters of ghostfleet&#x27;s own only" in page


def test_where_no_limit_was_reached_the_page_says_so(runs):
    assert "no limit of a component was ever reached" in report_page(runs.measured(5), runs.record(5, 80, limits=[]))
