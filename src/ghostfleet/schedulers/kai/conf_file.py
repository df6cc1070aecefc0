"""KAI's own configuration file, `SchedulerConfiguration`, as its scheduler reads it (`--scheduler-conf`).

    actions: "allocate, consolidation, reclaim, preempt, stalegangeviction"
    tiers:
      - plugins:
          - name: predicates
          - name: nodeplacement
            arguments: {gpu: spread, cpu: binpack}
    queueDepthPerAction: {consolidation: 10}
    usageDBConfig:
      usageParams: {windowSize: 24h, halfLifePeriod: 6h}

What is not said stays as it is in KAI. KAI passes over a plugin that it does not know; here it is an error that names
it, for a configuration that is half understood is worse than none. Usage is kept by the cluster itself, so what says
where a Prometheus is has no meaning here and is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ghostfleet.controllers.cronjobs import parse_schedule
from ghostfleet.core.clock import SECOND
from ghostfleet.core.durations import parse_duration
from ghostfleet.core.manifests import load_documents
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.schedulers.framework.arguments import ConfigError, only_fields, whole_number
from ghostfleet.schedulers.kai.conf import ACTIONS, PluginOption, SchedulerConfiguration
from ghostfleet.schedulers.kai.plugins import PLUGINS
from ghostfleet.schedulers.kai.usage import CRON, SLIDING, TUMBLING, UsageParams

__all__ = ["load_configuration", "queue_depths", "usage_params"]

#: Plugins of KAI that decide nothing.
_SILENT = ("snapshot", "reflectjoborder")
#: Deprecated, and read by no code of KAI.
_DEPRECATED = (
    "disableJobOrder",
    "disableTaskOrder",
    "disablePreemptable",
    "disableReclaimable",
    "disableQueueOrder",
    "disablePredicate",
    "disableNodeOrder",
)
_WINDOWS = (SLIDING, TUMBLING, CRON)


def load_configuration(
    text: str | bytes, source: str = "<configuration>", usual: SchedulerConfiguration | None = None
) -> SchedulerConfiguration:
    """Read the text of a configuration file; what it does not say is as usual."""
    documents = load_documents(text, source)
    if len(documents) > 1:
        raise ConfigError(f"{source}: a scheduler configuration is one document, this has {len(documents)}")
    try:
        return _read(documents[0].object if documents else {}, usual or SchedulerConfiguration())
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None


def _read(found: Mapping[str, Any], usual: SchedulerConfiguration) -> SchedulerConfiguration:
    only_fields("", found, ("actions", "tiers", "queueDepthPerAction", "usageDBConfig"))
    actions = _actions(found["actions"]) if found.get("actions") else usual.actions
    depths = queue_depths("queueDepthPerAction", found.get("queueDepthPerAction") or {}, tuple(actions))
    stated = found.get("usageDBConfig")
    return replace(
        usual,
        actions=actions,
        plugins=_plugins(found["tiers"]) if found.get("tiers") else usual.plugins,
        queue_depth_per_action=depths or usual.queue_depth_per_action,
        usage=usual.usage if stated is None else usage_params("usageDBConfig", stated),
    )


def _actions(stated: Any) -> tuple[str, ...]:
    names = tuple(each.strip() for each in _text("actions", stated).split(","))
    for name in names:
        if name not in ACTIONS:
            raise ConfigError(f'actions: unknown action "{name}"; known are {", ".join(ACTIONS)}')
    return names


def _plugins(tiers: Any) -> tuple[PluginOption, ...]:
    """All plugins in their order; tiers are nothing but that."""
    found = []
    for number, tier in enumerate(_items("tiers", tiers)):
        path = f"tiers[{number}]"
        only_fields(path, tier, ("plugins",))
        for index, each in enumerate(_items(f"{path}.plugins", tier.get("plugins") or [])):
            option = _plugin(f"{path}.plugins[{index}]", each)
            if option.name not in _SILENT:
                found.append(option)
    return tuple(found)


def _plugin(path: str, stated: Mapping[str, Any]) -> PluginOption:
    only_fields(path, stated, ("name", "arguments", *_DEPRECATED))
    name = _text(f"{path}.name", stated.get("name", ""))
    if name not in PLUGINS and name not in _SILENT:
        known = ", ".join((*PLUGINS, *_SILENT))
        raise ConfigError(f'{path}.name: unknown plugin "{name}"; known are {known}')
    arguments = _mapping(f"{path}.arguments", stated.get("arguments") or {})
    return PluginOption(name, {key: _text(f"{path}.arguments.{key}", value) for key, value in arguments.items()})


def queue_depths(path: str, stated: Any, actions: tuple[str, ...]) -> dict[str, int]:
    """How many jobs of a queue each action looks at."""
    depths = {}
    for action, depth in _mapping(path, stated).items():
        if action not in actions:
            raise ConfigError(f'{path}: "{action}" is none of the actions {", ".join(actions)}')
        depths[action] = whole_number(f"{path}.{action}", depth, 1, None)
    return depths


# -- usage -----------------------------------------------------------------------------------------------------------


def usage_params(path: str, stated: Any) -> UsageParams:
    """How usage is counted for time-based fair share, as a `usageDBConfig` says it."""
    stated = _mapping(path, stated)
    only_fields(path, stated, ("clientType", "connectionString", "connectionStringEnvVar", "usageParams"))
    path, stated = f"{path}.usageParams", _mapping(f"{path}.usageParams", stated.get("usageParams") or {})
    known = ("halfLifePeriod", "windowSize", "windowType", "tumblingWindowStartTime", "cronString", "fetchInterval")
    only_fields(path, stated, (*known, "stalenessPeriod", "waitTimeout", "extraParams"))
    usual = UsageParams()
    window = _text(f"{path}.windowType", stated.get("windowType", SLIDING))
    if window not in _WINDOWS:
        raise ConfigError(f'{path}.windowType: "{window}" is none of {", ".join(_WINDOWS)}')
    cron = _text(f"{path}.cronString", stated.get("cronString", ""))
    if window == CRON:
        _check_schedule(f"{path}.cronString", cron)
    params = UsageParams(
        window_size=_seconds(path, "windowSize", stated, usual.window_size),
        window_type=window,
        half_life=_seconds(path, "halfLifePeriod", stated, usual.half_life),
        tumbling_start=_moment(f"{path}.tumblingWindowStartTime", stated.get("tumblingWindowStartTime")),
        cron=cron,
        fetch_interval=_seconds(path, "fetchInterval", stated, usual.fetch_interval),
    )
    for field, amount in (("windowSize", params.window_size), ("fetchInterval", params.fetch_interval)):
        if amount <= 0:
            raise ConfigError(f"{path}.{field}: must be longer than nothing")
    return params


def _check_schedule(path: str, cron: str) -> None:
    try:
        parse_schedule(cron)
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None


def _seconds(path: str, field: str, stated: Mapping[str, Any], usual: float) -> float:
    if field not in stated:
        return usual
    try:
        return parse_duration(_text(f"{path}.{field}", stated[field])) / SECOND
    except ValueError as error:
        raise ConfigError(f"{path}.{field}: {error}; write it as 24h or 90s") from None


def _moment(path: str, stated: Any) -> float | None:
    if stated is None:
        return None
    try:
        return parse_rfc3339(str(stated)) / SECOND
    except ValueError:
        raise ConfigError(f"{path}: {stated!r} is no time such as 2026-01-01T00:00:00Z") from None


# -- what YAML may hold ----------------------------------------------------------------------------------------------


def _text(path: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ConfigError(f'{path}: {value!r} is not a text; write it in quotes, "{value}"')
    return value


def _mapping(path: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{path}: {value!r} is not a mapping")
    return value


def _items(path: str, value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, list):
        raise ConfigError(f"{path}: {value!r} is not a list")
    return [_mapping(f"{path}[{index}]", each) for index, each in enumerate(value)]
