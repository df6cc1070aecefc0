"""Taints of devices, and what tolerates them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["tolerated", "tolerates"]

Object = Mapping[str, Any]


def tolerates(toleration: Object, taint: Object) -> bool:
    """Whether a toleration covers a taint: one without effect or key covers any."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return (toleration.get("value") or "") == (taint.get("value") or "")
    return bool(operator == "Exists")


def tolerated(taints: Iterable[Object], tolerations: Sequence[Object]) -> bool:
    """Whether each of the taints is covered."""
    return all(any(tolerates(each, taint) for each in tolerations) for taint in taints)
