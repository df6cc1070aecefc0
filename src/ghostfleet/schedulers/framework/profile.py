"""A scheduler profile: which plugins take part at which extension point, with what weights and arguments.

A profile has a name, which pods ask for by spec.schedulerName; one scheduler may have several. The *registry* holds the
plugins there are, in the order in which they act; a name without a class is that of a plugin of kube-scheduler which
has nothing to do here, or whose work the scheduler does itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ghostfleet.schedulers.framework.plugin import EXTENSION_POINTS, Plugin
from ghostfleet.schedulers.framework.podinfo import DEFAULT_SCHEDULER

__all__ = ["REGISTRY", "Profile", "all_on", "register"]

REGISTRY: dict[str, type[Plugin] | None] = {}


def register(plugin: type[Plugin] | str) -> None:
    """Make a plugin known; from then on profiles have it unless they disable it."""
    if isinstance(plugin, str):
        REGISTRY[plugin] = None
    else:
        REGISTRY[plugin.name] = plugin


def all_on() -> dict[str, dict[str, int]]:
    """Every plugin at every extension point, with its own weight."""
    weights = {name: plugin.weight if plugin is not None else 0 for name, plugin in REGISTRY.items()}
    return {point: dict(weights) for point in EXTENSION_POINTS}


@dataclass(frozen=True)
class Profile:
    """One profile."""

    name: str = DEFAULT_SCHEDULER
    #: Percent of nodes to look for; 0 lets the number of nodes decide.
    percentage: int = 0
    #: The plugins that are on, with their weights, by extension point.
    points: Mapping[str, Mapping[str, int]] = field(default_factory=all_on)
    #: Arguments of plugins by their names, as the plugins understand them.
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def is_on(self, plugin: str, point: str) -> bool:
        return plugin in self.points[point]

    @property
    def weights(self) -> dict[str, int]:
        """The weights of the plugins that score."""
        return {
            name: self.points["score"][name] or 1
            for name, plugin in REGISTRY.items()
            if name in self.points["score"] and plugin is not None and plugin.implements("score")
        }
