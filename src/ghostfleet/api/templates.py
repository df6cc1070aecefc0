"""Templates: pods that were made from one template share one spec.

A load test creates thousands of pods that differ in nothing but their metadata. What a spec becomes on its way into
the store depends, for nearly all pods, on the spec alone; so the first pod of a template goes all the way, and its
*cast* is kept by the bytes of the spec that was sent. Later ones take the cast: the same dict, so that they cost
little time and little memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from ghostfleet.core.changes import Object
from ghostfleet.core.patch.fieldset import FieldSet

__all__ = ["Cast", "PodTemplates"]

_REMEMBERED = 1024
#: What makes of a spec depend on the pod's name, labels or time of creation.
_PERSONAL = ("schedulingGates", "affinity", "topologySpreadConstraints", "hostname", "setHostnameAsFQDN", "subdomain")


@dataclass(frozen=True, slots=True)
class Cast:
    """What a spec became."""

    spec: Object
    status: Object
    #: The fields of the spec that belong to whoever created the pod.
    fields: FieldSet


class PodTemplates:
    """The casts of the specs seen lately."""

    def __init__(self) -> None:
        self._casts: dict[bytes, Cast] = {}
        self._state = -1

    def key(self, body: Any) -> bytes | None:
        """The bytes by which a new pod's spec is known; None when its cast could not be another pod's."""
        if not isinstance(body, dict) or body.get("status"):
            return None
        spec, metadata = body.get("spec"), body.get("metadata")
        if not isinstance(spec, dict) or not isinstance(metadata, dict) or metadata.get("annotations"):
            return None
        if any(field in spec for field in _PERSONAL):
            return None
        try:
            return orjson.dumps(spec)
        except TypeError:  # nested too deeply, or not JSON: the long way says what is wrong
            return None

    def find(self, key: bytes, state: int) -> Cast | None:
        """The cast of a spec, if the cluster's priority classes are still in the `state` in which it was made."""
        if state != self._state:
            self._casts.clear()
            self._state = state
        return self._casts.get(key)

    def keep(self, key: bytes, state: int, cast: Cast) -> None:
        if len(self._casts) >= _REMEMBERED:
            self._casts.clear()
        if state == self._state:
            self._casts[key] = cast
