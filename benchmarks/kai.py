"""KAI's cycle alone: filling a cluster, a cycle with nothing to do, and room for one large gang by reclaim.

KAI's own figures: 4,000 jobs on 500 nodes are from its scale tests (398 s on 5 CPUs); the reclaims are from its reclaim
benchmark, run with Go on two EPYC cores, where the time for one action grows with the cube of the number of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Baseline, Figure, at_most, best, cpu_seconds_of
from ghostfleet.core.collector import sparing_collector
from ghostfleet.schedulers.kai.actions import ACTIONS
from ghostfleet.schedulers.kai.cluster_info import ClusterInfo
from ghostfleet.schedulers.kai.conf import SchedulerConfiguration
from ghostfleet.schedulers.kai.cycle import open_session, run_once
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.pod_info import Pod, PodInfo
from ghostfleet.schedulers.kai.pod_status import PENDING, RUNNING
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.queue_info import QueueInfo, ResourceQuota
from ghostfleet.schedulers.kai.resources import Resource, ResourceRequirements
from ghostfleet.schedulers.kai.subgroup_info import DEFAULT_SUB_GROUP, PodSet, SubGroupSet

__all__ = ["run"]

_GPUS = 8
_NOW = 1_000_000.0
#: Seconds of KAI's reclaim action by number of nodes.
_KAI_RECLAIM = {100: 0.45, 200: 2.95, 500: 33.0, 1000: 247.0}
_KAI_FILL = 398.0

_ONE_GPU = ResourceRequirements(cpu=1000, memory=1e9, count=1, portion=1)
_EIGHT_GPUS = ResourceRequirements(cpu=1000, memory=1e9, count=_GPUS, portion=1)
_FREE = ResourceQuota(-1, -1, 1)


def run() -> Iterator[Figure]:
    fill = best(lambda: _fill(500, 4_000), lowest=True)
    yield Figure("4,000 one-GPU jobs on 500 nodes", fill, "s", Baseline("KAI on 5 CPUs", _KAI_FILL), at_most(8))
    idle = best(lambda: _idle(4_000, 30_000), lowest=True)
    yield Figure("a cycle without work, 4,000 nodes, 30,000 pods", idle, "s", Baseline("KAI's period", 1), at_most(0.2))
    print("\nreclaim for one gang of n/10 pods x 8 GPUs from 8n one-GPU jobs, seconds of the action")
    print(f"{'nodes':>8}{'here':>12}{'KAI':>12}{'growth':>18}")
    times: dict[int, float] = {}
    for nodes, theirs in _KAI_RECLAIM.items():
        times[nodes] = _reclaim(nodes)
        print(f"{nodes:>8}{times[nodes]:>12.3f}{theirs:>12.2f}{_growth(times, nodes):>18}", flush=True)
    yield Figure("reclaim at 1,000 nodes", times[1000], "s", Baseline("KAI", _KAI_RECLAIM[1000]), at_most(10))
    growth = times[1000] / times[100]
    yield Figure("reclaim at 1,000 nodes over 100", growth, "times", Baseline("KAI", 247 / 0.45), at_most(100))


def _growth(times: dict[int, float], nodes: int) -> str:
    before = [each for each in times if each < nodes]
    if not before:
        return ""
    last = before[-1]
    return f"{times[nodes] / times[last]:.1f}x for {nodes / last:g}x"


def _fill(nodes: int, jobs: int) -> float:
    cluster = _cluster(nodes, [QueueInfo(f"queue-{index}", "all", gpu=_FREE) for index in range(4)])
    for index in range(jobs):
        _add_job(cluster, f"job-{index:05}", f"queue-{index % 4}", index, [_ONE_GPU], [])
    with sparing_collector():
        return cpu_seconds_of(lambda: _expect(len(run_once(cluster, SchedulerConfiguration(), _NOW).binds), jobs))


def _idle(nodes: int, pods: int) -> float:
    cluster = _cluster(nodes, [QueueInfo(f"queue-{index}", "all", gpu=_FREE) for index in range(20)])
    for index in range(pods):
        node = f"node-{index % nodes:04}"
        _add_job(cluster, f"job-{index:05}", f"queue-{index % 20}", index, [_ONE_GPU], [node])
    with sparing_collector():
        return cpu_seconds_of(lambda: _expect(len(run_once(cluster, SchedulerConfiguration(), _NOW).log), 0))


def _reclaim(nodes: int) -> float:
    half = ResourceQuota(nodes * _GPUS / 2, -1, 1)
    queues = [QueueInfo("queue-0", "all", gpu=half), QueueInfo("queue-1", "all", gpu=half, created=60)]
    cluster = _cluster(nodes, queues)
    for index in range(nodes * _GPUS):
        node = f"node-{index // _GPUS:04}"
        _add_job(cluster, f"job-{index:05}", "queue-0", index, [_ONE_GPU], [node])
    pods = nodes // 10
    _add_job(cluster, "large", "queue-1", nodes * _GPUS, [_EIGHT_GPUS] * pods, [])
    with sparing_collector():
        session = open_session(cluster, SchedulerConfiguration(), _NOW)
        seconds = cpu_seconds_of(lambda: ACTIONS["reclaim"](session))
    _expect(len(session.decisions.pipelines), pods)
    _expect(len(session.decisions.evictions), pods * _GPUS)
    return seconds


def _expect(count: int, expected: int) -> None:
    if count != expected:
        raise AssertionError(f"{count} decisions where {expected} are expected")


def _cluster(nodes: int, queues: list[QueueInfo]) -> ClusterInfo:
    for queue in queues:
        queue.cpu = queue.memory = _FREE
    top = QueueInfo("all", cpu=_FREE, memory=_FREE, gpu=_FREE)
    labels = {"nvidia.com/gpu.count": str(_GPUS), "nvidia.com/gpu.memory": "80000"}
    allocatable = Resource(128_000, 1e12, _GPUS, 110)
    found = {f"node-{index:04}": NodeInfo(f"node-{index:04}", allocatable, labels) for index in range(nodes)}
    return ClusterInfo(nodes=found, queues={queue.uid: queue for queue in (top, *queues)})


def _add_job(
    cluster: ClusterInfo, name: str, queue: str, age: int, requests: list[ResourceRequirements], nodes: list[str]
) -> None:
    root = SubGroupSet()
    root.add_pod_set(PodSet(DEFAULT_SUB_GROUP, len(requests)))
    cluster.set_pod_group(PodGroupInfo(name, queue, created=float(age), root=root))
    for index, request in enumerate(requests):
        pod = Pod(f"{name}-{index:04}", f"{name}-{index:04}", "default", name, request=request)
        status, node = (RUNNING, nodes[index]) if index < len(nodes) else (PENDING, "")
        cluster.set_task(PodInfo(pod, status, node))
