"""Configs of the shapes that people have: each passes, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from tests.support.clusterloader import CONFIGS, Lab

from ghostfleet.clusterloader import results
from ghostfleet.clusterloader.log import Log
from ghostfleet.clusterloader.suite import Options, compile_suite, read_suite, run_test
from ghostfleet.lab.progress import Silent

_EXAMPLE = Path(__file__).parents[2] / "examples/07-clusterloader2/pkg/dependency/kwok/examples/test-config.yaml"


def _passed(result: results.TestResult) -> None:
    assert result.all_errors() == []


def _perc99(result: results.TestResult, name: str, metric: str) -> float:
    (content,) = (each.content for each in result.summaries if each.name == name)
    (item,) = (each for each in orjson.loads(content)["dataItems"] if each["labels"].get("Metric") == metric)
    return float(item["data"]["Perc99"])


def _is_clean(lab: Lab) -> None:
    """Nothing but what was there before."""
    assert not [name for name in lab.names("namespaces") if name.startswith(("test-", "kwok-system", "dra-"))]
    assert lab.names("pods") == []
    assert lab.names("nodes") == sorted(f"node-{number}" for number in range(lab.nodes))
    for resource in ("resourceslices.resource.k8s.io", "deviceclasses.resource.k8s.io", "stages.kwok.x-k8s.io"):
        assert lab.names(resource) == []
    assert "kwok-controller" not in lab.names("clusterroles.rbac.authorization.k8s.io")
    assert not [name for name in lab.names("priorityclasses.scheduling.k8s.io") if name.startswith("load-")]


def test_jobs_with_fake_gpus_run_for_thirty_seconds_and_are_done() -> None:
    lab = Lab(nodes=3)
    result = lab.result(_EXAMPLE)
    _passed(result)
    assert result.objects["created"] == 11
    assert 30e6 <= result.modelled <= 40e6
    _is_clean(lab)


def test_the_readmes_spelling_works_and_the_running_time_is_that_of_the_variable() -> None:
    lab = Lab()
    result = lab.result(CONFIGS / "readme/config.yaml", {"CL2_JOB_RUNNING_TIME_MS": "10000"})
    _passed(result)
    assert _perc99(result, "JobLifecycleLatency_jobs", "start_to_complete") == pytest.approx(10_000, abs=1000)
    _is_clean(lab)


def test_claims_are_allocated_while_long_jobs_fill_the_cluster_and_short_ones_come_and_go(lab: Lab) -> None:
    ran = lab.run(CONFIGS / "dra/config.yaml", {"CL2_COMPLETIONS": "3"})
    _passed(ran.result)
    assert len(ran.timeline.pods) == 72 + 8 * 3
    assert {"ResourceClaimAllocationLatency_Claims", "SchedulingMetrics"} <= {
        each.name for each in ran.result.summaries
    }
    _is_clean(lab)


def test_extended_resources_that_devices_serve_do_the_same(lab: Lab) -> None:
    pytest.importorskip("ghostfleet.api.extendedresources", reason="extended resources are not served by devices yet")
    environment = {"CL2_COMPLETIONS": "2", "CL2_ENABLE_EXTENDED_RESOURCES": "true"}
    _passed(lab.result(CONFIGS / "dra/config.yaml", environment))
    _is_clean(lab)


def test_the_same_without_devices(lab: Lab) -> None:
    _passed(lab.result(CONFIGS / "baseline/config.yaml", {"CL2_COMPLETIONS": "3"}))


def test_jobs_of_a_batch_finish_after_the_time_that_they_sleep() -> None:
    lab = Lab(nodes=3)
    result = lab.result(CONFIGS / "batch/config.yaml")
    _passed(result)
    assert result.objects["created"] == 9 + 1
    assert _perc99(result, "JobLifecycleLatency_JobLifecycleLatency", "start_to_complete") >= 30_000


def test_bare_pods_give_the_throughput_of_the_scheduler(lab: Lab) -> None:
    ran = lab.run(CONFIGS / "throughput/config.yaml", {"CL2_SCHEDULER_THROUGHPUT_PODS": "300"})
    _passed(ran.result)
    assert ran.result.objects == {"created": 300, "patched": 0, "deleted": 300}
    (content,) = (each.content for each in ran.result.summaries if each.name == "SchedulingThroughput")
    assert orjson.loads(content)["max"] == 300
    calls = next(each.content for each in ran.result.summaries if each.name == "APIResponsivenessPrometheus")
    labels = {each["labels"]["Verb"]: each["labels"] for each in orjson.loads(calls)["dataItems"]}
    assert labels["POST"]["Count"] == "300"
    assert "GenericPrometheusQuery is skipped: it needs Prometheus" in ran.result.notes


def test_controllers_in_several_namespaces_with_a_number_from_an_override_file(lab: Lab) -> None:
    overrides = [CONFIGS / "startup/overrides.yaml"]
    ran = lab.run(CONFIGS / "startup/config.yaml", overrides=overrides)
    _passed(ran.result)
    assert len(ran.timeline.pods) == 50
    assert len({pod.namespace for pod in ran.timeline.pods}) == 5


def test_a_suite_of_densities_creates_updates_and_deletes(lab: Lab, tmp_path: Path) -> None:
    few = tmp_path / "few.yaml"
    few.write_text("MIN_LATENCY_PODS: 20\nPODS_PER_NODE: 10\n")
    options = Options(nodes=10, overrides=[few])
    scenarios = read_suite(CONFIGS / "density/suite.yaml")
    tests = compile_suite(scenarios, CONFIGS / "density", options)
    for test, scenario in zip(tests, scenarios, strict=True):
        result = run_test(lab.cluster, test, scenario.identifier, options, Log(Silent())).result
        _passed(result)
        assert result.name == scenario.identifier
        assert result.objects == {"created": 21, "patched": 20, "deleted": 21}
    _is_clean(lab)


def test_a_load_of_all_kinds_by_modules_is_created_scaled_and_deleted(lab: Lab) -> None:
    ran = lab.run(CONFIGS / "load/config.yaml")
    _passed(ran.result)
    assert [step.name for step in ran.result.steps][4:6] == [
        "[step: 05] create objects",
        "[step: 06] Wait after create",
    ]
    owners = {pod.name.split("-")[0] for pod in ran.timeline.pods}
    assert owners == {"deployment", "statefulset", "job", "daemonset"}
    _is_clean(lab)
