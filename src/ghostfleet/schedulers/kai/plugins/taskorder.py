"""taskorder: tasks with a task priority label first, the higher ones before the lower."""

from __future__ import annotations

from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.session import Session

__all__ = ["TASK_PRIORITY_LABEL", "TaskOrder"]

TASK_PRIORITY_LABEL = "kai.scheduler/task-priority"


class TaskOrder:
    def on_session_open(self, session: Session) -> None:
        session.task_order_keys.append(_rank)


def _rank(task: PodInfo) -> tuple[int, int]:
    """Labelled tasks, then labels that are no numbers, then the rest."""
    label = task.pod.labels.get(TASK_PRIORITY_LABEL)
    if label is None:
        return (2, 0)
    try:
        return (0, -int(label))
    except ValueError:
        return (1, 0)
