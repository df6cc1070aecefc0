"""One scheduling cycle: a session on the snapshot, the actions in their order, and what they decided."""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.schedulers.kai.actions import ACTIONS
from ghostfleet.schedulers.kai.cluster_info import ClusterInfo
from ghostfleet.schedulers.kai.conf import SchedulerConfiguration
from ghostfleet.schedulers.kai.decisions import Decisions
from ghostfleet.schedulers.kai.plugins import build_plugin
from ghostfleet.schedulers.kai.session import Session

__all__ = ["open_session", "run_once"]


def open_session(cluster: ClusterInfo, config: SchedulerConfiguration, now: float) -> Session:
    """A session with the configured plugins."""
    return Session(cluster, config, now, build_plugin)


def run_once(
    cluster: ClusterInfo,
    config: SchedulerConfiguration,
    now: float,
    after_action: Callable[[str, Session], None] | None = None,
) -> Decisions:
    """Decide; the snapshot is given back as it was. Who wants to look in is called after every action."""
    session = open_session(cluster, config, now)
    for name in config.actions:
        ACTIONS[name](session)
        if after_action is not None:
            after_action(name, session)
    session.close()
    return session.decisions
