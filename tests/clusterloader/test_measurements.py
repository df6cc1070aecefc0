"""Measurements: what they say about pods, Jobs and nodes whose times are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.support.clusterloader import Lab

from ghostfleet.clusterloader import results

Written = Callable[..., Path]

_POD = """\
apiVersion: v1
kind: Pod
metadata:
  labels: {group: g}
  annotations: {ghostfleet.dev/startup: {{.Startup}}, ghostfleet.dev/duration: {{.Duration}}}
spec:
  restartPolicy: Never
  containers: [{name: c, image: i}]
  volumes: {{.Volumes}}
"""
_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {labels: {group: g}}
spec:
  replicas: {{.Replicas}}
  selector: {matchLabels: {name: {{.Name}}}}
  template:
    metadata: {labels: {name: {{.Name}}, group: g}, annotations: {ghostfleet.dev/startup: {{.Startup}}}}
    spec: {containers: [{name: c, image: "{{.Image}}"}]}
"""
_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {labels: {group: g}}
spec:
  parallelism: {{.Parallelism}}
  completions: {{.Completions}}
  ttlSecondsAfterFinished: {{.Ttl}}
  template:
    metadata: {labels: {group: g}}
    spec: {restartPolicy: Never, containers: [{name: c, image: i, command: [sleep, "{{.Sleep}}"]}]}
"""


def _measure(method: str, **params: Any) -> str:
    values = orjson.dumps({"labelSelector": "group = g", **params} if method != "Sleep" else params).decode()
    return f"- measurements: [{{method: {method}, identifier: m, params: {values}}}]\n"


def _objects(count: int, rate: float = 1, basename: str = "o", **fill: Any) -> str:
    values = orjson.dumps(fill).decode()
    bundle = f"[{{basename: {basename}, objectTemplatePath: o.yaml, templateFillMap: {values}}}]"
    spaces = "namespaceRange: {min: 1, max: 1}"
    return f"- phases: [{{{spaces}, replicasPerNamespace: {count}, tuningSet: q{rate:g}, objectBundle: {bundle}}}]\n"


def _test(*steps: str) -> str:
    sets = ", ".join(f"{{name: q{rate:g}, qpsLoad: {{qps: {rate}}}}}" for rate in (1, 10, 1000))
    return f"name: t\ntuningSets: [{sets}]\nsteps:\n{''.join(steps)}"


def _summary(result: results.TestResult, name: str) -> Any:
    (content,) = (each.content for each in result.summaries if each.name == name)
    return orjson.loads(content)


def _metrics(result: results.TestResult, name: str) -> dict[str, dict[str, float]]:
    return {each["labels"]["Metric"]: each["data"] for each in _summary(result, name)["dataItems"]}


_POD_VALUES = {"Startup": "3s", "Duration": "1h", "Volumes": "[]"}


def test_pod_startup_is_known_to_the_microsecond_and_its_percentiles_are_clusterloader2s(
    lab: Lab, written: Written
) -> None:
    steps = (
        _measure("PodStartupLatency", action="start", threshold="4s"),
        _objects(9, **_POD_VALUES),
        _objects(10, basename="slow", **{**_POD_VALUES, "Startup": "7s"}),
        _measure("Sleep", duration="10s"),
        _measure("PodStartupLatency", action="gather"),
    )
    result = lab.result(written(_test(*steps), o=_POD))
    startup = _metrics(result, "PodStartupLatency_m")
    assert startup["pod_startup"] == {"Perc50": 7000.0, "Perc90": 7000.0, "Perc99": 7000.0}
    assert startup["create_to_schedule"] == {"Perc50": 0.0, "Perc90": 0.0, "Perc99": 0.0}
    assert startup["schedule_to_run"]["Perc50"] == 7000.0
    assert result.all_errors() == [f"pod startup: expected perc{percent} <= 4s, got 7s" for percent in (50, 90, 99)]


def test_pods_with_volumes_that_outlive_them_are_told_apart(lab: Lab, written: Written) -> None:
    steps = (
        _measure("PodStartupLatency", action="start"),
        _objects(2, **{**_POD_VALUES, "Startup": "1s", "Volumes": "[{name: v, emptyDir: {}}]"}),
        _objects(2, basename="host", **{**_POD_VALUES, "Volumes": "[{name: v, hostPath: {path: /x}}]"}),
        _measure("Sleep", duration="5s"),
        _measure("PodStartupLatency", action="gather"),
    )
    result = lab.result(written(_test(*steps), o=_POD))
    assert _metrics(result, "StatelessPodStartupLatency_m")["pod_startup"]["Perc99"] == 1000.0
    assert _metrics(result, "StatefulPodStartupLatency_m")["pod_startup"]["Perc99"] == 3000.0
    assert [each.name for each in result.summaries] == [
        "PodStartupLatency_m",
        "StatelessPodStartupLatency_m",
        "StatefulPodStartupLatency_m",
    ]


def test_throughput_is_counted_in_intervals_and_below_its_threshold_the_test_fails(lab: Lab, written: Written) -> None:
    steps = (
        _measure("SchedulingThroughput", action="start", measurmentInterval="2s"),
        _objects(40, 10, **_POD_VALUES),
        _objects(0, 1000),
        _measure("Sleep", duration="4s"),
        _measure("SchedulingThroughput", action="gather", threshold=11),
    )
    result = lab.result(written(_test(*steps), o=_POD))
    assert _summary(result, "SchedulingThroughput") == {"perc50": 0.0, "perc90": 10.0, "perc99": 10.0, "max": 10.0}
    assert result.all_errors() == ["scheduler throughput: actual throughput 10 lower than threshold 11"]


@pytest.mark.parametrize("sleep", ["1s", "100ms"])
def test_pods_of_jobs_that_run_for_a_moment_only_are_not_missed(lab: Lab, written: Written, sleep: str) -> None:
    steps = (
        _measure(
            "WaitForControlledPodsRunning", action="start", apiVersion="batch/v1", kind="Job", operationTimeout="1m"
        ),
        _objects(5, Parallelism=3, Completions=6, Sleep=sleep, Ttl=3600),
        _measure("WaitForControlledPodsRunning", action="gather"),
    )
    assert lab.result(written(_test(*steps), o=_JOB)).all_errors() == []


def test_jobs_that_are_finished_and_removed_before_anyone_waits_count_as_finished(lab: Lab, written: Written) -> None:
    steps = (
        _measure("WaitForFinishedJobs", action="start"),
        _objects(3, Parallelism=1, Completions=1, Sleep="1s", Ttl=2),
        _measure("Sleep", duration="30s"),
        _objects(4, Parallelism=1, Completions=1, Sleep="5s", Ttl=2),
        _measure("WaitForFinishedJobs", action="gather", timeout="2m"),
    )
    result = lab.result(written(_test(*steps), o=_JOB))
    assert result.all_errors() == []
    assert result.steps[-1].modelled < 10_000_000


def test_jobs_that_do_not_finish_in_time_are_named(lab: Lab, written: Written) -> None:
    steps = (
        _measure("WaitForFinishedJobs", action="start"),
        _objects(2, Parallelism=1, Completions=1, Sleep="10m", Ttl=2),
        _measure("WaitForFinishedJobs", action="gather", timeout="30s"),
    )
    (error,) = lab.result(written(_test(*steps), o=_JOB)).all_errors()
    assert error.startswith("2 Jobs timed out: test-")
    assert error.endswith("/o-1")


def test_a_deployment_that_is_scaled_and_updated_is_waited_for_each_time(lab: Lab, written: Written) -> None:
    wait = _measure("WaitForControlledPodsRunning", action="gather")
    steps = (
        _measure(
            "WaitForControlledPodsRunning",
            action="start",
            apiVersion="apps/v1",
            kind="Deployment",
            operationTimeout="2m",
        ),
        _objects(2, Replicas=3, Startup="2s", Image="a"),
        wait,
        _objects(2, Replicas=5, Startup="4s", Image="a"),
        wait,
        _objects(2, Replicas=5, Startup="4s", Image="b"),
        wait,
        _objects(0),
        wait,
    )
    result = lab.result(written(_test(*steps), o=_DEPLOYMENT))
    assert result.all_errors() == []
    waits = [step.modelled // 1_000_000 for step in result.steps[2::2]]
    assert waits[0] in (1, 2)
    assert waits[1] >= 3
    assert waits[2] >= 4


def test_an_operation_that_takes_too_long_fails_with_how_far_it_came(lab: Lab, written: Written) -> None:
    steps = (
        _measure(
            "WaitForControlledPodsRunning",
            action="start",
            apiVersion="apps/v1",
            kind="Deployment",
            operationTimeout="5s",
        ),
        _objects(1, Replicas=2, Startup="1m", Image="a"),
        _measure("WaitForControlledPodsRunning", action="gather"),
    )
    (error,) = lab.result(written(_test(*steps), o=_DEPLOYMENT)).all_errors()
    lines = error.split("\n")
    assert lines[0].startswith("1 of 1 objects timed out: Deployment: test-")
    assert lines[0].endswith("o-0 (0 of 2 pods running, 2 pending)")
    assert "it is on node-" in lines[1]


def test_waits_for_nodes_and_for_objects_of_any_kind(lab: Lab, written: Written) -> None:
    nodes = _measure("WaitForNodes", minDesiredNodeCount=10, maxDesiredNodeCount=10, labelSelector="")
    jobs = _measure(
        "WaitForGenericK8sObjects",
        objectGroup="batch",
        objectVersion="v1",
        objectResource="jobs",
        namespaceRange={"min": 1, "max": 1},
        successfulConditions=["Complete=True"],
        failedConditions=["Failed=True"],
        minDesiredObjectCount=3,
        timeout="1m",
    )
    steps = (nodes, _objects(3, Parallelism=1, Completions=1, Sleep="5s", Ttl=300), jobs)
    assert lab.result(written(_test(*steps), o=_JOB)).all_errors() == []
    more = (
        nodes.replace("10", "11").replace("11,", "11,").replace('"labelSelector"', '"timeout": "5s", "labelSelector"')
    )
    (error,) = Lab().result(written(_test(more))).all_errors()
    assert error == "timeout while waiting for 11 to 11 nodes to be ready: 10 are"


def test_volume_claims_are_waited_for_until_as_many_are_bound(lab: Lab, written: Written) -> None:
    steps = (
        _measure("WaitForBoundPVCs", desiredPVCCount=0),
        _measure("WaitForBoundPVCs", desiredPVCCount=1, timeout="3s"),
    )
    result = lab.result(written(_test(*steps)))
    assert result.all_errors() == ["1 persistentvolumeclaims were to be Bound: 0 are, of 0"]


def test_timers_say_how_long_phases_took(lab: Lab, written: Written) -> None:
    steps = (
        _measure("Timer", action="start", label="a"),
        _measure("Sleep", duration="90s"),
        _measure("Timer", action="stop", label="a"),
        _measure("Timer", action="gather"),
        _measure("Timer", action="stop", label="b"),
    )
    result = lab.result(written(_test(*steps)))
    assert _summary(result, "Timer") == {
        "version": "v1",
        "dataItems": [{"data": {"a": 90.0}, "unit": "s", "labels": {"test": "phases"}}],
    }
    assert result.all_errors() == ["measurement call Timer - m error: timer 'b' was not started"]


def test_commands_are_run_only_where_that_is_allowed(lab: Lab, written: Written, tmp_path: Path) -> None:
    place = tmp_path / "touched"
    path = written(_test(_measure("Exec", command=["touch", str(place)]), _measure("Exec", command=["false"])))
    first, _ = lab.result(path).all_errors()
    assert "give --allow-exec to run commands of a config" in first
    assert not place.exists()
    (error,) = lab.result(path, allow_exec=True).all_errors()
    assert error == "measurement call Exec - m error: command 'false' failed (1): "
    assert place.exists()


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (_measure("PodStartupLatency"), "params.action: missing"),
        (_measure("PodStartupLatency", action="go"), "unknown action 'go'; expected start or gather"),
        (_measure("PodStartupLatency", action="gather"), "metric has not been started"),
        (
            _measure("PodStartupLatency", action="start", threshold="5"),
            'params.threshold: time: missing unit in duration "5"',
        ),
        (_measure("PodStartupLatency", action="start", labelSelector="a in"), "params.labelSelector: "),
        (_measure("PodStartupLatency", action="start", fieldSelector="a=b"), "params.fieldSelector: "),
        (
            _measure("WaitForRunningPods", desiredPodCount="many"),
            "params.desiredPodCount: expected a number, found 'many'",
        ),
        (_measure("WaitForFinishedJobs", action="gather"), "the measurement was not started"),
        (
            _measure("WaitForControlledPodsRunning", action="start", apiVersion="no/v1", kind="No"),
            "the cluster does not serve No (no/v1)",
        ),
        (_measure("Sleep", duration=5), 'params.duration: expected a duration such as "5m", found 5'),
        (
            _measure(
                "WaitForGenericK8sObjects",
                objectVersion="v1",
                objectResource="pods",
                successfulConditions=["x"],
                minDesiredObjectCount=1,
            ),
            "condition 'x': expected Type=Status",
        ),
    ],
)
def test_params_that_are_wrong_are_named(written: Written, step: str, message: str) -> None:
    (error,) = _SHARED.result(written(_test(step))).all_errors()
    assert message in error


#: Nothing in these tests changes it.
_SHARED = Lab(nodes=1)
