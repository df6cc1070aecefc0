"""The jobs of all queues in the order in which an action takes them (JobsOrderByQueues of KAI).

A tree of heaps: the leaves hold jobs, the inner nodes queues that are compared by the best job below them. Nothing but
the top of a heap is repaired, and only when a job was popped from it or pushed into it. Victims come in the reverse
order: the least deserving job of the least deserving queue first, where a queue's victims so far count as gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ghostfleet.schedulers.kai.pod_status import ACTIVE_ALLOCATED, PENDING
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.priority_queue import INFINITE, PriorityQueue
from ghostfleet.schedulers.kai.queue_info import QueueInfo
from ghostfleet.schedulers.kai.session import QueueOrderJobs, Session
from ghostfleet.schedulers.kai.sorted_jobs import SortedJobs

__all__ = ["JobsOrder", "OrderOptions", "pending_jobs", "victims_order"]


@dataclass(frozen=True)
class OrderOptions:
    """Which jobs are taken in, and in which direction."""

    filter_unready: bool = False
    filter_non_preemptible: bool = False
    filter_non_active: bool = False
    victims: bool = False
    #: Whether ranks of jobs do not change while they wait, so that they can be sorted at once.
    fixed_ranks: bool = False
    depth: int = INFINITE


class _QueueNode:
    """A queue with jobs (a leaf) or with queues below it."""

    __slots__ = ("children", "jobs", "needs_reorder", "parent", "queue")

    def __init__(
        self,
        queue: QueueInfo,
        children: PriorityQueue[_QueueNode] | None,
        jobs: PriorityQueue[PodGroupInfo] | SortedJobs | None,
    ) -> None:
        self.queue = queue
        self.children = children
        self.jobs = jobs
        self.needs_reorder = False
        self.parent: _QueueNode | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.jobs if self.jobs is not None else self.children)


class JobsOrder:
    """Pop jobs one by one; push back one that has more to do."""

    def __init__(self, session: Session, options: OrderOptions, jobs: Iterable[PodGroupInfo] = ()) -> None:
        self._session = session
        self._options = options
        self._roots: PriorityQueue[_QueueNode] = PriorityQueue(self._node_less)
        self._nodes: dict[str, _QueueNode] = {}
        self._popped: dict[str, list[PodGroupInfo]] = {}
        taken = (job for job in jobs if self._is_taken(job))
        if options.fixed_ranks:
            self._sort(taken)
        else:
            for job in taken:
                self.push(job)

    def __bool__(self) -> bool:
        return bool(self._roots.items)

    def _is_taken(self, job: PodGroupInfo) -> bool:
        options = self._options
        if options.filter_unready and not job.is_ready:
            return False
        if options.filter_non_preemptible and not job.is_preemptible:
            return False
        if options.filter_non_active and not any(task.status & ACTIVE_ALLOCATED for task in job.tasks()):
            return False
        queue = self._session.queues.get(job.queue)
        return queue is not None and queue.is_rooted

    def _sort(self, jobs: Iterable[PodGroupInfo]) -> None:
        """Put all jobs in at once, queue by queue."""
        by_queue: dict[str, list[PodGroupInfo]] = {}
        for job in jobs:
            by_queue.setdefault(job.queue, []).append(job)
        key = self._session.job_order_key
        for uid, listed in by_queue.items():
            queue = self._session.queues[uid]
            if queue.is_leaf:
                leaf = _QueueNode(queue, None, SortedJobs(listed, key, self._options.victims))
                self._nodes[uid] = leaf
                self._link(leaf)
                self._mark(leaf)

    def push(self, job: PodGroupInfo) -> None:
        """Put a job in; one of a queue that has queues below it is left out."""
        queue = self._session.queues[job.queue]
        if not queue.is_leaf:
            return
        leaf = self._nodes.get(queue.uid)
        is_new = leaf is None
        if leaf is None:
            leaf = _QueueNode(queue, None, self._leaf_jobs())
            self._nodes[queue.uid] = leaf
        assert leaf.jobs is not None
        leaf.jobs.push(job)
        if is_new:
            self._link(leaf)
        self._mark(leaf)

    def _leaf_jobs(self) -> PriorityQueue[PodGroupInfo] | SortedJobs:
        if self._options.fixed_ranks:
            return SortedJobs((), self._session.job_order_key, self._options.victims)
        return PriorityQueue(self._job_less, self._options.depth)

    def _link(self, node: _QueueNode) -> None:
        """Hang a new node, which has something below it already, into the tree."""
        uid = node.queue.parent
        if not uid:
            self._roots.push(node)
            return
        parent = self._nodes.get(uid)
        is_new = parent is None
        if parent is None:
            parent = _QueueNode(self._session.queues[uid], PriorityQueue(self._node_less), None)
            self._nodes[uid] = parent
        assert parent.children is not None
        node.parent = parent
        parent.children.push(node)
        if is_new:
            self._link(parent)

    def pop(self) -> PodGroupInfo | None:
        """The next job."""
        heap: PriorityQueue[_QueueNode] | None = self._roots
        node = None
        while heap is not None:
            node = self._next(heap)
            if node is None:
                return None
            heap = node.children
        assert node is not None
        assert node.jobs is not None
        job = node.jobs.pop()
        if self._options.victims:
            self._popped.setdefault(node.queue.uid, []).append(job)
        self._handle_pop(node)
        return job

    def _next(self, heap: PriorityQueue[_QueueNode]) -> _QueueNode | None:
        while heap.items:
            node = heap.peek()
            if not node.needs_reorder:
                return node
            heap.fix(0)
            node.needs_reorder = False
        return None

    def _handle_pop(self, node: _QueueNode) -> None:
        current: _QueueNode | None = node
        while current is not None and current.is_empty:
            parent = current.parent
            heap = self._roots if parent is None else parent.children
            assert heap is not None
            heap.pop()
            del self._nodes[current.queue.uid]
            current = parent
        if current is not None:
            self._mark(current)

    def _mark(self, node: _QueueNode | None) -> None:
        while node is not None:
            node.needs_reorder = True
            node = node.parent

    def _job_less(self, left: PodGroupInfo, right: PodGroupInfo) -> bool:
        key = self._session.job_order_key
        return (left.order_key or key(left)) < (right.order_key or key(right))

    def _node_less(self, left: _QueueNode, right: _QueueNode) -> bool:
        backwards = self._options.victims
        if left.is_empty:
            return not backwards
        if right.is_empty:
            return backwards
        before = self._session.queue_before(left.queue, right.queue, self._best(left), self._best(right))
        return not before if backwards else before

    def _best(self, node: _QueueNode) -> QueueOrderJobs:
        while node.children is not None:
            node = node.children.peek()
        assert node.jobs is not None
        job = node.jobs.peek()
        if self._options.victims:
            return QueueOrderJobs(None, self._popped.setdefault(node.queue.uid, []), job)
        return QueueOrderJobs(job)


def pending_jobs(session: Session, action: str, *, preemptible_only: bool = False) -> JobsOrder:
    """The jobs that wait, as an action goes through them."""
    options = OrderOptions(
        filter_unready=True,
        filter_non_preemptible=preemptible_only,
        depth=session.depth(action),
    )
    waiting = [job for job in session.jobs.values() if PENDING in job.status_index]
    return JobsOrder(session, options, waiting)


def victims_order(session: Session, jobs: Iterable[PodGroupInfo]) -> JobsOrder:
    """Jobs in the order in which they become victims."""
    return JobsOrder(session, OrderOptions(victims=True, fixed_ranks=True), jobs)
