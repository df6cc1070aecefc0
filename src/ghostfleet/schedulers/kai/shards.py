"""Scheduling shards: a scheduler for each node pool, set up as its SchedulingShard says.

A *node pool* is all nodes, queues and pod groups with one value of the label `kai.scheduler/node-pool`; the shard whose
`partitionLabelValue` is "" has those without that label. What a shard leaves open is as the cluster's configuration
says it. A shard that is changed is started anew, as KAI's operator does it; one that cannot be understood is told so by
an event, and goes on as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.kai.barepods import BarePods
from ghostfleet.controllers.kai.constants import SCHEDULING_SHARDS
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.durations import parse_duration
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Store
from ghostfleet.schedulers.framework.arguments import ConfigError
from ghostfleet.schedulers.kai.conf import ACTIONS, PluginOption, SchedulerConfiguration
from ghostfleet.schedulers.kai.conf_file import queue_depths, usage_params
from ghostfleet.schedulers.kai.plugins import PLUGINS
from ghostfleet.schedulers.kai.plugins.nodeplacement import SPREAD
from ghostfleet.schedulers.kai.runner import KaiScheduler

__all__ = ["Shards", "shard_configuration"]

_BINPACK = "binpack"


class Shards:
    """Runs the schedulers of one store."""

    def __init__(
        self,
        store: Store,
        profile: Profile,
        usual: SchedulerConfiguration,
        bare_pods: BarePods | None = None,
    ) -> None:
        self._store = store
        self._profile = profile
        self._usual = usual
        self._bare_pods = bare_pods
        self._recorder = EventRecorder(store, "kai-operator", profile)
        self.schedulers: dict[str, KaiScheduler] = {}
        store.listen(SCHEDULING_SHARDS, self._notice, status=False)
        for shard in store.list(SCHEDULING_SHARDS):
            self._start(shard)

    def _notice(self, change: Change) -> None:
        old, new = change.old, change.new
        if new is None:
            self._stop(change.name)
        elif old is None or old.get("spec") != new.get("spec"):
            # Nothing acts inside a write.
            self._store.clock.call_soon(self._start, new)

    def _stop(self, name: str) -> None:
        running = self.schedulers.pop(name, None)
        if running is not None:
            running.stop()

    def _start(self, shard: Object) -> None:
        name = shard["metadata"]["name"]
        try:
            config = shard_configuration(shard.get("spec") or {}, self._usual)
        except ConfigError as error:
            self._recorder.warning(shard, "InvalidShard", f"Shard {name} stays as it was: {error}")
            return
        self._stop(name)
        self.schedulers[name] = KaiScheduler(self._store, self._store.clock, self._profile, config, self._bare_pods)


def shard_configuration(spec: Mapping[str, Any], usual: SchedulerConfiguration) -> SchedulerConfiguration:
    """How the scheduler of a shard is set up."""
    config = replace(usual, node_pool=spec.get("partitionLabelValue") or "")
    for name, read in _ARGUMENTS.items():
        stated = (spec.get("args") or {}).get(name)
        if stated is not None:
            config = replace(config, **read(f"spec.args.{name}", stated))
    config = _placed(config, spec.get("placementStrategy") or {})
    runtimes = spec.get("minRuntime") or {}
    config = _with_arguments(
        config,
        "minruntime",
        defaultPreemptMinRuntime=runtimes.get("preemptMinRuntime"),
        defaultReclaimMinRuntime=runtimes.get("reclaimMinRuntime"),
    )
    k_value = spec.get("kValue")
    config = _with_arguments(config, "proportion", kValue=None if k_value is None else str(k_value))
    config = _overridden(config, spec)
    depths = queue_depths("spec.queueDepthPerAction", spec.get("queueDepthPerAction") or {}, tuple(config.actions))
    usage = spec.get("usageDBConfig")
    return replace(
        config,
        queue_depth_per_action=depths or config.queue_depth_per_action,
        usage=config.usage if usage is None else usage_params("spec.usageDBConfig", usage),
    )


def _placed(config: SchedulerConfiguration, strategy: Mapping[str, str]) -> SchedulerConfiguration:
    """Nodes and GPUs are filled up or spread over; what is spread is not consolidated."""
    for resource, stated in strategy.items():
        if stated not in (_BINPACK, SPREAD):
            raise ConfigError(f"spec.placementStrategy.{resource}: {stated!r} is neither {_BINPACK} nor {SPREAD}")
    if SPREAD in strategy.values():
        config = replace(config, actions=tuple(each for each in config.actions if each != "consolidation"))
    if strategy.get("gpu") == SPREAD:
        plugins = [each for each in config.plugins if each.name not in ("gpupack", "gpusharingorder", "gpuspread")]
        config = replace(config, plugins=(*plugins, PluginOption("gpuspread")))
    return _with_arguments(config, "nodeplacement", **strategy)


def _overridden(config: SchedulerConfiguration, spec: Mapping[str, Any]) -> SchedulerConfiguration:
    """What a shard says of single actions and plugins: on or off, their place, arguments in place of others."""
    actions = _ordered("spec.actions", list(config.actions), spec.get("actions") or {}, ACTIONS)
    named = {each.name: each for each in config.plugins}
    stated = spec.get("plugins") or {}
    plugins = []
    for name in _ordered("spec.plugins", list(named), stated, PLUGINS):
        arguments = (stated.get(name) or {}).get("arguments")
        usual = named.get(name, PluginOption(name))
        plugins.append(usual if arguments is None else PluginOption(name, arguments))
    return replace(config, actions=tuple(actions), plugins=tuple(plugins))


def _ordered(path: str, usual: list[str], stated: Mapping[str, Any], known: Collection[str]) -> list[str]:
    """Names by priority, the highest first. Those that are usual are a hundred apart, the last at 100 (estimated: KAI
    says no more than that they are spaced so); one that is new comes last unless it says where."""
    places = {name: (len(usual) - index) * 100 for index, name in enumerate(usual)}
    for name, each in stated.items():
        if name not in known:
            raise ConfigError(f'{path}: unknown name "{name}"; known are {", ".join(known)}')
        if (each or {}).get("enabled") is False:
            places.pop(name, None)
        else:
            places[name] = (each or {}).get("priority", places.get(name, 0))
    return sorted(places, key=lambda name: -places[name])


def _with_arguments(config: SchedulerConfiguration, plugin: str, **arguments: str | None) -> SchedulerConfiguration:
    given = {name: value for name, value in arguments.items() if value is not None}
    plugins = [
        PluginOption(each.name, {**each.arguments, **given}) if each.name == plugin else each for each in config.plugins
    ]
    return replace(config, plugins=tuple(plugins)) if given else config


# -- flags of KAI's scheduler ------------------------------------------------------------------------------------------


def _flag(field: str, read: Callable[[str], Any]) -> Callable[[str, str], dict[str, Any]]:
    def answer(path: str, stated: str) -> dict[str, Any]:
        try:
            return {field: read(stated)}
        except ValueError as error:
            raise ConfigError(f"{path}: {stated!r}: {error}") from None

    return answer


def _switch(stated: str) -> bool:
    if stated.lower() not in ("true", "false"):
        raise ValueError("expected true or false")
    return stated.lower() == "true"


def _seconds(stated: str) -> float:
    return parse_duration(stated) / SECOND


#: Those that change decisions; the operator passes over flags that it does not know, and so do we.
_ARGUMENTS: Mapping[str, Callable[[str, str], dict[str, Any]]] = {
    "max-consolidation-preemptees": _flag("max_consolidation_preemptees", int),
    "allow-consolidating-reclaim": _flag("allow_consolidating_reclaim", _switch),
    "use-scheduling-signatures": _flag("use_scheduling_signatures", _switch),
    "default-staleness-grace-period": _flag("staleness_grace", _seconds),
    "restrict-node-scheduling": _flag("restrict_node_scheduling", _switch),
    "schedule-csi-storage": _flag("schedule_csi_storage", _switch),
    "schedule-period": _flag("schedule_period", _seconds),
}
