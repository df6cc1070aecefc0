"""Events: what controllers tell about the objects they work on, for an hour.

A *recorder* writes events as client-go's does. The same event told again raises the count of the first one. Many
*similar* events, which differ in their message only, are told as one from the tenth on, and an object that has too much
told about it is no longer reported on for a while. Where the client has a rate limit or a latency, events are sent one
after the other, and wait in line for their turn behind the controller's own requests. A profile may leave out events of
the type Normal.

Events *expire* an hour after they were written last, as etcd's leases have it in a real cluster. Besides there is a
bound to how many are kept, which a real cluster lacks: past it the oldest go early, so that a cluster in which
thousands of pods come and go does not grow.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import NamedTuple

from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND, Handle
from ghostfleet.core.errors import ApiError
from ghostfleet.core.latency import Client
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339

__all__ = ["EventExpiry", "EventRecorder"]

_REMEMBERED = 4096
_COMBINED = "(combined from similar events): "


_Groups = dict[tuple[str, str], tuple[int, dict[str, None]]]


class _Event(NamedTuple):
    """Something to tell about an object."""

    about: Object
    type: str
    reason: str
    message: str
    time: int


class _Subject:
    """What was told of one object."""

    __slots__ = ("groups", "last", "names", "tokens")

    def __init__(self, tokens: float, now: int) -> None:
        self.tokens = tokens
        self.last = now
        #: By type, reason and message: the name an event is stored under, how often it was told, and when last.
        self.names: dict[tuple[str, str, str], tuple[str, int, int]] = {}
        #: By type and reason: when it was told last, and with which messages. None while these are few.
        self.groups: _Groups | None = None

    def begin_groups(self) -> _Groups:
        """Look back at what was told so far."""
        groups: _Groups = {}
        self.groups = groups
        for (kind, reason, message), (_, _, time) in self.names.items():
            _, messages = groups.get((kind, reason)) or (time, {})
            messages[message] = None
            groups[kind, reason] = (time, messages)
        return groups


class EventRecorder:
    """Writes the events of one component."""

    def __init__(self, store: Store, component: str, profile: Profile, client: Client | None = None) -> None:
        self._store = store
        self._component = component
        self._source = {"component": component}
        self._client = client
        self._similar_limit = profile.number("events.aggregate-after")
        self._window = profile.duration("events.aggregate-window")
        self._tells_all = profile.switch("events.normal")
        self._burst = float(profile.number("events.burst"))
        self._rate = profile.ratio("events.qps") / SECOND
        self._subjects: OrderedDict[str, _Subject] = OrderedDict()
        self._waiting: deque[_Event] = deque()
        self._stamp = 0
        self._busy = False

    def normal(self, obj: Object, reason: str, message: str) -> None:
        if self._tells_all:
            self._tell(_Event(obj, "Normal", reason, message, self._store.clock.now()))

    def warning(self, obj: Object, reason: str, message: str) -> None:
        self._tell(_Event(obj, "Warning", reason, message, self._store.clock.now()))

    def _tell(self, event: _Event) -> None:
        if self._client is None:
            subject = self._subject(event, event.time)
            if subject is not None:
                self._write(subject, event)
            return
        self._waiting.append(event)
        if not self._busy:
            self._busy = True
            self._store.clock.call_soon(self._next)

    def _next(self) -> None:
        """Ask for the next event's turn; one event waits at a time, so that they do not crowd out the work."""
        assert self._client is not None
        while self._waiting:
            event = self._waiting.popleft()
            now = self._store.clock.now()
            subject = self._subject(event, now)
            if subject is not None:
                delay = self._client.reserve(now) + self._client.latency("create", "events")
                self._store.clock.call_later(delay, self._take_turn, subject, event)
                return
        self._busy = False

    def _take_turn(self, subject: _Subject, event: _Event) -> None:
        self._write(subject, event)
        self._next()

    def _subject(self, event: _Event, now: int) -> _Subject | None:
        """What is known of the event's object; None when too much was told about it of late."""
        uid: str = event.about["metadata"]["uid"]
        subject = self._subjects.get(uid)
        if subject is None:
            subject = self._subjects[uid] = _Subject(self._burst, now)
            if len(self._subjects) > _REMEMBERED:
                self._subjects.popitem(last=False)
        else:
            self._subjects.move_to_end(uid)
            subject.tokens = min(subject.tokens + (now - subject.last) * self._rate, self._burst)
            subject.last = now
        if subject.tokens < 1:
            return None
        subject.tokens -= 1
        return subject

    def _write(self, subject: _Subject, event: _Event) -> None:
        names, message = subject.names, event.message
        combined = len(names) + 1 >= self._similar_limit and self._is_one_of_many(subject, event)
        # All that are combined are one event, whatever its message is at the time.
        identity = (event.type, event.reason, _COMBINED if combined else message)
        if combined:
            message = _COMBINED + message
        known = names.get(identity)
        if known is not None and self._repeat(event, message, known[0], known[1] + 1):
            names[identity] = (known[0], known[1] + 1, event.time)
        else:
            names[identity] = (self._create(event, message), 1, event.time)

    def _is_one_of_many(self, subject: _Subject, event: _Event) -> bool:
        """Whether too many events with the same reason were told of late."""
        groups = subject.groups if subject.groups is not None else subject.begin_groups()
        group = (event.type, event.reason)
        found = groups.get(group)
        messages = found[1] if found is not None and event.time - found[0] <= self._window else {}
        messages[event.message] = None
        groups[group] = (event.time, messages)
        if len(messages) < self._similar_limit:
            return False
        messages.pop(next(iter(messages)))
        return True

    def _repeat(self, event: _Event, message: str, name: str, times: int) -> bool:
        """Tell a known event again; false when it is gone."""
        stored = self._store.find("events", event.about["metadata"].get("namespace") or "default", name)
        if stored is None:
            return False
        again = {"message": message, "count": times, "lastTimestamp": rfc3339(event.time)}
        self._store.update("events", {**stored, **again})
        return True

    def _create(self, event: _Event, message: str) -> str:
        """Store a new event; its name."""
        obj, kind, reason, _, moment = event
        metadata = obj["metadata"]
        namespace = metadata.get("namespace") or "default"
        time = rfc3339(moment)
        involved = {
            "kind": obj["kind"],
            "namespace": namespace,
            "name": metadata["name"],
            "uid": metadata["uid"],
            "apiVersion": obj["apiVersion"],
            "resourceVersion": metadata["resourceVersion"],
        }
        if "namespace" not in metadata:
            del involved["namespace"]
        own = {"namespace": namespace}
        created = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": own,
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": self._source,
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": 1,
            "type": kind,
            "eventTime": None,
            "reportingComponent": self._component,
            "reportingInstance": "",
        }
        while True:
            # Kubernetes has the nanosecond in the name; here several events may fall on the same one.
            self._stamp = max(self._stamp + 1, moment * 1000)
            own["name"] = name = f"{metadata['name']}.{self._stamp:x}"
            try:
                self._store.add("events", created)
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
            else:
                return name


class EventExpiry:
    """Removes events from one store when their time is over; a write starts it anew."""

    def __init__(self, store: Store, profile: Profile) -> None:
        self._store = store
        self._life = profile.duration("events.time-to-live")
        self._most = profile.number("events.kept")
        #: When each event goes, by namespace and name, in that order.
        self._waiting: dict[tuple[str, str], int] = {}
        self._handle: Handle | None = None
        self._crowded = False
        store.listen("events", self._notice)

    def _notice(self, change: Change) -> None:
        waiting, place = self._waiting, (change.namespace, change.name)
        waiting.pop(place, None)
        if change.new is None:
            return
        clock = self._store.clock
        waiting[place] = clock.now() + self._life
        if self._handle is None:
            self._handle = clock.call_later(self._life, self._sweep)
        if len(waiting) > self._most and not self._crowded:
            self._crowded = True
            clock.call_soon(self._thin_out)

    def _thin_out(self) -> None:
        self._crowded = False
        for _ in range(len(self._waiting) - self._most):
            self._remove_first()

    def _sweep(self) -> None:
        now, waiting = self._store.clock.now(), self._waiting
        while waiting and next(iter(waiting.values())) <= now:
            self._remove_first()
        self._handle = None
        if waiting:
            self._handle = self._store.clock.call_at(next(iter(waiting.values())), self._sweep)

    def _remove_first(self) -> None:
        """Remove the event whose turn it is; one that somebody holds by a finalizer is only marked."""
        place = next(iter(self._waiting))
        del self._waiting[place]
        self._store.delete("events", *place)
