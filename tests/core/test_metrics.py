"""Metrics: what is counted is what is told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.metrics import Metrics


def test_samples_are_read_when_they_are_asked_for():
    metrics, depth = Metrics(), {("jobs",): 1}
    metrics.family("depth", "gauge", "How deep.", "name").read_from(lambda: depth)
    assert list(metrics.lines()) == ["# HELP depth How deep.", "# TYPE depth gauge", 'depth{name="jobs"} 1']
    depth["jobs",] = 7
    assert list(metrics.lines())[-1] == 'depth{name="jobs"} 7'


def test_owners_of_one_name_are_added_up():
    metrics = Metrics()
    for number in (1, 2):
        metrics.family("depth", "gauge", "How deep.", "name").read_from(lambda number=number: {("jobs",): number})
    assert list(metrics.lines())[-1] == 'depth{name="jobs"} 3'


def test_values_of_labels_are_escaped():
    metrics = Metrics()
    metrics.family("x", "counter", "X.", "name").read_from(lambda: {('a"b\\c\nd',): 1})
    assert list(metrics.lines())[-1] == 'x{name="a\\"b\\\\c\\nd"} 1'


@given(st.lists(st.floats(0, 100), max_size=30))
def test_a_histogram_counts_everything_up_to_each_bound(numbers):
    metrics = Metrics()
    histogram = metrics.histogram("took", "How long.", (0.5, 1, 10), "verb")
    for number in numbers:
        histogram.observe(("GET",), number)
    counts = dict(line.rsplit(" ", 1) for line in metrics.lines() if "_bucket" in line or "_count" in line)
    expected = {
        f'took_bucket{{verb="GET",le="{bound}"}}': sum(each <= bound for each in numbers) for bound in (0.5, 1, 10)
    }
    if numbers:
        expected |= {'took_bucket{verb="GET",le="+Inf"}': len(numbers), 'took_count{verb="GET"}': len(numbers)}
        assert {name: int(count) for name, count in counts.items()} == expected
