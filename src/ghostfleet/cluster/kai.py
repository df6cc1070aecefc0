"""KAI on a cluster: its kinds first, then its controllers and a scheduler for each of its shards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ghostfleet.controllers.kai import KaiConfig, install_kinds
from ghostfleet.core.names import is_qualified_name
from ghostfleet.schedulers.kai.conf import POLICIES, PROFILES, SchedulerConfiguration
from ghostfleet.schedulers.kai.conf_file import load_configuration

if TYPE_CHECKING:
    from ghostfleet.api.verbs import Api
    from ghostfleet.cluster.config import ClusterConfig
    from ghostfleet.core.profile import Profile

__all__ = ["Kai", "kai_configuration"]


def kai_configuration(config: ClusterConfig, *, by_default: bool = False) -> SchedulerConfiguration:
    """How the scheduler is set up; a ValueError names the option that is wrong."""
    profile, policy, path, label = config.kai_profile, config.kai_policy, config.kai_config, config.kai_queue_label
    if profile not in PROFILES:
        raise ValueError(f"--kai-profile {profile}: expected {' or '.join(PROFILES)}")
    if policy not in POLICIES:
        raise ValueError(f"--kai-policy {policy}: expected {' or '.join(POLICIES)}")
    problems = is_qualified_name(label)
    if problems:
        raise ValueError(f"--kai-queue-label {label}: no label can be called so: {problems[0]}")
    usual = SchedulerConfiguration(
        scheduler_name="default-scheduler" if by_default else "kai-scheduler",
        queue_label=label,
        profile=PROFILES[profile],
        policy=policy,
    )
    return usual if path is None else load_configuration(path.read_bytes(), f"--kai-config {path}", usual)


class Kai:
    """KAI with all that belongs to it; by default it takes the pods that name no scheduler, and only these."""

    def __init__(self, api: Api, profile: Profile, config: ClusterConfig, *, by_default: bool) -> None:
        self._api = api
        self._profile = profile
        self._recreates = config.recreate_bare_pods
        self._configuration = kai_configuration(config, by_default=by_default)
        install_kinds(api.store)
        # Its kinds are served first.
        api.store.clock.call_soon(self._start)

    def _start(self) -> None:
        from ghostfleet.controllers.kai.barepods import BarePods
        from ghostfleet.controllers.kai.part import KaiPart
        from ghostfleet.schedulers.kai.shards import Shards

        store, config = self._api.store, self._configuration
        named = KaiConfig(scheduler_name=config.scheduler_name, queue_label=config.queue_label)
        self._part = KaiPart(self._api, self._profile, named)
        bare_pods = BarePods(store, self._api.admission) if self._recreates else None
        self.shards = Shards(store, self._profile, config, bare_pods)
