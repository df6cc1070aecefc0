"""The scheduler's configuration file: KubeSchedulerConfiguration, as kube-scheduler reads it.

Every field that has a meaning here is taken over; those that only concern a running process (leader election, client
connection, profiling) are accepted and passed over. A field or plugin that is not known is an error that names it,
for a configuration that is silently half understood is worse than none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ghostfleet.core.clock import SECOND
from ghostfleet.core.manifests import load_documents
from ghostfleet.schedulers.framework.arguments import ConfigError, only_fields, whole_number
from ghostfleet.schedulers.framework.plugin import EXTENSION_POINTS
from ghostfleet.schedulers.framework.profile import REGISTRY, Profile, all_on

__all__ = ["ConfigError", "Configuration", "load_configuration", "parse_configuration"]

_API_VERSION = "kubescheduler.config.k8s.io/v1"
_PASSED_OVER = (
    "parallelism",
    "leaderElection",
    "clientConnection",
    "enableProfiling",
    "enableContentionProfiling",
    "delayCacheUntilActive",
)
_POINTS = (*EXTENSION_POINTS, "multiPoint")


@dataclass(frozen=True)
class Configuration:
    """What a scheduler is told."""

    profiles: tuple[Profile, ...] = field(default_factory=lambda: (Profile(),))
    #: Back-off of pods that failed, in microseconds.
    first_backoff: int = SECOND
    longest_backoff: int = 10 * SECOND


def load_configuration(text: str | bytes, source: str = "<configuration>") -> Configuration:
    """Read the text of a configuration file."""
    documents = load_documents(text, source)
    if len(documents) != 1:
        raise ConfigError(f"{source}: a scheduler configuration is one document, this has {len(documents)}")
    try:
        return parse_configuration(documents[0].object)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None


def parse_configuration(config: Mapping[str, Any]) -> Configuration:
    """Understand a KubeSchedulerConfiguration."""
    if config.get("apiVersion") != _API_VERSION or config.get("kind") != "KubeSchedulerConfiguration":
        found = f"{config.get('apiVersion')} {config.get('kind')}"
        raise ConfigError(f"expected {_API_VERSION} KubeSchedulerConfiguration, found {found}")
    if config.get("extenders"):
        raise ConfigError("extenders: webhooks that extend the scheduler are not supported")
    known = (
        "apiVersion",
        "kind",
        "profiles",
        "percentageOfNodesToScore",
        "podInitialBackoffSeconds",
        "podMaxBackoffSeconds",
        "extenders",
        *_PASSED_OVER,
    )
    only_fields("", config, known)
    percentage = whole_number("percentageOfNodesToScore", config.get("percentageOfNodesToScore") or 0, 0, 100)
    listed = config.get("profiles") or [{}]
    profiles = tuple(
        _profile(f"profiles[{index}]", each, percentage, only=len(listed) == 1) for index, each in enumerate(listed)
    )
    names = [profile.name for profile in profiles]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ConfigError(f"profiles[{index}].schedulerName: Duplicate value: {name!r}")
    first = whole_number("podInitialBackoffSeconds", config.get("podInitialBackoffSeconds", 1), 1, None)
    longest = whole_number("podMaxBackoffSeconds", config.get("podMaxBackoffSeconds", 10), first, None)
    return Configuration(profiles, first * SECOND, longest * SECOND)


# -- profiles ---------------------------------------------------------------------------------------------------------


def _profile(path: str, found: Mapping[str, Any], percentage: int, *, only: bool) -> Profile:
    only_fields(path, found, ("schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig"))
    name = found.get("schedulerName") or ("default-scheduler" if only else "")
    if not name:
        raise ConfigError(f"{path}.schedulerName: Required value")
    own = found.get("percentageOfNodesToScore")
    if own is not None:
        percentage = whole_number(f"{path}.percentageOfNodesToScore", own, 0, 100)
    arguments: dict[str, Any] = {}
    for index, each in enumerate(found.get("pluginConfig") or ()):
        here = f"{path}.pluginConfig[{index}]"
        only_fields(here, each, ("name", "args"))
        plugin = REGISTRY[_known_plugin(f"{here}.name", each.get("name", ""))]
        if plugin is None:
            raise ConfigError(f"{here}: the plugin {each['name']} takes no arguments")
        arguments[plugin.name] = plugin.read_arguments(f"{here}.args", each.get("args") or {})
    return Profile(name, percentage, _points(f"{path}.plugins", found.get("plugins") or {}), arguments)


def _known_plugin(path: str, name: str) -> str:
    if name not in REGISTRY:
        raise ConfigError(f'{path}: unknown plugin "{name}"; known are {", ".join(REGISTRY)}')
    return name


def _points(path: str, plugins: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """The plugins that are on at each extension point; multiPoint stands for all points."""
    only_fields(path, plugins, _POINTS)
    points = all_on()
    for point in ("multiPoint", *EXTENSION_POINTS):
        found = plugins.get(point) or {}
        only_fields(f"{path}.{point}", found, ("enabled", "disabled"))
        for each in EXTENSION_POINTS if point == "multiPoint" else (point,):
            _switch(f"{path}.{point}", found, points[each])
    if "PrioritySort" not in points["queueSort"]:
        raise ConfigError(f"{path}.queueSort: no plugin is left that orders the queue")
    if "DefaultBinder" not in points["bind"]:
        raise ConfigError(f"{path}.bind: no plugin is left that binds pods")
    return points


def _switch(path: str, found: Mapping[str, Any], on: dict[str, int]) -> None:
    for index, each in enumerate(found.get("disabled") or ()):
        here = f"{path}.disabled[{index}]"
        only_fields(here, each, ("name", "weight"))
        if each.get("name") == "*":
            on.clear()
        else:
            on.pop(_known_plugin(f"{here}.name", each.get("name", "")), None)
    for index, each in enumerate(found.get("enabled") or ()):
        here = f"{path}.enabled[{index}]"
        only_fields(here, each, ("name", "weight"))
        plugin = REGISTRY[_known_plugin(f"{here}.name", each.get("name", ""))]
        weight = whole_number(f"{here}.weight", each.get("weight") or 0, 0, None)
        on[each["name"]] = weight or (plugin.weight if plugin is not None else 0)
