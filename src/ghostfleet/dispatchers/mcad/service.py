"""The dispatcher as a part of a cluster: its definitions, its stand-ins, and the controller they start and stop."""

from __future__ import annotations

from ghostfleet.api.verbs import Api
from ghostfleet.core.profile import Profile
from ghostfleet.dispatchers.mcad.better import BetterMcad
from ghostfleet.dispatchers.mcad.controller import Controller
from ghostfleet.dispatchers.mcad.definitions import install_definitions
from ghostfleet.dispatchers.mcad.early import EarlyMcad
from ghostfleet.dispatchers.mcad.explain import Explanation, explain
from ghostfleet.dispatchers.mcad.late import LateMcad
from ghostfleet.dispatchers.mcad.standins import StandIns
from ghostfleet.dispatchers.mcad.wrapper import APPWRAPPERS, QUOTA_SUBTREES

__all__ = ["Mcad"]

_MACHINES: dict[str, type[Controller]] = {"threads": EarlyMcad, "worker": LateMcad, "events": BetterMcad}


class Mcad:
    """MCAD on one cluster."""

    def __init__(self, api: Api, profile: Profile) -> None:
        self._api = api
        self._profile = profile
        install_definitions(api.store, profile)
        self.controller = self._make(profile)
        self.controller.start()
        self._stand_ins = StandIns(api.store, profile, self._start, self._stop)

    def _make(self, profile: Profile) -> Controller:
        return _MACHINES[str(profile.figure("machine"))](self._api, profile)

    def _start(self, profile: Profile) -> None:
        """A new pod of the controller runs, with the settings in its environment."""
        self.controller = self._make(profile)
        self.controller.start()

    def _stop(self) -> None:
        """The controller's pod is gone."""
        if self.controller.running:
            self.controller.stop()

    def explain(self, namespace: str, name: str) -> Explanation:
        """Why an AppWrapper waits; a KeyError when there is none of this name."""
        store, key = self._api.store, (namespace, name)
        return explain(
            key,
            store.list(APPWRAPPERS),
            store.list("nodes"),
            store.list("pods"),
            store.list(QUOTA_SUBTREES),
            self.controller.profile,
            self._api.clock.now(),
            self.controller.next_try(key) if self.controller.running else None,
        )
