"""The controllers and webhooks of KAI together."""

from __future__ import annotations

from ghostfleet.api.verbs import Api
from ghostfleet.controllers.kai.binder import Binder
from ghostfleet.controllers.kai.constants import KaiConfig
from ghostfleet.controllers.kai.grouping import PodGrouper
from ghostfleet.controllers.kai.podgroups import PodGroupController
from ghostfleet.controllers.kai.projects import ProjectQueues
from ghostfleet.controllers.kai.queues import QueueController
from ghostfleet.controllers.kai.reservation import ReservationProgram
from ghostfleet.controllers.kai.webhooks import register_webhooks
from ghostfleet.core.profile import Profile

__all__ = ["KaiPart"]


class KaiPart:
    """KAI without its scheduler, on one cluster; `install_kinds` comes first."""

    def __init__(self, api: Api, profile: Profile, config: KaiConfig | None = None) -> None:
        self.config = config = config or KaiConfig()
        register_webhooks(api.admission, config)
        store = api.store
        self._controllers = (
            PodGrouper(store, api.registry, profile, config),
            PodGroupController(store, profile),
            QueueController(store, profile),
            Binder(store, api.admission, profile, config),
            ReservationProgram(store),
            ProjectQueues(store),
        )
