"""Amounts: how many pods a Deployment may have too many, or too few, while it changes; and how it shares them out."""

from __future__ import annotations

from collections.abc import Iterable

from ghostfleet.core.changes import Object

__all__ = [
    "DESIRED",
    "MOST",
    "available",
    "max_surge",
    "max_unavailable",
    "new_set_size",
    "present",
    "proportional_sizes",
    "replicas_of",
    "resolve_percent",
    "wanted",
]

#: What the Deployment asked for when it last sized a set, and the most pods it allowed itself then.
DESIRED = "deployment.kubernetes.io/desired-replicas"
MOST = "deployment.kubernetes.io/max-replicas"


def resolve_percent(value: int | str | None, total: int, *, up: bool) -> int:
    """A number of pods that is given as such or as a percentage of `total`."""
    if isinstance(value, str):
        share = int(value.rstrip("%")) * total
        return -(-share // 100) if up else share // 100
    return value or 0


def _fences(deployment: Object) -> tuple[int, int]:
    strategy = deployment["spec"]["strategy"]
    if strategy.get("type") != "RollingUpdate":
        return 0, 0
    limits, total = strategy.get("rollingUpdate") or {}, deployment["spec"]["replicas"]
    surge = resolve_percent(limits.get("maxSurge"), total, up=True)
    unavailable = resolve_percent(limits.get("maxUnavailable"), total, up=False)
    # With neither, nothing could ever move.
    return surge, unavailable if surge or unavailable else 1


def max_surge(deployment: Object) -> int:
    return _fences(deployment)[0]


def max_unavailable(deployment: Object) -> int:
    replicas: int = deployment["spec"]["replicas"]
    return min(_fences(deployment)[1], replicas)


def replicas_of(replica_set: Object) -> int:
    replicas: int = replica_set["spec"]["replicas"]
    return replicas


def wanted(sets: Iterable[Object]) -> int:
    """Replicas that the sets ask for."""
    return sum(map(replicas_of, sets))


def _reported(sets: Iterable[Object], field: str) -> int:
    return sum((each.get("status") or {}).get(field, 0) for each in sets)


def available(sets: Iterable[Object]) -> int:
    return _reported(sets, "availableReplicas")


def present(sets: Iterable[Object], field: str = "replicas") -> int:
    """Replicas that the sets have, or another number in their status."""
    return _reported(sets, field)


def new_set_size(deployment: Object, sets: Iterable[Object], size: int) -> int:
    """How large the new set, of `size` now, may become at once."""
    desired: int = deployment["spec"]["replicas"]
    if deployment["spec"]["strategy"].get("type") != "RollingUpdate":
        return desired
    room = desired + max_surge(deployment) - wanted(sets)
    return size if room <= 0 else size + min(room, desired - size)


def proportional_sizes(deployment: Object, sets: list[Object]) -> list[tuple[Object, int]]:
    """Sizes for several sets when a Deployment is scaled between two revisions: each in proportion to what it has."""
    desired = deployment["spec"]["replicas"]
    allowed = desired + max_surge(deployment) if desired else 0
    to_add = allowed - wanted(sets)
    oldest_first = sorted(sets, key=lambda each: each["metadata"]["creationTimestamp"], reverse=to_add > 0)
    ordered = sorted(oldest_first, key=replicas_of, reverse=True)
    sizes: list[tuple[Object, int]] = []
    added = 0
    for each in ordered:
        share = _share(deployment, each, to_add, added) if to_add else 0
        added += share
        sizes.append((each, replicas_of(each) + share))
    if sizes and to_add:
        first, size = sizes[0]
        sizes[0] = (first, max(size + to_add - added, 0))
    return sizes


def _share(deployment: Object, replica_set: Object, to_add: int, added: int) -> int:
    size = replicas_of(replica_set)
    if not size or to_add == added:
        return 0
    fraction = _fraction(deployment, replica_set, size)
    allowed = to_add - added
    return min(fraction, allowed) if to_add > 0 else max(fraction, allowed)


def _fraction(deployment: Object, replica_set: Object, size: int) -> int:
    desired = deployment["spec"]["replicas"]
    if not desired:
        return -size
    before = int((replica_set["metadata"].get("annotations") or {}).get(MOST, 0))
    before = before or (deployment.get("status") or {}).get("replicas", 0)
    if not before:
        return 0
    exact = size * (desired + max_surge(deployment)) / before
    return int(exact + 0.5) - size
