"""Stages that were applied to the cluster: objects of kind Stage, as `kubectl apply` makes them.

They are played together with those that were loaded at the start; one of the same name takes the place of a loaded one,
and when it is deleted that one is back. Whether a stage could be read is told in its status, by the condition `Loaded`:
one that could not be is not played, and the condition says why.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import Handle
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.stages.stage import Compatibility, Stage, StageError, parse_stage
from ghostfleet.stages.values import Warn

__all__ = ["STAGES", "AppliedStages"]

STAGES = "stages.kwok.x-k8s.io"


class AppliedStages:
    """Keeps the stages of one store; calls `on_change` when they are others."""

    def __init__(
        self, store: Store, compatibility: Compatibility, warn: Warn, on_change: Callable[[list[Stage]], None]
    ) -> None:
        self._store = store
        self._compatibility = compatibility
        self._warn = warn
        self._on_change = on_change
        self._read: dict[str, tuple[Object, Stage | None]] = {}
        self._handle: Handle | None = None
        store.listen(STAGES, self._notice)
        if store.count(STAGES):
            self._handle = store.clock.call_soon(self._look)

    def _notice(self, change: Change) -> None:
        known = self._read.get(change.name)
        # Its own status is none of a stage's business.
        if change.new is not None and known is not None and known[0] is change.new.get("spec"):
            return
        if self._handle is None:
            self._handle = self._store.clock.call_soon(self._look)

    def _look(self) -> None:
        self._handle = None
        read: dict[str, tuple[Object, Stage | None]] = {}
        for obj in self._store.list(STAGES):
            name, spec = obj["metadata"]["name"], obj["spec"]
            known = self._read.get(name)
            read[name] = known if known is not None and known[0] is spec else (spec, self._stage(obj))
        if read != self._read:
            self._read = read
            self._on_change([stage for _, stage in read.values() if stage is not None])

    def _stage(self, obj: Object) -> Stage | None:
        try:
            stage = parse_stage(obj, compatibility=self._compatibility, warn=self._warn)
        except StageError as error:
            self._warn(str(error))
            self._tell(obj, "False", "CannotBeRead", str(error))
            return None
        self._tell(obj, "True", "Read", "; ".join(stage.notes))
        return stage

    def _tell(self, obj: Object, status: str, reason: str, message: str) -> None:
        condition = {
            "type": "Loaded",
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": rfc3339(self._store.clock.now()),
        }
        self._store.patch_status(STAGES, "", obj["metadata"]["name"], {"conditions": [condition]})
