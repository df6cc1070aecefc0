"""Throughput seen from outside: objects are created as fast as the server takes them, a watch tells how far they are.

A *goal* says which objects are created and how far each must get: pods until they are bound, with claims for devices or
without, Jobs until they are complete. The time is that from the first creation to the event that shows the last object
there; creating is part of it, for nobody can wait for what is not created. A goal is *settled* when nothing more will
happen to its objects, so that the next can be measured undisturbed. As a program this is the outside client: it reads
its task from stdin, as `benchmarks.client` does, on whose connections it works.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import orjson

from benchmarks.client import Client, main

__all__ = ["GOALS", "Goal", "Progress"]

_CONNECTIONS = 16
_PATIENCE_SECONDS = 280
Object = dict[str, Any]
_SPEC: Object = {
    "restartPolicy": "Never",
    "containers": [
        {
            "name": "main",
            "image": "registry.example/train:1",
            "resources": {"requests": {"cpu": "1", "memory": "4Gi"}, "limits": {"nvidia.com/gpu": "1"}},
        }
    ],
}


@dataclass(frozen=True, slots=True)
class Goal:
    """What is created, and how far it must get."""

    resource: str
    path: str
    make: Callable[[str], Object]
    reached: Callable[[Object], bool]
    settled: Callable[[Object], bool]
    #: What must be there before: the resource, where it is, and the object.
    before: tuple[str, str, Object] | None = None


def _pod(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": _SPEC}


def _pod_with_claim(name: str) -> Object:
    main = {"name": "main", "image": "registry.example/train:1", "resources": {"claims": [{"name": "gpu"}]}}
    spec = {"containers": [main], "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def _template() -> Object:
    """A claim for one device of the driver profile `example`."""
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "gpus"},
        "spec": {"spec": {"devices": {"requests": requests}}},
    }


def _job(name: str) -> Object:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": {"spec": _SPEC}}}


def _is_bound(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName"))


def _is_running(pod: Object) -> bool:
    return bool(pod.get("status", {}).get("phase") == "Running")


def _is_complete(job: Object) -> bool:
    conditions = job.get("status", {}).get("conditions", ())
    return any(each["type"] == "Complete" and each["status"] == "True" for each in conditions)


GOALS = {
    "pods": Goal("pods", "/api/v1/namespaces/default/pods", _pod, _is_bound, _is_running),
    "claims": Goal(
        "pods",
        "/api/v1/namespaces/default/pods",
        _pod_with_claim,
        _is_bound,
        _is_running,
        (
            "resourceclaimtemplates.resource.k8s.io",
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates",
            _template(),
        ),
    ),
    "jobs": Goal("jobs.batch", "/apis/batch/v1/namespaces/default/jobs", _job, _is_complete, _is_complete),
}


class Progress:
    """Counts objects that are there, and knows when the last came."""

    def __init__(self, goal: Goal, count: int) -> None:
        self._goal = goal
        self._count = count
        self._there: set[str] = set()
        self._settled: set[str] = set()
        self.last_came = 0.0

    @property
    def settled(self) -> bool:
        return len(self._settled) == self._count

    def note(self, obj: Object) -> None:
        name = obj["metadata"]["name"]
        if name not in self._there and self._goal.reached(obj):
            self._there.add(name)
            if len(self._there) == self._count:
                self.last_came = time.perf_counter()
        if self._goal.settled(obj):
            self._settled.add(name)

    def __str__(self) -> str:
        return f"{len(self._there)} of {self._count} {self._goal.resource} came, {len(self._settled)} settled"


class _Events(asyncio.Protocol):
    """One answer to a watch: it unpacks the chunks that come, and every line of them is an event."""

    def __init__(self, request: bytes, seen: Callable[[Any], None]) -> None:
        self._request = request
        self._seen = seen
        self._raw = bytearray()
        self._line = b""
        loop = asyncio.get_running_loop()
        self.opened: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._raw += data
        if not self.opened.done():
            end = self._raw.find(b"\r\n\r\n")
            if end < 0:
                return
            if not self._raw.startswith(b"HTTP/1.1 200"):
                self.opened.set_exception(RuntimeError(bytes(self._raw)))
                return
            del self._raw[: end + 4]
            self.opened.set_result(None)
        *lines, self._line = (self._line + self._unpacked()).split(b"\n")
        for line in lines:
            self._seen(orjson.loads(line))

    def connection_lost(self, error: Exception | None) -> None:
        self.ended.set_result(None)
        if not self.opened.done():
            self.opened.set_exception(error or RuntimeError("the server closed a watch without an answer"))

    def _unpacked(self) -> bytes:
        raw, at, found = self._raw, 0, []
        while (end := raw.find(b"\r\n", at)) >= 0:
            begin = end + 2
            behind = begin + int(raw[at:end], 16)
            if len(raw) < behind + 2:
                break
            if behind == begin:
                # The last chunk ends the watch, but not by itself the connection.
                self._transport.abort()
            found.append(bytes(raw[begin:behind]))
            at = behind + 2
        del raw[:at]
        return b"".join(found)


class Observer(Client):
    """Creates objects and watches them."""

    async def reach(self) -> dict[str, float]:
        """Seconds until all objects are created, and until all have got there."""
        goal, count = GOALS[self.task["goal"]], self.task["count"]
        progress = Progress(goal, count)
        if goal.before is not None:
            _, path, needed = goal.before
            await self.send_all([self.request("POST", path, orjson.dumps(needed))], 1)
        watching = asyncio.Event()
        following = asyncio.create_task(self._follow(goal.path, progress, watching))
        await asyncio.wait((following, asyncio.create_task(watching.wait())), return_when=asyncio.FIRST_COMPLETED)
        bodies = [orjson.dumps(goal.make(f"{self.task['goal']}-{number}")) for number in range(count)]
        created = await self.send_all([self.request("POST", goal.path, body) for body in bodies], _CONNECTIONS)
        began = time.perf_counter() - created
        try:
            await asyncio.wait_for(following, _PATIENCE_SECONDS)
        except TimeoutError:
            raise SystemExit(f"after {_PATIENCE_SECONDS} s {progress}") from None
        return {"created": created, "reached": progress.last_came - began}

    async def _follow(self, path: str, progress: Progress, watching: asyncio.Event) -> None:
        """Watch until all is settled. A server may end a watch that is too slow for it; then it is taken up again."""
        version = ""
        settled = self.loop.create_future()

        def seen(event: Any) -> None:
            nonlocal version
            if event["type"] == "ERROR":
                raise RuntimeError(event["object"])
            version = event["object"]["metadata"]["resourceVersion"]
            progress.note(event["object"])
            if progress.settled and not settled.done():
                settled.set_result(None)

        while not settled.done():
            since = f"&resourceVersion={version}" if version else ""
            request = self.request("GET", f"{path}?watch=true{since}")
            events = await self.connect(partial(_Events, request, seen))
            await events.opened
            watching.set()
            await asyncio.wait((settled, events.ended), return_when=asyncio.FIRST_COMPLETED)


if __name__ == "__main__":
    main(Observer)
