"""The cache: what KAI's scheduler knows of a cluster, and what it tells it.

Read it in this order: `nodes`, `pods`, `podgroups` and `queues` (from objects to infos), `scheduler_cache` (the infos,
kept by events), `status_updater` (conditions and events in KAI's words).
"""

from __future__ import annotations

from ghostfleet.schedulers.kai.cache.scheduler_cache import SchedulerCache
from ghostfleet.schedulers.kai.cache.status_updater import StatusUpdater

__all__ = ["SchedulerCache", "StatusUpdater"]
