"""Reports: files under ClusterLoader2's names, in its formats."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import orjson
from hypothesis import given
from hypothesis import strategies as st
from tests.support.clusterloader import CONFIGS, compiled

from ghostfleet.clusterloader import results
from ghostfleet.clusterloader.junit import junit
from ghostfleet.clusterloader.reportdir import ReportDirectory
from ghostfleet.clusterloader.summaries import (
    Summary,
    latency_item,
    latency_metric,
    percentiles,
    perf_data,
)


def _result() -> results.TestResult:
    made = results.TestResult("density", "config", "density", Path("c.yaml"), modelled=2_500_000)
    made.steps = [
        results.StepResult("[step: 01] one", errors=["a <b>", "\x00c"], modelled=1_000_000),
        results.StepResult("[step: 02] two", substeps=[("[00] - x", []), ("[01] - y", ["bad"])]),
    ]
    return made


def test_junit_counts_its_cases_and_names_them_as_clusterloader2_does() -> None:
    suite = ElementTree.fromstring(junit([_result()]))
    assert suite.attrib == {"name": "ClusterLoaderV2", "tests": "4", "failures": "3", "errors": "0", "time": "2.500"}
    assert [case.attrib["name"] for case in suite] == [
        "density overall (c.yaml)",
        "density: [step: 01] one",
        "density: [step: 02] two [00] - x",
        "density: [step: 02] two [01] - y",
    ]
    failure = suite[1].find("failure")
    assert failure is not None
    assert failure.attrib == {"type": "Failure"}
    assert failure.text == ":0\n[a <b>\nc]\n:0"


def test_junit_can_be_what_clusterloader2_writes_to_the_letter() -> None:
    suite = ElementTree.fromstring(junit([_result()], compatible=True))
    assert suite.attrib["tests"] == "0"
    assert suite[1].findtext("failure") == ":0\n[a <b> c]\n:0"


def test_perf_data_is_what_perfdash_reads() -> None:
    text = perf_data([latency_item("pod_startup", latency_metric([1_500, 2_500, 10_000]))])
    assert text.endswith("}\n")
    assert orjson.loads(text) == {
        "version": "1.0",
        "dataItems": [
            {"data": {"Perc50": 2.5, "Perc90": 10.0, "Perc99": 10.0}, "unit": "ms", "labels": {"Metric": "pod_startup"}}
        ],
    }
    assert latency_metric([]) == (0, 0, 0)


@given(st.lists(st.integers(0, 1000), min_size=1))
def test_percentiles_are_values_that_so_many_do_not_exceed(values: list[int]) -> None:
    for percent, value in zip((50, 90, 99), percentiles(values), strict=True):
        assert value in values
        assert sum(each <= value for each in values) * 100 >= percent * len(values)
        assert sum(each < value for each in values) * 100 < percent * len(values)


def test_summaries_have_the_test_and_their_time_in_their_names_and_none_is_lost(tmp_path: Path) -> None:
    result = _result()
    result.summaries = [
        Summary("PodStartupLatency_x", "json", "1", 1_700_000_000_000_000),
        Summary("Timer", "json", "2", 1_700_000_000_000_000),
        Summary("Timer", "json", "3", 1_700_000_000_000_000),
    ]
    directory = ReportDirectory(tmp_path / "new" / "reports")
    directory.make()
    directory.write_test(compiled(CONFIGS / "batch/config.yaml"), result)
    assert sorted(path.name for path in directory.path.iterdir()) == [
        "PodStartupLatency_x_config_density_2023-11-14T22:13:20Z.json",
        "Timer_config_density_2023-11-14T22:13:20Z-2.json",
        "Timer_config_density_2023-11-14T22:13:20Z.json",
        "generatedConfig_config_density.yaml",
    ]
