"""Quotas: the forest of one cluster, kept up to date with its QuotaSubtrees.

Trees are grown anew when the next wrapper asks for quota after a change. If some nodes cannot be connected then, that
one request is refused. MCAD does not notice when a QuotaSubtree is deleted until it is started again.
"""

from __future__ import annotations

from ghostfleet.core.changes import Change, Object
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Store
from ghostfleet.dispatchers.mcad.quotaforest import Forest
from ghostfleet.dispatchers.mcad.wrapper import QUOTA_SUBTREES, Key

__all__ = ["REFRESH_FAILED", "Quotas"]

REFRESH_FAILED = "failure during refresh of quota tree(s)"


class Quotas:
    """The quota forest, if there is one."""

    def __init__(self, store: Store, profile: Profile) -> None:
        self.forest = Forest()
        self._enabled = profile.switch("quota")
        self._ignores_deletion = profile.switch("defect.quota-deletion-ignored")
        self._subtrees: dict[Key, Object] = {}
        self._stale = False
        for subtree in store.list(QUOTA_SUBTREES):
            self._keep(subtree)
        self.refresh()
        self.stop = store.listen(QUOTA_SUBTREES, self._notice, status=False)

    def _keep(self, subtree: Object) -> None:
        self._subtrees[subtree["metadata"]["namespace"], subtree["metadata"]["name"]] = subtree
        self._stale = True

    def _notice(self, change: Change) -> None:
        if change.new is not None:
            self._keep(change.new)
        elif not self._ignores_deletion:
            self._subtrees.pop((change.namespace, change.name), None)
            self._stale = True

    @property
    def active(self) -> bool:
        """Whether there is any quota to ask for."""
        return self._enabled and bool(self._subtrees)

    def refresh(self) -> bool:
        """Take over changes of QuotaSubtrees; false when nodes were found that lead to no root."""
        if not self._stale:
            return True
        self._stale = False
        self.forest.replant(self._subtrees.values())
        return not self.forest.dangling
