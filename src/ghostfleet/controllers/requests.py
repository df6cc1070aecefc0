"""Requests: all that a controller writes, each with the function that does it.

A controller holds the store as a `Reader`. To write, its sync yields a *request*; the workers let it wait for whatever
a request costs, hand the store to its function, and send back what that answers, or throw the API error it ends in
(`controllers/workers.py`). So every write has its cost. Time may pass before the function is called: what may
have changed meanwhile is looked at there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store

__all__ = ["Request", "Step", "Steps", "create", "delete", "slow_start", "unwritten", "update_status"]


class Request:
    """One request: a verb, the resource (`jobs.batch`, `jobs.batch/status`), and the function that gets the store."""

    __slots__ = ("_arguments", "_write", "resource", "verb")

    def __init__(self, verb: str, resource: str, write: Callable[..., Any], *arguments: Any) -> None:
        self.verb = verb
        self.resource = resource
        self._write = write
        self._arguments = arguments

    def perform(self, store: Store) -> Any:
        """Write; the function's answer."""
        return self._write(store, *self._arguments)


#: A request, or several that are made at the same time; their answers are a list.
Step = Request | list[Request]
#: A sync in progress.
Steps = Generator[Step, Any, None]


def unwritten(verb: str, resource: str) -> Request:
    """A request that is only waited for: what it would write is written with the next one."""
    return Request(verb, resource, _do_nothing)


def _do_nothing(_store: Store) -> None:
    """Another request writes it."""


def slow_start(requests: list[Request], first: int) -> Steps:
    """Make requests in batches of `first`, twice as many, and so on; none follows a batch in which one has failed."""
    made = 0
    while made < len(requests):
        yield requests[made : made + first]
        made += first
        first *= 2


def create(resource: str, obj: Object) -> Request:
    """Create an object; answers it as it is stored."""
    return Request("create", resource, Store.create, resource, obj)


def update_status(resource: str, obj: Object, status: Object | Callable[[Object], Object]) -> Request:
    """Give an object another status, or what a function makes of the object as it is then; answers it, None if gone."""
    return Request("update", f"{resource}/status", _update_status, resource, obj, status)


def _update_status(
    store: Store, resource: str, obj: Object, status: Object | Callable[[Object], Object]
) -> Object | None:
    current = store.current(resource, obj)
    if current is None:
        return None
    new = status(current) if callable(status) else status
    return current if new == current.get("status") else store.set_status(resource, current, new)


def delete(resource: str, namespace: str, name: str, **options: Any) -> Request:
    """Delete an object, if it is still there, with the options of the store; answers whether it was."""
    return Request("delete", resource, _delete, resource, namespace, name, options)


def _delete(store: Store, resource: str, namespace: str, name: str, options: dict[str, Any]) -> bool:
    if store.find(resource, namespace, name) is None:
        return False
    store.delete(resource, namespace, name, **options)
    return True
