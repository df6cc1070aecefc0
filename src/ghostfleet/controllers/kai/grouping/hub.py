"""The hub: which grouper is for which kind of top owner.

KAI's own table (pkg/podgrouper/podgrouper/hub/hub.go). Kinds that are not in it are grouped by the default grouper, and
so are those that are not served here, of which only a reference is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from ghostfleet.controllers.kai.constants import KaiConfig
from ghostfleet.controllers.kai.grouping.default import BUILD, INFERENCE, DefaultGrouper
from ghostfleet.controllers.kai.grouping.jobset import JobSetGrouper
from ghostfleet.controllers.kai.grouping.kubeflow import DistributedGrouper, MpiGrouper, PyTorchGrouper
from ghostfleet.controllers.kai.grouping.leaderworkerset import LeaderWorkerSetGrouper
from ghostfleet.controllers.kai.grouping.metadata import Grouper, Metadata
from ghostfleet.controllers.kai.grouping.owners import Owners, is_stand_in
from ghostfleet.controllers.kai.grouping.ray import RayGrouper
from ghostfleet.controllers.kai.grouping.serving import GroveGrouper, KnativeGrouper
from ghostfleet.controllers.kai.grouping.workloads import (
    AmlGrouper,
    CronJobGrouper,
    DeploymentGrouper,
    JobGrouper,
    PodGrouper,
    SkipTopOwner,
    of_class,
)
from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store

__all__ = ["Hub"]

_WORKLOADS = ("Inference", "Training", "Distributed", "Interactive", "DistributedInference")


class Hub:
    """Groups pods by the kind of their top owner."""

    def __init__(self, store: Store, owners: Owners, config: KaiConfig) -> None:
        self._owners = owners
        self._default = default = DefaultGrouper(store, config)
        grove = GroveGrouper(default, owners)
        services = [("status", f"{which}ServiceStatus", "rayClusterName") for which in ("active", "pending")]
        table: dict[tuple[str, str], Grouper] = {
            ("", "Pod"): PodGrouper(default),
            ("batch", "Job"): JobGrouper(default, store),
            ("batch", "CronJob"): CronJobGrouper(default, owners),
            ("apps", "Deployment"): DeploymentGrouper(default),
            ("kubeflow.org", "PyTorchJob"): PyTorchGrouper(default),
            ("kubeflow.org", "TFJob"): DistributedGrouper(default, "tfReplicaSpecs"),
            ("kubeflow.org", "XGBoostJob"): DistributedGrouper(default, "xgbReplicaSpecs", "Master", "Worker"),
            ("kubeflow.org", "JAXJob"): DistributedGrouper(default, "jaxReplicaSpecs", "Worker"),
            ("kubeflow.org", "MPIJob"): MpiGrouper(default, store),
            ("kubeflow.org", "Notebook"): of_class(default, BUILD),
            ("ray.io", "RayCluster"): RayGrouper(default, owners),
            ("ray.io", "RayJob"): RayGrouper(default, owners, ("status", "rayClusterName")),
            ("ray.io", "RayService"): RayGrouper(default, owners, *services),
            ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): LeaderWorkerSetGrouper(default),
            ("jobset.x-k8s.io", "JobSet"): JobSetGrouper(default),
            ("serving.knative.dev", "Service"): KnativeGrouper(default, owners, store, gang=config.knative_gang),
            ("grove.io", "PodGangSet"): grove,
            ("grove.io", "PodCliqueSet"): grove,
            ("nvidia.com", "DynamoGraphDeployment"): grove,
            ("nvidia.com", "DynamoComponentDeployment"): grove,
            ("run.ai", "RunaiJob"): JobGrouper(default, store, lambda pod: pod.rpartition("-")[0] or pod),
            ("amlarc.azureml.com", "AmlJob"): AmlGrouper(default),
            ("egx.nvidia.io", "SPOTRequest"): of_class(default, INFERENCE),
        }
        skip = SkipTopOwner(default, table)
        self._table: dict[tuple[str, str], Grouper] = {
            **table,
            ("argoproj.io", "Workflow"): skip,
            ("trainer.kubeflow.org", "TrainJob"): skip,
            **{("run.ai", f"{word}Workload"): skip for word in _WORKLOADS},
        }

    def metadata(self, pod: Object) -> Metadata:
        """What the pod group of a pod is to be; GroupingError when that cannot be said."""
        owners: Sequence[Object] = self._owners.of(pod)
        top = owners[-1] if owners else pod
        if is_stand_in(top):
            return self._default(top, pod)
        group = top["apiVersion"].rpartition("/")[0]
        return self._table.get((group, top["kind"]), self._default)(top, pod, owners)
