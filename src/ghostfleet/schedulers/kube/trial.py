"""Trials: would a pod fit on one node if other pods came or went.

A trial starts from a node as it is; pods are added to it and taken from it in thought, and `refusal` says which
plugin would object first, and why. Nominated pods of the same or a higher priority count as if they were there
already, unless the pod fits only without them.
"""

from __future__ import annotations

from typing import NamedTuple

from ghostfleet.schedulers.kube.affinity import PodAffinity
from ghostfleet.schedulers.kube.counting import Resident
from ghostfleet.schedulers.kube.plan import Plan
from ghostfleet.schedulers.kube.ports import conflict
from ghostfleet.schedulers.kube.spreading import NO_LABEL
from ghostfleet.schedulers.kube.state import ClusterState
from ghostfleet.schedulers.kube.surroundings import disks_clash
from ghostfleet.schedulers.kube.table import PODS_COLUMN

__all__ = ["Refusal", "Trial", "refusal_with_nominated"]


class Refusal(NamedTuple):
    """Why a node is not possible."""

    plugin: str
    reasons: tuple[str, ...]
    #: Whether it would not be possible either if pods left.
    final: bool


class Trial:
    """One node, with changes in thought."""

    def __init__(self, state: ClusterState, plan: Plan, slot: int) -> None:
        self._state = state
        self._plan = plan
        self.slot = slot
        self._used = list(state.table.used[slot])
        self._changes: dict[str, tuple[Resident, int]] = {}

    def add(self, resident: Resident) -> None:
        self._change(resident, 1)

    def remove(self, resident: Resident) -> None:
        self._change(resident, -1)

    def _change(self, resident: Resident, sign: int) -> None:
        for column, amount in self._state.table.delta(resident.facts):
            self._used[column] += sign * amount
        if self._changes.pop(resident.uid, None) is None:
            self._changes[resident.uid] = (resident, sign)

    def refusal(self) -> Refusal | None:
        """The first objection; None when the pod fits."""
        return (
            self._by_node()
            or self._by_ports()
            or self._by_resources()
            or self._by_volumes()
            or self._by_spread()
            or self._by_affinity(self._plan.affinity)
        )

    def _by_node(self) -> Refusal | None:
        slot = self.slot
        for plugin, reason, allowed in self._plan.rulings:
            if not allowed[slot]:
                return Refusal(plugin, (reason,), True)
        if self._plan.named is not None and self._state.table.names[slot] not in self._plan.named:
            return Refusal("NodeAffinity", ("node(s) didn't satisfy plugin(s) [NodeAffinity]",), True)
        return None

    def _by_ports(self) -> Refusal | None:
        if not self._plan.ports:
            return None
        there = [port for resident in self._pods() for port in resident.facts.ports]
        if not conflict(self._plan.ports, there):
            return None
        return Refusal("NodePorts", ("node(s) didn't have free ports for the requested pod ports",), False)

    def _pods(self) -> list[Resident]:
        pods = dict(self._state.census.by_slot.get(self.slot, {}))
        for resident, sign in self._changes.values():
            if sign > 0:
                pods[resident.uid] = resident
            else:
                pods.pop(resident.uid, None)
        return list(pods.values())

    def _by_resources(self) -> Refusal | None:
        plan = self._plan
        if "NodeResourcesFit" not in plan.profile.filters:
            return None
        allocatable, used = self._state.table.allocatable[self.slot], self._used
        reasons = ["Too many pods"] if used[PODS_COLUMN] >= allocatable[PODS_COLUMN] else []
        final = False
        for column, amount, name in plan.needs:
            if amount > allocatable[column] - used[column]:
                reasons.append(f"Insufficient {name}")
                final = final or amount > allocatable[column]
        return Refusal("NodeResourcesFit", tuple(reasons), final) if reasons else None

    def _by_volumes(self) -> Refusal | None:
        plan = self._plan
        if plan.facts.disks and any(
            disks_clash(disk, other)
            for disk in plan.facts.disks
            for resident in self._pods()
            for other in resident.facts.disks
        ):
            return Refusal("VolumeRestrictions", ("node(s) had no available disk",), False)
        for plugin, reason, allowed, final in plan.volumes.rulings if plan.volumes is not None else ():
            if not allowed[self.slot]:
                return Refusal(plugin, (reason,), final)
        return None

    def _by_spread(self) -> Refusal | None:
        if self._plan.hard is None:
            return None
        changes = [
            (each.namespace, each.labels, sign) for each, sign in self._changes.values() if sign > 0 or not each.leaving
        ]
        reason = self._plan.hard.reason_with(self.slot, changes)
        return None if reason is None else Refusal("PodTopologySpread", (reason,), reason == NO_LABEL)

    def _by_affinity(self, affinity: PodAffinity) -> Refusal | None:
        if "InterPodAffinity" not in self._plan.profile.filters:
            return None
        changes = list(self._changes.values())
        if not affinity.filters and not any(each.terms is not None for each, _ in changes):
            return None
        found = affinity.reason_with(self.slot, changes)
        return None if found is None else Refusal("InterPodAffinity", (found[0],), found[1])


def refusal_with_nominated(state: ClusterState, trial: Trial, uid: str, priority: int) -> Refusal | None:
    """The objection to a pod when nominated pods count, too; None when it fits both with and without them."""
    promised = [
        each
        for each in state.nominated.get(trial.slot, {}).values()
        if each.facts.priority >= priority and each.uid != uid
    ]
    for each in promised:
        trial.add(each)
    refused = trial.refusal() if promised else None
    for each in promised:
        trial.remove(each)
    return refused or trial.refusal()
