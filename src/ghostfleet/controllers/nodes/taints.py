"""Taints and what tolerates them."""

from __future__ import annotations

from collections.abc import Iterable

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.store import Store

__all__ = ["NOT_READY", "UNREACHABLE", "change_taints", "no_execute", "tolerated_for", "tolerates"]

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"


def no_execute(node: Object | None) -> list[Object]:
    """The taints of a node that drive pods away."""
    taints = (node["spec"].get("taints") or ()) if node is not None else ()
    return [taint for taint in taints if taint.get("effect") == "NoExecute"]


def tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    key, value = toleration.get("key") or "", toleration.get("value") or ""
    if key and key != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    found = taint.get("value") or ""
    if operator in ("Gt", "Lt"):
        try:
            return int(found) > int(value) if operator == "Gt" else int(found) < int(value)
        except ValueError:
            return False
    return bool(key) and found == value


def tolerated_for(tolerations: Iterable[Object], taints: list[Object]) -> int | None:
    """Microseconds for which all taints are tolerated; 0 when one is not at all, None when all are forever."""
    tolerations = list(tolerations)
    least: int | None = None
    for taint in taints:
        match = next((each for each in tolerations if tolerates(each, taint)), None)
        if match is None:
            return 0
        seconds = match.get("tolerationSeconds")
        if seconds is not None:
            span = max(seconds, 0) * SECOND
            least = span if least is None else min(least, span)
    return least


def change_taints(store: Store, name: str, added: Iterable[Object], removed: Iterable[tuple[str, str]]) -> None:
    """Add taints to a node, in the place of those with the same key and effect, and remove others by key and effect."""
    node = store.find("nodes", "", name)
    if node is None:
        return
    fresh = {(taint["key"], taint["effect"]): taint for taint in added}
    gone = set(removed)
    taints: list[Object] = []
    for taint in node["spec"].get("taints") or ():
        mark = (taint["key"], taint.get("effect", ""))
        if mark in fresh:
            # A taint that is there already keeps the time since when it is.
            taints.append(taint)
            del fresh[mark]
        elif mark not in gone:
            taints.append(taint)
    taints += fresh.values()
    spec = {key: value for key, value in node["spec"].items() if key != "taints"}
    if taints:
        spec["taints"] = taints
    if spec != node["spec"]:
        store.update("nodes", {**node, "spec": spec})
