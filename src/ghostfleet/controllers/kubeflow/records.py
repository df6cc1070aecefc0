"""Records: what the controller knows of a PyTorchJob's pods without looking at them again.

Each pod counts for its role as *active* (it runs), *succeeded* or *failed*, or not at all while it waits. A running pod
that is to go counts as failed: on a silent node it would never end. The counts follow every change of a pod, so that a
job with thousands of workers costs no more per change than one with few.
"""

from __future__ import annotations

from typing import NamedTuple

from ghostfleet.controllers.kubeflow.replicas import REPLICA_INDEX, REPLICA_TYPE, Role, RoleReader
from ghostfleet.core.changes import Object

__all__ = ["Place", "ReplicaStatus", "TrainingJobRecord"]

#: Which replica: the type as labels have it, and the index.
Place = tuple[str, int]


class ReplicaStatus(NamedTuple):
    """How many pods of a role are in which state."""

    active: int
    succeeded: int
    failed: int


_ACTIVE, _SUCCEEDED, _FAILED = "active", "succeeded", "failed"


def _state(pod: Object) -> str:
    phase = pod["status"].get("phase")
    if phase == "Running":
        return _FAILED if "deletionTimestamp" in pod["metadata"] else _ACTIVE
    return {"Succeeded": _SUCCEEDED, "Failed": _FAILED}.get(phase, "")


def _place(pod: Object) -> Place | None:
    labels = pod["metadata"].get("labels") or {}
    index = labels.get(REPLICA_INDEX, "")
    if REPLICA_TYPE not in labels or not (index.isascii() and index.isdigit()):
        return None
    return labels[REPLICA_TYPE], int(index)


class TrainingJobRecord:
    """The pods of one job."""

    __slots__ = (
        "_counts",
        "_reader",
        "_states",
        "key",
        "own_write",
        "pods",
        "problem",
        "roles",
        "served",
        "watches_restarts",
    )

    def __init__(self, job: Object, reader: RoleReader) -> None:
        self.key: tuple[str, str] = (job["metadata"]["namespace"], job["metadata"]["name"])
        self._reader = reader
        self.look_at(job)
        #: The pods that are there, by replica.
        self.pods: dict[Place, Object] = {}
        self._states: dict[Place, str] = {}
        self._counts: dict[tuple[str, str], int] = {}
        #: The job has a limit to the restarts of its containers.
        self.watches_restarts = False
        #: The controller is creating a pod itself, and needs no reminder of it.
        self.own_write = False

    def look_at(self, job: Object) -> None:
        """Take note of a job's spec."""
        self.roles, self.problem = self._reader.read(job)
        #: All services have been made.
        self.served = False

    def note(self, pod: Object, *, gone: bool) -> bool:
        """Take note of a pod's new state; true when the job is to be looked at again."""
        changed = self._note(pod, gone)
        # A job with a limit to its restarts looks at every change, for these are no change of state.
        return changed or self.watches_restarts

    def _note(self, pod: Object, gone: bool) -> bool:
        place = _place(pod)
        if place is None:
            return False
        if gone:
            known = self.pods.get(place)
            if known is None or known["metadata"]["uid"] != pod["metadata"]["uid"]:
                return False
            del self.pods[place]
        else:
            self.pods[place] = pod
        before = self._states.get(place)
        after = None if gone else _state(pod)
        if before == after:
            return False
        self._count(place, before, -1)
        self._count(place, after, 1)
        if after is None:
            del self._states[place]
        else:
            self._states[place] = after
        return True

    def _count(self, place: Place, state: str | None, by: int) -> None:
        if state:
            self._counts[place[0], state] = self._counts.get((place[0], state), 0) + by

    def tally(self, role: Role) -> ReplicaStatus:
        return ReplicaStatus(*(self._counts.get((role.word, state), 0) for state in (_ACTIVE, _SUCCEEDED, _FAILED)))

    def failed_pods(self, role: Role) -> list[tuple[Place, Object]]:
        """The role's pods in phase Failed."""
        if not self._counts.get((role.word, _FAILED)):
            return []
        return [
            (place, pod)
            for place, pod in self.pods.items()
            if place[0] == role.word and pod["status"].get("phase") == "Failed"
        ]

    def missing(self, role: Role) -> list[int]:
        """Indexes of the role's replicas that have no pod."""
        return [index for index in range(role.size) if (role.word, index) not in self.pods]

    def surplus(self, role: Role) -> list[Object]:
        """Pods of the role beyond its count."""
        if len(self.pods) <= sum(each.size for each in self.roles):
            return []
        return [pod for (word, index), pod in self.pods.items() if word == role.word and index >= role.size]

    def restarts(self) -> int:
        """How often containers of running pods were started again, where the role's policy has them started again."""
        words = {role.word for role in self.roles if role.restart_policy != "Never"}
        return sum(
            each.get("restartCount", 0)
            for (word, _), pod in self.pods.items()
            if word in words and pod["status"].get("phase") == "Running"
            for each in (
                *(pod["status"].get("initContainerStatuses") or ()),
                *(pod["status"].get("containerStatuses") or ()),
            )
        )
