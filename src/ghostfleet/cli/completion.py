"""Shell completion: names that an option or argument may have, where they are not fixed words.

What a shell asks for while a user types must be quick and must not fail, so everything is loaded late, and a state
directory that cannot be read has no clusters.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["cluster_names", "modes", "profiles", "stage_sets", "workload_types"]


def cluster_names(incomplete: str) -> list[str]:
    """Clusters of this user."""
    from ghostfleet.server.instances import InstanceError, instances

    try:
        return _beginning(incomplete, [each.name for each in instances()])
    except InstanceError:
        return []


def profiles(incomplete: str) -> list[str]:
    """Profiles of clusters."""
    from ghostfleet.core.profile import profile_names

    return _beginning(incomplete, profile_names())


def dra_profiles(incomplete: str) -> list[str]:
    """Profiles of DRA drivers."""
    from ghostfleet.stages.dradrivers import built_in_profiles

    return _beginning(incomplete, built_in_profiles())


def workload_types(incomplete: str) -> list[str]:
    """Types of workloads."""
    from ghostfleet.lab.types import type_names

    return _beginning(incomplete, type_names())


def stage_sets(incomplete: str) -> list[str]:
    """Sets of stages, also behind the + that joins them."""
    from ghostfleet.stages.catalogue import built_in_sets

    before, plus, begun = incomplete.rpartition("+")
    return [f"{before}{plus}{each}" for each in _beginning(begun, built_in_sets())]


def modes(incomplete: str) -> list[str]:
    """Modes of a stress test, also behind a comma."""
    from ghostfleet.lab.stress import MODES

    before, comma, begun = incomplete.rpartition(",")
    return [f"{before}{comma}{each}" for each in _beginning(begun, MODES)]


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [each for each in names if each.startswith(incomplete)]
