"""The measurements that exist, by their methods.

Those that nothing here can measure are *skipped* with a note, as ClusterLoader2 does when it has no Prometheus or
cannot reach the control plane's machines.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.clusterloader.measurements.claims import ResourceClaimAllocationLatency
from ghostfleet.clusterloader.measurements.controlled import WaitForControlledPodsRunning
from ghostfleet.clusterloader.measurements.jobs import JobLifecycleLatency, WaitForFinishedJobs
from ghostfleet.clusterloader.measurements.measurement import Context, Measurement, Outcome
from ghostfleet.clusterloader.measurements.podstartup import PodStartupLatency
from ghostfleet.clusterloader.measurements.responsiveness import APIResponsiveness
from ghostfleet.clusterloader.measurements.scheduling import SchedulingMetrics
from ghostfleet.clusterloader.measurements.simple import Exec, Sleep, Timer
from ghostfleet.clusterloader.measurements.throughput import SchedulingThroughput
from ghostfleet.clusterloader.measurements.waits import (
    WaitForAvailablePVs,
    WaitForBoundPVCs,
    WaitForGenericK8sObjects,
    WaitForNodes,
    WaitForRunningPods,
)
from ghostfleet.clusterloader.params import Params

__all__ = ["METHODS", "SKIPPED", "make_measurement"]

_MADE: dict[str, Callable[[], Measurement]] = {
    "APIResponsiveness": lambda: APIResponsiveness("APIResponsiveness"),
    "APIResponsivenessPrometheus": APIResponsiveness,
    "Exec": Exec,
    "JobLifecycleLatency": JobLifecycleLatency,
    "PodStartupLatency": PodStartupLatency,
    "ResourceClaimAllocationLatency": ResourceClaimAllocationLatency,
    "SchedulingMetrics": SchedulingMetrics,
    "SchedulingThroughput": SchedulingThroughput,
    "Sleep": Sleep,
    "Timer": Timer,
    "WaitForAvailablePVs": WaitForAvailablePVs,
    "WaitForBoundPVCs": WaitForBoundPVCs,
    "WaitForControlledPodsRunning": WaitForControlledPodsRunning,
    "WaitForFinishedJobs": WaitForFinishedJobs,
    "WaitForGenericK8sObjects": WaitForGenericK8sObjects,
    "WaitForNodes": WaitForNodes,
    "WaitForRunningPods": WaitForRunningPods,
}
_PROMETHEUS = "it needs Prometheus"
_MACHINES = "it needs real nodes, a network or the machines of the control plane"
#: Methods that are known but measure nothing here, and why.
SKIPPED = {
    **dict.fromkeys(
        (
            "CiliumEndpointPropagationDelay",
            "ContainerRestarts",
            "DnsLookupLatency",
            "DnsPropagation",
            "GenericPrometheusQuery",
            "InClusterAPIServerRequestLatency",
            "InClusterNetworkLatency",
            "MetricsServerPrometheus",
            "NegLatency",
            "NetworkProgrammingLatency",
            "NodeLocalDNSLatencyPrometheus",
            "PrometheusSchedulingMetrics",
            "SLOMeasurement",
            "SchedulingThroughputPrometheus",
            "WindowsResourceUsagePrometheus",
        ),
        _PROMETHEUS,
    ),
    **dict.fromkeys(
        (
            "APIAvailability",
            "BlockProfile",
            "CPUProfile",
            "ChaosMonkey",
            "ClusterOOMsTracker",
            "DNSPerformanceK8sHostnames",
            "EtcdMetrics",
            "KubeStateMetricsLatency",
            "LoadBalancerNodeSyncLatency",
            "MemoryProfile",
            "MetricsForE2E",
            "MutexProfile",
            "NetworkPerformanceMetrics",
            "NetworkPolicyEnforcement",
            "NodeHealthTracker",
            "PodPeriodicCommand",
            "ResourceUsageSummary",
            "RestartApiserver",
            "ServiceCreationLatency",
            "SystemPodMetrics",
            "TestMetrics",
        ),
        _MACHINES,
    ),
}
METHODS = frozenset((*_MADE, *SKIPPED))


class _Skipped:
    """A measurement that measures nothing here."""

    def __init__(self, method: str) -> None:
        self._why = f"{method} is skipped: {SKIPPED[method]}"

    async def execute(self, _context: Context, _params: Params) -> Outcome:
        return Outcome(notes=(self._why,))

    def dispose(self) -> None:
        """Nothing was begun."""


def make_measurement(method: str) -> Measurement:
    """A new measurement of a method, which must be a known one."""
    made = _MADE.get(method)
    return made() if made is not None else _Skipped(method)
