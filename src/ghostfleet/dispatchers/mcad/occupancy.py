"""Occupancy: who takes room on which node, as bound pods and as reservations for pods that are still to come.

For each pod of a dispatched wrapper room is *reserved*, on the nodes of its plan. The scheduler binds pods where it
likes; with each pod that is bound one reservation is redeemed, and from then on the pod counts where it is, as large as
was reserved if it asks for less.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Store
from ghostfleet.dispatchers.mcad.amounts import NOTHING, Amounts
from ghostfleet.dispatchers.mcad.placement import PodPlacement, Table
from ghostfleet.dispatchers.mcad.pods import pod_amounts
from ghostfleet.dispatchers.mcad.wrapper import Key

__all__ = ["NodeOccupancy"]

_OVER = ("Succeeded", "Failed")


class NodeOccupancy:
    """The nodes of one store.

    `owner` answers whose a pod is; `moved` is called for a pod that has come to another phase, or is gone, and `freed`
    when there is more room.
    """

    def __init__(
        self,
        store: Store,
        owner: Callable[[Object], Key | None],
        moved: Callable[[Object, str], None],
        freed: Callable[[], None],
    ) -> None:
        self.table = Table()
        self._owner = owner
        self._moved = moved
        self._freed = freed
        self._reserved: dict[Key, PodPlacement] = {}
        self._charges: dict[tuple[str, str], tuple[int, Amounts]] = {}
        for node in store.list("nodes"):
            self.table.put(node)
        for pod in store.list("pods"):
            self._charge((pod["metadata"]["namespace"], pod["metadata"]["name"]), pod)
        self._stops = (store.listen("nodes", self._notice_node), store.listen("pods", self._notice_pod))

    def stop(self) -> None:
        for stop in self._stops:
            stop()

    def reserve(self, key: Key, plan: PodPlacement) -> None:
        self.table.reserve(plan)
        self._reserved[key] = plan

    def withdraw(self, key: Key) -> None:
        """Take back what is left of a reservation."""
        plan = self._reserved.pop(key, None)
        if plan:
            self.table.release(plan)
            self._freed()

    def outstanding(self, key: Key) -> int:
        """How many pods of a wrapper are still to be bound."""
        return len(self._reserved.get(key, ()))

    def _notice_node(self, change: Change) -> None:
        if change.new is None:
            self._drop(change.name)
            return
        self.table.put(change.new)
        if change.old is None or not _is_heartbeat(change.old, change.new):
            self._freed()

    def _drop(self, name: str) -> None:
        """A node is gone, and all that was counted or reserved there."""
        row = self.table.row(name)
        if row is None:
            return
        gone = [charge for charge in self._charges.values() if charge[0] == row]
        gone += [reservation for plan in self._reserved.values() for reservation in plan if reservation[0] == row]
        self.table.release(gone)
        self.table.drop(name)
        self._charges = {place: charge for place, charge in self._charges.items() if charge[0] != row}
        for plan in self._reserved.values():
            plan[:] = [reservation for reservation in plan if reservation[0] != row]

    def _notice_pod(self, change: Change) -> None:
        old, new = change.old, change.new
        phase = (new.get("status") or {}).get("phase", "") if new is not None else ""
        place = (change.namespace, change.name)
        charged = place in self._charges
        if charged:
            if new is None or phase in _OVER:
                row, amounts = self._charges.pop(place)
                self.table.take(row, amounts.times(-1), -1)
                self._freed()
        elif new is not None and phase not in _OVER and new["spec"].get("nodeName"):
            self._charge(place, new)
        if old is not None and (old.get("status") or {}).get("phase", "") != phase:
            self._moved(new or old, phase)

    def _charge(self, place: tuple[str, str], pod: Object) -> None:
        if (pod.get("status") or {}).get("phase") in _OVER:
            return
        row = self.table.row(pod["spec"].get("nodeName", ""))
        if row is None:
            return
        amounts = pod_amounts(pod).at_least(self._redeem(pod, row))
        self.table.take(row, amounts)
        self._charges[place] = (row, amounts)

    def _redeem(self, pod: Object, row: int) -> Amounts:
        """Redeem a reservation of the pod's wrapper, on the pod's node if there is one; answers what it was."""
        if not self._reserved:
            return NOTHING
        key = self._owner(pod)
        plan = self._reserved.get(key) if key is not None else None
        if not plan:
            return NOTHING
        index = next((index for index, (there, _) in enumerate(plan) if there == row), 0)
        reservation = plan.pop(index)
        self.table.release([reservation])
        return reservation[1]


def _is_heartbeat(old: Object, new: Object) -> bool:
    """Whether a change of a node makes no more room."""
    if old["spec"] != new["spec"] or old["metadata"].get("labels") != new["metadata"].get("labels"):
        return False
    before, after = old.get("status") or {}, new.get("status") or {}
    return before.get("allocatable") == after.get("allocatable") and _ready(before) == _ready(after)


def _ready(status: Object) -> list[str]:
    return [each["status"] for each in status.get("conditions") or () if each["type"] == "Ready"]
