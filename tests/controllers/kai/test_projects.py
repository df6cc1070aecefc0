"""The queues of Run:ai's projects."""

from __future__ import annotations

import pytest

from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.controllers.kai import POD_GROUPS, QUEUES
from support.kai_lab import KaiLab


def test_a_project_has_its_queue_and_one_that_is_there_stays(kai):
    kai.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": {"runai/queue": "vision"}}})
    assert kai.get(QUEUES, "vision")["spec"]["parentQueue"] == "default-parent-queue"
    before = kai.get(QUEUES, "vision")
    kai.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "m", "labels": {"runai/queue": "vision"}}})
    assert kai.get(QUEUES, "vision") is before


@pytest.mark.parametrize(("replaces", "name"), [(True, "default-scheduler"), (False, "kai-scheduler")])
def test_where_kai_is_it_alone_groups_and_schedules_the_pods_of_workloads(replaces, name):
    kai = KaiLab.of(Cluster(config=ClusterConfig(nodes=1, gpus=8, schedulers=("kai",), replaces_default=replaces)))
    workload = {"apiVersion": "run.ai/v2alpha1", "kind": "TrainingWorkload"}
    metadata = {"name": "train", "namespace": "runai-project-0"}
    kai.apply({**workload, "metadata": metadata, "spec": {"image": {"value": "app"}, "gpu": {"value": "1"}}})
    kai.advance(10)
    (group,) = kai.store.list(POD_GROUPS)
    assert group["spec"]["queue"] == "project-0"
    (pod,) = kai.store.list("pods")
    assert (pod["spec"]["nodeName"], pod["spec"]["schedulerName"]) == ("kwok-node-0", name)
