"""The controllers of Run:ai together."""

from __future__ import annotations

from ghostfleet.controllers.pods import PodCreator
from ghostfleet.controllers.routing import PodRoutes
from ghostfleet.controllers.runai.groups import PodGrouper
from ghostfleet.controllers.runai.jobs import RunaiJobController
from ghostfleet.controllers.runai.workloads import WorkloadController
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Store

__all__ = ["RunaiPart"]


class RunaiPart:
    """Run:ai on one store; where KAI schedules its pods, by whatever name, KAI groups them."""

    def __init__(
        self,
        store: Store,
        routes: PodRoutes,
        creator: PodCreator,
        profile: Profile,
        *,
        scheduler: str = "default-scheduler",
        groups: bool = True,
    ) -> None:
        self._controllers = (
            WorkloadController(store, creator.templates, profile, scheduler),
            RunaiJobController(store, routes, creator, profile),
            PodGrouper(store, profile) if groups else None,
        )
