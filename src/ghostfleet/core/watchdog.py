"""The watchdog: which component of a cluster fails, holds the others up, or makes their clock late.

A *component* is named by where its code is, the layer and the module or package in it: `controllers.jobs`,
`schedulers.kube`, `stages.leases`. Helpers that call back for somebody else (work queues, timers) say for whom, by an
attribute `acts_for`. A clock *lags* when what is due has not run for long; the component that took most of the time
since the clock was last on time is named as the place where the time went. Spans are in real seconds here, however fast
the clock is.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

__all__ = ["LAGGING_AFTER", "SLOW_AFTER", "Watchdog", "component_of"]

_log = logging.getLogger(__name__)

#: A callback that takes longer is slow. Estimated: clients notice that their requests wait.
SLOW_AFTER = 1.0
#: A clock that is further behind lags. Estimated: well above what a busy machine or a collection of garbage costs.
LAGGING_AFTER = 2.0
#: Where time goes that no callback of the clock has taken.
_REQUESTS = "server.requests"


def component_of(callback: Callable[..., Any]) -> str:
    """The component that a callback belongs to."""
    owner: Any = callback
    while True:
        if isinstance(owner, functools.partial):
            owner = owner.func
        bound_to = getattr(owner, "__self__", None)
        acts_for = getattr(bound_to, "acts_for", None)
        if acts_for is None:
            break
        owner = acts_for
    place: str = getattr(owner, "__module__", None) or ""
    if bound_to is not None and not isinstance(bound_to, type) and type(bound_to).__module__ != "builtins":
        place = type(bound_to).__module__
    package, _, path = place.partition(".")
    return ".".join(path.split(".")[:2]) if package == "ghostfleet" and path else place or "unknown"


class Watchdog:
    """What has been noticed about the components of one cluster."""

    def __init__(self) -> None:
        #: How often each component has failed.
        self.failures: dict[str, int] = {}
        #: How often each component was slow, and the longest that it took.
        self.slow: dict[str, tuple[int, float]] = {}
        self._reported: set[tuple[str, str]] = set()
        #: What callbacks have taken since the clock was last on time.
        self._taken: dict[str, float] = {}
        self._lagging_in = ""

    def failed(self, callback: Callable[..., Any], error: Exception) -> None:
        """A callback has failed; others go on. Each sort of error is told once for each component."""
        component = component_of(callback)
        self.failures[component] = self.failures.get(component, 0) + 1
        sort = (component, type(error).__name__)
        if sort not in self._reported:
            self._reported.add(sort)
            _log.error("component %s failed; the others go on", component, exc_info=error)

    def took(self, callback: Callable[..., Any], seconds: float) -> None:
        """A callback has run for long, or while the clock was behind."""
        component = component_of(callback)
        self._taken[component] = self._taken.get(component, 0.0) + seconds
        if seconds >= SLOW_AFTER:
            count, longest = self.slow.get(component, (0, 0.0))
            self.slow[component] = (count + 1, max(longest, seconds))
            # A component that is slow each time is not told of each time.
            if seconds >= 2 * longest:
                _log.warning("component %s held the cluster's clock for %.1f s", component, seconds)

    def on_time(self) -> None:
        """Nothing is due any more."""
        if self._taken:
            self._taken.clear()

    def culprit(self, behind: float, running: Callable[..., Any] | None = None) -> str:
        """Where the time went by which a clock is behind; `running` is the callback that runs right now."""
        if running is not None:
            return component_of(running)
        taken = dict(self._taken)
        rest = behind - sum(taken.values())
        most = max(taken, key=taken.__getitem__, default=_REQUESTS)
        return most if taken.get(most, 0.0) > rest else _REQUESTS

    def look(self, behind: float, component: str, stack: Callable[[], str]) -> None:
        """Tell when a clock begins to lag, with what is being done at that moment, and when it ceases to."""
        if behind >= LAGGING_AFTER and not self._lagging_in:
            self._lagging_in = component
            _log.warning("the cluster's clock lags %.1f s behind, in %s; at work:\n%s", behind, component, stack())
        elif behind < LAGGING_AFTER / 2 and self._lagging_in:
            _log.warning("the cluster's clock is on time again; it lagged in %s", self._lagging_in)
            self._lagging_in = ""
