"""The queues of KAI on any cluster: what each deserves, may have at most, has a fair share of, holds and asks for.

Fair shares are nowhere in the API: they are worked out here, from the objects of the cluster, as KAI's cycle does it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ghostfleet.controllers.kai import BIND_REQUESTS, POD_GROUPS, QUEUES
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.core.store import Store
from ghostfleet.drive.interface import Cluster
from ghostfleet.lab.errors import LabError
from ghostfleet.schedulers.kai.cache import SchedulerCache
from ghostfleet.schedulers.kai.cache.queues import queue_problem
from ghostfleet.schedulers.kai.cluster_info import ClusterInfo
from ghostfleet.schedulers.kai.conf import PluginOption, SchedulerConfiguration
from ghostfleet.schedulers.kai.plugins.proportion import ProportionPlugin
from ghostfleet.schedulers.kai.session import Session

__all__ = ["RESOURCES", "Amounts", "QueueState", "queue_states"]

#: In KAI's order and units: thousandths of a core, bytes, devices.
RESOURCES = ("cpu", "memory", "gpu")
_KINDS = {
    "nodes": ("v1", "Node"),
    QUEUES: ("scheduling.run.ai/v2", "Queue"),
    "priorityclasses.scheduling.k8s.io": ("scheduling.k8s.io/v1", "PriorityClass"),
    POD_GROUPS: ("scheduling.run.ai/v2alpha2", "PodGroup"),
    BIND_REQUESTS: ("scheduling.run.ai/v1alpha2", "BindRequest"),
    "pods": ("v1", "Pod"),
}


@dataclass(frozen=True)
class Amounts:
    """The figures of one resource; -1 is without limit."""

    quota: float
    limit: float
    weight: float
    fair_share: float
    allocated: float
    requested: float


@dataclass(frozen=True)
class QueueState:
    """A queue; `depth` is how many queues are above it."""

    name: str
    parent: str
    depth: int
    priority: int
    pending_pods: int
    resources: dict[str, Amounts]
    problem: str = ""


async def queue_states(cluster: Cluster, scheduler_name: str = "kai-scheduler") -> list[QueueState]:
    """All queues, each below its parent."""
    store = Store(VirtualClock(cluster.now()))
    for resource, (api_version, kind_name) in _KINDS.items():
        kind = await cluster.resolve(api_version, kind_name)
        if kind is None:
            raise LabError(f"the cluster has no {kind_name} ({api_version}): `ghostfleet up --scheduler kai` has KAI")
        for obj in await cluster.list(kind):
            _put(store, resource, obj)
    config = SchedulerConfiguration(scheduler_name=scheduler_name, plugins=(PluginOption("proportion"),))
    info = SchedulerCache(store, config, lambda: None).info
    books = ProportionPlugin({})
    Session(info, config, cluster.now() / SECOND, lambda _option: books)
    return _tree(info, books)


def _put(store: Store, resource: str, obj: Object) -> None:
    """Store an object with the time at which it was created."""
    stored = store.create(resource, obj)
    created = obj["metadata"].get("creationTimestamp")
    store.replace(resource, stored, {**stored, "metadata": {**stored["metadata"], "creationTimestamp": created}})


def _tree(info: ClusterInfo, books: ProportionPlugin) -> list[QueueState]:
    pending: dict[str, int] = {}
    for job in info.pod_groups.values():
        if job.queue in info.queues:
            for queue in books.way_up(job.queue):
                pending[queue.uid] = pending.get(queue.uid, 0) + len(job.pending)
    states: list[QueueState] = []

    def add(name: str, depth: int) -> None:
        queue, figures = info.queues[name], books.queues[name]
        amounts = {
            resource: Amounts(
                figures.deserved[index],
                figures.max_allowed[index],
                figures.weight[index],
                figures.fair_share[index],
                figures.allocated[index],
                figures.request[index],
            )
            for index, resource in enumerate(RESOURCES)
        }
        problem = "" if queue.is_rooted else queue_problem(info.queues, name)
        states.append(QueueState(name, queue.parent, depth, queue.priority, pending.get(name, 0), amounts, problem))
        for child in sorted(queue.children):
            add(child, depth + 1)

    for name in sorted(info.queues):
        if not info.queues[name].parent or not info.queues[name].is_rooted:
            add(name, 0)
    return states
