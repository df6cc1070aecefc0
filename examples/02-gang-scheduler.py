"""A scheduler with gangs: the pods of a group run together or not at all, and evict less important pods if they must.

Pods ask for it with `schedulerName: gangs` and have labels `gang` and `gang-size`. Plug it in with `--scheduler
examples/02-gang-scheduler.py:Gangs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from ghostfleet.schedulers.framework import Decision, Group, PodInfo, Reject, Session, Statement


class Gangs:
    """All pods of a gang, or none."""

    name = "gangs"

    def schedule(self, session: Session) -> Iterator[Decision | Group]:
        for _, pods in groupby(session.pending, key=lambda pod: (pod.priority, pod.labels.get("gang", pod.name))):
            gang = list(pods)
            if len(gang) < int(gang[0].labels.get("gang-size", "1")):
                yield Group(*(Reject(pod, "waits for the rest of its gang") for pod in gang))
                continue
            with session.statement() as trial:
                if all(self.place(session, trial, pod) for pod in gang):
                    yield trial.commit("makes room for a gang")
                    continue
            yield Group(*(Reject(pod, f"no room for all {len(gang)} pods of its gang") for pod in gang))

    def place(self, session: Session, trial: Statement, pod: PodInfo) -> bool:
        """Find a node for a pod; while there is none, evict the least important pod that has less right to its room."""
        while (node := session.pick(pod)) is None:
            there = [each for node in session.nodes for each in node.pods if each.priority < pod.priority]
            if not there or pod.nominated:
                return False
            trial.evict(min(there, key=lambda each: (each.priority, each.key)))
        trial.assume(pod, node)
        return True
