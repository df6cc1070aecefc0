"""What people do wrong, and what they are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from tests.support.clusterloader import CONFIGS, Lab, compiled

from ghostfleet.clusterloader.problems import ConfigError

Written = Callable[..., Path]

_JOB = (CONFIGS / "readme/job.yaml").read_text()
_CLAIM = (CONFIGS / "readme/claim.yaml").read_text()


def _gpu_test(*steps: str, nodes: int = 1, gpus: int = 8, jobs: int = 10, more: str = "") -> str:
    """A test of Jobs with GPUs, whose steps come in some order."""
    known = {
        "start": """
- name: start
  measurements:
  - method: WaitForControlledPodsRunning
    identifier: pods
    params: {action: start, apiVersion: batch/v1, kind: Job, labelSelector: job-type = short-lived, operationTimeout: 2m}
""",
        "claims": """
- name: claims
  phases:
  - namespaceRange: {min: 1, max: 1}
    replicasPerNamespace: 1
    tuningSet: qps
    objectBundle: [{basename: claim, objectTemplatePath: claim.yaml}]
""",
        "jobs": f"""
- name: jobs
  phases:
  - namespaceRange: {{min: 1, max: 1}}
    replicasPerNamespace: {jobs}
    tuningSet: qps
    objectBundle: [{{basename: job, objectTemplatePath: job.yaml}}]
""",
        "sleep": """
- name: sleep
  measurements: [{method: Sleep, identifier: sleep, params: {duration: 20s}}]
""",
        "gather": """
- name: gather
  measurements: [{method: WaitForControlledPodsRunning, identifier: pods, params: {action: gather}}]
""",
    }
    return f"""
name: gpus
dependencies:
- {{name: kwok-dra, timeout: 1m, params: {{nodes: {nodes}, gpusPerNode: {gpus}}}}}
tuningSets: [{{name: qps, qpsLoad: {{qps: 10}}}}]
{more}
steps:
{"".join(known[each] for each in steps)}
"""


def _errors(path: Path, **more: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        compiled(path, **more)  # type: ignore[arg-type]
    return str(caught.value).split("\n")


def test_a_tuning_set_that_is_not_declared_is_named_with_its_line(written: Written) -> None:
    path = written(_gpu_test("claims").replace("tuningSet: qps", "tuningSet: fast"), claim=_CLAIM)
    assert _errors(path) == [
        f"{path}: line 13: steps[0].phases[0].tuningSet: tuning set 'fast' is not declared; tuningSets has qps"
    ]


def test_a_measurement_that_nobody_knows_is_named_with_its_line(written: Written) -> None:
    path = written(_gpu_test("sleep").replace("method: Sleep", "method: Slep"))
    assert _errors(path) == [
        f"{path}: line 10: steps[0].measurements[0].method: unknown measurement 'Slep'; docs/clusterloader.md lists all"
    ]


def test_a_dependency_that_does_not_get_ready_in_time_ends_the_test_before_its_first_step(written: Written) -> None:
    lab = Lab(nodes=1, without=frozenset(("stages",)))
    result = lab.result(written(_gpu_test("sleep")))
    assert result.errors == [
        "dependency kwok-dra (timeout 1m0s): timed out waiting for the controller to be ready: "
        "Deployment kwok-system/kwok-controller has 0 of 1 pods ready"
    ]
    assert result.steps == []
    assert "kwok-system" not in lab.names("namespaces")


def test_nodes_of_an_earlier_test_that_are_too_many_are_named(written: Written) -> None:
    lab = Lab(nodes=1)
    for number in range(3):
        node = {"metadata": {"name": f"kwok-node-{number}", "labels": {"type": "kwok"}}, "spec": {}, "status": {}}
        lab.store.create("nodes", {"apiVersion": "v1", "kind": "Node", **node})
    result = lab.result(written(_gpu_test("sleep", nodes=1)))
    assert result.errors == [
        "dependency kwok-dra (timeout 1m0s): params.nodes is 1, but 3 nodes have the label type=kwok, of which "
        "kwok-node-1, kwok-node-2 come from elsewhere; remove them or set params.nodes to 3"
    ]
    assert "kwok-node-0" in lab.names("nodes")


def test_jobs_that_ask_for_more_gpus_than_there_are_wait_for_the_first_to_end(written: Written) -> None:
    path = written(_gpu_test("start", "claims", "jobs", "gather"), job=_JOB, claim=_CLAIM)
    ran = Lab(nodes=1).run(path)
    assert ran.result.all_errors() == []
    delays = sorted(pod.running - pod.created for pod in ran.timeline.pods)
    assert max(delays[:8]) < 2e6
    assert min(delays[8:]) > 25e6


def test_jobs_without_the_toleration_wait_and_the_message_says_for_what(written: Written) -> None:
    path = written(_gpu_test("start", "claims", "jobs", "gather", jobs=30), job=_JOB, claim=_CLAIM)
    result = Lab(nodes=1).result(path, {"CL2_NO_TOLERATION": "true"})
    (error,) = result.all_errors()
    first, *lines = error.split("\n")
    assert first.startswith("30 of 30 objects timed out: Jobs: ")
    assert "untolerated taint" in lines[0]
    assert len(lines) == 20 + 1
    assert lines[-1] == "  and 10 more pods wait"
    (summary,) = (each for each in result.summaries if each.name.endswith("_failedpods"))
    rows = orjson.loads(summary.content)
    assert len(rows) == 30
    assert rows[0].keys() == {"namespace", "controlledBy", "name", "host", "status"}


def test_a_claim_template_that_comes_after_the_jobs_lets_them_run_then(written: Written) -> None:
    path = written(_gpu_test("start", "jobs", "sleep", "claims", "gather", jobs=4), job=_JOB, claim=_CLAIM)
    ran = Lab(nodes=1).run(path)
    assert ran.result.all_errors() == []
    assert min(pod.running - pod.created for pod in ran.timeline.pods) > 15e6


def test_a_value_that_override_file_and_environment_set_differently_is_refused(
    written: Written, tmp_path: Path
) -> None:
    path = written(_gpu_test("sleep"))
    overrides = tmp_path / "overrides.yaml"
    overrides.write_text("CL2_QPS: 10\nCL2_SAME: 4\n")
    environment = {"CL2_QPS": "20", "CL2_SAME": "4"}
    assert _errors(path, environment=environment, overrides=[overrides]) == [
        f"{overrides}: CL2_QPS is 10 here and 20 in the environment; set it in one place only"
    ]
