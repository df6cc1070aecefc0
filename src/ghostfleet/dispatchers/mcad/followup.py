"""Following up: what becomes of wrappers once the better dispatcher has let them run.

Their items are created, and listened to. A wrapper is complete when its items are, with no pod of it at work any more.
One whose pods find no node after all, or too few of whose pods run, gives its place back and waits again; one that
fails, or runs for too long, does so for good.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ghostfleet.controllers.pods import controller_of
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import Handle
from ghostfleet.core.timestamps import rfc3339_micro
from ghostfleet.dispatchers.mcad.conditions import (
    HOLD,
    PENDING,
    RUNNING,
    backed_off,
    completed,
    dispatched,
    failed,
    held,
    queued,
    running,
    without_counts,
)
from ghostfleet.dispatchers.mcad.controller import Controller
from ghostfleet.dispatchers.mcad.occupancy import NodeOccupancy
from ghostfleet.dispatchers.mcad.pods import OwnPods, label_of
from ghostfleet.dispatchers.mcad.requeuing import judge
from ghostfleet.dispatchers.mcad.wrapper import Key, Wrapper

__all__ = ["FollowUp"]

_NAMESPACE_LABEL = "workload.codeflare.dev/appwrapper-namespace"


class _Record:
    """What is known of a wrapper that has been dispatched."""

    __slots__ = ("timer", "wrapper")

    def __init__(self, wrapper: Wrapper) -> None:
        self.wrapper = wrapper
        self.timer: Handle | None = None


class FollowUp(Controller):
    """The second half of the better dispatcher."""

    occupancy: NodeOccupancy

    def _count_pods(self) -> OwnPods:
        """Pods are counted by whose they are, when there is a reason to."""
        return OwnPods(self._api.store)

    def _begin(self) -> None:
        store = self._api.store
        self._records: dict[Key, _Record] = {}
        #: Wrappers by the uids of the objects that were created for them.
        self._owners: dict[str, Key] = {}
        self._listening: dict[str, Callable[[], None]] = {}
        self._rejoining: dict[Key, Handle] = {}
        self.occupancy = NodeOccupancy(store, self._owner, self._notice_pod, self._freed)
        self._patience = self.profile.duration("unschedulable.patience")
        self._stops.append(self.occupancy.stop)

    def _end(self) -> None:
        for stop in self._listening.values():
            stop()
        for handle in [*self._rejoining.values(), *(record.timer for record in self._records.values())]:
            if handle is not None:
                handle.cancel()

    def _freed(self) -> None:
        """There is more room, or more quota."""

    def _rejoin(self, key: Key) -> None:
        """A wrapper that had to give its place back waits again."""

    def _later(self, when: int, act: Callable[..., None], *arguments: Any) -> Handle | None:
        if when > self._clock.now():
            return self._clock.call_at(when, act, *arguments)
        act(*arguments)
        return None

    def _owner(self, pod: Object) -> Key | None:
        """The wrapper that a pod belongs to: by its labels, or by whom it is owned."""
        name = label_of(pod)
        if name:
            labels = pod["metadata"]["labels"]
            return labels.get(_NAMESPACE_LABEL) or pod["metadata"]["namespace"], name
        owner = controller_of(pod)
        if owner is not None and owner["kind"] == "ReplicaSet":
            found = self._api.store.find("replicasets.apps", pod["metadata"]["namespace"], owner["name"])
            owner = controller_of(found) if found is not None else None
        return self._owners.get(owner["uid"]) if owner is not None else None

    def _watch(self, wrapper: Wrapper) -> None:
        """Take notice of what becomes of a wrapper's items."""
        self._records[wrapper.key] = _Record(wrapper)
        for resource in self.items.resources(wrapper):
            if resource not in self._listening:
                self._listening[resource] = self._api.store.listen(resource, self._notice_item)

    def _take_over(self, wrapper: Wrapper) -> None:
        """Go on with a wrapper that was let run before the controller was started."""
        self._watch(wrapper)
        if self.appwrappers.status(wrapper.key).get("state") == PENDING:
            self._create(wrapper)
            return
        self._claim_items(wrapper)
        self._look_again(wrapper.key)
        self._clock.call_soon(self._look_for_completion, wrapper.key)

    def _claim_items(self, wrapper: Wrapper) -> None:
        for item in wrapper.items:
            made = self.items.find(wrapper, item)
            if made is not None:
                self._owners[made["metadata"]["uid"]] = wrapper.key

    def _retire(self, key: Key) -> None:
        """A wrapper takes no room any more."""
        record = self._records.pop(key, None)
        if record is not None and record.timer is not None:
            record.timer.cancel()
        if self.quotas.forest.release(key):
            self._freed()
        self.occupancy.withdraw(key)

    def _create(self, wrapper: Wrapper) -> None:
        key = wrapper.key
        if key not in self._records:
            return
        for item in wrapper.items:
            problem = self.items.create(wrapper, item)
            if problem:
                self._fail(wrapper, f"{key[0]}/{key[1]} creation failure: {problem}")
                return
        self._claim_items(wrapper)
        now = self._clock.now()
        status = dispatched(self.appwrappers.status(key), now)
        status.setdefault("controllerfirstdispatchtimestamp", rfc3339_micro(now))
        self.appwrappers.remember(key, status)
        self._later(self.costs.write(), self._say, key, "dispatch - afterDispatching")
        self._look_again(key)

    def _say(self, key: Key, place: str) -> None:
        """Write a wrapper's status as it is by now."""
        if key in self._records:
            self.appwrappers.write(key, self.appwrappers.status(key), place)

    def _fail(self, wrapper: Wrapper, message: str) -> None:
        key = wrapper.key
        for item in wrapper.items:
            self.items.delete(wrapper, item)
        self._retire(key)
        self.appwrappers.write(
            key, failed(self.appwrappers.status(key), self._clock.now(), message, may_run=False), "dispatch - fail"
        )

    def _notice_item(self, change: Change) -> None:
        if change.new is None:
            if change.old is not None:
                self._owners.pop(change.old["metadata"]["uid"], None)
            return
        key = self._owners.get(change.new["metadata"]["uid"])
        record = self._records.get(key) if key is not None else None
        if record is not None and record.wrapper.completes and (change.new.get("status") or {}).get("conditions"):
            self._clock.call_soon(self._look_for_completion, key)

    def _notice_pod(self, pod: Object, phase: str) -> None:
        key = self._owner(pod)
        if key is None or key not in self._records:
            return
        status = self.appwrappers.status(key)
        if phase == RUNNING and status.get("queuejobstate") == "Dispatched":
            self.appwrappers.remember(key, running(status, self._clock.now()))
            self._later(self.costs.write(), self._say, key, "pods - setRunning")
        elif status.get("state") == HOLD:
            self._clock.call_soon(self._look_for_completion, key)

    def _look_for_completion(self, key: Key) -> None:
        record = self._records.get(key)
        status = self.appwrappers.status(key)
        if record is None or status.get("state") not in (RUNNING, HOLD):
            return
        wrapper = record.wrapper
        if not all(self.items.is_complete(wrapper, item) for item in wrapper.items if item.completion):
            return
        status, now = self._with_counts(key, status), self._clock.now()
        if status.get("running") or status.get("pending"):
            if status.get("state") != HOLD:
                self.appwrappers.remember(key, held(status, now))
                self._later(self.costs.write(), self._say, key, "items - setRunningHoldCompletion")
            return
        self._retire(key)
        self.appwrappers.remember(key, completed(status, now))
        self._later(self.costs.write(), self._say_completed, key)

    def _say_completed(self, key: Key) -> None:
        if self.appwrappers.object(key) is not None:
            self.appwrappers.write(key, self.appwrappers.status(key), "items - setCompleted")

    def _look_again(self, key: Key) -> None:
        """Look after a while whether a dispatched wrapper's pods run, as long as that is in doubt."""
        record = self._records.get(key)
        if record is None:
            return
        wrapper = record.wrapper
        if wrapper.min_available or wrapper.limit or self.occupancy.outstanding(key):
            record.timer = self._clock.call_later(self._patience, self._look, key)

    def _look(self, key: Key) -> None:
        record = self._records.get(key)
        if record is None:
            return
        status = self._with_counts(key, self.appwrappers.status(key))
        ruling = judge(record.wrapper, status, self._clock.now(), self.profile)
        if ruling is None:
            self._look_again(key)
        elif ruling.ends:
            self._end_of(record.wrapper, ruling.status)
        else:
            self.appwrappers.remember(key, ruling.status)
            self._send_back(key, "PreemptionTriggered", ruling.message)

    def _end_of(self, wrapper: Wrapper, status: Object) -> None:
        for item in wrapper.items:
            self.items.delete(wrapper, item)
        self._retire(wrapper.key)
        self.appwrappers.write(wrapper.key, without_counts(status), "look - end")

    def _send_back(self, key: Key, reason: str, message: str) -> None:
        """Delete the items of a dispatched wrapper, and let it wait again after a while."""
        record = self._records.get(key)
        if record is None:
            return
        for item in record.wrapper.items:
            self.items.delete(record.wrapper, item)
        self._retire(key)
        status = {each: value for each, value in self.appwrappers.status(key).items() if each != "canrun"}
        now = self._clock.now()
        status = backed_off(queued(without_counts(status), now), now, reason, message)
        self.appwrappers.write(key, {**status, "queuejobstate": "Backoff"}, "look - sendBack")
        self._rejoining[key] = self._clock.call_later(self._backoff_time, self._rejoin, key)
