"""Cases of pods and of what admission does to them.

Each function is a case; it is given the namespace that the case has to itself, and tells the steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parity_material.asking import Steps
from parity_material.cases import PATCHES, Step, slug
from parity_material.objects import config, delete, evict, limits, merge, namespaced, pod, post, spec_of

__all__ = ["POD_CASES"]


def a_pod_is_bound(ns: str) -> Steps:
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "nowhere"}}
    at = namespaced(ns, "pods/p/binding")
    return [
        post(ns, "pods", pod("p")),
        Step("POST", at, {**binding, "target": {"kind": "Pod", "name": "x"}}),
        Step("POST", at, {**binding, "target": {"kind": "Node"}}),
        Step("POST", at, binding),
        Step("POST", at, binding),
        Step("GET", namespaced(ns, "pods/p")),
        Step("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3Dnowhere,metadata.namespace%3D{ns}"),
        Step("POST", namespaced(ns, "bindings"), {**binding, "metadata": {"name": "ghost"}}),
        Step("POST", namespaced(ns, "pods/p/binding"), {**binding, "metadata": {"name": "other"}}),
    ]


def a_pod_on_a_node_is_deleted_gracefully(ns: str) -> Steps:
    on_node = pod("p", nodeName="nowhere", terminationGracePeriodSeconds=20)
    return [
        post(ns, "pods", on_node),
        delete(ns, "pods/p"),
        delete(ns, "pods/p", gracePeriodSeconds=10),
        delete(ns, "pods/p", gracePeriodSeconds=60),
        delete(ns, "pods/p", gracePeriodSeconds=0),
        Step("GET", namespaced(ns, "pods/p")),
    ]


def a_pod_is_evicted(ns: str) -> Steps:
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}}
    budgets = f"/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
    running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    allowed = {"status": {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}}
    return [
        post(ns, "pods", pod("p", labels={"app": "a"})),
        post(ns, "pods", pod("q", labels={"app": "b"})),
        merge(ns, "pods/p/status", running),
        evict(ns, "q", dryRun=["All"]),
        evict(ns, "q"),
        Step("GET", namespaced(ns, "pods/q")),
        Step("POST", budgets, budget),
        evict(ns, "p"),
        Step(
            "PATCH", f"{budgets}/b/status", {"status": {**allowed["status"], "observedGeneration": 1}}, PATCHES["merge"]
        ),
        evict(ns, "p"),
        evict(ns, "ghost"),
        Step("GET", f"{budgets}/b"),
    ]


def containers_are_added_for_debugging(ns: str) -> Steps:
    debug = {"name": "debug", "image": "busybox", "targetContainerName": "main"}
    at = "pods/p/ephemeralcontainers"
    return [
        post(ns, "pods", pod("p")),
        Step("PATCH", namespaced(ns, at), spec_of(ephemeralContainers=[debug]), PATCHES["strategic"]),
        Step("PATCH", namespaced(ns, at), spec_of(ephemeralContainers=[{**debug, "image": "x"}]), PATCHES["strategic"]),
        merge(ns, "pods/p", spec_of(ephemeralContainers=[])),
        merge(
            ns,
            "pods/p/resize",
            spec_of(containers=[{"name": "main", "image": "busybox:1", "resources": {"requests": {"cpu": "2"}}}]),
        ),
        Step("GET", namespaced(ns, at)),
        post(ns, "pods", pod("r", ephemeralContainers=[debug])),
    ]


def resources_of_a_running_pod_are_changed(ns: str) -> Steps:
    container = {"name": "main", "image": "busybox:1", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}
    bigger = {**container, "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}}
    return [
        post(ns, "pods", pod("p", containers=[container])),
        merge(ns, "pods/p/resize", spec_of(containers=[bigger])),
        merge(ns, "pods/p/resize", spec_of(containers=[{**bigger, "image": "other"}])),
        merge(ns, "pods/p", spec_of(containers=[container])),
        merge(ns, "pods/p/resize", spec_of(containers=[{**container, "resources": {}}])),
        Step("GET", namespaced(ns, "pods/p")),
    ]


def logs_of_a_pod_without_a_node(ns: str) -> Steps:
    return [
        post(ns, "pods", pod("p")),
        Step("GET", namespaced(ns, "pods/p/log")),
        Step("GET", namespaced(ns, "pods/p/log?container=other")),
        Step("GET", namespaced(ns, "pods/ghost/log")),
    ]


def a_pods_spec_is_filled_in(ns: str) -> Steps:
    variants: list[dict[str, Any]] = [
        {"hostNetwork": True, "containers": [{"name": "a", "image": "a", "ports": [{"containerPort": 80}]}]},
        {"containers": [{"name": "a", "image": "a:latest", "resources": {"limits": {"cpu": "1500m", "memory": "1.5Gi"}}}]},
        {"containers": [{"name": "a", "image": "a", "livenessProbe": {"httpGet": {"port": 80}}}]},
        {"volumes": [{"name": "v"}, {"name": "s", "secret": {"secretName": "s"}}, {"name": "h", "hostPath": {"path": "/"}}]},
        {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"gpu": "yes"}, "priorityClassName": "system-node-critical"},
        {"restartPolicy": "Never", "securityContext": {"runAsUser": 1000}, "dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"]}},
        {"initContainers": [{"name": "i", "image": "i", "restartPolicy": "Always"}], "schedulingGates": [{"name": "example.com/wait"}]},
        {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]},
        {"resources": {"requests": {"cpu": "2"}}, "overhead": {"cpu": "1"}},
        {"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]},
    ]  # fmt: skip
    return [post(ns, "pods", pod(f"p{number}", **spec)) for number, spec in enumerate(variants)]


def a_gated_pod_is_let_go(ns: str) -> Steps:
    gated = pod("p", schedulingGates=[{"name": "example.com/a"}, {"name": "example.com/b"}])
    return [
        post(ns, "pods", gated),
        merge(ns, "pods/p", spec_of(nodeSelector={"zone": "a"})),
        merge(ns, "pods/p", spec_of(schedulingGates=[{"name": "example.com/c"}])),
        merge(ns, "pods/p", spec_of(schedulingGates=[])),
        merge(ns, "pods/p", spec_of(nodeSelector={"zone": "b"})),
        Step("POST", namespaced(ns, "pods/p/binding"), {"target": {"kind": "Node", "name": "n"}}),
    ]


def limits_of_a_namespace(ns: str) -> Steps:
    container = {
        "type": "Container",
        "default": {"cpu": "1"},
        "defaultRequest": {"cpu": "500m"},
        "max": {"cpu": "2"},
        "min": {"cpu": "100m"},
    }
    big = [{"name": "a", "image": "a", "resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}}}]
    claim = {
        "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "9Gi"}}},
    }
    return [
        post(ns, "limitranges", limits("l", container, {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}})),
        Step("GET", namespaced(ns, "limitranges/l"), until=200),
        post(ns, "pods", pod("p")),
        post(ns, "pods", pod("q", containers=big)),
        post(ns, "persistentvolumeclaims", claim),
    ]


def a_quota_is_used_up(ns: str) -> Steps:
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "2", "pods": "1", "requests.cpu": "1"}}}
    status = {
        "status": {
            "hard": {"configmaps": "2", "pods": "1", "requests.cpu": "1"},
            "used": {"configmaps": "1", "pods": "0", "requests.cpu": "0"},
        }
    }
    asking = [{"name": "a", "image": "a", "resources": {"requests": {"cpu": "600m"}}}]
    return [
        post(ns, "resourcequotas", quota),
        merge(ns, "resourcequotas/q/status", status),
        post(ns, "configmaps", config("a")),
        post(ns, "configmaps", config("b")),
        post(ns, "pods", pod("silent", containers=[{"name": "a", "image": "a"}])),
        post(ns, "pods", pod("p", containers=asking)),
        post(ns, "pods", pod("r", containers=asking)),
        Step("GET", namespaced(ns, "resourcequotas/q")),
    ]


def priorities_come_from_their_classes(ns: str) -> Steps:
    name = slug(ns)
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    return [
        Step("POST", classes, {"metadata": {"name": name}, "value": 1234, "preemptionPolicy": "Never"}),
        post(ns, "pods", pod("p", priorityClassName=name)),
        post(ns, "pods", pod("q", priorityClassName=name, priority=5)),
        post(ns, "pods", pod("r", priority=5)),
        Step("POST", classes, {"metadata": {"name": "system-mine"}, "value": 5}),
        Step("DELETE", f"{classes}/system-node-critical"),
        Step("PATCH", f"{classes}/{name}", {"value": 4}, PATCHES["merge"]),
    ]


POD_CASES: tuple[Callable[[str], Steps], ...] = (
    a_pod_is_bound,
    a_pod_on_a_node_is_deleted_gracefully,
    a_pod_is_evicted,
    containers_are_added_for_debugging,
    resources_of_a_running_pod_are_changed,
    logs_of_a_pod_without_a_node,
    a_pods_spec_is_filled_in,
    a_gated_pod_is_let_go,
    limits_of_a_namespace,
    a_quota_is_used_up,
    priorities_come_from_their_classes,
)
