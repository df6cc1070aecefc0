"""A scheduler profile: which plugins take part, with what weights and arguments.

The defaults are those of kube-scheduler. A profile has a name, which pods ask for by spec.schedulerName; one
scheduler may have several.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ghostfleet.schedulers.kube.fitting import LEAST_ALLOCATED, Strategy
from ghostfleet.schedulers.kube.requests import CPU, MEMORY

__all__ = ["DEFAULT_WEIGHTS", "PLUGINS", "SYSTEM_CONSTRAINTS", "Profile"]

#: All plugins of the default profile, in the order in which they act.
PLUGINS = (
    "SchedulingGates",
    "PrioritySort",
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "DefaultPreemption",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "DefaultBinder",
    "NodeDeclaredFeatures",
)

DEFAULT_WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}

SYSTEM_CONSTRAINTS: tuple[dict[str, Any], ...] = (
    {"topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 3},
    {"topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 5},
)


@dataclass(frozen=True)
class Profile:
    """One profile."""

    name: str = "default-scheduler"
    #: Plugins that rule nodes out, that is all that are on at their filter points.
    filters: frozenset[str] = frozenset(PLUGINS)
    #: Plugins that score, with their weights.
    weights: dict[str, int] = field(default_factory=lambda: dict(DEFAULT_WEIGHTS))
    gates: bool = True
    preempts: bool = True
    #: Whether DynamicResources is asked when a pod fails.
    deallocates: bool = True
    #: Percent of nodes to look for; 0 lets the number of nodes decide.
    percentage: int = 0
    fit: Strategy = LEAST_ALLOCATED
    ignored_resources: frozenset[str] = frozenset()
    ignored_groups: frozenset[str] = frozenset()
    balance: tuple[tuple[str, int], ...] = ((CPU, 1), (MEMORY, 1))
    #: Node affinity added to that of all pods.
    added_affinity: dict[str, Any] = field(default_factory=dict)
    hard_weight: int = 1
    ignore_held_wishes: bool = False
    #: Spread constraints of pods that have none.
    default_constraints: tuple[dict[str, Any], ...] = SYSTEM_CONSTRAINTS
    system_defaulted: bool = True
    #: How many nodes preemption looks at, at least: percent, and absolutely.
    candidates_percent: int = 10
    candidates_least: int = 100

    def ignores(self, resource: str) -> bool:
        """Whether NodeResourcesFit passes over an extended resource."""
        if not self.ignored_resources and not self.ignored_groups:
            return False
        extended = "/" in resource and "kubernetes.io/" not in resource
        return extended and (resource in self.ignored_resources or resource.split("/")[0] in self.ignored_groups)
