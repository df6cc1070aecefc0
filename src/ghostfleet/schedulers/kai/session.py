"""A session: one cycle's work on the snapshot, and the functions that plugins have put in.

A plugin is opened with the session and adds what it knows: how jobs, tasks, queues, pod sets, nodes and GPUs are
ordered, which nodes can take a task, which jobs may be victims, which scenarios are valid, what happens to its books
when tasks come and go. Actions ask the session and never a plugin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from ghostfleet.schedulers.kai.cluster_info import ClusterInfo
from ghostfleet.schedulers.kai.conf import PluginOption, SchedulerConfiguration
from ghostfleet.schedulers.kai.decisions import Bind, Decisions, Evict
from ghostfleet.schedulers.kai.eviction_messages import eviction_message
from ghostfleet.schedulers.kai.fit_errors import nodes_message
from ghostfleet.schedulers.kai.node_info import Bookings, NodeInfo
from ghostfleet.schedulers.kai.node_order import NodeOrder
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.pod_status import BINDING, RELEASING
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.queue_info import QueueInfo
from ghostfleet.schedulers.kai.scenario import Scenario
from ghostfleet.schedulers.kai.search import Search
from ghostfleet.schedulers.kai.shortage import shortages
from ghostfleet.schedulers.kai.statement import Statement
from ghostfleet.schedulers.kai.subgroup_info import PodSet, SubGroupSet

__all__ = ["CapacityResult", "Plugin", "Session"]

WHOLE_GPU = "-2"


class CapacityResult(Protocol):
    """Why a job may not have what it asks for now."""

    @property
    def reason(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def details(self) -> Mapping[str, object]: ...


class Plugin(Protocol):
    """A plugin opens with every session; what it wants to be asked it adds to the session."""

    def on_session_open(self, session: Session) -> None: ...


Key = Callable[[PodInfo], object]
CapacityCheck = Callable[[PodGroupInfo, Sequence[PodInfo]], "CapacityResult | None"]
SubsetNodes = Callable[
    [PodGroupInfo, "PodSet | SubGroupSet", Sequence[PodSet], Sequence[PodInfo], Sequence[NodeInfo]],
    "list[Sequence[NodeInfo]]",
]


class Session:
    """One cycle. `now` is a time in seconds; `plugins` build the plugins that the configuration names."""

    def __init__(
        self,
        cluster: ClusterInfo,
        config: SchedulerConfiguration,
        now: float,
        plugins: Callable[[PluginOption], Plugin | None],
    ) -> None:
        self.cluster = cluster
        self.config = config
        self.now = now
        self.nodes = cluster.nodes
        self.jobs = cluster.pod_groups
        self.queues = cluster.queues
        self.decisions = Decisions()
        self.searches: list[Search] = []
        #: Jobs as allocate took them, one that came back more than once.
        self.attempts: list[str] = []
        #: A job whose scenarios are noted down one by one, for those who ask why it waits.
        self.traced = ""
        #: What exactly the last validator objected to, where it can tell.
        self.refused_by: object | None = None
        #: Nodes that nobody may be put on for the time being.
        self.closed: frozenset[str] = frozenset()
        profile = config.profile
        self.min_gpu_memory = cluster.min_node_gpu_memory() if profile.true_min_gpu_memory else 100

        self.job_order_keys: list[Callable[[PodGroupInfo], object]] = []
        self.task_order_keys: list[Key] = []
        self.pod_set_order_keys: list[Callable[[PodSet], object]] = []
        self.queue_order: Callable[[QueueInfo, QueueInfo, QueueOrderJobs, QueueOrderJobs], int] | None = None
        self.bookings = Bookings()
        self._recount()
        for node in self.nodes.values():
            node.bookings = self.bookings
        self.node_order = NodeOrder(self.nodes, self.bookings.log)
        self.gpu_order_fns: list[Callable[[NodeInfo, str], float]] = []
        self.pre_predicates: list[Callable[[PodInfo, PodGroupInfo], str | None]] = []
        self.predicates: list[Callable[[PodInfo, PodGroupInfo, NodeInfo], str | None]] = []
        self.subset_nodes_fns: list[SubsetNodes] = []
        self.pre_job_allocation_fns: list[Callable[[PodGroupInfo], None]] = []
        self.can_reclaim_resources: Callable[[PodGroupInfo], bool] = _never
        self.reclaim_victim_filters: list[Callable[[PodGroupInfo, PodGroupInfo], bool]] = []
        self.preempt_victim_filters: list[Callable[[PodGroupInfo, PodGroupInfo], bool]] = []
        #: By plugin, what must hold for a scenario.
        self.reclaim_validators: dict[str, Callable[[Scenario], bool]] = {}
        self.preempt_validators: dict[str, Callable[[Scenario], bool]] = {}
        self.on_job_solution_start: list[Callable[[], None]] = []
        self.job_over_queue_capacity: CapacityCheck = _no_result
        self.non_preemptible_over_quota: CapacityCheck = _no_result
        self.task_over_capacity: Callable[[PodInfo, PodGroupInfo, NodeInfo], CapacityResult | None] = _no_task_result
        self.queue_figures: Callable[[str], str] | None = None
        self.allocate_handlers: list[Callable[[PodInfo], None]] = []
        self.deallocate_handlers: list[Callable[[PodInfo], None]] = []

        self._task_keys: dict[str, tuple[object, ...]] = {}
        self._refusals: dict[tuple[object, ...], tuple[int, str]] = {}
        self._hopeless: dict[tuple[object, ...], tuple[Sequence[NodeInfo], int]] = {}
        #: Tasks as they were before the session touched them, by uid.
        self._touched: dict[str, PodInfo] = {}
        for job in self.jobs.values():
            job.start_cycle()
        for option in config.plugins:
            plugin = plugins(option)
            if plugin is not None:
                plugin.on_session_open(self)

    # -- orders ------------------------------------------------------------------------------------------------

    def job_order_key(self, job: PodGroupInfo) -> tuple[object, ...]:
        """The least comes first: by the plugins, then the older job, then the uid."""
        if job.order_key is None:
            job.order_key = (*[key(job) for key in self.job_order_keys], job.created, job.uid)
        return job.order_key

    def task_order_key(self, task: PodInfo) -> tuple[object, ...]:
        found = self._task_keys.get(task.uid)
        if found is None:
            pod = task.pod
            found = (*[key(task) for key in self.task_order_keys], pod.created, pod.uid)
            self._task_keys[task.uid] = found
        return found

    def pod_set_order_key(self, pod_set: PodSet) -> tuple[object, ...]:
        return (*[key(pod_set) for key in self.pod_set_order_keys], pod_set.name)

    def queue_before(self, left: QueueInfo, right: QueueInfo, lefts: QueueOrderJobs, rights: QueueOrderJobs) -> bool:
        """Whether the left queue comes first, given their best jobs (or victims so far)."""
        if self.queue_order is not None:
            result = self.queue_order(left, right, lefts, rights)
            if result:
                return result < 0
        return (left.created, left.uid) < (right.created, right.uid)

    def fitting_gpus(self, node: NodeInfo, task: PodInfo) -> list[str]:
        """The GPUs of a node that can take a part of the task, best first; a whole one is told by WHOLE_GPU."""
        request = task.pod.request
        found = [group for group in node.shared.used if node.shared.fits_on(request, group)]
        if node.idle.gpus > 0 or node.releasing.gpus > 0:
            found += [WHOLE_GPU] * (int(node.idle.gpus) + int(node.releasing.gpus))
        scores = {group: sum(order(node, group) for order in self.gpu_order_fns) for group in set(found)}
        return sorted(found, key=lambda group: -scores[group])

    # -- where a task can go ------------------------------------------------------------------------------------

    def pre_predicate(self, task: PodInfo, job: PodGroupInfo) -> str | None:
        """Why the task can go nowhere at all, if so."""
        for check in self.pre_predicates:
            refusal = check(task, job)
            if refusal is not None:
                return refusal
        return None

    def fitting_node(self, task: PodInfo, job: PodGroupInfo, node: NodeInfo) -> bool:
        """Whether a node can take the task, now or when those who leave it are gone."""
        if not node.is_task_allocatable_on_releasing_or_idle(task.pod, task):
            return False
        return all(check(task, job, node) is None for check in self.predicates)

    def is_hopeless(self, task: PodInfo, job: PodGroupInfo, nodes: Sequence[NodeInfo]) -> bool:
        """Whether an alike task found no place on these nodes and nothing was given back since."""
        known = self._hopeless.get(_kind(task, job))
        return known is not None and known[0] is nodes and known[1] == self.bookings.freed

    def note_hopeless(self, task: PodInfo, job: PodGroupInfo, nodes: Sequence[NodeInfo]) -> None:
        """A task found no place. Tasks that others can draw in, or that share claims, are not taken note of."""
        pod = task.pod
        if not pod.affinity.pod_affinity and not pod.resource_claims and not pod.storage_claims:
            self._hopeless[_kind(task, job)] = (nodes, self.bookings.freed)

    def refusal(self, task: PodInfo, job: PodGroupInfo, nodes: Iterable[NodeInfo]) -> str:
        """How many nodes refuse a task, and why, in one line."""
        nodes = list(nodes)
        gang = sum(len(pod_set.tasks) for pod_set in job.pod_sets.values()) > 1
        version = len(self.bookings.log)
        key = (*_kind(task, job), gang, len(nodes))
        known = self._refusals.get(key)
        if known is not None and known[0] == version:
            return known[1]
        reasons: Counter[str] = Counter()
        for node in nodes:
            reasons.update(self.refusals_of(task, job, node))
        text = nodes_message(reasons.items())
        self._refusals[key] = (version, text)
        return text

    def refusals_of(self, task: PodInfo, job: PodGroupInfo, node: NodeInfo) -> Iterable[str]:
        """Why one node refuses a task; nothing when it does not."""
        if not node.is_task_allocatable_on_releasing_or_idle(task.pod, task):
            return shortages(task.pod, node)
        for check in self.predicates:
            refusal = check(task, job, node)
            if refusal is not None:
                return (refusal,)
        return ()

    def subset_nodes(
        self,
        job: PodGroupInfo,
        sub_group: PodSet | SubGroupSet,
        pod_sets: Sequence[PodSet],
        tasks: Sequence[PodInfo],
        nodes: Sequence[NodeInfo],
    ) -> list[Sequence[NodeInfo]]:
        """The sets of nodes to be tried one after the other for a part of a job."""
        node_sets: list[Sequence[NodeInfo]] = [nodes]
        for subset in self.subset_nodes_fns:
            node_sets = [found for each in node_sets for found in subset(job, sub_group, pod_sets, tasks, each)]
        return node_sets

    def pre_job_allocation(self, job: PodGroupInfo) -> None:
        for prepare in self.pre_job_allocation_fns:
            prepare(job)

    # -- what happens to tasks ------------------------------------------------------------------------------------

    def statement(self) -> Statement:
        """A list of changes that can be undone until it is committed."""
        return Statement(self)

    def touch(self, task: PodInfo) -> None:
        """A task is about to be changed: remember how it was."""
        if task.uid not in self._touched:
            self._touched[task.uid] = task.clone()

    def allocated(self, task: PodInfo) -> None:
        for handler in self.allocate_handlers:
            handler(task)

    def deallocated(self, task: PodInfo) -> None:
        for handler in self.deallocate_handlers:
            handler(task)

    def bind_pod(self, task: PodInfo) -> None:
        """Decide that a task is bound where it was allocated."""
        accepted = task.accepted
        self.decisions.add(
            Bind(
                task.uid,
                task.pod.job,
                task.node,
                task.received_type,
                accepted.count,
                accepted.portion,
                task.gpu_groups,
                dict(task.claims or {}),
            )
        )
        self.jobs[task.pod.job].update_task_status(task, BINDING)

    def evict(self, task: PodInfo, action: str, message: str, gang_size: int) -> None:
        """Decide at once that a task must go."""
        job = self.jobs[task.pod.job]
        self.touch(task)
        self.decisions.add(Evict(task.uid, job.uid, task.node, action, message, gang_size=gang_size))
        job.update_task_status(task, RELEASING)
        self.nodes[task.node].update_task(task)
        self.deallocated(task)

    def eviction_message(self, action: str, task: PodInfo, preemptor: PodGroupInfo) -> str:
        """What the pod's owner is told."""
        return eviction_message(self.queues, self.queue_figures, action, task, self.jobs[task.pod.job], preemptor)

    def close(self) -> None:
        """Give the snapshot back as it was; what was decided comes back by events."""
        for uid, before in self._touched.items():
            job = self.jobs.get(before.pod.job)
            current = None if job is None else job.find_task(uid)
            if job is None or current is None:
                continue
            if current.node in self.nodes:
                self.nodes[current.node].remove_task(uid)
            self.cluster.set_task(before)
        for name in {before.pod.job for before in self._touched.values()}:
            if name in self.jobs:
                self.jobs[name].recount()
        self._recount()

    def _recount(self) -> None:
        for node in self.nodes.values():
            if node.needs_recount:
                node.recount()

    def open_nodes(self) -> list[NodeInfo]:
        """The nodes that jobs may be put on."""
        return [node for node in self.nodes.values() if node.name not in self.closed]

    def depth(self, action: str) -> int:
        """How many jobs of a queue an action looks at; -1 for all."""
        return self.config.queue_depth_per_action.get(action, -1)


class QueueOrderJobs:
    """What stands for a queue when it is compared: its best pending job, or the victims popped from it so far (a list
    that only grows) and the next one."""

    __slots__ = ("pending", "popped", "victim")

    def __init__(
        self,
        pending: PodGroupInfo | None,
        popped: Sequence[PodGroupInfo] = (),
        victim: PodGroupInfo | None = None,
    ) -> None:
        self.pending = pending
        self.popped = popped
        self.victim = victim


def _kind(task: PodInfo, job: PodGroupInfo) -> tuple[object, ...]:
    """All that decides where a task can go."""
    return (task.pod.shape, task.pod.constraints, task.pod.namespace, job.queue, job.is_preemptible)


def _never(_job: PodGroupInfo) -> bool:
    return False


def _no_result(_job: PodGroupInfo, _tasks: Sequence[PodInfo]) -> None:
    return None


def _no_task_result(_task: PodInfo, _job: PodGroupInfo, _node: NodeInfo) -> None:
    return None
