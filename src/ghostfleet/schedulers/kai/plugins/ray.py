"""ray: the head of a Ray cluster before its workers."""

from __future__ import annotations

from ghostfleet.schedulers.kai.session import Session

__all__ = ["Ray"]

ROLE_LABEL = "ray.io/node-type"


class Ray:
    def on_session_open(self, session: Session) -> None:
        session.task_order_keys.append(lambda task: task.pod.labels.get(ROLE_LABEL) != "head")
