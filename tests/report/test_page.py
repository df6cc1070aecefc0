"""report.html as text: complete, offline, small and harmless."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from ghostfleet.report.page import report_page
from ghostfleet.report.phases import measure
from ghostfleet.report.workloads import join

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


class Tags(HTMLParser):
    """All elements of a page, and whether each is closed in order."""

    VOID = ("meta", "link", "img", "br", "input")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag


def test_the_page_is_one_well_formed_file_that_loads_nothing(runs):
    page = report_page(runs.measured(200), runs.record(200, 100))
    for tag, attributes in Tags(page).seen:
        assert "src" not in attributes
        assert tag not in ("link", "iframe", "img")
        assert not any(name.startswith("on") for name in attributes)
        assert not (attributes.get("href") or "#").startswith("http")
    assert "@import" not in page
    assert "url(" not in page


def test_hostile_names_stay_text(runs):
    marks = runs.marks(workload=1, decided=2, bound=2, running=3)
    sample = runs.sample(HOSTILE, marks, node=HOSTILE, phase="Failed", failure=HOSTILE)
    joined = join([runs.submission(HOSTILE), runs.submission("x", error=HOSTILE)], [sample])
    plain = Tags(report_page(measure(join([], [])), None)).seen
    record = runs.record(1, 8, project=HOSTILE, type=HOSTILE, cluster={"address": HOSTILE, "profile": HOSTILE})
    seen = Tags(report_page(measure(joined), record)).seen
    assert sum(tag == "script" for tag, _ in seen) == sum(tag == "script" for tag, _ in plain) == 3
    assert not any(tag == "img" for tag, _ in seen)


def test_modelled_time_and_lab_time_are_told_apart(runs):
    page = report_page(runs.measured(50), runs.record(50, 100))
    assert "Cluster time" in page
    assert "Lab time" in page
    assert "Modelled: the profile “kubernetes”" in page
    real = runs.record(50, 100, cluster={"address": "https://10.0.0.1:6443", "clock": "wall"})
    assert "Measured on the cluster at https://10.0.0.1:6443." in report_page(runs.measured(50), real)


def test_a_run_of_which_nothing_is_sampled_yet_has_a_page(runs):
    page = report_page(measure(join([runs.submission("j-1")], [])), runs.record(1, 8))
    assert "Nothing has been scheduled yet." in page
    assert "1 are not in the sample." in page


def test_fifty_thousand_workloads_with_long_names_fit_in_three_megabytes(runs):
    measured = runs.measured(50_000, gpus=40_000, name="a-name-as-long-as-kubernetes-lets-any-label-value-be-{:010d}")
    page = report_page(measured, runs.record(50_000, 40_000))
    assert len(page.encode()) < 3_000_000
    assert re.search(r'"of":50000', page)


@pytest.mark.parametrize("count", [1, 2, 19])
def test_small_runs_have_a_page_too(runs, count):
    assert "The slowest workloads" in report_page(runs.measured(count), None)
