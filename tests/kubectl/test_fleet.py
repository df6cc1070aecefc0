"""kubectl on a living fleet: pods are placed, run and finish, and workloads are looked after."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.kubectl, pytest.mark.fleet]

GPU_JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  completions: 6
  parallelism: 3
  template:
    metadata: {annotations: {ghostfleet.dev/duration: 1s}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: trainer, resources: {limits: {nvidia.com/gpu: 8}}}]
"""


def test_nodes_are_ready_and_have_gpus(kubectl):
    assert kubectl("get", "nodes").count(" Ready ") == 4
    assert "nvidia.com/gpu" in kubectl("describe", "node", "kwok-node-0")
    assert len(kubectl("get", "nodes", "-l", "nvidia.com/gpu.count=8", "-o", "name").split()) == 4


def test_a_job_of_gpus_runs_to_its_end(kubectl):
    kubectl.apply(GPU_JOB)
    kubectl("wait", "--for=condition=complete", "job/train", "--timeout=60s")
    job = kubectl.json("get", "job", "train")
    assert job["status"]["succeeded"] == 6
    assert kubectl("get", "pods", "-l", "job-name=train").count("Completed") == 6
    assert "Created pod: train-" in kubectl("describe", "job", "train")


def test_a_pod_that_fits_nowhere_says_why(kubectl):
    kubectl.apply(GPU_JOB.replace("gpu: 8", "gpu: 16").replace("train", "big"))
    kubectl("wait", "--for=condition=PodScheduled=false", "pod", "-l", "job-name=big", "--timeout=30s")
    assert "Insufficient nvidia.com/gpu" in kubectl(
        "get", "pods", "-o", "jsonpath={.items[0].status.conditions[0].message}"
    )
    assert "Pending" in kubectl("get", "pods")


def test_a_deployment_rolls_out_and_back(kubectl):
    kubectl("create", "deployment", "web", "--image=nginx:1", "--replicas=3")
    assert "successfully rolled out" in kubectl("rollout", "status", "deploy/web", "--timeout=60s")
    kubectl("set", "image", "deploy/web", "nginx=nginx:2")
    assert "successfully rolled out" in kubectl("rollout", "status", "deploy/web", "--timeout=60s")
    history = kubectl("rollout", "history", "deploy/web")
    assert [line.split()[0] for line in history.splitlines() if line[:1].isdigit()] == ["1", "2"]
    kubectl("rollout", "undo", "deploy/web")
    kubectl("rollout", "status", "deploy/web", "--timeout=60s")
    assert kubectl.json("get", "deploy", "web")["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1"
    kubectl("scale", "deploy/web", "--replicas=5")
    kubectl("rollout", "status", "deploy/web", "--timeout=60s")
    assert (
        kubectl("get", "pods", "-l", "app=web", "--field-selector=status.phase=Running", "-o", "name").count("pod/")
        == 5
    )
    kubectl("delete", "deploy", "web")
    kubectl.wait_until_gone("pods", "-l", "app=web")


def test_a_drained_node_is_empty_and_its_pods_run_elsewhere(kubectl):
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=8")
    kubectl("rollout", "status", "deploy/web", "--timeout=60s")
    kubectl(
        "drain",
        "kwok-node-3",
        "--ignore-daemonsets",
        "--force",
        "--delete-emptydir-data" if kubectl.has(20) else "--delete-local-data",
        "--timeout=30s",
    )
    kubectl("rollout", "status", "deploy/web", "--timeout=60s")
    nodes = kubectl(
        "get", "pods", "--field-selector=status.phase=Running", "-o", "jsonpath={.items[*].spec.nodeName}"
    ).split()
    assert len(nodes) == 8
    assert "kwok-node-3" not in nodes
    kubectl("uncordon", "kwok-node-3")
