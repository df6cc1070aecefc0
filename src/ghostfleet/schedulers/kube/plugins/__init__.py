"""The plugins of kube-scheduler, by the names they have there, in the order in which they act.

A plugin is one module and one line here.
"""

from ghostfleet.schedulers.framework.profile import register
from ghostfleet.schedulers.kube.plugins.default_preemption import DefaultPreemption
from ghostfleet.schedulers.kube.plugins.dynamic_resources import DynamicResources
from ghostfleet.schedulers.kube.plugins.image_locality import ImageLocality
from ghostfleet.schedulers.kube.plugins.inter_pod_affinity import InterPodAffinity
from ghostfleet.schedulers.kube.plugins.node_affinity import NodeAffinity
from ghostfleet.schedulers.kube.plugins.node_ports import NodePorts
from ghostfleet.schedulers.kube.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from ghostfleet.schedulers.kube.plugins.node_resources_fit import NodeResourcesFit
from ghostfleet.schedulers.kube.plugins.node_unschedulable import NodeUnschedulable
from ghostfleet.schedulers.kube.plugins.pod_topology_spread import PodTopologySpread
from ghostfleet.schedulers.kube.plugins.scheduling_gates import SchedulingGates
from ghostfleet.schedulers.kube.plugins.taint_toleration import TaintToleration
from ghostfleet.schedulers.kube.plugins.volume_binding import VolumeBinding
from ghostfleet.schedulers.kube.plugins.volume_restrictions import VolumeRestrictions
from ghostfleet.schedulers.kube.plugins.volume_zone import VolumeZone

for _plugin in (
    SchedulingGates,
    "PrioritySort",
    NodeUnschedulable,
    "NodeName",
    TaintToleration,
    NodeAffinity,
    NodePorts,
    NodeResourcesFit,
    VolumeRestrictions,
    "NodeVolumeLimits",
    VolumeBinding,
    VolumeZone,
    PodTopologySpread,
    InterPodAffinity,
    DynamicResources,
    DefaultPreemption,
    NodeResourcesBalancedAllocation,
    ImageLocality,
    "DefaultBinder",
    "NodeDeclaredFeatures",
):
    register(_plugin)
