"""What a pod asks for and what it has got, as KAI counts it: whole resources, and parts of GPUs.

A fraction counts as so much of a GPU for each device; memory of a GPU is asked for as `run.ai/gpu.memory`, and is a
fraction of a GPU once it is known of which. An annotation that cannot be read counts for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from ghostfleet.controllers.kai.constants import (
    GPU,
    GPU_FRACTION,
    GPU_FRACTIONS_NUM_DEVICES,
    GPU_MEMORY,
    RECEIVED_RESOURCE_TYPE,
)
from ghostfleet.controllers.kai.tally import Amounts
from ghostfleet.core import quantity
from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import Quantity
from ghostfleet.core.store import Store

__all__ = ["PodAmounts"]

_REMEMBERED = 4096
_GPU_MEMORY_RESOURCE = "run.ai/gpu.memory"
#: The memory of each of a node's GPUs, in MiB.
_NODE_LABEL = "nvidia.com/gpu.memory"
_NOTHING: Amounts = {}


class PodAmounts:
    """Reads the amounts of pods; those that pods of one template share are worked out once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        #: By the identity of the list of containers, which is kept so that it stays its own.
        self._known: dict[int, tuple[object, Amounts]] = {}

    def requested(self, pod: Object) -> Amounts:
        """What a pod that has not ended asks for."""
        if pod["status"].get("phase") not in ("Pending", "Running"):
            return _NOTHING
        own, notes = self._whole(pod), pod["metadata"].get("annotations") or {}
        if GPU_FRACTION not in notes and GPU_MEMORY not in notes:
            return own
        devices = _read(notes, GPU_FRACTIONS_NUM_DEVICES)
        count = devices.nano // 10**9 if devices is not None else 1
        more: dict[str, Quantity] = {}
        for annotation, resource in ((GPU_FRACTION, GPU), (GPU_MEMORY, _GPU_MEMORY_RESOURCE)):
            amount = _read(notes, annotation)
            if amount is not None:
                more[resource] = Quantity(amount.nano * count, amount.format)
        return _sum(own, more)

    def allocated(self, pod: Object) -> Amounts:
        """What a pod holds: one that has a node and has not ended."""
        phase = pod["status"].get("phase")
        if phase != "Running" and not (phase == "Pending" and _is_scheduled(pod)):
            return _NOTHING
        own, notes = self._whole(pod), pod["metadata"].get("annotations") or {}
        if notes.get(RECEIVED_RESOURCE_TYPE) != "Fraction":
            return own
        fraction = _read(notes, GPU_FRACTION) or self._of_memory(pod, notes)
        return _sum(own, {GPU: fraction}) if fraction is not None else own

    def _whole(self, pod: Object) -> Amounts:
        containers = pod["spec"]["containers"]
        known = self._known.get(id(containers))
        if known is not None and known[0] is containers:
            return known[1]
        amounts: Amounts = _NOTHING
        for container in containers:
            requests = (container.get("resources") or {}).get("requests") or {}
            amounts = _sum(amounts, {name: quantity.parse(amount) for name, amount in requests.items()})
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[id(containers)] = (containers, amounts)
        return amounts

    def _of_memory(self, pod: Object, notes: Mapping[str, str]) -> Quantity | None:
        """How much of a GPU of the pod's node the memory is that it asked for."""
        memory = _read(notes, GPU_MEMORY)
        node = self._store.find("nodes", "", pod["spec"].get("nodeName", ""))
        label = (node["metadata"].get("labels") or {}).get(_NODE_LABEL, "") if node is not None else ""
        if memory is None or not label.isdigit() or not int(label):
            return None
        return Quantity(-(-memory.nano // int(label)), "DecimalSI")


def _read(notes: Mapping[str, str], annotation: str) -> Quantity | None:
    stated = notes.get(annotation)
    return quantity.parse(stated) if stated is not None and quantity.is_valid(stated) else None


def _sum(left: Amounts, right: Amounts) -> Amounts:
    return {**left, **{name: quantity.add(left.get(name, quantity.ZERO), amount) for name, amount in right.items()}}


def _is_scheduled(pod: Object) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(each["type"] == "PodScheduled" and each["status"] == "True" for each in conditions)
