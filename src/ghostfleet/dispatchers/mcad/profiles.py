"""Profiles of dispatchers: which one a cluster has, and in which version.

A dispatcher is asked for by the name of its profile, and may be given other values for figures of it, as in
`mcad-1.40:preemption=true,backoff.time=5s`.
"""

from __future__ import annotations

from pathlib import Path

from ghostfleet.core.profile import Profile, load_profile

__all__ = ["dispatcher_names", "load_dispatcher_profile"]

_DIRECTORY = Path(__file__).parent / "data" / "profiles"
_SWITCH = {"true": True, "false": False}


def dispatcher_names() -> list[str]:
    """The dispatchers that exist, sorted."""
    return sorted(path.stem for path in _DIRECTORY.glob("*.yaml"))


def load_dispatcher_profile(text: str) -> Profile:
    """The profile that `name` or `name:figure=value,...` asks for; a ValueError that says what is wrong with it."""
    name, _, changes = text.partition(":")
    if name not in dispatcher_names():
        raise ValueError(f"unknown dispatcher {name!r}; known are {', '.join(dispatcher_names())}")
    profile = load_profile(str(_DIRECTORY / f"{name}.yaml"))
    for change in filter(None, changes.split(",")):
        figure, separator, given = change.partition("=")
        known = profile.figures()
        if not separator or figure not in known:
            hint = f"it has {', '.join(sorted(known))}" if separator else "expected figure=value"
            raise ValueError(f"dispatcher {name}: cannot set {change!r}; {hint}")
        profile = profile.replaced(
            **{figure.replace("-", "_").replace(".", "__"): _value(name, figure, given, profile)}
        )
    return profile


def _value(name: str, figure: str, given: str, profile: Profile) -> int | float | bool | str:
    """A value of the kind that the figure has."""
    old = profile.figure(figure)
    try:
        if isinstance(old, bool):
            return _SWITCH[given]
        return type(old)(given)
    except (KeyError, ValueError):
        wanted = "true or false" if isinstance(old, bool) else f"a value like {old}"
        raise ValueError(f"dispatcher {name}: {figure}={given}: expected {wanted}") from None
