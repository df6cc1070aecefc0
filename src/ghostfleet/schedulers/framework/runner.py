"""The runner: what every scheduler runs in, be it the default one or a user's own.

It keeps the snapshot by the store's events, wakes the scheduler when something may have changed for pods that wait,
and writes what is decided. In cluster time a cycle costs `cycle_cost`, cycles begin no oftener than every `period`, and
events and writes go through a client with a rate limit and a latency; all that is nothing unless a profile of modelled
speed says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import Clock, Handle
from ghostfleet.core.latency import Client, Curve, parse_curve
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Store
from ghostfleet.schedulers.framework.eventhandlers import EventHandlers, Queue
from ghostfleet.schedulers.framework.plugin import Plugin
from ghostfleet.schedulers.framework.recorder import EventRecorder
from ghostfleet.schedulers.framework.snapshot import Snapshot
from ghostfleet.schedulers.framework.writer import Writer

__all__ = ["INSTANT", "Pace", "Runner"]

_NO_COST = parse_curve("0s")


@dataclass(frozen=True)
class Pace:
    """How fast a scheduler works."""

    #: None for one whose requests never wait and take no time.
    client: Client | None = None
    #: How long a cycle takes, by the number of nodes.
    cycle_cost: Curve = _NO_COST
    #: How often cycles begin at most, in microseconds.
    period: int = 0

    @classmethod
    def of(cls, profile: Profile) -> Pace:
        """The pace of kube-scheduler in a profile."""
        return cls(profile.api_client("kube-scheduler", "Scheduler"), profile.curve("scheduler.cycle-cost"))


INSTANT = Pace()


class Runner:
    """Runs one scheduler on one store and one clock; what a scheduler does in a cycle is up to it."""

    def __init__(self, store: Store, clock: Clock, pace: Pace = INSTANT) -> None:
        self._store = store
        self._clock = clock
        self._pace = pace
        #: Whether a cycle takes any time.
        self._costs = bool(pace.cycle_cost)
        self._handle: Handle | None = None
        self._started = -pace.period
        self.snapshot = Snapshot(store)

    def start(self, queue: Queue, schedulers: Collection[str], plugins: Iterable[Plugin] = ()) -> None:
        """Begin to take notice of the store; pods name one of the schedulers by spec.schedulerName."""
        self._recorders = {name: EventRecorder(self._store, name) for name in schedulers}
        self.writer = Writer(self.snapshot, self._recorders, self._binding_failed, self._pace.client)
        self.handlers = EventHandlers(
            self._store, self.snapshot, queue, schedulers, self.wake, self.writer.forget, list(plugins)
        )
        self.wake()

    def stop(self) -> None:
        """Take no more notice of the store."""
        self.handlers.stop()
        if self._handle is not None:
            self._handle.cancel()

    def wake(self) -> None:
        """Let a cycle begin soon."""
        if self._handle is None:
            due = self._started + self._pace.period
            if self._pace.client is not None:
                due = max(due, self._clock.now() + self._pace.client.informer_delay())
            if due > self._clock.now():
                self._handle = self._clock.call_at(due, self._run)
            else:
                self._handle = self._clock.call_soon(self._run)

    def _run(self) -> None:
        self._handle = None
        self._started = self._clock.now()
        if not self.cycle(self._started):
            return
        cost = self.cycle_cost()
        if cost:
            self._handle = self._clock.call_later(cost, self._run)
        else:
            self.wake()

    def cycle_cost(self) -> int:
        """How long a cycle takes now."""
        return self._pace.cycle_cost(len(self.snapshot.nodes)) if self._costs else 0

    def cycle(self, now: int) -> bool:
        """One cycle; answers whether there is more to do."""
        raise NotImplementedError

    def _binding_failed(self, pod: Object) -> None:
        """A pod could not be bound after all; look at it again if it is still there."""
        self.handlers.events.note("pods")
        found = self._store.find("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])
        if found is not None:
            self.handlers.see(None, found)
        self.wake()
