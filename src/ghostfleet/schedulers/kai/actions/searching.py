"""What consolidation, reclaim and preempt share: jobs in their order, and for each a search for victims.

A job that is no easier to place than an alike one that failed is passed over, if the configuration says so
(signatures).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from ghostfleet.schedulers.kai.job_order import JobsOrder
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.search import Search
from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.solvers.by_pod_solver import Validators
from ghostfleet.schedulers.kai.solvers.feasible_nodes import feasible_nodes
from ghostfleet.schedulers.kai.solvers.job_solver import JobSolver
from ghostfleet.schedulers.kai.solvers.memory import SearchMemory
from ghostfleet.schedulers.kai.solvers.representatives import MinimalJobRepresentatives

__all__ = ["Searching"]

ALIKE_FAILED = "an alike job that is no harder to place found none"


class Searching:
    """The searches of one action."""

    def __init__(self, session: Session, action: str) -> None:
        self.session = session
        self._action = action
        self._memory = SearchMemory(session)
        self._failed: dict[str, MinimalJobRepresentatives] = {}

    def run(
        self,
        order: JobsOrder,
        attempt: Callable[[PodGroupInfo], bool],
        *,
        pool: Callable[[PodGroupInfo], str],
        may_try: Callable[[PodGroupInfo], bool] = lambda _job: True,
    ) -> None:
        """Go through jobs; those of one pool are measured against each other's failures."""
        signatures = self.session.config.use_scheduling_signatures
        while order:
            job = order.pop()
            if job is None:
                break
            if not may_try(job):
                continue
            failed = self._failed.setdefault(pool(job), MinimalJobRepresentatives())
            if signatures and not failed.is_easier(job):
                self.pass_over(job, ALIKE_FAILED)
            elif not attempt(job):
                failed.update(job)

    def pass_over(self, job: PodGroupInfo, why: str) -> bool:
        """Note that a search was not begun; always false."""
        self.session.searches.append(Search(self._action, job.uid, not_begun=why))
        return False

    def solve(
        self,
        job: PodGroupInfo,
        nodes: Iterable[NodeInfo],
        validators: Validators,
        kind: Hashable,
        victims: Callable[[], JobsOrder],
    ) -> bool:
        """Search for victims, whose order is the same for all jobs of a kind, and decide if it succeeds."""
        known = self._memory.victims(kind, victims)
        feasible = feasible_nodes(nodes, job)
        statement = JobSolver(self.session, self._memory, feasible, validators, known, self._action).solve(job)
        if statement is None:
            return False
        statement.commit()
        return True
