"""A node's accounts: what is idle, what is being released, what is used, and by whom.

Idle and releasing leave shared GPUs out; these are kept by group (`GpuSharing`). A task that runs takes from idle, one
that is leaving counts as releasing, and a pipelined one takes from releasing. A node keeps a copy of each task, so that
it can take back what it booked whatever became of the task since.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ghostfleet.schedulers.kai.gpu_sharing_node_info import GpuSharing
from ghostfleet.schedulers.kai.pod_info import FRACTION, MIG_INSTANCE, REGULAR, Pod, PodInfo
from ghostfleet.schedulers.kai.pod_status import ACTIVE_USED, PIPELINED, RELEASING
from ghostfleet.schedulers.kai.resources import Quantities, Resource, ResourceRequirements, is_mig
from ghostfleet.schedulers.kai.storage import StorageCapacity, sum_of, waiting_claims

__all__ = ["GPU_COUNT_LABEL", "GPU_MEMORY_LABEL", "Bookings", "NodeInfo"]

GPU_COUNT_LABEL = "nvidia.com/gpu.count"
GPU_MEMORY_LABEL = "nvidia.com/gpu.memory"
MIG_STRATEGY_LABEL = "nvidia.com/mig.strategy"
MIG_WORKER_LABEL = "node-role.kubernetes.io/mig-enabled"
DEFAULT_GPU_MEMORY = 100
TIB_IN_MIB = 1024 * 1024
_TRUE = ("1", "t", "T", "TRUE", "true", "True")


class Bookings:
    """The nodes on which something was booked, in that order, and how often something was given back."""

    __slots__ = ("freed", "log")

    def __init__(self) -> None:
        self.log: list[NodeInfo] = []
        self.freed = 0


class NodeInfo:
    """A node. `not_ready` holds the reasons why no pod may come, if any."""

    __slots__ = (
        "_accepted",
        "allocatable",
        "bookings",
        "gpu_count",
        "gpu_memory",
        "gpu_memory_synced",
        "has_dra_gpus",
        "idle",
        "is_mig_enabled",
        "labels",
        "legacy_mig_tasks",
        "max_tasks",
        "mig_strategy",
        "name",
        "needs_recount",
        "not_ready",
        "releasing",
        "shared",
        "storage",
        "taints",
        "tasks",
        "used",
    )

    def __init__(
        self,
        name: str,
        allocatable: Resource,
        labels: Mapping[str, str] | None = None,
        *,
        max_tasks: int = 110,
        taints: Sequence[Mapping[str, Any]] = (),
        not_ready: Sequence[str] = (),
        dra_gpus: float = 0.0,
        gpu_memory_synced: bool | None = None,
        storage: Sequence[StorageCapacity] = (),
    ) -> None:
        self.name = name
        self.labels = labels or {}
        self.allocatable = allocatable.clone()
        self.allocatable.gpus += dra_gpus
        self.has_dra_gpus = dra_gpus > 0
        self.idle = self.allocatable.clone()
        self.releasing = Resource()
        self.used = Resource()
        self.max_tasks = max_tasks
        self.taints = taints
        self.not_ready = tuple(not_ready)
        self.gpu_memory, synced = _gpu_memory(self.labels)
        self.gpu_memory_synced = synced if gpu_memory_synced is None else gpu_memory_synced
        self.gpu_count = _gpu_count(self.labels, allocatable)
        self.is_mig_enabled = _is_mig_enabled(self.labels, allocatable)
        self.mig_strategy = self.labels.get(MIG_STRATEGY_LABEL, "") if self.is_mig_enabled else ""
        self.storage: dict[str, list[StorageCapacity]] = {}
        for capacity in storage:
            self.storage.setdefault(capacity.storage_class, []).append(capacity)
        self.tasks: dict[str, PodInfo] = {}
        self.legacy_mig_tasks: dict[str, str] = {}
        self.shared = GpuSharing(self)
        #: Where a session wants to be told that something was booked.
        self.bookings = Bookings()
        #: Whether tasks that share GPUs came or went: in KAI's books that leaves traces, which a new snapshot has not.
        self.needs_recount = False
        self._accepted: dict[tuple[object, ...], ResourceRequirements] = {}

    def add_task(self, task: PodInfo, *, moved: bool = False) -> bool:
        """Book a task; false if it is booked already, unless it moved to another GPU of this node."""
        self._accept(task)
        if task.uid in self.tasks and not (moved and task.is_shared_allocation):
            return False
        copy = task.clone()
        self.tasks[task.uid] = copy
        if task.pod.legacy_mig:
            self.legacy_mig_tasks[task.uid] = f"{task.pod.namespace}/{task.pod.name}"
        self._book(copy, 1)
        self._book_storage(copy, 1)
        return True

    def remove_task(self, uid: str) -> bool:
        """Take back what was booked for a task; false if nothing was."""
        task = self.tasks.pop(uid, None)
        if task is None:
            return False
        self._book_storage(task, -1)
        self._book(task, -1)
        return True

    def recount(self) -> None:
        """Book all tasks anew, as in a new snapshot."""
        tasks, self.tasks = self.tasks, {}
        self.idle, self.releasing, self.used = self.allocatable.clone(), Resource(), Resource()
        self.shared = GpuSharing(self)
        self.legacy_mig_tasks = {}
        for uid in sorted(tasks):
            self.add_task(tasks[uid])
        self.needs_recount = False

    def update_task(self, task: PodInfo) -> bool:
        """Book a task anew, with the status that it has now."""
        held = self.tasks.get(task.uid)
        if held is None:
            return False
        self._accept(task)
        if held.accepted is task.accepted and not task.is_shared_allocation and not task.pod.storage_claims:
            self._rebook(held, task)
            return True
        return self.remove_task(task.uid) and self.add_task(task)

    def _rebook(self, held: PodInfo, task: PodInfo) -> None:
        """The same amounts with another status: only what differs is booked."""
        idle = _takes_idle(task.status) - _takes_idle(held.status)
        releasing = _gives_releasing(task.status) - _gives_releasing(held.status)
        accepted = task.accepted
        gpus = 0.0 if task.pod.reservation else accepted.device_gpus
        if idle:
            self.idle.add_base(accepted, -idle)
            self.idle.gpus -= idle * gpus
        if releasing:
            self.releasing.add_base(accepted, releasing)
            self.releasing.gpus += releasing * gpus
        self.bookings.log.append(self)
        if releasing > 0 or idle < 0:
            self.bookings.freed += 1
        held.status, held.virtual, held.node = task.status, task.virtual, task.node
        held.gpu_groups, held.claims = task.gpu_groups, task.claims

    def _book(self, task: PodInfo, sign: int) -> None:
        self.bookings.log.append(self)
        if sign < 0:
            self.bookings.freed += 1
        accepted = task.accepted
        gpus = 0.0 if task.is_shared_allocation or task.pod.reservation else sign * accepted.device_gpus
        self.used.add_base(accepted, sign)
        self.used.gpus += gpus
        status = task.status
        if status == PIPELINED:
            self.releasing.add_base(accepted, -sign)
            self.releasing.gpus -= gpus
        else:
            self.idle.add_base(accepted, -sign)
            self.idle.gpus -= gpus
            if status == RELEASING:
                self.releasing.add_base(accepted, sign)
                self.releasing.gpus += gpus
        if task.is_shared_allocation:
            self.needs_recount = True
            for group in task.gpu_groups:
                (self.shared.add if sign > 0 else self.shared.remove)(task, group)

    def _book_storage(self, task: PodInfo, sign: int) -> None:
        if not task.pod.storage_claims or not self.storage:
            return
        for storage_class, claims in waiting_claims(task).items():
            for capacity in self.storage.get(storage_class, ()):
                for key, claim in claims:
                    if sign > 0:
                        capacity.provisioned[key] = (claim, task.uid)
                    else:
                        capacity.provisioned.pop(key, None)

    def _accept(self, task: PodInfo) -> None:
        """What the task gets here: GPU memory becomes a portion of a device and a portion becomes memory."""
        if not task.status & ACTIVE_USED:
            return
        pod = task.pod
        if pod.request_type == MIG_INSTANCE:
            task.received_type = MIG_INSTANCE
            task.accepted = pod.request
        elif pod.is_shared_request:
            task.received_type = FRACTION
            task.accepted = self._accepted_fraction(pod.request)
        else:
            task.received_type = REGULAR
            task.accepted = pod.request

    def _accepted_fraction(self, asked: ResourceRequirements) -> ResourceRequirements:
        known = self._accepted.get(asked.shape)
        if known is not None:
            return known
        accepted = ResourceRequirements(
            cpu=asked.cpu,
            memory=asked.memory,
            pods=asked.pods,
            scalars=asked.scalars,
            count=asked.count,
            portion=self.gpu_portion(asked),
            gpu_memory=self.gpu_memory_of(asked),
        )
        self._accepted[asked.shape] = accepted
        return accepted

    def is_task_allocatable(self, pod: Pod, task: PodInfo | None = None) -> bool:
        """Whether a task could start here now."""
        if pod.is_best_effort:
            return True
        if not self._fits(pod, self.idle):
            return False
        return not pod.storage_claims or task is None or self._storage_fits(task)

    def is_task_allocatable_on_releasing_or_idle(self, pod: Pod, task: PodInfo | None = None) -> bool:
        """Whether a task could start here once those who leave are gone."""
        releasing, idle = self.releasing, self.idle
        free = Resource.__new__(Resource)
        free.cpu = idle.cpu + releasing.cpu
        free.memory = idle.memory + releasing.memory
        free.gpus = idle.gpus + releasing.gpus
        free.pods = idle.pods + releasing.pods
        free.scalars = idle.scalars
        if releasing.scalars:
            free.scalars = {
                name: idle.scalars.get(name, 0) + releasing.scalars.get(name, 0)
                for name in {**idle.scalars, **releasing.scalars}
            }
        if not self._fits(pod, free):
            return False
        return not pod.storage_claims or task is None or self._storage_fits_when_released(task)

    def _fits(self, pod: Pod, free: Resource) -> bool:
        request = pod.request
        if not pod.is_shared_request:
            return self.is_valid_portion(request) and request.fits(free)
        if not request.base_fits(free) or not self.is_valid_portion(request):
            return False
        return math.floor(free.gpus) + self.shared.fitting_count(request) >= request.count

    def _storage_fits(self, task: PodInfo) -> bool:
        if any(claim.deleted_owner for claim in task.pod.storage_claims.values()):
            return False
        for storage_class, claims in waiting_claims(task).items():
            needed = sum_of(claims)
            if not any(needed <= capacity.allocatable() for capacity in self.storage.get(storage_class, ())):
                return False
        return True

    def _storage_fits_when_released(self, task: PodInfo) -> bool:
        for storage_class, claims in waiting_claims(task).items():
            capacities = self.storage.get(storage_class)
            if capacities is None:
                return False
            needed = sum_of(claims)
            if any(needed > each.allocatable() + each.releasing(self.tasks) for each in capacities):
                return False
        return True

    def gpu_memory_of(self, asked: ResourceRequirements) -> int:
        """The GPU memory of one device that is asked for here, in MiB."""
        return asked.gpu_memory if asked.gpu_memory > 0 else int(asked.portion * self.gpu_memory)

    def gpu_portion(self, asked: ResourceRequirements) -> float:
        return self.portion_of(asked.gpu_memory) if asked.gpu_memory > 0 else asked.portion

    def portion_of(self, memory: int) -> float:
        """GPU memory as a part of a device of this node, rounded up to hundredths."""
        return math.ceil(memory / self.gpu_memory * 100) / 100

    def is_valid_portion(self, asked: ResourceRequirements) -> bool:
        portion = self.gpu_portion(asked)
        return portion <= 1 or portion == int(portion)

    def required_quota(self, pod: Pod) -> Quantities:
        """What a pod counts on this node against the limits of its queue; of whole GPUs KAI counts one."""
        request = pod.request
        if request.mig:
            return request.quantities
        return (request.cpu, request.memory, self.portion_of(self.gpu_memory_of(request)))

    def idle_gpus(self) -> tuple[float, int]:
        """Idle GPUs with what is left of shared ones, and their memory."""
        shared, memory = self.shared.available()
        whole = self.idle.gpus + self.idle.mig_gpus
        return shared + whole, memory + int(whole) * self.gpu_memory

    def releasing_gpus(self) -> tuple[float, int]:
        """GPUs that are being released with parts of shared ones, and their memory."""
        shared, memory = self.shared.releasing()
        whole = self.releasing.gpus + self.releasing.mig_gpus
        return shared + whole, memory + int(whole) * self.gpu_memory

    @property
    def is_cpu_only(self) -> bool:
        return not self.is_mig_enabled and self.allocatable.gpus <= 0 and not self.has_dra_gpus

    def __repr__(self) -> str:
        return f"<NodeInfo {self.name}: {self.idle.gpus} GPUs idle, {self.releasing.gpus} releasing>"


def _takes_idle(status: int) -> int:
    return status != PIPELINED


def _gives_releasing(status: int) -> int:
    return 1 if status == RELEASING else -1 if status == PIPELINED else 0


def _gpu_memory(labels: Mapping[str, str]) -> tuple[int, bool]:
    """The memory of a GPU by its label, in MiB, cut to hundreds; some tools write bytes."""
    try:
        memory = int(labels.get(GPU_MEMORY_LABEL, ""))
    except ValueError:
        return DEFAULT_GPU_MEMORY, False
    if memory >= TIB_IN_MIB:
        memory //= TIB_IN_MIB
    return memory - memory % 100, True


def _gpu_count(labels: Mapping[str, str], allocatable: Resource) -> int:
    try:
        return int(labels.get(GPU_COUNT_LABEL, ""))
    except ValueError:
        return int(allocatable.gpus)


def _is_mig_enabled(labels: Mapping[str, str], allocatable: Resource) -> bool:
    enabled = labels.get(MIG_WORKER_LABEL)
    if enabled is not None:
        return enabled in _TRUE
    return any(is_mig(name) for name in allocatable.scalars)
