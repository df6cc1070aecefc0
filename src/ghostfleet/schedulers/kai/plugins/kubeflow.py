"""kubeflow: the master or launcher of a training job before its workers."""

from __future__ import annotations

from ghostfleet.schedulers.kai.session import Session

__all__ = ["Kubeflow"]

ROLE_LABEL = "training.kubeflow.org/job-role"


class Kubeflow:
    def on_session_open(self, session: Session) -> None:
        session.task_order_keys.append(lambda task: task.pod.labels.get(ROLE_LABEL) not in ("master", "launcher"))
