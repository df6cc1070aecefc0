"""Paths: which resource, object or part of one a URL means.

`/api/v1/...` is the core group, `/apis/<group>/<version>/...` all others. After that come, in this order, an optional
old `watch` prefix, an optional `namespaces/<namespace>`, the resource's plural name, an object's name and a
subresource. A *target* is a path taken apart; whether such a resource exists is not asked here.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Target", "locate", "segments"]

#: Parts of a Namespace object; anything else after a namespace's name is a resource inside it.
_NAMESPACE_PARTS = frozenset(("status", "finalize"))


class Target(NamedTuple):
    """What a path points at; empty strings where it says nothing."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    #: the path has the old `watch` prefix
    watch: bool = False


def segments(path: str) -> list[str] | None:
    """The parts of a path, without a trailing slash; None when a part is empty, which no path of the API has."""
    parts = path.split("/")
    if parts[-1] == "":
        parts.pop()
    return None if "" in parts[1:] or (parts and parts[0]) else parts[1:]


def locate(parts: list[str]) -> Target | None:
    """The target of a path's parts; None when it is no path of a resource."""
    count = len(parts)
    if count >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif count >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    watch = rest[0] == "watch"
    if watch:
        rest = rest[1:]
        if not rest:
            return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _NAMESPACE_PARTS:
        namespace = rest[1]
        rest = rest[2:]
    length = len(rest)
    return Target(
        group,
        version,
        rest[0],
        namespace,
        rest[1] if length > 1 else "",
        # Nothing is served below a subresource, so a longer path names one that does not exist.
        rest[2] if length == 3 else "/".join(rest[2:]),
        watch,
    )
