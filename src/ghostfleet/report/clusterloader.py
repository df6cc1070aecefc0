"""Tests of ClusterLoader2, as a page and as lines for a terminal.

The page is that of a scale test, with the pods of the test as its workloads: a pod is submitted when it is created.
"""

from __future__ import annotations

from collections.abc import Iterator

from ghostfleet import __version__
from ghostfleet.clusterloader.results import TestResult
from ghostfleet.clusterloader.suite import Ran
from ghostfleet.clusterloader.summaries import LatencyMetric, latency_metric
from ghostfleet.clusterloader.timeline import PodTimes
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.drive.interface import ClusterInfo
from ghostfleet.lab.records import Run, Sample, Submission
from ghostfleet.report.memory import peak_memory
from ghostfleet.report.page import report_page
from ghostfleet.report.phases import measure
from ghostfleet.report.workloads import join

__all__ = ["test_lines", "test_page"]

_MICRO = 1e6
_SHOWN_ERRORS = 25


def test_page(ran: Ran, info: ClusterInfo) -> str:
    """The page of a test."""
    pods = ran.timeline.pods
    submissions = [Submission(pod.name, pod.namespace, pod.namespace, pod.created) for pod in pods]
    measured = measure(join(submissions, map(_sample, pods)))
    cluster = {"address": info.address, "clock": info.clock, "version": info.version, "profile": info.profile}
    run = Run(
        type="pod",
        count=len(pods),
        run=ran.result.name,
        started=rfc3339(min((pod.created for pod in pods), default=0)),
        state="submitted",
        cluster=cluster,
        version=__version__,
        labSeconds=ran.result.real / _MICRO,
    )
    return report_page(measured, run)


def _sample(pod: PodTimes) -> Sample:
    times = {
        "firstPod": pod.created,
        "lastPod": pod.created,
        "decided": pod.bound,
        "bound": pod.bound,
        "running": pod.running,
        "finished": pod.ended,
    }
    phase = "Failed" if pod.failed else "Succeeded" if pod.ended else "Running" if pod.running else "Pending"
    return Sample(
        jobName=pod.name,
        jobNamespace=pod.namespace,
        projectName=pod.namespace,
        phase=phase,
        pods=1,
        gpus=0,
        node=pod.node,
        marks={"submitted": pod.created, **{name: time for name, time in times.items() if time}},
    )


def test_lines(ran: Ran, info: ClusterInfo) -> list[str]:
    """What came of a test, for people."""
    result = ran.result
    return [*_headline(result), *_speeds(result, info), *_pods(ran), *_problems(result)]


def _headline(result: TestResult) -> Iterator[str]:
    errors, steps = result.all_errors(), len(result.steps)
    failed = sum(bool(step.all_errors()) for step in result.steps)
    verdict = f"FAILED, {failed} of {steps} steps with errors" if errors else f"passed, {steps} steps"
    yield f"Test      {result.name}: {verdict}"
    done = ", ".join(f"{count:,} {what}" for what, count in result.objects.items() if count)
    if done:
        yield f"Objects   {done}"


def _speeds(result: TestResult, info: ClusterInfo) -> Iterator[str]:
    modelled, real = result.modelled / _MICRO, result.real / _MICRO
    profile = f", profile {info.profile}" if info.profile else ""
    if info.clock == "virtual":
        yield f"Modelled  {modelled:,.1f} s of cluster time{profile}"
        faster = f", {modelled / real:,.0f} times as fast" if real else ""
        yield f"Lab       {real:,.1f} s of real time{faster}, {peak_memory():,.0f} MiB at most"
    else:
        yield f"Took      {modelled:,.1f} s on {info.address}{profile}"


def _pods(ran: Ran) -> Iterator[str]:
    pods = ran.timeline.pods
    if not pods:
        return
    started = [pod for pod in pods if pod.running]
    bound = latency_metric(pod.bound - pod.created for pod in pods if pod.bound)
    running = latency_metric(pod.running - pod.created for pod in started)
    yield f"Pods      {len(pods):,} created, {len(started):,} ran; {_rate(pods)} pods a second got a node at most"
    yield f"          created to scheduled  {_seconds(bound)}"
    yield f"          created to running    {_seconds(running)}"


def _rate(pods: list[PodTimes]) -> str:
    """The most pods that got a node within one second."""
    counts: dict[int, int] = {}
    for pod in pods:
        if pod.bound:
            counts[pod.bound // 1_000_000] = counts.get(pod.bound // 1_000_000, 0) + 1
    return f"{max(counts.values(), default=0):,}"


def _seconds(latency: LatencyMetric) -> str:
    return "  ".join(f"p{percent} {value / _MICRO:.3f} s" for percent, value in zip((50, 90, 99), latency, strict=True))


def _problems(result: TestResult) -> Iterator[str]:
    errors = result.all_errors()
    if errors:
        yield "Errors"
    for error in errors[:_SHOWN_ERRORS]:
        yield "  - " + error.replace("\n", "\n    ")
    if len(errors) > _SHOWN_ERRORS:
        yield f"  and {len(errors) - _SHOWN_ERRORS} more in junit.xml"
    if result.notes:
        yield "Notes"
    for note in result.notes:
        yield f"  - {note}"
