"""Pods in one line.

The status word of a pod is not its phase: it is the most telling of what is known about it, from the phase over the
reasons of its init containers to those of its containers, with deletion overruling all. A *sidecar* is an init
container that restarts always; it counts as one of the pod's containers once it has started.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.timestamps import age
from ghostfleet.server.tables.cells import created, is_true, items, moment, name_of, part
from ghostfleet.server.tables.printers import AGE, NAME, Cell, Printers, text, wide

__all__ = ["PODS"]

PODS = Printers()


class _Restarts:
    """How often containers were restarted, and when last."""

    def __init__(self) -> None:
        self.count = 0
        self.last: int | None = None

    def add(self, container: Mapping[str, Any]) -> None:
        self.count += container.get("restartCount") or 0
        finished = moment(part(container, "lastState", "terminated").get("finishedAt"))
        if finished is not None and (self.last is None or finished > self.last):
            self.last = finished

    def text(self, now: int) -> str:
        if not self.count or self.last is None:
            return str(self.count)
        return f"{self.count} ({age(now - self.last)} ago)"


def _end(terminated: Mapping[str, Any]) -> str:
    """Why a container ended."""
    if reason := terminated.get("reason"):
        return str(reason)
    if signal := terminated.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{terminated.get('exitCode') or 0}"


def _init_word(state: Mapping[str, Any], done: int, total: int) -> str:
    """Status word while an init container has not done its work."""
    if state.get("terminated") is not None:
        return f"Init:{_end(state['terminated'])}"
    waiting = part(state, "waiting").get("reason")
    if waiting and waiting != "PodInitializing":
        return f"Init:{waiting}"
    return f"Init:{done}/{total}"


def _exited_well(state: Mapping[str, Any]) -> bool:
    return state.get("terminated") is not None and not state["terminated"].get("exitCode")


class _Summary:
    """What the containers of a pod add up to."""

    def __init__(self, pod: Object) -> None:
        self._pod = pod
        spec, status = part(pod, "spec"), part(pod, "status")
        self._inits = items(spec, "initContainers")
        self._sidecars = {c.get("name") for c in self._inits if c.get("restartPolicy") == "Always"}
        self.total = len(items(spec, "containers")) + len(self._sidecars)
        self.ready = 0
        self.restarts = _Restarts()
        self.word = str(status.get("reason") or status.get("phase") or "")
        if any(
            found.get("type") == "PodScheduled" and found.get("reason") == "SchedulingGated"
            for found in items(status, "conditions")
        ):
            self.word = "SchedulingGated"
        self._add_init_containers(items(status, "initContainerStatuses"))
        self._add_deletion(status)

    def _add_init_containers(self, containers: Sequence[Mapping[str, Any]]) -> None:
        all_restarts, sidecar_restarts = _Restarts(), _Restarts()
        initializing = False
        for index, container in enumerate(containers):
            all_restarts.add(container)
            is_sidecar = container.get("name") in self._sidecars
            if is_sidecar:
                sidecar_restarts.add(container)
            state = part(container, "state")
            if _exited_well(state):
                continue
            if is_sidecar and container.get("started"):
                self.ready += bool(container.get("ready"))
                continue
            self.word = _init_word(state, index, len(self._inits))
            initializing = True
            break
        if initializing and not is_true(self._pod, "Initialized"):
            self.restarts = all_restarts
        else:
            self.restarts = sidecar_restarts
            self._add_containers(items(part(self._pod, "status"), "containerStatuses"))

    def _add_containers(self, containers: Sequence[Mapping[str, Any]]) -> None:
        some_run, failure = False, ""
        for container in reversed(containers):
            self.restarts.add(container)
            state = part(container, "state")
            waiting, terminated = part(state, "waiting").get("reason"), state.get("terminated")
            if waiting:
                self.word = waiting
            elif terminated is not None:
                self.word = _end(terminated)
                if terminated.get("exitCode"):
                    failure = self.word
            elif container.get("ready") and state.get("running") is not None:
                some_run = True
                self.ready += 1
        if self.word == "Completed":
            self._correct_completed(some_run, failure)

    def _correct_completed(self, some_run: bool, failure: str) -> None:
        """One container that completed says little about a pod with others."""
        if some_run and is_true(self._pod, "Ready"):
            self.word = "Running"
        elif failure:
            self.word = failure
        elif some_run:
            self.word = "NotReady"

    def _add_deletion(self, status: Mapping[str, Any]) -> None:
        if not part(self._pod, "metadata").get("deletionTimestamp"):
            return
        if status.get("reason") == "NodeLost":
            self.word = "Unknown"
        elif status.get("phase") not in ("Succeeded", "Failed"):
            self.word = "Terminating"


def _address(status: Mapping[str, Any]) -> str:
    addresses = items(status, "podIPs")
    return status.get("podIP") or (addresses[0].get("ip") if addresses else "") or "<none>"


def _gates(pod: Object) -> str:
    gates = items(part(pod, "spec"), "readinessGates")
    if not gates:
        return "<none>"
    return f"{sum(is_true(pod, gate.get('conditionType') or '') for gate in gates)}/{len(gates)}"


_COMPLETIONS = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


def _completion(pod: Object) -> list[dict[str, str]]:
    phase = part(pod, "status").get("phase")
    if phase not in _COMPLETIONS:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _COMPLETIONS[phase]}]


@PODS.of(
    "pods",
    NAME,
    text("Ready", "Containers that are ready, of all containers."),
    text("Status", "What the pod is doing, or why it does not."),
    text("Restarts", "How often containers were restarted, and when last."),
    AGE,
    wide("IP", "Address of the pod."),
    wide("Node", "Node the pod is bound to."),
    wide("Nominated Node", "Node on which preemption makes room for the pod."),
    wide("Readiness Gates", "Readiness gates that are passed, of all gates."),
    conditions=_completion,
)
def pod(obj: Object, now: int) -> list[Cell]:
    summary, spec, status = _Summary(obj), part(obj, "spec"), part(obj, "status")
    return [
        name_of(obj),
        f"{summary.ready}/{summary.total}",
        summary.word,
        summary.restarts.text(now),
        created(obj, now),
        _address(status),
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        _gates(obj),
    ]
