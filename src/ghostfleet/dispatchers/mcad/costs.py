"""Costs: how long the controller's requests take in cluster time.

MCAD asks the API for everything it does, through clients that may send so many requests a second. Most of them are
*discovery*: to learn where an object is to be created or looked up, it fetches the list of resources of every group
version of the cluster, each time anew. A *cost* is the time at which a request, or a number of requests made at the
same time, has been answered; whoever makes it goes on then.
"""

from __future__ import annotations

from ghostfleet.core.clock import Clock
from ghostfleet.core.profile import Profile
from ghostfleet.core.ratelimit import TokenBucket

__all__ = ["Costs"]


class Costs:
    """The clients of one controller."""

    def __init__(self, clock: Clock, profile: Profile) -> None:
        self._clock = clock
        self._latency = profile.duration("request.latency")
        self._event = profile.duration("event.latency")
        # /api and /apis come before the group versions.
        self._discovery = profile.number("discovery.group-versions") + 2 if profile.switch("discovery.uncached") else 0
        self._creation = profile.number("discovery.per-item")
        self._objects = profile.limiter("mcad-objects", "MCAD, its AppWrappers")
        self._resources = profile.limiter("mcad-resources", "MCAD, discovery and items")

    def event(self) -> int:
        """Until a change has reached the worker."""
        return self._clock.now() + self._event

    def write(self) -> int:
        """Writing one AppWrapper."""
        return self._requests(self._objects, 1)

    def creation(self) -> int:
        """Creating or deleting one item: discovery, a look whether it is there, and the request itself."""
        # Either request goes through a fresh client, which waits for nobody.
        return self._discover(self._creation) + 2 * self._latency

    def check(self) -> int:
        """Looking whether one item is complete: discovery, and a list."""
        return self._discover(1) + self._latency

    def _discover(self, times: int) -> int:
        return self._requests(self._resources, self._discovery * times)

    def lists(self, count: int) -> int:
        """Lists made one after the other."""
        return self._requests(self._objects, count) + (count - 1) * self._latency if count else self._clock.now()

    def _requests(self, client: TokenBucket | None, count: int) -> int:
        now = self._clock.now()
        wait = 0
        if client is not None:
            for _ in range(count):
                wait = client.reserve(now)
        return now + wait + (self._latency if count else 0)
