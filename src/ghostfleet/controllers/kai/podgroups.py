"""The pod group controller: the status of a pod group says what its pods ask for and what they have got.

What cannot be preempted is said once more. Nothing else in a group's status is its business: why a group waits is told
by the scheduler, in `schedulingConditions`; phase, counters and conditions are fields that no part of KAI fills in.
"""

from __future__ import annotations

from typing import NamedTuple

from ghostfleet.controllers.kai.constants import POD_GROUP_ANNOTATION, POD_GROUPS
from ghostfleet.controllers.kai.resources import PodAmounts
from ghostfleet.controllers.kai.tally import Amounts, Tally
from ghostfleet.controllers.requests import Steps, update_status
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.profile import Profile
from ghostfleet.core.ratelimit import ItemExponentialBackoff
from ghostfleet.core.store import Reader, Store

__all__ = ["PodGroupController", "is_preemptible", "priority_of"]

_CLASSES = "priorityclasses.scheduling.k8s.io"
#: Published: pkg/common/podgroup/preemptible.go; groups of this priority and above are not preempted.
_NON_PREEMPTIBLE = 100
#: Published: pkg/common/constants/constants.go, DefaultPodGroupPriority.
_USUAL_PRIORITY = 50

Key = tuple[str, str]


def is_preemptible(store: Reader, pod_group: Object) -> bool:
    """Whether a pod group may be made to go for another: as it says, else by its priority."""
    spec = pod_group.get("spec") or {}
    if spec.get("preemptibility"):
        return bool(spec["preemptibility"] == "preemptible")
    return priority_of(store, pod_group) < _NON_PREEMPTIBLE


def priority_of(store: Reader, pod_group: Object) -> int:
    """The priority of a pod group: of its class, else of the default one, else KAI's own."""
    spec = pod_group.get("spec") or {}
    found = store.find(_CLASSES, "", spec.get("priorityClassName", ""))
    if found is None:
        found = next((each for each in store.list(_CLASSES) if each.get("globalDefault")), None)
    priority: int = found["value"] if found is not None else _USUAL_PRIORITY
    return priority


class _Member(NamedTuple):
    """A pod, as it counts for its group."""

    group: Key
    requested: Amounts
    allocated: Amounts


class _Group:
    """What the pods of a group come to."""

    __slots__ = ("allocated", "pods", "requested")

    def __init__(self) -> None:
        self.pods = 0
        self.requested = Tally()
        self.allocated = Tally()


class PodGroupController:
    """Keeps the resources of all pod groups of one store."""

    def __init__(self, store: Store, profile: Profile) -> None:
        self._store: Reader = store
        self._amounts = PodAmounts(store)
        self._members: dict[str, _Member] = {}
        self._groups: dict[Key, _Group] = {}
        self._workers: Workers[Key] = Workers(
            store,
            self._sync,
            count=profile.number("kai-pod-group-controller.workers"),
            client=profile.api_client("kai-pod-group-controller"),
            # Published: pkg/podgroupcontroller/controllers/pod_group_controller.go.
            retry=ItemExponentialBackoff(SECOND, 60 * SECOND),
        )
        store.listen("pods", self._notice_pod)
        store.listen(POD_GROUPS, self._notice)
        for pod in store.list("pods"):
            self._count(pod)
        for group in store.list(POD_GROUPS):
            self._workers.add((group["metadata"]["namespace"], group["metadata"]["name"]))

    def _notice(self, change: Change) -> None:
        if change.new is not None:
            self._workers.add((change.namespace, change.name))

    def _notice_pod(self, change: Change) -> None:
        if change.new is not None:
            self._count(change.new)
        elif change.old is not None:
            self._discount(change.old["metadata"]["uid"])

    def _count(self, pod: Object) -> None:
        metadata = pod["metadata"]
        name = (metadata.get("annotations") or {}).get(POD_GROUP_ANNOTATION)
        if name is None:
            self._discount(metadata["uid"])
            return
        key = (metadata["namespace"], name)
        member = _Member(key, self._amounts.requested(pod), self._amounts.allocated(pod))
        if self._members.get(metadata["uid"]) == member:
            return
        self._discount(metadata["uid"])
        self._members[metadata["uid"]] = member
        group = self._groups.setdefault(key, _Group())
        group.pods += 1
        group.requested.add(member.requested)
        group.allocated.add(member.allocated)
        self._workers.add(key)

    def _discount(self, uid: str) -> None:
        member = self._members.pop(uid, None)
        if member is None:
            return
        group = self._groups[member.group]
        group.pods -= 1
        group.requested.remove(member.requested)
        group.allocated.remove(member.allocated)
        if not group.pods:
            del self._groups[member.group]
        self._workers.add(member.group)

    def _sync(self, key: Key) -> Steps:
        pod_group = self._store.find(POD_GROUPS, *key)
        if pod_group is None or self._status(key, pod_group) == pod_group.get("status"):
            return
        yield update_status(POD_GROUPS, pod_group, lambda current: self._status(key, current))

    def _status(self, key: Key, pod_group: Object) -> Object:
        before = pod_group.get("status") or {}
        group = self._groups.get(key)
        found = {} if group is None else {"requested": group.requested.texts(), "allocated": group.allocated.texts()}
        if not is_preemptible(self._store, pod_group):
            found["allocatedNonPreemptible"] = found.get("allocated", {})
        elif "allocatedNonPreemptible" in before.get("resourcesStatus", {}):
            # What was said of a group before it became preemptible is never taken back.
            found["allocatedNonPreemptible"] = before["resourcesStatus"]["allocatedNonPreemptible"]
        return {**before, "resourcesStatus": {name: amounts for name, amounts in found.items() if amounts}}
