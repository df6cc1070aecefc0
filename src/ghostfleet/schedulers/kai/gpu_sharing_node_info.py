"""The shared GPUs of a node, by group: memory that is used, allocated and being released.

A group is one device that pods share. The first pod of a group takes a whole GPU out of idle; a group whose pods all
leave counts as one GPU that is being released; a pipelined pod takes from what is being released in its group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.pod_status import PIPELINED, RELEASING
from ghostfleet.schedulers.kai.resources import ResourceRequirements

if TYPE_CHECKING:
    from ghostfleet.schedulers.kai.node_info import NodeInfo

__all__ = ["GpuSharing"]


class GpuSharing:
    """Memory in MiB by group."""

    __slots__ = ("allocated", "marked", "node", "released", "used")

    def __init__(self, node: NodeInfo) -> None:
        self.node = node
        self.used: dict[str, int] = {}
        self.released: dict[str, int] = {}
        self.allocated: dict[str, int] = {}
        #: Groups that are booked as a whole GPU being released.
        self.marked: set[str] = set()

    def add(self, task: PodInfo, group: str) -> None:
        """A task is booked on a group."""
        node = self.node
        memory = node.gpu_memory_of(task.pod.request)
        used = self.used[group] = self.used.get(group, 0) + memory
        if task.status == RELEASING:
            released = self.released[group] = self.released.get(group, 0) + memory
            self.allocated[group] = self.allocated.get(group, 0) + memory
            if used == released:
                self._mark(group)
                if self._too_much_idle():
                    node.idle.gpus -= 1
        elif task.status == PIPELINED:
            released = self.released[group] = self.released.get(group, 0) - memory
            if used - memory == released + memory:
                node.releasing.gpus -= 1
        else:
            self.allocated[group] = self.allocated.get(group, 0) + memory
            if used <= memory and self._too_much_idle():
                node.idle.gpus -= 1
            self._unmark(group)

    def remove(self, task: PodInfo, group: str) -> None:
        """A task is no longer booked on a group."""
        node = self.node
        memory = node.gpu_memory_of(task.pod.request)
        used = self.used[group] = self.used.get(group, 0) - memory
        if task.status == RELEASING:
            self.released[group] = self.released.get(group, 0) - memory
            self.allocated[group] = self.allocated.get(group, 0) - memory
            if used <= 0:
                self._give_back_idle()
                self._unmark(group)
        elif task.status == PIPELINED:
            released = self.released[group] = self.released.get(group, 0) + memory
            if used + memory == released - memory or (used == 0 and released == 0):
                node.releasing.gpus += 1
        else:
            self.allocated[group] = self.allocated.get(group, 0) - memory
            if used <= 0:
                self._give_back_idle()
            if self._is_wholly_released(group):
                self._mark(group)

    def _mark(self, group: str) -> None:
        if group not in self.marked:
            self.node.releasing.gpus += 1
            self.marked.add(group)

    def _unmark(self, group: str) -> None:
        if group in self.marked:
            self.node.releasing.gpus -= 1
            self.marked.discard(group)

    def _accounted(self) -> int:
        return int(self.node.idle.gpus) + int(self.node.used.gpus) + self.used_count()

    def _too_much_idle(self) -> bool:
        return self.node.gpu_count < self._accounted()

    def _give_back_idle(self) -> None:
        if self.node.gpu_count >= self._accounted():
            self.node.idle.gpus += 1

    def _is_wholly_released(self, group: str) -> bool:
        used = self.used.get(group, 0)
        return used != 0 and group in self.released and self.released[group] == used

    def used_count(self) -> int:
        """How many GPUs are shared by somebody."""
        return sum(1 for memory in self.used.values() if memory > 0)

    def available(self) -> tuple[float, int]:
        """What is left of the GPUs that are shared, in devices and in MiB."""
        gpus, memory = 0.0, 0
        for allocated in self.allocated.values():
            if allocated > 0:
                gpus += 1 - self.node.portion_of(allocated)
                memory += self.node.gpu_memory - allocated
        return gpus, memory

    def releasing(self) -> tuple[float, int]:
        """What comes back of GPUs that others go on using."""
        gpus, memory = 0.0, 0
        for group, released in self.released.items():
            if released > 0 and not self._is_wholly_released(group):
                gpus += self.node.portion_of(released)
                memory += released
        return gpus, memory

    def fits_on(self, asked: ResourceRequirements, group: str) -> bool:
        """Whether a group that stays in use has room, now or when those who leave it are gone."""
        allocated, released = self.allocated.get(group, 0), self.released.get(group, 0)
        if self.used.get(group, 0) == 0 or allocated == released:
            return False
        return self.node.gpu_memory - allocated + released - self.node.gpu_memory_of(asked) >= 0

    def fits_idle_on(self, asked: ResourceRequirements, group: str) -> bool:
        """Whether a group has room now; a group that only pipelined tasks have chosen has none."""
        if group not in self.allocated:
            return False
        return self.node.gpu_memory - self.allocated[group] - self.node.gpu_memory_of(asked) >= 0

    def fitting_count(self, asked: ResourceRequirements) -> int:
        """How many groups have room, counted up to what is asked for."""
        fitting = 0
        for group in self.used:
            if self.fits_on(asked, group):
                fitting += 1
                if fitting >= asked.count:
                    break
        return fitting

    def used_portion(self, group: str) -> float:
        return self.used.get(group, 0) / self.node.gpu_memory
