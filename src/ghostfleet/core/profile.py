"""Profiles: how fast the modelled cluster's own components work.

A *profile* is a named set of *figures* (worker counts, batch periods, grace periods, thresholds) and of *client
limits*, the request rates of the components' API clients. `kubernetes` has the figures of a stock Kubernetes, `instant`
takes all waiting out that is not part of what users observe. Profiles are data files, users' own ones too, and every
figure in them says where it comes from; a profile that is *based on* another has its figures and client limits where it
gives none of its own. A *metered* profile keeps meters of the limits that it hands out, so that a cluster can tell
which of them held its components up, and draws what is random in them from the cluster's streams.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml

from ghostfleet.core.durations import parse_duration
from ghostfleet.core.latency import Client, Curve, Distribution, parse_curve, parse_distribution
from ghostfleet.core.randomness import Streams
from ghostfleet.core.ratelimit import Meter, Meters, TokenBucket

__all__ = ["ORIGINS", "ClientLimit", "Figure", "Profile", "load_profile", "profile_names"]

T = TypeVar("T")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DIRECTORY = Path(__file__).parent / "data" / "profiles"
#: Figures of how long requests take are called this and the verb, `request.update-status`.
_REQUEST = "request."

#: Where a figure can come from: what somebody wrote down (a default in source code, a documented value), what was
#: measured, what was fitted to measurements of the whole, what was estimated for want of anything better, and what was
#: chosen by design.
ORIGINS = ("published", "measured", "fitted", "estimated", "chosen")


class ClientLimit(NamedTuple):
    """The rate of one client: requests a second (0: no limit), and how many may come at once after a pause."""

    qps: float
    burst: int
    source: str
    origin: str = ""


class Figure(NamedTuple):
    """One number, duration (`1s`) or switch, and where it comes from."""

    value: int | float | bool | str
    source: str
    #: What kind of knowledge it is: one of ORIGINS, or "" in a profile of the user's own that does not say.
    origin: str = ""


class Profile:
    """The figures and client limits of one profile, with their origins."""

    def __init__(
        self,
        name: str,
        clients: Mapping[str, ClientLimit],
        figures: Mapping[str, Figure],
        meters: Meters | None = None,
        streams: Streams | None = None,
    ) -> None:
        self.name = name
        self._clients = dict(clients)
        self._figures = dict(figures)
        self._meters = meters
        self._streams = streams

    def metered(self, meters: Meters, streams: Streams | None = None) -> Profile:
        """The profile for one cluster, whose meters know all limits that it hands out."""
        return Profile(self.name, self._clients, self._figures, meters, streams)

    def replaced(self, **values: int | float | bool | str) -> Profile:
        """The profile with other values for some figures; `_` in their names stands for `-`, `__` for `.`."""
        changed = {name.replace("__", ".").replace("_", "-"): value for name, value in values.items()}
        for name in changed:
            self._figure(name)
        figures = {
            name: Figure(value, f"set in place of {self._figures[name].value}", "chosen")
            for name, value in changed.items()
        }
        return Profile(self.name, self._clients, {**self._figures, **figures}, self._meters, self._streams)

    def client(self, component: str) -> ClientLimit | None:
        """The limit of a component's clients; None when they have none."""
        limit = self._clients.get(component)
        return limit if limit is not None and limit.qps else None

    def limiter(self, component: str, user: str = "") -> TokenBucket | None:
        """A fresh bucket for one client of a component, used by one part of it; None when it is not limited."""
        limit = self.client(component)
        if limit is None:
            return None
        return TokenBucket(limit.qps, limit.burst, self.meter(user or component, f"{limit.qps:g} requests/s"))

    def api_client(self, component: str, user: str = "") -> Client | None:
        """A client of a component, used by one part of it; None when its requests never wait and take no time."""
        limit = self.limiter(component, user)
        requests = {
            name.removeprefix(_REQUEST).replace("-", " "): self.distribution(name)
            for name in self._figures
            if name.startswith(_REQUEST)
        }
        informer = self.distribution("informer.delay")
        if limit is None and not any(map(any, (*requests.values(), informer))):
            return None
        # A profile that belongs to no run is shared by all: what it draws must not depend on who drew before.
        streams = self._streams or Streams(0)
        return Client(limit, requests, informer, streams.stream(f"latency of {user or component}"))

    def meter(self, component: str, limit: str) -> Meter | None:
        """A meter of one limit of a component; None when the profile is not metered."""
        if self._meters is None:
            return None
        meter = Meter(component, limit)
        self._meters.add(meter)
        return meter

    def clients(self) -> dict[str, ClientLimit]:
        """All client limits by component."""
        return dict(self._clients)

    def figures(self) -> dict[str, Figure]:
        """All figures by name."""
        return dict(self._figures)

    def figure(self, name: str) -> int | float | bool | str:
        return self._figure(name).value

    def number(self, name: str) -> int:
        """A figure that counts something."""
        return int(self._figure(name).value)

    def ratio(self, name: str) -> float:
        """A figure that is a rate or a share."""
        return float(self._figure(name).value)

    def switch(self, name: str) -> bool:
        return bool(self._figure(name).value)

    def duration(self, name: str) -> int:
        """A figure that is a span of time, in microseconds."""
        return parse_duration(str(self._figure(name).value))

    def distribution(self, name: str) -> Distribution:
        """A figure that is a span of time which is drawn."""
        return self._parsed(name, parse_distribution)

    def curve(self, name: str) -> Curve:
        """A figure that is a span of time which depends on a size."""
        return self._parsed(name, parse_curve)

    def source(self, name: str) -> str:
        """Where a figure comes from."""
        return self._figure(name).source

    def _parsed(self, name: str, parse: Callable[[str], T]) -> T:
        try:
            return parse(str(self._figure(name).value))
        except ValueError as error:
            raise ValueError(f"profile {self.name!r}, figure {name}: {error}") from None

    def _figure(self, name: str) -> Figure:
        found = self._figures.get(name)
        if found is None:
            raise KeyError(f"profile {self.name!r} has no figure {name!r}; it has {', '.join(sorted(self._figures))}")
        return found


def profile_names() -> list[str]:
    """The profiles that exist, sorted."""
    return sorted(path.stem for path in _DIRECTORY.glob("*.yaml"))


@lru_cache(maxsize=16)
def load_profile(name: str) -> Profile:
    """The profile of this name, or in this file; a ValueError says what is wrong with it, or which ones there are."""
    path = Path(name) if name.endswith((".yaml", ".yml")) else _DIRECTORY / f"{name}.yaml"
    try:
        data: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), _LOADER)
    except FileNotFoundError:
        known = ", ".join(profile_names())
        raise ValueError(f"unknown profile {name!r}; known are {known}, and files ending in .yaml") from None
    except (OSError, yaml.YAMLError) as error:
        raise ValueError(f"cannot read the profile {path}: {error}") from None
    try:
        clients = {component: ClientLimit(**limit) for component, limit in (data.get("clients") or {}).items()}
        figures = {figure: Figure(**entry) for figure, entry in (data.get("figures") or {}).items()}
    except (AttributeError, TypeError) as error:
        raise ValueError(
            f"{path} is not a profile: expected clients with qps, burst and source, and figures with value and source; "
            f"{error}"
        ) from None
    if "basedOn" in data:
        base = load_profile(_beside(path, data["basedOn"]))
        clients, figures = {**base.clients(), **clients}, {**base.figures(), **figures}
    return Profile(path.stem, clients, figures)


def _beside(path: Path, base: str) -> str:
    """The profile that another is based on: a file's name is taken from where that one is."""
    return str(path.parent / base) if base.endswith((".yaml", ".yml")) else base
