"""All that has modelled figures, by name: profiles of clusters, profiles of dispatchers, and sets of stages."""

from __future__ import annotations

from typing import Any, NamedTuple

from ghostfleet.core.profile import Profile, load_profile, profile_names
from ghostfleet.dispatchers.mcad.profiles import dispatcher_names, load_dispatcher_profile
from ghostfleet.stages.catalogue import built_in_sets, stage_documents

__all__ = ["FigureRow", "NamedProfile", "figures", "profiles"]

_ORIGIN = "ghostfleet.dev/origin"
_OWN = "ghostfleet.dev/"


class NamedProfile(NamedTuple):
    """One of them."""

    name: str
    kind: str


class FigureRow(NamedTuple):
    """One figure."""

    figure: str
    value: str
    origin: str
    source: str


def profiles() -> list[NamedProfile]:
    """All that come with Ghostfleet."""
    return [
        *(NamedProfile(name, "profile") for name in profile_names()),
        *(NamedProfile(name, "dispatcher") for name in dispatcher_names()),
        *(NamedProfile(name, "stage set") for name in built_in_sets() if name not in profile_names()),
    ]


def figures(name: str) -> list[FigureRow]:
    """The figures of one, or of both where a profile and a stage set have the name; ValueError for an unknown one."""
    rows: list[FigureRow] = []
    if name in dispatcher_names():
        rows += _of_profile(load_dispatcher_profile(name))
    elif name in profile_names() or name not in built_in_sets():
        rows += _of_profile(load_profile(name))
    if name in built_in_sets():
        rows += [row for stage in stage_documents(name) for row in _of_stage(stage)]
    return rows


def _of_profile(profile: Profile) -> list[FigureRow]:
    limits = [
        FigureRow(f"{client} client", f"{limit.qps:g} requests/s, burst {limit.burst}", limit.origin, limit.source)
        for client, limit in profile.clients().items()
    ]
    return [
        *limits,
        *(FigureRow(name, _text(each.value), each.origin, each.source) for name, each in profile.figures().items()),
    ]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_stage(stage: dict[str, Any]) -> list[FigureRow]:
    metadata, delay = stage["metadata"], stage["spec"].get("delay") or {}
    annotations = metadata.get("annotations") or {}
    origin, _, source = annotations.get(_ORIGIN, "").partition(": ")
    found = {}
    if "durationMilliseconds" in delay:
        most = delay.get("jitterDurationMilliseconds")
        found["delay"] = f"{delay['durationMilliseconds']}{f'-{most}' if most else ''} ms"
    for key, value in annotations.items():
        if key.startswith(_OWN) and key != _ORIGIN:
            found[key.removeprefix(_OWN)] = value
    return [FigureRow(f"{metadata['name']} {key}", value, origin, source) for key, value in found.items()]
