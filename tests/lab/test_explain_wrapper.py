"""Why an AppWrapper waits, asked over the interface that real clusters have too."""

import pytest

from ghostfleet.cluster import Cluster, ClusterConfig, add_nodes
from ghostfleet.core.clock import SECOND
from ghostfleet.drive.embedded import Embedded
from ghostfleet.drive.interface import Kind
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.explain import explain_wrapper
from ghostfleet.stages.nodes import NodeShape

WRAPPERS = Kind("workload.codeflare.dev", "v1beta1", "appwrappers")


def wrapper(name, gpus):
    amounts = {"cpu": "1", "memory": "1Mi", "nvidia.com/gpu": str(gpus)}
    container = {"name": "main", "image": "i", "resources": {"requests": amounts, "limits": amounts}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }
    return {
        "apiVersion": "workload.codeflare.dev/v1beta1",
        "kind": "AppWrapper",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"resources": {"GenericItems": [{"replicas": 1, "generictemplate": job}]}},
    }


def why(gpus, name="big", **config):
    cluster = Cluster(config=ClusterConfig(**config))
    add_nodes(cluster, NodeShape(count=2, gpus=8, fake_taint=False))
    cluster.clock.advance(10 * SECOND)
    lab = Embedded(cluster)

    async def tool():
        if config:
            await lab.create(WRAPPERS, wrapper("big", gpus))
            await lab.sleep(5 * SECOND)
        return await explain_wrapper(lab, "default", name)

    return lab.run(tool())


def test_a_wrapper_that_is_larger_than_the_cluster_is_told_its_shortfall():
    told = why(24, dispatcher="mcad-1.32")
    assert "nvidia.com/gpu" in told.verdict
    assert told.shortfall["nvidia.com/gpu"] == 8


def test_one_that_fits_in_sum_only_is_told_so_by_the_better_dispatcher():
    told = why(16, dispatcher="better")
    assert "16" in told.verdict
    assert "8" in told.fragmented


def test_a_wrapper_or_a_dispatcher_that_is_not_there_is_an_error():
    with pytest.raises(LabError, match="there is no AppWrapper nobody in namespace default"):
        why(8, name="nobody", dispatcher="mcad-1.32")
    with pytest.raises(LabError, match="the cluster has no AppWrappers"):
        why(8)
