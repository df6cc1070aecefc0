"""kubectl get in all its forms."""

from __future__ import annotations

import json
import re

import pytest

pytestmark = pytest.mark.kubectl

PODS = """
apiVersion: v1
kind: Pod
metadata: {name: alpha, labels: {app: web, tier: front}}
spec: {containers: [{name: main, image: "nginx:1.27"}], nodeName: node-a}
---
apiVersion: v1
kind: Pod
metadata: {name: beta, labels: {app: web}}
spec: {containers: [{name: main, image: busybox}]}
"""


def test_get_prints_the_columns_of_a_real_cluster(kubectl):
    kubectl.apply(PODS)
    lines = kubectl("get", "pods").splitlines()
    assert re.fullmatch(r"NAME +READY +STATUS +RESTARTS +AGE", lines[0])
    assert re.fullmatch(r"alpha +0/1 +Pending +0 +\d+s", lines[1])
    wide = kubectl("get", "pods", "-o", "wide").splitlines()
    assert wide[0].split()[:7] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE"]
    assert "node-a" in wide[1]


def test_get_answers_in_every_output_form(kubectl):
    kubectl.apply(PODS)
    assert json.loads(kubectl("get", "pod", "alpha", "-o", "json"))["spec"]["nodeName"] == "node-a"
    assert "nodeName: node-a" in kubectl("get", "pod", "alpha", "-o", "yaml")
    assert kubectl("get", "pods", "-o", "name").split() == ["pod/alpha", "pod/beta"]
    assert kubectl("get", "pod", "alpha", "-o", "jsonpath={.spec.containers[0].image}") == "nginx:1.27"
    assert kubectl("get", "pods", "-o", "go-template={{range .items}}{{.metadata.name}} {{end}}") == "alpha beta "
    columns = kubectl("get", "pods", "-o", "custom-columns=N:.metadata.name,I:.spec.containers[*].image").split()
    assert columns == ["N", "I", "alpha", "nginx:1.27", "beta", "busybox"]
    assert kubectl("get", "pods", "--no-headers").splitlines()[0].startswith("alpha")


def test_get_selects_by_label_and_field(kubectl):
    kubectl.apply(PODS)
    assert kubectl("get", "pods", "-l", "tier=front", "-o", "name").split() == ["pod/alpha"]
    assert kubectl("get", "pods", "-l", "app in (web),!tier", "-o", "name").split() == ["pod/beta"]
    assert kubectl("get", "pods", "--field-selector", "spec.nodeName=node-a", "-o", "name").split() == ["pod/alpha"]
    assert kubectl("get", "pods", "--field-selector", "status.phase!=Pending", "-o", "name") == ""
    assert "not supported" in kubectl("get", "pods", "--field-selector", "spec.nonsense=1", code=1)
    assert "expected: ',' or 'end of string'" in kubectl("get", "pods", "-l", "a=b=c", code=1)


def test_get_across_namespaces_and_kinds(kubectl, space):
    kubectl.apply(PODS)
    kubectl("create", "configmap", "settings", "--from-literal=a=b")
    everywhere = kubectl("get", "pods", "-A")
    assert everywhere.splitlines()[0].startswith("NAMESPACE")
    assert re.search(rf"{space} +alpha", everywhere)
    several = kubectl("get", "pods,configmaps", "-o", "name").split()
    assert several == ["pod/alpha", "pod/beta", "configmap/settings"]
    assert kubectl("get", "po/alpha", "cm/settings", "-o", "name").split() == ["pod/alpha", "configmap/settings"]
    assert "pod/alpha" in kubectl("get", "all")


def test_get_sorts_and_shows_labels(kubectl):
    kubectl.apply(PODS)
    by_image = kubectl("get", "pods", "--sort-by=.spec.containers[0].image", "-o", "name")
    assert by_image.split() == ["pod/beta", "pod/alpha"]
    assert "app=web,tier=front" in kubectl("get", "pods", "--show-labels")
    assert kubectl("get", "pods", "-L", "tier").splitlines()[0].split()[-1] == "TIER"


def test_get_in_chunks_shows_everything(kubectl):
    manifests = "---\n".join(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{number:02}}}\n" for number in range(12)
    )
    kubectl.apply(manifests)
    assert len(kubectl("get", "configmaps", "--chunk-size=5", "-o", "name").split()) == 12


def test_get_watches_changes_as_they_come(kubectl):
    kubectl.apply(PODS)
    watching = kubectl.start("get", "pods", "--watch", "--output-watch-events")
    try:
        assert watching.stdout is not None
        first = [watching.stdout.readline() for _ in range(3)]
        assert first[0].split()[:2] == ["EVENT", "NAME"]
        kubectl("label", "pod", "beta", "seen=yes")
        kubectl("delete", "pod", "beta", "--wait=false")
        assert watching.stdout.readline().split()[:2] == ["MODIFIED", "beta"]
        assert watching.stdout.readline().split()[:2] == ["DELETED", "beta"]
    finally:
        watching.kill()
        watching.communicate()


def test_get_of_what_is_not_there_says_so(kubectl):
    assert 'pods "ghost" not found' in kubectl("get", "pod", "ghost", code=1)
    assert "No resources found" in kubectl("get", "pods")
    assert "the server doesn't have a resource type" in kubectl("get", "ghosts", code=1)
    assert kubectl("get", "pod", "ghost", "--ignore-not-found") == ""


def test_get_raw_paths(kubectl, space):
    assert json.loads(kubectl("get", "--raw", "/version"))["major"] == "1"
    assert kubectl("get", "--raw", "/readyz") == "ok"
    assert json.loads(kubectl("get", "--raw", f"/api/v1/namespaces/{space}/pods"))["kind"] == "PodList"
    assert "ghostfleet" in kubectl("get", "--raw", "/metrics") or "apiserver" in kubectl("get", "--raw", "/metrics")


def test_discovery_lists_what_is_served(kubectl):
    resources = kubectl("api-resources")
    assert re.search(r"deployments +deploy +apps/v1 +true +Deployment", resources)
    namespaced = kubectl("api-resources", "--namespaced=false", "-o", "name").split()
    assert "nodes" in namespaced
    assert "pods" not in namespaced
    assert "resourceclaims.resource.k8s.io" in kubectl("api-resources", "--api-group=resource.k8s.io", "-o", "name")
    assert "pods" in kubectl("api-resources", "--verbs=list,get", "-o", "wide")
    versions = kubectl("api-versions").split()
    assert {"v1", "apps/v1", "batch/v1", "resource.k8s.io/v1", "resource.k8s.io/v1beta2"} <= set(versions)


def test_the_server_tells_its_version(kubectl):
    assert "v1.36" in kubectl("version", "-o", "json")
    assert "control plane" in kubectl("cluster-info")


def test_the_user_can_do_everything_and_knows_who_it_is(kubectl):
    assert kubectl("auth", "can-i", "create", "pods").strip() == "yes"
    assert kubectl("auth", "can-i", "*", "*").strip().endswith("yes")
    assert "pods" in kubectl("auth", "can-i", "--list") or "*.*" in kubectl("auth", "can-i", "--list")
    if kubectl.has(27):
        assert "kubernetes-admin" in kubectl("auth", "whoami")


def test_the_kubeconfig_can_be_viewed(kubectl):
    shown = kubectl("config", "view")
    assert "ghostfleet-e2e" in shown
    assert kubectl("config", "current-context").strip() == "ghostfleet-e2e"
    assert "ghostfleet-e2e" in kubectl("config", "get-contexts", "-o", "name")
