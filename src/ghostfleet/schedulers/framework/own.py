"""How a scheduler of your own is plugged in: a session in, decisions out.

A *scheduler* is any class with a method `schedule(session)` that answers what to do, a decision at a time: Bind, Evict,
Nominate and Reject, or groups of them. What is decided counts at once in the session's snapshot. Pods ask for the
scheduler by spec.schedulerName, which is the class attribute `name`. A class attribute `period` ("1s") has it called
that often while pods wait; without it it is called when pods or nodes changed while pods wait. A pod that the scheduler
says nothing about just waits on. A file with such a class is named `path.py:Class`.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import Clock
from ghostfleet.core.durations import parse_duration
from ghostfleet.core.store import Store
from ghostfleet.schedulers.framework.decisions import Bind, Decision, Evict, Group, Nominate, Reject
from ghostfleet.schedulers.framework.podinfo import DEFAULT_SCHEDULER, PodInfo
from ghostfleet.schedulers.framework.runner import INSTANT, Pace, Runner
from ghostfleet.schedulers.framework.session import PendingPods, Session

__all__ = ["OwnScheduler", "Scheduler", "load_scheduler"]


class Scheduler(Protocol):
    """What a scheduler must have."""

    #: What pods ask for by spec.schedulerName.
    name: str

    def schedule(self, session: Session) -> Iterable[Decision | Group]:
        """Decide about pods that wait."""


def load_scheduler(place: str) -> Scheduler:
    """Make the scheduler that `path.py:Class` names."""
    path, separator, class_name = place.rpartition(":")
    if not separator or not path.endswith(".py"):
        raise ValueError(f"scheduler {place!r}: expected kai or path.py:Class")
    if not Path(path).is_file():
        raise ValueError(f"scheduler {place!r}: there is no file {path}")
    name = f"ghostfleet_scheduler_{Path(path).stem.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"scheduler {place!r}: {path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and the like look their module up by name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"scheduler {place!r}: {path} cannot be loaded: {type(error).__name__}: {error}") from error
    made = getattr(module, class_name, None)
    if not isinstance(made, type):
        raise ValueError(f"scheduler {place!r}: there is no class {class_name} in {path}")
    try:
        scheduler = made()
    except TypeError as error:
        raise ValueError(f"scheduler {place!r}: {class_name} cannot be made without arguments: {error}") from None
    if not isinstance(getattr(scheduler, "name", None), str) or not callable(getattr(scheduler, "schedule", None)):
        raise ValueError(f"scheduler {place!r}: {class_name} needs a `name` and a method `schedule(session)`")
    plugged: Scheduler = scheduler
    return plugged


class OwnScheduler(Runner):
    """Runs a user's scheduler on one store and one clock."""

    def __init__(
        self, store: Store, clock: Clock, scheduler: Scheduler, pace: Pace = INSTANT, *, by_default: bool = False
    ) -> None:
        period = getattr(scheduler, "period", "")
        super().__init__(store, clock, replace(pace, period=parse_duration(period)) if period else pace)
        self._scheduler = scheduler
        #: Whose decisions they are, for the watchdog.
        self.acts_for = scheduler.schedule
        self._pending = PendingPods(self.snapshot.specs)
        # By default it takes the pods that name no scheduler, too.
        self.start(self._pending, (scheduler.name, DEFAULT_SCHEDULER) if by_default else (scheduler.name,))

    def cycle(self, now: int) -> bool:
        self.handlers.taken()
        if self._pending.waiting():
            session = Session(self.snapshot, self._pending.listed(), now)
            for decision in self._scheduler.schedule(session):
                self._write(decision.decisions if isinstance(decision, Group) else (decision,))
        # By the clock it is called again, by events only when there are some.
        return bool(self._pace.period) and self._pending.waiting()

    def _write(self, decisions: Iterable[Decision]) -> None:
        """Write decisions, all or none."""
        decisions = list(decisions)
        for each in decisions:
            if isinstance(each, Bind | Nominate):
                self._check_node(each.pod, each.node)
        if any(self.writer.current(each.pod.pod) is None for each in decisions if not isinstance(each, Evict)):
            return
        bindings: list[tuple[Object, str]] = []
        for each in decisions:
            if isinstance(each, Bind):
                self._pending.remove(each.pod.uid)
                self.snapshot.assume(each.pod.pod, each.node, each.pod.info)
                bindings.append((each.pod.pod, each.node))
            elif isinstance(each, Evict):
                self._evict(each)
            elif isinstance(each, Nominate):
                self.snapshot.nominate(each.pod.pod, each.node)
                self.writer.nominate(each.pod.pod, each.node)
            else:
                self._reject(each)
        if bindings:
            self.writer.bind_together(bindings)

    def _check_node(self, pod: PodInfo, node: str) -> None:
        if self._store.find("nodes", "", node) is None:
            raise ValueError(f"scheduler {self._scheduler.name}: there is no node {node!r} to bind {pod.key} to")

    def _evict(self, decision: Evict) -> None:
        name = self._scheduler.name
        message = f"{name}: {decision.message or 'preempting to accommodate another pod'}"
        self.writer.evict(decision.pod, message, f"Preempted by {message}", self._recorders[name])

    def _reject(self, decision: Reject) -> None:
        pod = self.writer.current(decision.pod.pod)
        conditions = ((pod or {}).get("status") or {}).get("conditions") or ()
        said = [each.get("message") for each in conditions if each.get("type") == "PodScheduled"]
        if pod is not None and said != [decision.message]:
            self.writer.reject(pod, decision.message)
