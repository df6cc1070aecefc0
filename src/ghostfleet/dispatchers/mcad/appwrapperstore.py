"""The AppWrapper store (MCAD's informer cache): what a dispatcher knows of the wrappers, and how it writes.

The controller keeps a copy of every AppWrapper's status. What it *remembers* is in that copy only, until a later write
takes it along; so a condition can be seen by the controller long before it is seen by anyone else. The store
also knows the *rivals*: wrappers that matter for what is free.
"""

from __future__ import annotations

from collections.abc import Iterator

from ghostfleet.api.verbs import Api
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError
from ghostfleet.core.profile import Profile
from ghostfleet.dispatchers.mcad.amounts import NOTHING, Amounts
from ghostfleet.dispatchers.mcad.availability import Rival
from ghostfleet.dispatchers.mcad.conditions import sent
from ghostfleet.dispatchers.mcad.demand import Demand, demand_of
from ghostfleet.dispatchers.mcad.pods import OwnPods, PodCounter
from ghostfleet.dispatchers.mcad.queue import Seen
from ghostfleet.dispatchers.mcad.wrapper import APPWRAPPERS, Key, Requeuing, Wrapper, read_wrapper

__all__ = ["AppWrapperStore"]

_NO_STATUS: Object = {}


class _Read:
    """A wrapper, read from these parts of its object; its demand is worked out when it is first asked for."""

    __slots__ = ("demand", "labels", "spec", "wrapper")

    def __init__(self, spec: Object | None, labels: Object | None, wrapper: Wrapper) -> None:
        self.spec = spec
        self.labels = labels
        self.wrapper = wrapper
        self.demand: Demand | None = None


class AppWrapperStore:
    """All wrappers of one store."""

    def __init__(self, api: Api, profile: Profile, pod_counter: PodCounter | OwnPods) -> None:
        self._store = api.store
        self._pod_counter = pod_counter
        self._live_usage = not profile.switch("availability.snapshots")
        self._read: dict[Key, _Read] = {}
        self._memory: dict[Key, Object] = {}
        self._rivals: dict[Key, None] = {}

    # -- reading -----------------------------------------------------------------------------------------------------

    def object(self, key: Key) -> Object | None:
        return self._store.find(APPWRAPPERS, *key)

    def wrapper(self, key: Key) -> Wrapper | None:
        """The wrapper, read; None when it is gone, or on its way out. A ValueError when it cannot be read."""
        obj = self.object(key)
        if obj is None or "deletionTimestamp" in obj["metadata"]:
            return None
        return self._reading(key, obj).wrapper

    def demand(self, key: Key) -> Demand:
        """What a wrapper needs; nothing when it is gone or cannot be read."""
        obj = self.object(key)
        if obj is not None:
            try:
                read = self._reading(key, obj)
                if read.demand is None:
                    read.demand = demand_of(read.wrapper)
                return read.demand
            except ValueError:
                pass
        return Demand(NOTHING, ())

    def _reading(self, key: Key, obj: Object) -> _Read:
        spec, labels = obj.get("spec"), obj["metadata"].get("labels")
        known = self._read.get(key)
        if known is not None and known.spec is spec and known.labels is labels:
            return known
        read = self._read[key] = _Read(spec, labels, read_wrapper(obj))
        return read

    def status(self, key: Key) -> Object:
        """The status as the controller has it."""
        remembered = self._memory.get(key)
        if remembered is not None:
            return remembered
        obj = self.object(key)
        return (obj.get("status") or _NO_STATUS) if obj is not None else _NO_STATUS

    def seen(self, key: Key) -> Seen:
        """A wrapper as it is now."""
        obj = self.object(key)
        return Seen(self.status(key), obj["metadata"]["resourceVersion"] if obj is not None else "")

    def keys(self) -> Iterator[Key]:
        """All wrappers there are."""
        for obj in self._store.list(APPWRAPPERS):
            yield obj["metadata"]["namespace"], obj["metadata"]["name"]

    def rivals(self) -> Iterator[Rival]:
        """Wrappers that may run, or have been seen to use something."""
        for key in self._rivals:
            status = self.status(key)
            used = self._pod_counter.counts(key).used if self._live_usage else _recorded(status)
            yield Rival(key, status.get("systempriority", 0), bool(status.get("canrun")), self.demand(key).total, used)

    # -- writing -----------------------------------------------------------------------------------------------------

    def note(self, key: Key) -> None:
        """Take notice of a wrapper's status."""
        status = self.status(key)
        if status.get("canrun") or _recorded(status) != NOTHING:
            self._rivals[key] = None
        else:
            self._rivals.pop(key, None)

    def remember(self, key: Key, status: Object) -> None:
        """Change the controller's own copy of a status."""
        self._memory[key] = status
        self.note(key)

    def write(self, key: Key, status: Object, place: str) -> None:
        """Write a status; wrappers that are gone are left alone."""
        obj = self.object(key)
        self._memory.pop(key, None)
        if obj is not None:
            self._store.set_status(APPWRAPPERS, obj, sent(status, place))
        self.note(key)

    def label(self, key: Key, labels: dict[str, str]) -> None:
        """Add labels to a wrapper."""
        obj = self.object(key)
        if obj is not None:
            metadata = {**obj["metadata"], "labels": {**(obj["metadata"].get("labels") or {}), **labels}}
            self._update({**obj, "metadata": metadata})

    def set_requeuing(self, key: Key, rule: Requeuing) -> None:
        """Write the requeuing stanza of a wrapper's spec."""
        obj = self.object(key)
        if obj is None:
            return
        scheduling = obj["spec"].get("schedulingSpec") or {}
        stanza = {
            **(scheduling.get("requeuing") or {}),
            "timeInSeconds": rule.time,
            "initialTimeInSeconds": rule.initial,
            "numRequeuings": rule.number,
        }
        self._update({**obj, "spec": {**obj["spec"], "schedulingSpec": {**scheduling, "requeuing": stanza}}})

    def _update(self, obj: Object) -> None:
        try:
            self._store.update(APPWRAPPERS, obj)
        except ApiError as error:
            if error.code not in (404, 409):
                raise

    def forget(self, key: Key) -> None:
        """Drop all that is known of a wrapper that is gone."""
        self._read.pop(key, None)
        self._memory.pop(key, None)
        self._rivals.pop(key, None)


def _recorded(status: Object) -> Amounts:
    """What the status says that a wrapper's pods use."""
    return Amounts(status.get("totalcpu", 0), status.get("totalmemory", 0), status.get("totalgpu", 0))
