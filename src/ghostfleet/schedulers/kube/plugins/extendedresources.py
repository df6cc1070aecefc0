"""Extended resources as the plugins of one snapshot see them: which of them devices stand for, and on which nodes.

A node that has some of a resource itself gives that; only where it has none do devices stand for it.
"""

from __future__ import annotations

from ghostfleet.api.extendedresources import ExtendedResourceClasses
from ghostfleet.api.podclaims import CLASSES
from ghostfleet.core.changes import Change
from ghostfleet.schedulers.framework.index import Index
from ghostfleet.schedulers.framework.podinfo import SpecInfo
from ghostfleet.schedulers.framework.snapshot import Snapshot

__all__ = ["ExtendedResources"]


class ExtendedResources(Index):
    """The device classes that serve extended resources, kept by events."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._nodes = snapshot.nodes
        self._seen = snapshot.store.revision
        self._classes = ExtendedResourceClasses(snapshot.store.list(CLASSES))

    @classmethod
    def of(cls, snapshot: Snapshot) -> ExtendedResources:
        return snapshot.index(cls, lambda: cls(snapshot))

    @property
    def version(self) -> int:
        """Counts changes."""
        return self._classes.version

    def notice(self, change: Change) -> None:
        """A class changed; several plugins may tell of it."""
        if change.revision > self._seen:
            self._seen = change.revision
            self._classes.change(change.old, change.new)

    def serving(self, info: SpecInfo) -> dict[str, str]:
        """The resources that pods of a spec ask for and devices may stand for, with their classes."""
        return self._classes.serving(info.extended) if info.extended and self._classes.version else {}

    def on(self, slot: int, serving: dict[str, str]) -> dict[str, str]:
        """Those of them that devices stand for on a node."""
        has, columns = self._nodes.allocatable[slot], self._nodes.resources
        return {name: each for name, each in serving.items() if name not in columns or not has[columns[name]]}
