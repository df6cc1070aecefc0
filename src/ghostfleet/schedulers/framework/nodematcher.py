"""Which nodes match a pod by themselves: node selectors, node affinity, taints and tolerations.

All answers are arrays over the slots of the table of nodes, computed from its label columns and taint classes, and
kept as long as the table's version lasts. A node selector *term* is met when all its expressions (on labels) and
fields (the name) are; a list of terms is met when one of them is, and an empty term never is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from ghostfleet.core.changes import Object
from ghostfleet.schedulers.framework.nodetable import BoolArray, IntArray, NodeTable
from ghostfleet.schedulers.framework.podinfo import SpecInfo

__all__ = ["NodeMatcher", "node_names", "tolerates", "untolerated"]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_KEPT = 4096


def tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Whether a toleration covers a taint."""
    effect, key = toleration.get("effect"), toleration.get("key")
    if (effect and effect != taint.get("effect")) or (key and key != taint.get("key")):
        return False
    operator = toleration.get("operator") or "Equal"
    return operator == "Exists" or (
        operator == "Equal" and (toleration.get("value") or "") == (taint.get("value") or "")
    )


def untolerated(taints: Iterable[Object], tolerations: Sequence[Object], effects: tuple[str, ...]) -> int:
    """How many taints with one of these effects no toleration covers."""
    return sum(
        taint.get("effect") in effects and not any(tolerates(each, taint) for each in tolerations) for taint in taints
    )


def node_names(terms: Sequence[Mapping[str, Any]]) -> set[str] | None:
    """The only nodes that terms name by their metadata.name; None when some term leaves that open."""
    names: set[str] = set()
    for term in terms:
        by_name = [
            set(field.get("values") or ())
            for field in term.get("matchFields") or ()
            if field.get("key") == "metadata.name" and field.get("operator") == "In"
        ]
        if not by_name:
            return None
        names |= set.intersection(*by_name)
    return names if terms else None


class NodeMatcher:
    """Answers about the nodes of one table."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._version = -1
        self._kept: dict[tuple[str, bytes], Any] = {}

    def _fresh(self) -> dict[tuple[str, bytes], Any]:
        if self._version != self._table.version or len(self._kept) > _KEPT:
            self._version = self._table.version
            self._kept = {}
        return self._kept

    # -- labels ------------------------------------------------------------------------------------------------------

    def allowed(self, info: SpecInfo) -> BoolArray | None:
        """Nodes that the pod's node selector and required node affinity allow; None for all."""
        required = info.node_affinity.get(_REQUIRED)
        if not info.node_selector and required is None:
            return None
        kept = self._fresh()
        key = ("allowed", info.node_key)
        if key not in kept:
            mask = self._selected(info.node_selector)
            if required is not None:
                mask = mask & self.any_term(required.get("nodeSelectorTerms") or ())
            kept[key] = mask
        answer: BoolArray = kept[key]
        return answer

    def _selected(self, selector: Mapping[str, str]) -> BoolArray:
        mask: BoolArray = np.ones(self._table.capacity, np.bool_)
        for label, value in selector.items():
            mask &= self._one_of(label, (value,))
        return mask

    def any_term(self, terms: Iterable[Mapping[str, Any]]) -> BoolArray:
        """Nodes that meet at least one term."""
        mask: BoolArray = np.zeros(self._table.capacity, np.bool_)
        for term in terms:
            mask |= self._term(term)
        return mask

    def _term(self, term: Mapping[str, Any]) -> BoolArray:
        expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
        mask: BoolArray = np.full(self._table.capacity, bool(expressions or fields), np.bool_)
        for expression in expressions:
            mask &= self._expression(expression)
        for field in fields:
            mask &= self._field(field)
        return mask

    def _expression(self, expression: Mapping[str, Any]) -> BoolArray:
        label, values = expression.get("key", ""), expression.get("values") or ()
        match expression.get("operator"):
            case "In":
                return self._one_of(label, values)
            case "NotIn":
                return ~self._one_of(label, values)
            case "Exists":
                return self._table.labels(label).codes >= 0
            case "DoesNotExist":
                return self._table.labels(label).codes < 0
            case "Gt":
                return self._compared(label, values, above=True)
            case "Lt":
                return self._compared(label, values, above=False)
        return np.zeros(self._table.capacity, np.bool_)

    def _one_of(self, label: str, values: Iterable[str]) -> BoolArray:
        column = self._table.labels(label)
        mask: BoolArray = np.zeros(self._table.capacity, np.bool_)
        for value in values:
            code = column.values.get(value)
            if code is not None:
                mask |= column.codes == code
        return mask

    def _compared(self, label: str, values: Sequence[str], *, above: bool) -> BoolArray:
        column = self._table.labels(label)
        bound = _whole_number(values[0]) if len(values) == 1 else None
        meets = np.zeros(len(column.values) + 1, np.bool_)
        for text, code in column.values.items():
            number = _whole_number(text)
            if number is not None and bound is not None:
                meets[code] = number > bound if above else number < bound
        answer: BoolArray = meets[column.codes]
        return answer

    def _field(self, field: Mapping[str, Any]) -> BoolArray:
        mask: BoolArray = np.zeros(self._table.capacity, np.bool_)
        values: Sequence[str] = field.get("values") or ()
        if field.get("key") != "metadata.name" or len(values) != 1:
            return mask
        name: str = values[0]
        slot = self._table.slots.get(name)
        if slot is not None:
            mask[slot] = True
        return mask if field.get("operator") == "In" else ~mask

    def preferred(self, terms: Sequence[Mapping[str, Any]]) -> IntArray:
        """The summed weights of preferred terms that each node meets."""
        kept = self._fresh()
        key = ("preferred", orjson.dumps(terms))
        if key not in kept:
            total: IntArray = np.zeros(self._table.capacity, np.int64)
            for term in terms:
                total += self._term(term.get("preference") or {}) * int(term.get("weight") or 0)
            kept[key] = total
        answer: IntArray = kept[key]
        return answer

    # -- taints ------------------------------------------------------------------------------------------------------

    def tolerated(self, info: SpecInfo) -> BoolArray | None:
        """Nodes without a taint that keeps the pod away; None for all."""
        counts = self._by_class("tolerated", info, ("NoSchedule", "NoExecute"))
        return None if counts is None else counts == 0

    def untolerated_preferences(self, info: SpecInfo) -> IntArray | None:
        """How many PreferNoSchedule taints of each node the pod does not tolerate; None when there are none."""
        return self._by_class("prefer", info, ("PreferNoSchedule",))

    def _by_class(self, question: str, info: SpecInfo, effects: tuple[str, ...]) -> IntArray | None:
        kept = self._fresh()
        key = (question, info.toleration_key)
        if key not in kept:
            tolerations = info.tolerations
            if effects == ("PreferNoSchedule",):
                tolerations = [each for each in tolerations if each.get("effect") in (None, "", "PreferNoSchedule")]
            by_class = np.array([untolerated(taints, tolerations, effects) for taints in self._table.taints], np.int64)
            counts = by_class[self._table.taint_class]
            kept[key] = counts if counts.any() else None
        answer: IntArray | None = kept[key]
        return answer


def _whole_number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
