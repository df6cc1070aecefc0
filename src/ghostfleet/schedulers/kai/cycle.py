"""One scheduling cycle: a session on the snapshot, the actions in their order, and what they decided."""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.schedulers.kai.actions import ACTIONS
from ghostfleet.schedulers.kai.cluster_info import ClusterInfo
from ghostfleet.schedulers.kai.conf import PREFER_CONSOLIDATION, SchedulerConfiguration
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
    traced: str = "",
) -> Decisions:
    """Decide; the snapshot is given back as it was. Who wants to look in is called after every action.

    The search for victims of one job can be *traced*: its scenarios are then noted down one by one."""
    session = open_session(cluster, config, now)
    session.traced = traced
    for name in config.actions:
        if name == "allocate" and config.policy == PREFER_CONSOLIDATION:
            _consolidate_before_opening(session)
        ACTIONS[name](session)
        if after_action is not None:
            after_action(name, session)
    session.close()
    return session.decisions


def _consolidate_before_opening(session: Session) -> None:
    """Fill the nodes that are in use, and move jobs together there for those who found no place."""
    session.closed = frozenset(node.name for node in session.nodes.values() if not node.tasks)
    ACTIONS["allocate"](session)
    ACTIONS["consolidation"](session)
    session.closed = frozenset()
    # Who found no place there is asked again, and told once.
    for job in session.jobs.values():
        job.forget_errors()
