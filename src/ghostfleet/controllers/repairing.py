"""Repairing: a status belongs to the controller that writes it.

Controllers write statuses in a way of their own, of which nobody is told who listens without `status`. One that comes
any other way is somebody else's: the controller is woken, and writes again what is true, as those of Kubernetes do.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.core.changes import Change
from ghostfleet.core.store import Store

__all__ = ["is_overwritten", "wake_when_overwritten"]


def is_overwritten(change: Change) -> bool:
    """Whether a change, told to one who listens without `status`, has put another status in the place of one."""
    old, new = change.old, change.new
    return old is not None and new is not None and old.get("status") != new.get("status")


def wake_when_overwritten(store: Store, resource: str, wake: Callable[[tuple[str, str]], None]) -> None:
    """Call `wake` with the place of each object of a resource whose status somebody else has written."""

    def notice(change: Change) -> None:
        if is_overwritten(change):
            wake((change.namespace, change.name))

    store.listen(resource, notice, status=False)
