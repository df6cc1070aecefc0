"""Binding conditions: what drivers have to report of devices before pods that were given them may be bound.

A driver reports conditions of a device in the status of its claim. kube-scheduler looks every five seconds whether all
are true that a device asks for, and gives up when one is true that tells of a failure, or after a timeout; whether a
claim has waited too long is told by the time of its allocation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ghostfleet.api.podclaims import allocation_of
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.durations import parse_duration
from ghostfleet.core.patch.gotext import go_quote
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.schedulers.framework.arguments import ConfigError, plugin_fields
from ghostfleet.schedulers.framework.plugin import Aborted
from ghostfleet.schedulers.framework.podinfo import DEFAULT_SCHEDULER
from ghostfleet.schedulers.framework.recorder import EventRecorder

__all__ = ["BindingConditions", "DynamicResourcesArguments"]

#: How often conditions are looked at (k8s.io/kubernetes pkg/scheduler/framework/plugins/dynamicresources).
_PERIOD = 5 * SECOND


class DynamicResourcesArguments(NamedTuple):
    """The arguments of the plugin."""

    #: How long a pod may wait (DynamicResourcesBindingTimeoutDefault).
    binding_timeout: int = 600 * SECOND

    @classmethod
    def read(cls, path: str, given: Mapping[str, Any]) -> DynamicResourcesArguments:
        plugin_fields(path, given, "bindingTimeout", "filterTimeout")
        # How long a search takes depends on the machine, so it has a limit of steps here, and no time.
        _duration(f"{path}.filterTimeout", given.get("filterTimeout", "10s"), 0, "zero or positive")
        timeout = given.get("bindingTimeout", "10m")
        return cls(_duration(f"{path}.bindingTimeout", timeout, SECOND, "at least 1 second"))


def _duration(path: str, given: Any, least: int, expected: str) -> int:
    try:
        found = parse_duration(given) if isinstance(given, str) else -1
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None
    if found < least:
        raise ConfigError(f"{path}: Invalid value: {given!r}: must be {expected}")
    return found


class BindingConditions:
    """Pods that wait until the devices of their claims are bound."""

    def __init__(self, store: Store, timeout: int) -> None:
        self._store = store
        self._timeout = timeout
        #: Pods that wait, by uid: since when, and when they are looked at again.
        self._waiting: dict[str, tuple[int, int]] = {}

    def is_usable(self, claim: Object) -> bool:
        """Whether an allocated claim may still come to be bound."""
        return not _failure(claim) and (_is_ready(claim) or not self._is_late(claim))

    def are_met(self, pod: Object, node: str, claims: Sequence[Object]) -> bool:
        """Whether a pod may be bound; Aborted if it never will be with these devices."""
        if not any(result.get("bindingConditions") for claim in claims for result in _results(claim)):
            return True
        uid, now = pod["metadata"]["uid"], self._store.clock.now()
        if uid not in self._waiting:
            self._waiting[uid] = now, now
            self._tell(pod, node)
        since, look = self._waiting[uid]
        if now - since >= self._timeout:
            raise _aborted("device binding timeout: context deadline exceeded")
        if now < look:
            return False
        for claim in claims:
            if why := _failure(claim):
                raise _aborted(why)
            if not _is_ready(claim):
                if self._is_late(claim):
                    raise _aborted(f"device binding timeout: claim={claim['metadata']['name']}")
                self._waiting[uid] = since, since + ((now - since) // _PERIOD + 1) * _PERIOD
                return False
        self.forget(pod)
        return True

    def next_look(self, pod: Object) -> int | None:
        """When a pod is looked at again."""
        waiting = self._waiting.get(pod["metadata"]["uid"])
        return min(waiting[1], waiting[0] + self._timeout) if waiting is not None else None

    def forget(self, pod: Object) -> None:
        """A pod waits no longer."""
        self._waiting.pop(pod["metadata"]["uid"], None)

    def _is_late(self, claim: Object) -> bool:
        allocated = (allocation_of(claim) or {}).get("allocationTimestamp")
        if allocated is None or not any(result.get("bindingConditions") for result in _results(claim)):
            return False
        # The time is cut to seconds, so that in real time it is over when the pod has waited for so long.
        return parse_rfc3339(allocated) + self._timeout <= self._store.clock.now()

    def _tell(self, pod: Object, node: str) -> None:
        recorder = EventRecorder(self._store, pod["spec"].get("schedulerName", DEFAULT_SCHEDULER))
        note = f"waiting for binding conditions for device on node {node}"
        recorder.record(pod, "Normal", "BindingConditionsPending", "Scheduling", note)


def _aborted(why: str) -> Aborted:
    return Aborted(f'running PreBind plugin "DynamicResources": {why}')


def _is_ready(claim: Object) -> bool:
    return all(
        _conditions(claim, result).get(name, {}).get("status") == "True"
        for result in _results(claim)
        for name in result.get("bindingConditions") or ()
    )


def _failure(claim: Object) -> str:
    """What a driver reports to have failed; "" for nothing."""
    for result in _results(claim):
        for name in result.get("bindingFailureConditions") or ():
            condition = _conditions(claim, result).get(name, {})
            if condition.get("status") == "True":
                reason, message = condition.get("reason", ""), go_quote(condition.get("message", ""))
                return f"device binding failed: claim={claim['metadata']['name']}, reason={reason}, message={message}"
    return ""


def _results(claim: Object) -> list[Object]:
    found: list[Object] = ((allocation_of(claim) or {}).get("devices") or {}).get("results") or []
    return found


def _conditions(claim: Object, result: Object) -> dict[str, Object]:
    """The conditions that the driver reports of a device."""
    for each in (claim.get("status") or {}).get("devices") or ():
        if all(each.get(part) == result.get(part) for part in ("driver", "pool", "device", "shareID")):
            return {condition["type"]: condition for condition in each.get("conditions") or ()}
    return {}
