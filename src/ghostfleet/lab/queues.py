"""The queues of KAI on any cluster: what each deserves, may have at most, has a fair share of, holds and asks for.

Fair shares are nowhere in the API: they are worked out here, from the objects of the cluster, as KAI's cycle does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ghostfleet.drive.interface import Cluster
from ghostfleet.lab.kaistate import KaiState, read_kai
from ghostfleet.schedulers.kai.cache.queues import queue_problem
from ghostfleet.schedulers.kai.cluster_info import ClusterInfo
from ghostfleet.schedulers.kai.conf import PluginOption, SchedulerConfiguration
from ghostfleet.schedulers.kai.plugins.proportion import ProportionPlugin
from ghostfleet.schedulers.kai.session import Session

__all__ = ["RESOURCES", "Amounts", "QueueState", "queue_states", "states_of"]

#: In KAI's order and units: thousandths of a core, bytes, devices.
RESOURCES = ("cpu", "memory", "gpu")


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


async def queue_states(cluster: Cluster, node_pool: str = "") -> list[QueueState]:
    """All queues of a node pool, each below its parent."""
    return states_of(await read_kai(cluster, node_pool))


def states_of(state: KaiState) -> list[QueueState]:
    """The same of a copy."""
    books = ProportionPlugin(_arguments(state.config))
    config = replace(state.config, plugins=(PluginOption("proportion"),))
    session = Session(state.info, config, state.now, lambda _option: books)
    session.close()
    return _tree(state.info, books)


def _arguments(config: SchedulerConfiguration) -> Mapping[str, str]:
    return next((each.arguments for each in config.plugins if each.name == "proportion"), {})


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
