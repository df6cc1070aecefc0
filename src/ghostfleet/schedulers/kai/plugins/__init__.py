"""The plugins by name, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ghostfleet.schedulers.kai.conf import PluginOption
from ghostfleet.schedulers.kai.plugins.dynamicresources import DynamicResources
from ghostfleet.schedulers.kai.plugins.elastic import Elastic
from ghostfleet.schedulers.kai.plugins.gpupack import GpuPack
from ghostfleet.schedulers.kai.plugins.gpusharingorder import GpuSharingOrder
from ghostfleet.schedulers.kai.plugins.gpuspread import GpuSpread
from ghostfleet.schedulers.kai.plugins.kubeflow import Kubeflow
from ghostfleet.schedulers.kai.plugins.minruntime import MinRuntime
from ghostfleet.schedulers.kai.plugins.nodeavailability import NodeAvailability
from ghostfleet.schedulers.kai.plugins.nodeplacement import NodePlacement
from ghostfleet.schedulers.kai.plugins.nominatednode import NominatedNode
from ghostfleet.schedulers.kai.plugins.podaffinity import PodAffinity
from ghostfleet.schedulers.kai.plugins.predicates import Predicates
from ghostfleet.schedulers.kai.plugins.priority import Priority
from ghostfleet.schedulers.kai.plugins.proportion import ProportionPlugin
from ghostfleet.schedulers.kai.plugins.ray import Ray
from ghostfleet.schedulers.kai.plugins.resourcetype import ResourceType
from ghostfleet.schedulers.kai.plugins.subgrouporder import SubGroupOrder
from ghostfleet.schedulers.kai.plugins.taskorder import TaskOrder
from ghostfleet.schedulers.kai.plugins.topology import TopologyPlugin
from ghostfleet.schedulers.kai.session import Plugin

__all__ = ["PLUGINS", "build_plugin"]

PLUGINS: Mapping[str, Callable[[Mapping[str, str]], Plugin]] = {
    "predicates": lambda _arguments: Predicates(),
    "proportion": ProportionPlugin,
    "priority": lambda _arguments: Priority(),
    "elastic": lambda _arguments: Elastic(),
    "kubeflow": lambda _arguments: Kubeflow(),
    "ray": lambda _arguments: Ray(),
    "nodeavailability": lambda _arguments: NodeAvailability(),
    "gpusharingorder": lambda _arguments: GpuSharingOrder(),
    "gpupack": lambda _arguments: GpuPack(),
    "gpuspread": lambda _arguments: GpuSpread(),
    "resourcetype": lambda _arguments: ResourceType(),
    "subgrouporder": lambda _arguments: SubGroupOrder(),
    "taskorder": lambda _arguments: TaskOrder(),
    "nominatednode": lambda _arguments: NominatedNode(),
    "dynamicresources": lambda _arguments: DynamicResources(),
    "nodeplacement": NodePlacement,
    "podaffinity": lambda _arguments: PodAffinity(),
    "minruntime": MinRuntime,
    "topology": lambda _arguments: TopologyPlugin(),
}


def build_plugin(option: PluginOption) -> Plugin | None:
    """A plugin as configured; a name that is not known here (KAI's snapshot plugin decides nothing) adds nothing."""
    build = PLUGINS.get(option.name)
    return None if build is None else build(option.arguments)
