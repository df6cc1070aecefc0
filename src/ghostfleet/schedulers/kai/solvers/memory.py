"""What an action remembers between jobs. It holds until something is decided: a search that fails changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from ghostfleet.schedulers.kai.job_order import JobsOrder
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.victims import Victims

__all__ = ["SearchMemory"]


class SearchMemory:
    """The orders of victims by kind of preemptor, the jobs that wait, and the idle GPUs of nodes."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._decided = -1
        self._victims: dict[Hashable, Victims] = {}
        self._pending: dict[str, PodGroupInfo] = {}
        self._idle_gpus: dict[str, float] = {}

    def victims(self, kind: Hashable, build: Callable[[], JobsOrder]) -> Victims:
        """Victims for a kind of preemptor, in their order."""
        self._refresh()
        if kind not in self._victims:
            self._victims[kind] = Victims(build)
        return self._victims[kind]

    def pending(self) -> Mapping[str, PodGroupInfo]:
        """All jobs that wait."""
        self._refresh()
        return self._pending

    def idle_gpus(self) -> Mapping[str, float]:
        """GPUs that are idle or being released, by node."""
        self._refresh()
        return self._idle_gpus

    def _refresh(self) -> None:
        session = self._session
        decided = len(session.decisions.log)
        if decided == self._decided:
            return
        self._decided = decided
        self._victims = {}
        self._pending = {job.uid: job for job in session.jobs.values() if job.pending}
        self._idle_gpus = {node.name: node.idle_gpus()[0] + node.releasing_gpus()[0] for node in session.nodes.values()}
