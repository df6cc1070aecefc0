"""The queue controller: the status of a queue says who is below it, and what its pod groups ask for and have got.

A queue's sums are those of its own pod groups and of the queues below it, as their status tells them; so news go up the
tree a step at a time. What the groups come to is kept up by differences, for there may be thousands in a queue.
Conditions are a field that KAI does not fill in.
"""

from __future__ import annotations

from collections.abc import Mapping

from ghostfleet.controllers.kai.constants import POD_GROUPS, QUEUES
from ghostfleet.controllers.kai.tally import Amounts, Tally
from ghostfleet.controllers.requests import Steps, update_status
from ghostfleet.controllers.workers import Workers
from ghostfleet.core import quantity
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store

__all__ = ["QueueController"]

_FIELDS = ("allocated", "allocatedNonPreemptible", "requested")
_Part = tuple[Mapping[str, str], ...]


class QueueController:
    """Keeps the status of all queues of one store."""

    def __init__(self, store: Store, profile: Profile) -> None:
        self._store: Reader = store
        #: What a queue's own pod groups come to.
        self._sums: dict[str, tuple[Tally, ...]] = {}
        self._children: dict[str, set[str]] = {}
        self._workers: Workers[str] = Workers(
            store,
            self._sync,
            count=profile.number("kai-queue-controller.workers"),
            client=profile.api_client("kai-queue-controller"),
        )
        store.listen(POD_GROUPS, self._notice_group)
        store.listen(QUEUES, self._notice)
        for group in store.list(POD_GROUPS):
            self._move(_queue_of(group), _amounts_of_group(group), add=True)
        for queue in store.list(QUEUES):
            self._place(queue, add=True)
            self._workers.add(queue["metadata"]["name"])

    def _notice_group(self, change: Change) -> None:
        """Take what a group was from its queue, and give what it is to the one it is in."""
        old, new = change.old, change.new
        before = (_queue_of(old), _amounts_of_group(old)) if old is not None else None
        after = (_queue_of(new), _amounts_of_group(new)) if new is not None else None
        if before == after:
            return
        if before is not None:
            self._move(*before, add=False)
        if after is not None:
            self._move(*after, add=True)

    def _notice(self, change: Change) -> None:
        if change.old is not None:
            self._place(change.old, add=False)
        if change.new is not None:
            self._place(change.new, add=True)
            self._workers.add(change.name)

    def _place(self, queue: Object, *, add: bool) -> None:
        """Put a queue below its parent, or take it away from there."""
        parent = _parent_of(queue)
        if not parent:
            return
        children = self._children.setdefault(parent, set())
        (children.add if add else children.discard)(queue["metadata"]["name"])
        if not children:
            del self._children[parent]
        self._workers.add(parent)

    def _move(self, queue: str, part: _Part, *, add: bool) -> None:
        sums = self._sums.get(queue)
        if sums is None:
            sums = self._sums[queue] = tuple(Tally() for _ in _FIELDS)
        for tally, amounts in zip(sums, part, strict=True):
            (tally.add if add else tally.remove)(_parsed(amounts))
        if not any(sums):
            del self._sums[queue]
        self._workers.add(queue)

    def _sync(self, name: str) -> Steps:
        queue = self._store.find(QUEUES, "", name)
        if queue is None or self._status(queue) == (queue.get("status") or {}):
            return
        yield update_status(QUEUES, queue, self._status)

    def _status(self, queue: Object) -> Object:
        name = queue["metadata"]["name"]
        status = {
            field: value
            for field, value in (queue.get("status") or {}).items()
            if field not in (*_FIELDS, "childQueues")
        }
        children = sorted(self._children.get(name, ()))
        if children:
            status["childQueues"] = children
        below = [] if self._is_below_itself(queue) else [self._store.get(QUEUES, "", each) for each in children]
        own = self._sums.get(name)
        for index, field in enumerate(_FIELDS):
            total = Tally()
            for each in below:
                total.add(_parsed(_amounts(each.get("status") or {})[index]))
            if own is not None:
                total.add(own[index].amounts())
            if total:
                status[field] = total.texts()
        return status

    def _is_below_itself(self, queue: Object) -> bool:
        """Whether queues are in a circle, where sums would never come to an end."""
        passed, above = {queue["metadata"]["name"]}, _parent_of(queue)
        while above and above not in passed:
            passed.add(above)
            found = self._store.find(QUEUES, "", above)
            above = _parent_of(found) if found is not None else ""
        return bool(above)


def _parent_of(queue: Object) -> str:
    return (queue.get("spec") or {}).get("parentQueue") or ""


def _parsed(amounts: Mapping[str, str]) -> Amounts:
    return {name: quantity.parse(amount) for name, amount in amounts.items()}


def _queue_of(group: Object) -> str:
    queue: str = (group.get("spec") or {}).get("queue", "")
    return queue


def _amounts(status: Object) -> _Part:
    return tuple(status.get(field) or {} for field in _FIELDS)


def _amounts_of_group(group: Object) -> _Part:
    return _amounts((group.get("status") or {}).get("resourcesStatus") or {})
