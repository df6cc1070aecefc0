"""How a scheduler is set up: actions, plugins with their arguments, parameters, and the version it behaves like.

A *profile* names a version of KAI. `v0.13` decides as KAI did shortly after v0.13.0; `latest` has the fixes made since:
GPU memory is counted against the smallest GPU there is, and a task list is not kept past an eviction.

A *policy* says what allocate may do. KAI's own takes any node that fits; `prefer-consolidation` is none of KAI's: an
empty node is opened only when jobs cannot be moved together to make room on the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ghostfleet.schedulers.kai.usage import UsageParams

__all__ = [
    "ACTIONS",
    "KAI_POLICY",
    "POLICIES",
    "PREFER_CONSOLIDATION",
    "PROFILES",
    "PluginOption",
    "Profile",
    "SchedulerConfiguration",
    "default_plugins",
]

KAI_POLICY = "kai"
PREFER_CONSOLIDATION = "prefer-consolidation"
POLICIES = (KAI_POLICY, PREFER_CONSOLIDATION)
ACTIONS = ("allocate", "consolidation", "reclaim", "preempt", "stalegangeviction")

_DEFAULT_PLUGINS = (
    "predicates",
    "proportion",
    "priority",
    "elastic",
    "kubeflow",
    "ray",
    "nodeavailability",
    "gpusharingorder",
    "gpupack",
    "resourcetype",
    "subgrouporder",
    "taskorder",
    "nominatednode",
    "dynamicresources",
    "nodeplacement",
    "minruntime",
    "topology",
)


@dataclass(frozen=True)
class Profile:
    """What differs between versions of KAI."""

    name: str
    #: The least GPU memory of all nodes counts pods that ask for memory; v0.13 always takes 100 MiB.
    true_min_gpu_memory: bool
    #: An evicted task is not offered again to the job that lost it; v0.13 crashes on it.
    forgets_evicted_tasks: bool


PROFILES: Mapping[str, Profile] = {
    "v0.13": Profile("v0.13", true_min_gpu_memory=False, forgets_evicted_tasks=False),
    "latest": Profile("latest", true_min_gpu_memory=True, forgets_evicted_tasks=True),
}


@dataclass(frozen=True)
class PluginOption:
    name: str
    arguments: Mapping[str, str] = field(default_factory=dict)


def default_plugins() -> tuple[PluginOption, ...]:
    """The plugins that KAI turns on, in their order."""
    return tuple(PluginOption(name) for name in _DEFAULT_PLUGINS)


@dataclass(frozen=True)
class SchedulerConfiguration:
    """Defaults are KAI's: 16 consolidation victims, a minute of grace for stale gangs, signatures on."""

    actions: Sequence[str] = ACTIONS
    plugins: Sequence[PluginOption] = field(default_factory=default_plugins)
    queue_depth_per_action: Mapping[str, int] = field(default_factory=dict)
    scheduler_name: str = "kai-scheduler"
    #: Which nodes, queues and pod groups are its own: those whose label has this value, or without it none at all.
    node_pool: str = ""
    node_pool_label: str = "kai.scheduler/node-pool"
    queue_label: str = "kai.scheduler/queue"
    max_consolidation_preemptees: int = 16
    allow_consolidating_reclaim: bool = True
    use_scheduling_signatures: bool = True
    staleness_grace: float = 60.0
    restrict_node_scheduling: bool = False
    schedule_csi_storage: bool = False
    dynamic_resource_allocation: bool = True
    #: Seconds between cycles; None as the profile of modelled speed says.
    schedule_period: float | None = None
    #: How usage is counted for time-based fair share; None for fair shares that know no past.
    usage: UsageParams | None = None
    profile: Profile = PROFILES["v0.13"]
    policy: str = KAI_POLICY
