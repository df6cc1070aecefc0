"""priority: jobs of higher priority first."""

from __future__ import annotations

from ghostfleet.schedulers.kai.session import Session

__all__ = ["Priority"]


class Priority:
    def on_session_open(self, session: Session) -> None:
        session.job_order_keys.append(lambda job: -job.priority)
