"""minruntime: jobs that started a short while ago are no victims.

How long is told by queues: for preemption the nearest queue upwards from the victim's, for reclaim the queue below the
lowest common ancestor towards the victim and then upwards (`lca`), or upwards from the victim's queue (`queue`). An
elastic job may lose tasks above its minimum all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ghostfleet.schedulers.kai.plugins.arguments import duration
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.queue_info import QueueInfo
from ghostfleet.schedulers.kai.scenario import Scenario, VictimInfo
from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.subgroup_info import DEFAULT_SUB_GROUP

__all__ = ["MinRuntime"]


class MinRuntime:
    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._default_reclaim = duration(arguments, "defaultReclaimMinRuntime")
        self._default_preempt = duration(arguments, "defaultPreemptMinRuntime")
        self._by_queue = arguments.get("reclaimResolveMethod") == "queue"
        self._reclaim: dict[tuple[str, str], float] = {}

    def on_session_open(self, session: Session) -> None:
        self._session = session
        self._reclaim.clear()
        session.reclaim_victim_filters.append(lambda job, victim: victim.is_elastic or not self._shielded(job, victim))
        session.preempt_victim_filters.append(lambda _job, victim: victim.is_elastic or not self._guarded(victim))
        session.reclaim_validators["minruntime"] = lambda scenario: self._is_valid(scenario, self._shielded)
        session.preempt_validators["minruntime"] = lambda scenario: self._is_valid(
            scenario, lambda _job, victim: self._guarded(victim)
        )

    def _is_valid(self, scenario: Scenario, protected: Callable[[PodGroupInfo, PodGroupInfo], bool]) -> bool:
        for victim in scenario.victims.values():
            job = victim.job
            if protected(scenario.preemptor, job) and job.is_elastic and not _keeps_minimum(victim):
                return False
        return True

    def _shielded(self, job: PodGroupInfo, victim: PodGroupInfo) -> bool:
        """Whether a job is protected from reclaim by another."""
        if victim.last_start is None:
            return False
        key = (job.queue, victim.queue)
        if key not in self._reclaim:
            self._reclaim[key] = self._reclaim_runtime(job.queue, victim.queue)
        return self._session.now < victim.last_start + self._reclaim[key]

    def _guarded(self, victim: PodGroupInfo) -> bool:
        """Whether a job is protected from preemption."""
        if victim.last_start is None:
            return False
        runtime = _first([queue.preempt_min_runtime for queue in self._path(victim.queue)[::-1]], self._default_preempt)
        return self._session.now < victim.last_start + runtime

    def _reclaim_runtime(self, reclaimer: str, victim: str) -> float:
        mine, theirs = self._path(reclaimer), self._path(victim)
        if not mine or not theirs:
            return self._default_reclaim
        if self._by_queue:
            asked = theirs[::-1]
        elif mine[0].uid != theirs[0].uid:
            asked = theirs[:1]
        else:
            shared = 0
            while shared < min(len(mine), len(theirs)) and mine[shared].uid == theirs[shared].uid:
                shared += 1
            asked = theirs[: shared + 1][::-1]
        return _first([queue.reclaim_min_runtime for queue in asked], self._default_reclaim)

    def _path(self, queue: str) -> list[QueueInfo]:
        """A queue with its ancestors, from the top."""
        path: list[QueueInfo] = []
        found = self._session.queues.get(queue)
        while found is not None and found not in path:
            path.append(found)
            found = self._session.queues.get(found.parent)
        return path[::-1]


def _first(runtimes: Sequence[float | None], default: float) -> float:
    return next((runtime for runtime in runtimes if runtime is not None), default)


def _keeps_minimum(victim: VictimInfo) -> bool:
    taken = Counter(task.pod.sub_group or DEFAULT_SUB_GROUP for task in victim.tasks)
    pod_sets = victim.job.pod_sets
    return all(pod_sets[name].min_available <= pod_sets[name].active_used - count for name, count in taken.items())
