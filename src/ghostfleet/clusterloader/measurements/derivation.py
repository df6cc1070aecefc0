"""Whether a pod was made from a template, so that after an update old pods can be told from new ones.

A pod has all that its template says, and more that was filled in. What was compared is kept by the identity of the
pod's spec, since pods of one template share it in a cluster of this process.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.core.changes import Object

__all__ = ["Derivation"]

_MOST_KEPT = 64
#: What is filled in or changed for each pod by itself.
_OWN = frozenset(("nodeName", "nodeSelector", "tolerations", "volumes", "hostname", "subdomain", "serviceAccount"))
_CONTAINERS = ("containers", "initContainers")


class Derivation:
    """Pods of one template; without a template all pods are."""

    __slots__ = ("_known", "_spec")

    def __init__(self, template: Object | None) -> None:
        self._spec: Object | None = (template or {}).get("spec")
        self._known: dict[int, tuple[Object, bool]] = {}

    def holds(self, spec: Object) -> bool:
        """Whether a pod's spec comes from the template."""
        if self._spec is None:
            return True
        known = self._known.get(id(spec))
        if known is None or known[0] is not spec:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            known = self._known[id(spec)] = (spec, self._derives(spec))
        return known[1]

    def _derives(self, spec: Object) -> bool:
        assert self._spec is not None
        for key, value in self._spec.items():
            if key in _OWN:
                continue
            if key in _CONTAINERS:
                if len(spec.get(key) or ()) != len(value or ()):
                    return False
                if not all(_covers(new, old) for new, old in zip(spec.get(key) or (), value or (), strict=True)):
                    return False
            elif not _covers(spec.get(key), value):
                return False
        return True


def _covers(value: Any, wanted: Any) -> bool:
    """Whether a value has all that is wanted; what is wanted to be empty may be missing."""
    if not wanted and not isinstance(wanted, bool | int | float):
        return True
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(_covers(value.get(key), part) for key, part in wanted.items())
    if isinstance(wanted, list):
        if not isinstance(value, list) or len(value) < len(wanted):
            return False
        return all(_covers(new, old) for new, old in zip(value, wanted, strict=False))
    return bool(value == wanted)
