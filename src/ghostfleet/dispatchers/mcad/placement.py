"""Placement: whether all pods of a wrapper find room on nodes, each on one that it may run on.

The *table* is the schedulers' table of nodes, with a row for each node: what is free of CPU, memory, GPUs and places
for pods. Pods that are bound take their share of it; a *plan* takes the shares of pods that are still to come. Nodes
are *eligible* for a pod by its selector, its required node affinity and the taints that it tolerates; that is worked
out once for pods that ask for the same, and again for a node that changes. Rows can be *held* for a wrapper that waits
for them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import orjson

from ghostfleet.controllers.nodes.affinity import matches_node
from ghostfleet.controllers.nodes.taints import tolerates
from ghostfleet.core.changes import Object
from ghostfleet.dispatchers.mcad.amounts import GPU, Amounts
from ghostfleet.dispatchers.mcad.demand import PodGroup
from ghostfleet.schedulers.framework.nodetable import CPU_COLUMN, MEMORY_COLUMN, PODS_COLUMN, NodeTable

__all__ = ["PodPlacement", "Table", "closed_because"]

_REMEMBERED = 4096
#: One planned pod: the row of its node and what it takes there.
PodPlacement = list[tuple[int, Amounts]]
_Rows = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


def closed_because(spec: Object, node: Object) -> str:
    """Why a pod of this spec may not run on a node, whatever is free there; empty when it may."""
    own = node.get("spec") or {}
    if own.get("unschedulable"):
        return "cordoned"
    if not _is_ready(node):
        return "not ready"
    try:
        return _closed_to(spec, node)
    except (AttributeError, KeyError, TypeError, IndexError):
        # The spec is none that a pod can have: the API will say so when the item is created.
        return ""


def _closed_to(spec: Object, node: Object) -> str:
    for taint in node["spec"].get("taints") or ():
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not any(
            tolerates(each, taint) for each in spec.get("tolerations") or ()
        ):
            return f"taint {taint['key']}"
    name = node["metadata"]["name"]
    return "" if spec.get("nodeName", name) == name and matches_node(spec, node) else "selector or affinity"


def _eligibility(spec: Object) -> bytes:
    asked = tuple(spec.get(field) for field in ("nodeSelector", "affinity", "tolerations", "nodeName"))
    return orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)


class Table:
    """All nodes of a cluster, and what is free on them."""

    def __init__(self) -> None:
        self._nodes = NodeTable()
        self._columns = (CPU_COLUMN, MEMORY_COLUMN, self._nodes.column(GPU), PODS_COLUMN)
        self._masks: dict[bytes, tuple[Object, _Mask]] = {}
        self._shapes: dict[int, tuple[Object, bytes]] = {}
        self.held: _Mask = np.zeros(self._nodes.capacity, dtype=np.bool_)

    # -- nodes -------------------------------------------------------------------------------------------------------

    def put(self, node: Object) -> None:
        """Take a node in, or take notice of its change."""
        known = self._nodes.slots.get(node["metadata"]["name"])
        old = self._nodes.objects[known] if known is not None else None
        row = self._nodes.put(node)
        if self._nodes.capacity > len(self.held):
            self._grow()
        if old is None or not _same_for_pods(old, node):
            for spec, mask in self._masks.values():
                mask[row] = not closed_because(spec, node)

    def drop(self, name: str) -> None:
        """A node is gone, and nothing is counted there any more."""
        row = self._nodes.remove(name)
        if row is not None:
            self.held[row] = False
            for _, mask in self._masks.values():
                mask[row] = False

    def _grow(self) -> None:
        none = np.zeros(self._nodes.capacity - len(self.held), dtype=np.bool_)
        self.held = np.concatenate((self.held, none))
        self._masks = {key: (spec, np.concatenate((mask, none))) for key, (spec, mask) in self._masks.items()}

    def row(self, name: str) -> int | None:
        return self._nodes.slots.get(name)

    # -- room --------------------------------------------------------------------------------------------------------

    def take(self, row: int, amounts: Amounts, pods: int = 1) -> None:
        """Count a pod on a node; with -1 pods, and amounts below zero, one that has gone."""
        self._nodes.take(row, zip(self._columns, (*amounts, pods), strict=True))

    def reserve(self, plan: PodPlacement) -> None:
        for row, amounts in plan:
            self.take(row, amounts)

    def release(self, plan: PodPlacement) -> None:
        for row, amounts in plan:
            self.take(row, amounts.times(-1), -1)

    def _amounts(self, *, empty: bool = False) -> _Rows:
        """What is free, or with `empty` what there is: CPU, memory, GPUs and places for pods, a column a node."""
        allocatable, used = self._nodes.flush()
        columns = list(self._columns)
        answer: _Rows = allocatable[columns] if empty else allocatable[columns] - used[columns]
        return answer

    def plan(self, groups: Sequence[PodGroup], *, held: bool = False, empty: bool = False) -> PodPlacement | None:
        """Where all pods would go, or None. With `held` nodes that are held count too; if they were `empty`, all do."""
        free = self._amounts(empty=empty)
        plan: PodPlacement = []
        for group in groups:
            rows = self._places(group, free, held=held or empty)
            if rows is None:
                return None
            for row in rows:
                plan.append((row, group.each))
            if len(groups) > 1:
                for row in rows:
                    free[:, row] -= (*group.each, 1)
        return plan

    def _places(self, group: PodGroup, free: _Rows, *, held: bool) -> list[int] | None:
        room = self._room(group, free)
        room[~self._eligible(group.spec)] = 0
        if not held:
            room[self.held] = 0
        if group.count == 1:
            # The emptiest node first, as the scheduler has it.
            row = int(np.argmax(room))
            return [row] if room[row] > 0 else None
        if int(room.sum()) < group.count:
            return None
        usable = int(np.count_nonzero(room))
        # Spread over the nodes as evenly as it goes, and if that is not enough as it comes.
        fair = np.minimum(room, -(-group.count // usable))
        return _dealt(fair if int(fair.sum()) >= group.count else room, room, group.count)

    @staticmethod
    def _room(group: PodGroup, free: _Rows) -> _Rows:
        """How many pods of a group each node has room for."""
        room: _Rows = np.maximum(free[3], 0)
        for column, asked in enumerate(group.each):
            if asked > 0:
                room = np.minimum(room, np.maximum(free[column], 0) // asked)
        return room

    def eligibility(self, spec: Object) -> bytes:
        """What pods that may run on the same nodes have in common."""
        known = self._shapes.get(id(spec))
        if known is None or known[0] is not spec:
            if len(self._shapes) > _REMEMBERED:
                self._shapes.clear()
            known = self._shapes[id(spec)] = (spec, _eligibility(spec))
        return known[1]

    def _eligible(self, spec: Object) -> _Mask:
        key = self.eligibility(spec)
        found = self._masks.get(key)
        if found is None:
            mask = np.zeros(len(self.held), dtype=np.bool_)
            for row, node in enumerate(self._nodes.objects):
                mask[row] = node is not None and not closed_because(spec, node)
            found = self._masks[key] = (spec, mask)
        return found[1]

    # -- for those who wait ------------------------------------------------------------------------------------------

    def hold(self, plan: PodPlacement) -> None:
        """Keep the nodes of a plan from all others."""
        self.held[:] = False
        for row, _ in plan:
            self.held[row] = True

    def let_go(self) -> None:
        self.held[:] = False

    def total(self) -> _Rows:
        """What nodes have: CPU, memory, GPUs and places for pods, a column for each."""
        return self._amounts(empty=True)[:, self._nodes.present]

    def free(self) -> _Rows:
        """What is left of it."""
        return self._amounts()[:, self._nodes.present]

    def open_to(self, spec: Object) -> int:
        """How many nodes pods of this spec may run on."""
        return int(np.count_nonzero(self._eligible(spec)))

    def __len__(self) -> int:
        return len(self._nodes)

    def largest_free(self, group: PodGroup) -> Amounts:
        """The most that is free on any one eligible node, of each resource."""
        free = self._amounts()[:, self._eligible(group.spec)]
        if not free.shape[1]:
            return Amounts()
        most = np.maximum(free.max(axis=1), 0)
        return Amounts(int(most[0]), int(most[1]), int(most[2]))


def _dealt(share: _Rows, room: _Rows, count: int) -> list[int]:
    """Rows for `count` pods: each row as often as its share, those with the most room first."""
    rows: list[int] = []
    for row in np.argsort(-room, kind="stable"):
        rows += [int(row)] * min(int(share[row]), count - len(rows))
        if len(rows) == count:
            break
    return rows


def _same_for_pods(old: Object, new: Object) -> bool:
    """Whether a node's change makes no difference to which pods may run there."""
    if old["spec"] is not new["spec"] and old["spec"] != new["spec"]:
        return False
    if old["metadata"].get("labels") != new["metadata"].get("labels"):
        return False
    return _is_ready(old) == _is_ready(new)


def _is_ready(node: Object) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return all(each["status"] == "True" for each in conditions if each["type"] == "Ready")
