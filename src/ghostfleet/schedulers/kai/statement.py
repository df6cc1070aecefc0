"""A statement: evictions, allocations and pipelinings that take effect in the session at once and can be taken back.

Every operation knows how to undo itself, and an undoing is an operation too, so that it can be undone in turn.
`rollback` goes back to a `checkpoint`, `discard` to the beginning; `commit` turns what still holds into decisions.
Pipelining a task on the node that it was evicted from takes the eviction back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ghostfleet.schedulers.kai.decisions import Evict, Pipeline
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.pod_status import ALLOCATED, PENDING, PIPELINED, RELEASING
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo

if TYPE_CHECKING:
    from ghostfleet.schedulers.kai.session import Session

__all__ = ["Eviction", "Statement"]

EVICT, ALLOCATE, PIPELINE, UNDO = "evict", "allocate", "pipeline", "undo"


@dataclass(frozen=True)
class Eviction:
    """Why tasks are evicted: by which action, for which job."""

    action: str
    preemptor: PodGroupInfo

    def of(self, session: Session, task: PodInfo, gang_size: int) -> Evict:
        """The decision on one of so many tasks."""
        preemptor = self.preemptor
        message = session.eviction_message(self.action, task, preemptor)
        name = f"{preemptor.namespace}/{preemptor.name}"
        return Evict(task.uid, task.pod.job, task.node, self.action, message, name, gang_size)


@dataclass(slots=True, eq=False)
class _Operation:
    name: str
    task: PodInfo | None
    reverse: Callable[[], object]
    redo: Callable[[], object]
    eviction: Eviction | None = None
    undoes: int = -1
    #: The operation that undid this one.
    undone_by: int = -1


class Statement:
    """Operations in their order."""

    __slots__ = ("_evictions", "_operations", "_session")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._operations: list[_Operation] = []
        #: By task, its evictions among the operations.
        self._evictions: dict[str, list[int]] = {}

    def checkpoint(self) -> int:
        return len(self._operations)

    def rollback(self, checkpoint: int) -> None:
        """Undo what was done since a checkpoint."""
        for index in range(len(self._operations) - 1, checkpoint - 1, -1):
            self._undo(index)
        for operation in self._operations[checkpoint:]:
            undone = self._operations[operation.undoes] if 0 <= operation.undoes < checkpoint else None
            if undone is not None and undone.undone_by >= checkpoint:
                undone.undone_by = -1
            if operation.name == EVICT and operation.task is not None:
                self._evictions[operation.task.uid].pop()
        del self._operations[checkpoint:]

    def discard(self) -> None:
        """Undo everything."""
        for index in range(len(self._operations) - 1, -1, -1):
            self._undo(index)
        self._operations.clear()
        self._evictions.clear()

    def commit(self) -> None:
        """Turn all that still holds into decisions."""
        session = self._session
        valid = [self._operations[index] for index in range(len(self._operations)) if self._valid(index)]
        # A task of an elastic job may have been evicted twice, as a recorded and as a potential victim.
        evicted = {each.task.uid: False for each in valid if each.eviction is not None and each.task is not None}
        for operation in valid:
            task = operation.task
            if task is None:
                continue
            if operation.eviction is not None:
                if not evicted[task.uid]:
                    session.decisions.add(operation.eviction.of(session, task, len(evicted)))
                evicted[task.uid] = True
                task.virtual = False
                if session.config.profile.forgets_evicted_tasks:
                    session.jobs[task.pod.job].forget_answers()
            elif operation.name == PIPELINE:
                session.decisions.add(Pipeline(task.uid, task.pod.job, task.node, task.gpu_groups))
            elif operation.name == ALLOCATE:
                for group in task.gpu_groups if task.is_shared_allocation else ():
                    session.nodes[task.node].shared.used.setdefault(group, 0)
                task.virtual = False
                session.bind_pod(task)
        self._operations.clear()
        self._evictions.clear()

    def evict(self, task: PodInfo, eviction: Eviction) -> bool:
        """Take a task from its node; false if it has none."""
        session = self._session
        node = session.nodes.get(task.node)
        if node is None:
            return False
        job = session.jobs[task.pod.job]
        session.touch(task)
        status, groups, virtual, claims = task.status, task.gpu_groups, task.virtual, task.claims
        kept = None if claims is None else dict(claims)
        job.update_task_status(task, RELEASING)
        node.update_task(task)
        session.deallocated(task)
        self._add(
            EVICT,
            task,
            lambda: self._unevict(task, status, node, groups, kept, virtual),
            lambda: self.evict(task, eviction),
            eviction,
        )
        task.virtual = True
        return True

    def _unevict(
        self,
        task: PodInfo,
        status: int,
        node: NodeInfo,
        groups: tuple[str, ...],
        claims: dict[str, tuple[str, ...]] | None,
        virtual: bool,
    ) -> None:
        self._session.jobs[task.pod.job].update_task_status(task, status)
        task.gpu_groups = groups
        task.virtual = virtual
        task.claims = claims
        if not node.update_task(task):
            node.add_task(task)
        self._session.allocated(task)

    def pipeline(self, task: PodInfo, node_name: str, *, update_if_there: bool) -> bool:
        """Give a task a place on a node that may have to be left by somebody first; false if that cannot be."""
        session = self._session
        job, node = session.jobs[task.pod.job], session.nodes[node_name]
        there = node.tasks.get(task.uid)
        moves = (
            there is not None
            and bool(task.gpu_groups)
            and task.is_shared_allocation
            and task.gpu_groups != there.gpu_groups
        )
        if there is not None and not update_if_there and not moves:
            task.gpu_groups = there.gpu_groups
            return self.undo_eviction(task)
        session.touch(task)
        status, previous_node, groups, virtual = task.status, task.node, task.gpu_groups, task.virtual
        claims = None if task.claims is None else dict(task.claims)
        job.update_task_status(task, PIPELINED)
        task.node = node_name
        if there is not None and moves:
            groups = there.gpu_groups
            node.add_task(task, moved=True)
        elif there is not None:
            node.update_task(task)
        else:
            node.add_task(task)
        session.allocated(task)
        self._add(
            PIPELINE,
            task,
            lambda: self._unpipeline(task, previous_node, status, groups, claims, virtual),
            lambda: self.pipeline(task, node_name, update_if_there=True),
        )
        task.virtual = True
        return True

    def _unpipeline(
        self,
        task: PodInfo,
        node: str,
        status: int,
        groups: tuple[str, ...],
        claims: dict[str, tuple[str, ...]] | None,
        virtual: bool,
    ) -> None:
        session = self._session
        session.jobs[task.pod.job].update_task_status(task, status)
        pipelined_to = session.nodes[task.node]
        task.node = node
        task.gpu_groups = groups
        task.virtual = virtual
        pipelined_to.remove_task(task.uid)
        session.deallocated(task)
        task.claims = claims

    def allocate(self, task: PodInfo, node_name: str) -> bool:
        """Give a task a place that is free."""
        session = self._session
        session.touch(task)
        session.jobs[task.pod.job].update_task_status(task, ALLOCATED)
        task.node = node_name
        session.nodes[node_name].add_task(task)
        session.allocated(task)
        virtual = task.virtual
        self._add(
            ALLOCATE,
            task,
            lambda: self._unallocate(task, virtual),
            lambda: self.allocate(task, node_name),
        )
        task.virtual = True
        return True

    def _unallocate(self, task: PodInfo, virtual: bool) -> None:
        session = self._session
        session.jobs[task.pod.job].update_task_status(task, PENDING)
        session.nodes[task.node].remove_task(task.uid)
        task.node = ""
        task.virtual = virtual
        session.deallocated(task)

    def convert_all_allocated_to_pipelined(self, job: str) -> None:
        """A job that waits for somebody to leave waits with all its tasks."""
        for operation in list(self._operations):
            task = operation.task
            if task is None or operation.name != ALLOCATE or task.pod.job != job:
                continue
            node = task.node
            self._unallocate(task, virtual=True)
            self.pipeline(task, node, update_if_there=True)
        kept = [
            operation
            for operation in self._operations
            if not (operation.name == ALLOCATE and operation.task is not None and operation.task.pod.job == job)
        ]
        self._operations, self._evictions = kept, {}
        for index, operation in enumerate(kept):
            if operation.name == EVICT and operation.task is not None:
                self._evictions.setdefault(operation.task.uid, []).append(index)

    def _add(
        self,
        name: str,
        task: PodInfo,
        reverse: Callable[[], object],
        redo: Callable[[], object],
        eviction: Eviction | None = None,
    ) -> None:
        if name == EVICT:
            self._evictions.setdefault(task.uid, []).append(len(self._operations))
        self._operations.append(_Operation(name, task, reverse, redo, eviction))

    def undo_eviction(self, task: PodInfo) -> bool:
        """Take back the first eviction of a task that holds; false if there is none."""
        for index in self._evictions.get(task.uid, ()):
            if self._valid(index):
                self._undo(index)
                return True
        return False

    def _undo(self, index: int) -> None:
        if not self._valid(index):
            return
        operation = self._operations[index]
        operation.reverse()
        undone = operation.undoes
        redo = operation.redo if operation.name != UNDO else lambda: self._undo(undone)
        self._operations.append(_Operation(UNDO, None, redo, redo, undoes=index))
        if operation.undone_by < 0:
            operation.undone_by = len(self._operations) - 1

    def _valid(self, index: int) -> bool:
        """Whether an operation still holds: it was not undone, or its undoing was."""
        valid = True
        undone_by = self._operations[index].undone_by
        while undone_by >= 0:
            valid = not valid
            undone_by = self._operations[undone_by].undone_by
        return valid
