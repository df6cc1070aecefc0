"""proportion: fair shares, the order of queues, their limits and quotas, and what may be reclaimed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ghostfleet.schedulers.kai.allocation_info import init_resource
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.plugins.arguments import number
from ghostfleet.schedulers.kai.plugins.proportion.capacity_policy import CapacityPolicy, OverCapacity
from ghostfleet.schedulers.kai.plugins.proportion.queue_order import Standing, compare_by_rule, minus, plus
from ghostfleet.schedulers.kai.plugins.proportion.reclaimable import (
    Reclaimer,
    Victim,
    can_reclaim,
    hierarchy,
    reclaim_refusal,
)
from ghostfleet.schedulers.kai.plugins.proportion.resource_division import set_fair_shares
from ghostfleet.schedulers.kai.plugins.proportion.resource_share import QueueAttributes
from ghostfleet.schedulers.kai.pod_info import GPU_MEMORY, PodInfo
from ghostfleet.schedulers.kai.pod_status import ACTIVE_ALLOCATED, ACTIVE_USED, ALLOCATED_STATUSES, PENDING
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.queue_info import QueueInfo
from ghostfleet.schedulers.kai.resources import (
    CPU_RESOURCE,
    GPU_RESOURCE,
    MEMORY_RESOURCE,
    UNLIMITED,
    Quantities,
    Resource,
    ResourceRequirements,
    humanize,
)
from ghostfleet.schedulers.kai.scenario import Scenario, VictimInfo
from ghostfleet.schedulers.kai.session import QueueOrderJobs, Session
from ghostfleet.schedulers.kai.subgroup_info import DEFAULT_SUB_GROUP

__all__ = ["ProportionPlugin"]

MEMORY_UNIT = 1e6
GPU_WORKER_LABEL = "node-role.kubernetes.io/gpu-worker"
_NO_RESOURCE: Quantities = (0.0, 0.0, 0.0)


class ProportionPlugin:
    """The books of all queues in a session; `simulation` is how they stood when a job began to look for victims."""

    def __init__(self, arguments: Mapping[str, str]) -> None:
        # KAI reads the misspelt name.
        self.multiplier = max(number(arguments, "relcaimerSaturationMultiplier", 1.0), 1.0)
        self.k_value = max(number(arguments, "kValue", 1.0), 0.0)
        self.queues: dict[str, QueueAttributes] = {}
        self.simulation: dict[str, QueueAttributes] = {}
        self.totals: list[float] = [0.0, 0.0, 0.0]
        self._ways_up: dict[str, list[QueueAttributes]] = {}
        self._taken_by: dict[ResourceRequirements, Victim] = {}
        self._popped: dict[tuple[str, int], tuple[Sequence[PodGroupInfo], Quantities, int, Quantities]] = {}

    def on_session_open(self, session: Session) -> None:
        self._session = session
        for node in session.nodes.values():
            self._count_node(node)
        self.queues = {queue.uid: self._attributes(queue) for queue in session.queues.values()}
        self._count_jobs()
        set_fair_shares(self.totals, self.k_value, self.queues)
        self.simulation = self.queues
        self._policy = CapacityPolicy(self.way_up)
        session.queue_order = self._compare
        session.can_reclaim_resources = self._can_reclaim
        session.reclaim_validators["proportion"] = self._is_reclaimable
        session.on_job_solution_start.append(self._start_simulation)
        session.job_over_queue_capacity = self._job_over_capacity
        session.non_preemptible_over_quota = self._over_quota
        session.task_over_capacity = self._task_over_capacity
        session.allocate_handlers.append(self._allocated)
        session.deallocate_handlers.append(self._deallocated)
        session.queue_figures = self._figures

    def way_up(self, queue: str) -> list[QueueAttributes]:
        """A queue and its ancestors, from the bottom."""
        found = self._ways_up.get(queue)
        if found is None:
            found = self._ways_up[queue] = hierarchy(self.queues, queue)[::-1]
        return found

    # -- what there is and who has it -----------------------------------------------------------------------------

    def _count_node(self, node: NodeInfo) -> None:
        """Ready nodes count, without what pods of other schedulers hold there."""
        if node.not_ready:
            return
        config = self._session.config
        cpu, memory, gpus = node.allocatable.quantities
        if config.restrict_node_scheduling and GPU_WORKER_LABEL not in node.labels:
            gpus = 0.0
        for task in node.tasks.values():
            pod = task.pod
            if pod.scheduler_name != config.scheduler_name and task.status & ACTIVE_USED and not pod.reservation:
                held = pod.request.quantities
                cpu, memory, gpus = cpu - held[0], memory - held[1], gpus - held[2]
        self.totals[CPU_RESOURCE] += cpu
        self.totals[MEMORY_RESOURCE] += memory
        self.totals[GPU_RESOURCE] += gpus

    def _attributes(self, queue: QueueInfo) -> QueueAttributes:
        cpu, memory, gpu = queue.cpu, queue.memory, queue.gpu
        return QueueAttributes(
            uid=queue.uid,
            name=queue.name,
            parent=queue.parent,
            created=queue.created,
            priority=queue.priority,
            children=queue.children,
            deserved=[cpu.quota, max(UNLIMITED, memory.quota * MEMORY_UNIT), gpu.quota],
            max_allowed=[cpu.limit, max(UNLIMITED, memory.limit * MEMORY_UNIT), gpu.limit],
            weight=[cpu.over_quota_weight, memory.over_quota_weight, gpu.over_quota_weight],
            usage=list(self._session.cluster.usage.get(queue.uid, _NO_RESOURCE)),
        )

    def _count_jobs(self) -> None:
        """What jobs hold and ask for, queue by queue and then upwards."""
        counts: dict[str, _Count] = {}
        for job in self._session.jobs.values():
            count = counts.get(job.queue)
            if count is None:
                count = counts[job.queue] = _Count()
            for status, tasks in job.status_index.items():
                if status & ALLOCATED_STATUSES:
                    held = count.preemptible if job.is_preemptible else count.non_preemptible
                    for task in tasks.values():
                        _add(held, task.accepted.quantities, 1)
                elif status == PENDING:
                    for task in tasks.values():
                        _add(count.pending, self._wanted(task), 1)
        for uid, count in counts.items():
            for queue in self.way_up(uid):
                for amounts in (count.preemptible, count.non_preemptible):
                    _add(queue.allocated, amounts, 1)
                    _add(queue.request, amounts, 1)
                _add(queue.allocated_non_preemptible, count.non_preemptible, 1)
                _add(queue.request, count.pending, 1)

    def _wanted(self, task: PodInfo) -> Quantities:
        request = task.pod.request
        cpu, memory, gpus = request.quantities
        if task.pod.request_type == GPU_MEMORY:
            gpus += request.count * (request.gpu_memory / self._session.min_gpu_memory)
        return (cpu, memory, gpus)

    def _allocated(self, task: PodInfo) -> None:
        self._book(task, 1)

    def _deallocated(self, task: PodInfo) -> None:
        self._book(task, -1)

    def _book(self, task: PodInfo, sign: int) -> None:
        job = self._session.jobs[task.pod.job]
        held = task.accepted.quantities
        for queue in self.way_up(job.queue):
            _add(queue.allocated, held, sign)
            if not job.is_preemptible:
                _add(queue.allocated_non_preemptible, held, sign)

    def _figures(self, uid: str) -> str:
        queue = self.simulation[uid]
        shares = (queue.allocated, queue.deserved, queue.fair_share)
        allocated, quota, fair = (_told(share) for share in shares)
        return (
            f"{queue.name} uses <{allocated}> with a quota of <{quota}>, fair-share of <{fair}> "
            f"and queue priority of <{queue.priority}>."
        )

    # -- order and limits -----------------------------------------------------------------------------------------

    def _compare(self, left: QueueInfo, right: QueueInfo, lefts: QueueOrderJobs, rights: QueueOrderJobs) -> int:
        return compare_by_rule(self._standing(left.uid, lefts), self._standing(right.uid, rights), self.totals)

    def _standing(self, uid: str, jobs: QueueOrderJobs) -> Standing:
        queue = self.queues[uid]
        with_job = plus(queue.allocated, init_resource(self._session, jobs.pending).quantities)
        if jobs.victim is None:
            return Standing(queue, with_job, with_job)
        remaining = self._without_popped(uid, with_job, jobs.popped)
        return Standing(queue, with_job, minus(remaining, [jobs.victim.allocated.quantities]))

    def _without_popped(self, uid: str, with_job: Quantities, popped: Sequence[PodGroupInfo]) -> Quantities:
        """Without the victims popped so far; the list only grows, so what was taken away before need not be again."""
        key = (uid, id(popped))
        known = self._popped.get(key)
        start, remaining = 0, with_job
        if known is not None and known[0] is popped and known[1] == with_job:
            _popped, _with_job, start, remaining = known
        remaining = minus(remaining, (victim.allocated.quantities for victim in popped[start:]))
        self._popped[key] = (popped, with_job, len(popped), remaining)
        return remaining

    def _job_over_capacity(self, job: PodGroupInfo, tasks: Sequence[PodInfo]) -> OverCapacity | None:
        return self._policy.over_capacity(job.queue, job.is_preemptible, _quota_of(tasks))

    def _over_quota(self, job: PodGroupInfo, tasks: Sequence[PodInfo]) -> OverCapacity | None:
        return None if job.is_preemptible else self._policy.over_quota(job.queue, _quota_of(tasks))

    def _task_over_capacity(self, task: PodInfo, job: PodGroupInfo, node: NodeInfo) -> OverCapacity | None:
        return self._policy.over_capacity(job.queue, job.is_preemptible, node.required_quota(task.pod))

    # -- reclaim ----------------------------------------------------------------------------------------------------

    def _start_simulation(self) -> None:
        self.simulation = {uid: queue.clone() for uid, queue in self.queues.items()}

    def _reclaimer(self, job: PodGroupInfo) -> Reclaimer:
        needed = init_resource(self._session, job)
        return Reclaimer(job.queue, needed.quantities, _involved(needed), job.is_preemptible)

    def _can_reclaim(self, job: PodGroupInfo) -> bool:
        return can_reclaim(self.queues, self._reclaimer(job))

    def _is_reclaimable(self, scenario: Scenario) -> bool:
        victims: dict[str, list[Victim]] = {}
        for victim in scenario.victims.values():
            chunks = self._chunks(victim)
            if chunks:
                victims.setdefault(victim.job.queue, []).extend(chunks)
        refused = reclaim_refusal(self.simulation, self._reclaimer(scenario.preemptor), victims, self.multiplier)
        self._session.refused_by = refused
        return refused is None

    def _only(self, task: PodInfo, ignore_moved: bool) -> list[Victim]:
        """A single task; what alike ones take is remembered."""
        if ignore_moved and task.status & ACTIVE_ALLOCATED:
            return []
        found = self._taken_by.get(task.accepted)
        if found is None:
            total = Resource()
            total.add_requirements(task.accepted)
            found = self._taken_by[task.accepted] = Victim(total.quantities, _involved(total))
        return [found]

    def _chunks(self, victim: VictimInfo) -> list[Victim]:
        """Tasks above the minimum of their pod set one by one, the others together."""
        ignore_moved = self._session.config.allow_consolidating_reclaim
        if len(victim.tasks) == 1:
            return self._only(victim.tasks[0], ignore_moved)
        by_pod_set: dict[str, list[PodInfo]] = {}
        for task in victim.tasks:
            by_pod_set.setdefault(task.pod.sub_group or DEFAULT_SUB_GROUP, []).append(task)
        core: list[PodInfo] = []
        groups: list[list[PodInfo]] = []
        for name, tasks in by_pod_set.items():
            minimum = victim.job.pod_sets[name].min_available
            core += tasks[:minimum]
            groups += [[task] for task in tasks[minimum:]]
        chunks = [_taken(tasks, ignore_moved) for tasks in (*groups, core)]
        return [chunk for chunk in chunks if chunk is not None]


class _Count:
    """What the jobs of one queue hold and ask for."""

    __slots__ = ("non_preemptible", "pending", "preemptible")

    def __init__(self) -> None:
        self.preemptible = [0.0, 0.0, 0.0]
        self.non_preemptible = [0.0, 0.0, 0.0]
        self.pending = [0.0, 0.0, 0.0]


def _add(books: list[float], held: Sequence[float], sign: int) -> None:
    books[0] += sign * held[0]
    books[1] += sign * held[1]
    books[2] += sign * held[2]


def _quota_of(tasks: Sequence[PodInfo]) -> Quantities:
    cpu = memory = gpus = 0.0
    for task in tasks:
        asked = task.pod.request.quantities
        cpu, memory, gpus = cpu + asked[0], memory + asked[1], gpus + asked[2]
    return (cpu, memory, gpus)


def _taken(tasks: Sequence[PodInfo], ignore_moved: bool) -> Victim | None:
    """What is taken together, without what found another place."""
    total = Resource()
    counted = 0
    for task in tasks:
        if ignore_moved and task.status & ACTIVE_ALLOCATED:
            continue
        total.add_requirements(task.accepted)
        counted += 1
    return Victim(total.quantities, _involved(total)) if counted else None


def _involved(resource: Resource) -> frozenset[int]:
    found = set()
    if resource.cpu > 0:
        found.add(CPU_RESOURCE)
    if resource.memory > 0:
        found.add(MEMORY_RESOURCE)
    if resource.gpus > 0:
        found.add(GPU_RESOURCE)
    return frozenset(found)


def _told(share: Sequence[float]) -> str:
    cpu, memory, gpu = share
    return f"GPU: {humanize(gpu)}, CPU: {humanize(cpu, 1000)} (cores), memory: {humanize(memory, 1e9)} (GB)"
