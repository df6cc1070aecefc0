"""Commands that change what is there: label, taint, scale, set, rollout, drain, wait, delete."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.kubectl

NODE = """
apiVersion: v1
kind: Node
metadata: {name: NAME, labels: {kubernetes.io/hostname: NAME}}
status:
  capacity: {cpu: "32", memory: 256Gi, pods: "110", nvidia.com/gpu: "8"}
  conditions: [{type: Ready, status: "True"}]
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME, labels: {app: web}}
spec: {nodeName: NODE, containers: [{name: main, image: busybox}]}
"""
REPLICASET = """
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-REVISION
  labels: {app: web, pod-template-hash: "REVISION"}
  annotations: {deployment.kubernetes.io/revision: "REVISION", deployment.kubernetes.io/desired-replicas: "2"}
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: UID, controller: true}]
spec:
  replicas: 2
  selector: {matchLabels: {app: web, pod-template-hash: "REVISION"}}
  template:
    metadata: {labels: {app: web, pod-template-hash: "REVISION"}}
    spec: {containers: [{name: main, image: "nginx:REVISION"}]}
"""


@pytest.fixture
def node(kubectl, space):
    name = f"n-{space}"[:60].strip("-")
    kubectl.apply(NODE.replace("NAME", name))
    yield name
    kubectl("delete", "node", name, "--ignore-not-found")


def test_labels_and_annotations_come_and_go(kubectl):
    kubectl("create", "configmap", "c")
    kubectl("label", "cm", "c", "a=1", "b=2")
    assert "overwrite is false" in kubectl("label", "cm", "c", "a=9", code=1)
    kubectl("label", "cm", "c", "a=9", "b-", "--overwrite")
    assert kubectl.json("get", "cm", "c")["metadata"]["labels"] == {"a": "9"}
    kubectl("annotate", "cm", "c", "note=hello world")
    assert kubectl.json("get", "cm", "c")["metadata"]["annotations"] == {"note": "hello world"}
    kubectl("annotate", "cm", "c", "note-")
    kubectl("label", "cm", "--all", "swept=yes")
    assert kubectl.json("get", "cm", "c")["metadata"]["labels"]["swept"] == "yes"


def test_nodes_are_tainted_cordoned_and_drained(kubectl, node):
    kubectl("taint", "node", node, "gpu=yes:NoSchedule")
    assert kubectl.json("get", "node", node)["spec"]["taints"] == [
        {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    ]
    kubectl("taint", "node", node, "gpu:NoSchedule-")
    assert "cordoned" in kubectl("cordon", node)
    assert "Ready,SchedulingDisabled" in kubectl("get", "node", node)
    assert "uncordoned" in kubectl("uncordon", node)
    kubectl.apply(POD.replace("NAME", "p").replace("NODE", node))
    kubectl("patch", "pod", "p", "--type=merge", "-p", '{"metadata":{"labels":{"x":"y"}}}')
    said = kubectl("drain", node, "--force", "--ignore-daemonsets", "--timeout=20s")
    assert "pod/p evicted" in said
    assert "not found" in kubectl("get", "pod", "p", code=1)


def test_the_numbers_of_nodes_and_pods_are_on_top(kubectl, node):
    kubectl.apply(
        POD.replace("NAME", "busy")
        .replace("NODE", node)
        .replace(
            "{name: busy,",
            "{name: busy, annotations: {kwok.x-k8s.io/usage-cpu: 500m, kwok.x-k8s.io/usage-memory: 64Mi},",
        )
    )
    if kubectl.has(24):
        kubectl("patch", "pod", "busy", "--subresource=status", "--type=merge", "-p", '{"status":{"phase":"Running"}}')
        assert re.search(r"busy +500m +64Mi", kubectl("top", "pods"))
        assert re.search(rf"{node} +500m +1% +64Mi", kubectl("top", "nodes"))
    assert "CPU(cores)" in kubectl("top", "nodes")


def test_workloads_are_scaled(kubectl):
    kubectl("create", "deployment", "web", "--image=nginx")
    assert "scaled" in kubectl("scale", "deploy", "web", "--replicas=7")
    assert kubectl.json("get", "deploy", "web")["spec"]["replicas"] == 7
    assert "xpected replicas" in kubectl("scale", "deploy", "web", "--current-replicas=3", "--replicas=1", code=1)
    if kubectl.has(35):  # older ones speak autoscaling/v1
        assert "autoscaled" in kubectl("autoscale", "deploy", "web", "--max=9")


def test_images_environment_and_resources_are_set(kubectl):
    kubectl("create", "deployment", "web", "--image=nginx")
    kubectl("set", "image", "deploy/web", "nginx=nginx:2")
    kubectl("set", "env", "deploy/web", "MODE=fast")
    kubectl("set", "resources", "deploy/web", "--limits=cpu=1,memory=1Gi")
    kubectl("create", "serviceaccount", "robot")
    kubectl("set", "serviceaccount", "deploy/web", "robot")
    container = kubectl.json("get", "deploy", "web")["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "nginx:2"
    assert container["env"] == [{"name": "MODE", "value": "fast"}]
    assert container["resources"]["limits"] == {"cpu": "1", "memory": "1Gi"}


def test_rollouts_have_a_history_and_can_be_undone(kubectl):
    kubectl("create", "deployment", "web", "--image=nginx:2")
    uid = kubectl.json("get", "deploy", "web")["metadata"]["uid"]
    kubectl("annotate", "deploy", "web", "deployment.kubernetes.io/revision=2")
    for revision in "12":
        kubectl.apply(REPLICASET.replace("REVISION", revision).replace("UID", uid))
    history = kubectl("rollout", "history", "deploy/web")
    assert [line.split()[0] for line in history.splitlines() if line[:1].isdigit()] == ["1", "2"]
    assert "nginx:1" in kubectl("rollout", "history", "deploy/web", "--revision=1")
    kubectl("rollout", "undo", "deploy/web", "--to-revision=1")
    assert kubectl.json("get", "deploy", "web")["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1"
    kubectl("rollout", "pause", "deploy/web")
    kubectl("rollout", "resume", "deploy/web")
    assert "restarted" in kubectl("rollout", "restart", "deploy/web")
    if kubectl.has(24):
        status = '{"status":{"observedGeneration":99,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1}}'
        kubectl("patch", "deploy", "web", "--subresource=status", "--type=merge", "-p", status)
        assert "successfully rolled out" in kubectl("rollout", "status", "deploy/web", "--timeout=10s")


def test_wait_for_a_condition_a_value_and_an_end(kubectl):
    kubectl("run", "p", "--image=busybox")
    if kubectl.has(24):
        ready = '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'
        waiting = kubectl.start_watching("pods", "wait", "--for=condition=Ready", "pod/p", "--timeout=20s")
        kubectl("patch", "pod", "p", "--subresource=status", "--type=merge", "-p", ready)
        assert "condition met" in waiting.communicate(timeout=30)[0]
        assert "condition met" in kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/p", "--timeout=10s")
    assert "timed out" in kubectl("wait", "--for=condition=Never", "pod/p", "--timeout=1s", code=1)
    waiting = kubectl.start_watching("pods", "wait", "--for=delete", "pod/p", "--timeout=20s")
    kubectl("delete", "pod", "p")
    waiting.communicate(timeout=30)
    assert waiting.returncode == 0


def test_deletes_are_graceful_forced_and_by_selector(kubectl, node):
    for name in ("a", "b", "c"):
        kubectl.apply(POD.replace("NAME", name).replace("NODE", node))
    # However long the next command takes to come, the pod is still there.
    kubectl("patch", "pod", "a", "--type=merge", "-p", '{"metadata":{"finalizers":["ghostfleet.dev/held"]}}')
    kubectl("delete", "pod", "a", "--wait=false")
    assert "Terminating" in kubectl("get", "pod", "a")
    kubectl("patch", "pod", "a", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert kubectl.json("get", "pod", "b")["metadata"].get("deletionTimestamp") is None
    assert "force deleted" in kubectl("delete", "pod", "b", "--force", "--grace-period=0")
    kubectl("delete", "pods", "-l", "app=web")
    assert "No resources found" in kubectl("get", "pods")
    kubectl("create", "configmap", "c1")
    kubectl("create", "configmap", "c2")
    kubectl("delete", "configmaps", "--all")
    assert "not found" in kubectl("delete", "cm", "c1", code=1)
    assert kubectl("delete", "cm", "c1", "--ignore-not-found") == ""


@pytest.mark.parametrize("cascade", ["background", "foreground", "orphan"])
def test_dependents_go_or_stay_as_the_cascade_says(kubectl, cascade):
    kubectl("create", "deployment", "web", "--image=nginx:2")
    uid = kubectl.json("get", "deploy", "web")["metadata"]["uid"]
    kubectl.apply(REPLICASET.replace("REVISION", "1").replace("UID", uid))
    kubectl("delete", "deploy", "web", f"--cascade={cascade}")
    if cascade == "orphan":
        replicaset = kubectl.json("get", "rs", "web-1")
        assert "ownerReferences" not in replicaset["metadata"]
    else:
        kubectl.wait_until_gone("rs", "web-1")


def test_a_namespace_takes_everything_in_it_along(kubectl, space):
    name = f"{space[:40]}-gone"
    kubectl("create", "namespace", name)
    kubectl("create", "configmap", "c", "-n", name)
    kubectl("create", "deployment", "d", "--image=x", "-n", name)
    assert "deleted" in kubectl("delete", "namespace", name, "--timeout=20s")
    assert "not found" in kubectl("get", "namespace", name, code=1)
    assert f'namespaces "{name}" not found' in kubectl("create", "configmap", "c", "-n", name, code=1)
