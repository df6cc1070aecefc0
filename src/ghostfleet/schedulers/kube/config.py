"""The scheduler's configuration file: KubeSchedulerConfiguration, as kube-scheduler reads it.

Every field that has a meaning here is taken over; those that only concern a running process (leader election, client
connection, profiling) are accepted and passed over. A field or plugin that is not known is an error that names it,
for a configuration that is silently half understood is worse than none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ghostfleet.core.clock import SECOND
from ghostfleet.core.manifests import load_documents
from ghostfleet.schedulers.kube.fitting import Strategy
from ghostfleet.schedulers.kube.profile import DEFAULT_WEIGHTS, PLUGINS, SYSTEM_CONSTRAINTS, Profile

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
_POINTS = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "multiPoint",
)

_STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")


class ConfigError(ValueError):
    """What is wrong with a configuration, and where."""


@dataclass(frozen=True)
class Configuration:
    """What a scheduler is told."""

    profiles: tuple[Profile, ...] = (Profile(),)
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
    _only("", config, known)
    percentage = _number("percentageOfNodesToScore", config.get("percentageOfNodesToScore") or 0, 0, 100)
    listed = config.get("profiles") or [{}]
    profiles = tuple(
        _profile(f"profiles[{index}]", each, percentage, only=len(listed) == 1) for index, each in enumerate(listed)
    )
    names = [profile.name for profile in profiles]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ConfigError(f"profiles[{index}].schedulerName: Duplicate value: {name!r}")
    first = _number("podInitialBackoffSeconds", config.get("podInitialBackoffSeconds", 1), 1, None)
    longest = _number("podMaxBackoffSeconds", config.get("podMaxBackoffSeconds", 10), first, None)
    return Configuration(profiles, first * SECOND, longest * SECOND)


def _only(path: str, found: Mapping[str, Any], known: Sequence[str]) -> None:
    for field in found:
        if field not in known:
            where = f"{path}.{field}" if path else field
            raise ConfigError(f'unknown field "{where}"; known here are {", ".join(known)}')


def _number(path: str, value: Any, least: int, most: int | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        limits = f"{least} or more" if most is None else f"{least} to {most}"
        raise ConfigError(f"{path}: {value!r} is not a whole number of {limits}")
    return value


# -- profiles ---------------------------------------------------------------------------------------------------------


def _profile(path: str, found: Mapping[str, Any], percentage: int, *, only: bool) -> Profile:
    _only(path, found, ("schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig"))
    name = found.get("schedulerName") or ("default-scheduler" if only else "")
    if not name:
        raise ConfigError(f"{path}.schedulerName: Required value")
    own = found.get("percentageOfNodesToScore")
    if own is not None:
        percentage = _number(f"{path}.percentageOfNodesToScore", own, 0, 100)
    profile = Profile(name=name, percentage=percentage)
    profile = _with_plugins(f"{path}.plugins", found.get("plugins") or {}, profile)
    for index, each in enumerate(found.get("pluginConfig") or ()):
        here = f"{path}.pluginConfig[{index}]"
        _only(here, each, ("name", "args"))
        _known_plugin(f"{here}.name", each.get("name", ""))
        reader = _ARGUMENTS.get(each.get("name", ""))
        if reader is None:
            raise ConfigError(f"{here}: the plugin {each.get('name')} takes no arguments")
        profile = reader(f"{here}.args", each.get("args") or {}, profile)
    return profile


def _known_plugin(path: str, name: str) -> None:
    if name not in PLUGINS:
        raise ConfigError(f'{path}: unknown plugin "{name}"; known are {", ".join(PLUGINS)}')


def _with_plugins(path: str, plugins: Mapping[str, Any], profile: Profile) -> Profile:
    _only(path, plugins, _POINTS)
    on = {point: dict.fromkeys(PLUGINS, 0) | DEFAULT_WEIGHTS for point in _POINTS}
    for point in ("multiPoint", *(each for each in _POINTS if each != "multiPoint")):
        found = plugins.get(point) or {}
        _only(f"{path}.{point}", found, ("enabled", "disabled"))
        touched = _POINTS if point == "multiPoint" else (point,)
        for each in touched:
            _switch(f"{path}.{point}", found, on[each])
    if "PrioritySort" not in on["queueSort"]:
        raise ConfigError(f"{path}.queueSort: no plugin is left that orders the queue")
    if "DefaultBinder" not in on["bind"]:
        raise ConfigError(f"{path}.bind: no plugin is left that binds pods")
    weights = {name: on["score"][name] or 1 for name in DEFAULT_WEIGHTS if name in on["score"]}
    return replace(
        profile,
        filters=frozenset(on["filter"]),
        weights=weights,
        gates="SchedulingGates" in on["preEnqueue"],
        preempts="DefaultPreemption" in on["postFilter"],
        deallocates="DynamicResources" in on["postFilter"],
    )


def _switch(path: str, found: Mapping[str, Any], on: dict[str, int]) -> None:
    for index, each in enumerate(found.get("disabled") or ()):
        here = f"{path}.disabled[{index}]"
        _only(here, each, ("name", "weight"))
        if each.get("name") == "*":
            on.clear()
        else:
            _known_plugin(f"{here}.name", each.get("name", ""))
            on.pop(each["name"], None)
    for index, each in enumerate(found.get("enabled") or ()):
        here = f"{path}.enabled[{index}]"
        _only(here, each, ("name", "weight"))
        _known_plugin(f"{here}.name", each.get("name", ""))
        weight = _number(f"{here}.weight", each.get("weight") or 0, 0, None)
        on[each["name"]] = weight or DEFAULT_WEIGHTS.get(each["name"], 0)


# -- arguments of plugins ---------------------------------------------------------------------------------------------


def _arguments(path: str, found: Mapping[str, Any], known: Sequence[str]) -> None:
    _only(path, found, ("apiVersion", "kind", *known))


def _resources(path: str, listed: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, int], ...]:
    for index, each in enumerate(listed):
        _only(f"{path}[{index}]", each, ("name", "weight"))
    return tuple((each["name"], _number(f"{path}.weight", each.get("weight") or 1, 1, 100)) for each in listed)


def _fit(path: str, found: Mapping[str, Any], profile: Profile) -> Profile:
    _arguments(path, found, ("ignoredResources", "ignoredResourceGroups", "scoringStrategy"))
    strategy = found.get("scoringStrategy") or {}
    here = f"{path}.scoringStrategy"
    _only(here, strategy, ("type", "resources", "requestedToCapacityRatio"))
    kind = strategy.get("type") or "LeastAllocated"
    if kind not in _STRATEGIES:
        raise ConfigError(f"{here}.type: unknown strategy {kind!r}; known are {', '.join(_STRATEGIES)}")
    resources = _resources(f"{here}.resources", strategy.get("resources") or ()) or Strategy().resources
    curve = _curve(f"{here}.requestedToCapacityRatio", strategy) if kind == "RequestedToCapacityRatio" else ()
    return replace(
        profile,
        fit=Strategy(kind, resources, curve),
        ignored_resources=frozenset(found.get("ignoredResources") or ()),
        ignored_groups=frozenset(found.get("ignoredResourceGroups") or ()),
    )


def _curve(path: str, strategy: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    ratio = strategy.get("requestedToCapacityRatio") or {}
    _only(path, ratio, ("shape",))
    points = ratio.get("shape") or ()
    if not points:
        raise ConfigError(f"{path}.shape: Required value: at least one point must be specified")
    curve = []
    for index, point in enumerate(points):
        here = f"{path}.shape[{index}]"
        _only(here, point, ("utilization", "score"))
        utilization = _number(f"{here}.utilization", point.get("utilization", 0), 0, 100)
        # Scores are given from 0 to 10, and counted from 0 to 100.
        curve.append((utilization, 10 * _number(f"{here}.score", point.get("score", 0), 0, 10)))
        if index and utilization <= curve[index - 1][0]:
            raise ConfigError(f"{here}.utilization: values must be sorted in increasing order")
    return tuple(curve)


def _balance(path: str, found: Mapping[str, Any], profile: Profile) -> Profile:
    _arguments(path, found, ("resources",))
    return replace(profile, balance=_resources(f"{path}.resources", found.get("resources") or ()) or profile.balance)


def _node_affinity(path: str, found: Mapping[str, Any], profile: Profile) -> Profile:
    _arguments(path, found, ("addedAffinity",))
    return replace(profile, added_affinity=dict(found.get("addedAffinity") or {}))


def _pod_affinity(path: str, found: Mapping[str, Any], profile: Profile) -> Profile:
    _arguments(path, found, ("hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"))
    weight = _number(f"{path}.hardPodAffinityWeight", found.get("hardPodAffinityWeight", 1), 0, 100)
    ignored = bool(found.get("ignorePreferredTermsOfExistingPods"))
    return replace(profile, hard_weight=weight, ignore_held_wishes=ignored)


def _spread(path: str, found: Mapping[str, Any], profile: Profile) -> Profile:
    _arguments(path, found, ("defaultConstraints", "defaultingType"))
    kind = found.get("defaultingType") or "System"
    if kind not in ("System", "List"):
        raise ConfigError(f"{path}.defaultingType: unknown type {kind!r}; known are System, List")
    listed = tuple(found.get("defaultConstraints") or ())
    if kind == "System" and listed:
        raise ConfigError(f"{path}.defaultConstraints: must be empty when defaultingType is System")
    for index, each in enumerate(listed):
        known = ("maxSkew", "topologyKey", "whenUnsatisfiable", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy")
        _only(f"{path}.defaultConstraints[{index}]", each, known)
    system = kind == "System"
    return replace(profile, default_constraints=SYSTEM_CONSTRAINTS if system else listed, system_defaulted=system)


def _preemption(path: str, found: Mapping[str, Any], profile: Profile) -> Profile:
    _arguments(path, found, ("minCandidateNodesPercentage", "minCandidateNodesAbsolute"))
    percent = _number(f"{path}.minCandidateNodesPercentage", found.get("minCandidateNodesPercentage", 10), 0, 100)
    least = _number(f"{path}.minCandidateNodesAbsolute", found.get("minCandidateNodesAbsolute", 100), 0, None)
    return replace(profile, candidates_percent=percent, candidates_least=least)


def _volume_binding(path: str, found: Mapping[str, Any], profile: Profile) -> Profile:
    _arguments(path, found, ("bindTimeoutSeconds", "shape"))
    return profile


_ARGUMENTS = {
    "NodeResourcesFit": _fit,
    "NodeResourcesBalancedAllocation": _balance,
    "NodeAffinity": _node_affinity,
    "InterPodAffinity": _pod_affinity,
    "PodTopologySpread": _spread,
    "DefaultPreemption": _preemption,
    "VolumeBinding": _volume_binding,
}
