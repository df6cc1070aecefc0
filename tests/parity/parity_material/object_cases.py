"""Cases of namespaces, owners, services, configurations and workloads.

Each function is a case; it is given the namespace that the case has to itself, and tells the steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parity_material.asking import Steps
from parity_material.cases import PATCHES, Step
from parity_material.objects import GONE, config, delete, job, merge, namespaced, owned, post, service, spec_of

__all__ = ["OBJECT_CASES"]


def a_namespace_goes_with_all_it_holds(ns: str) -> Steps:
    return [
        post(ns, "configmaps", config("held", finalizers=["example.com/hold"])),
        post(ns, "configmaps", config("free")),
        Step("DELETE", f"/api/v1/namespaces/{ns}"),
        post(ns, "configmaps", config("late")),
        Step("GET", namespaced(ns, "configmaps/free"), until=GONE),
        merge(ns, "configmaps/held", {"metadata": {"finalizers": None}}),
        Step("GET", f"/api/v1/namespaces/{ns}", until=GONE),
    ]


def namespaces_that_are_not_there(ns: str) -> Steps:
    return [
        post(f"{ns}-x", "configmaps", config("a")),
        Step("GET", namespaced(f"{ns}-x", "configmaps")),
        Step("GET", namespaced(f"{ns}-x", "configmaps/a")),
        Step("DELETE", "/api/v1/namespaces/kube-system"),
        Step("DELETE", "/api/v1/namespaces/default"),
        Step("POST", "/api/v1/configmaps", config("a")),
        Step("PUT", f"/api/v1/namespaces/{ns}/finalize", {"metadata": {"name": ns}, "spec": {"finalizers": []}}),
        Step("GET", f"/api/v1/namespaces/{ns}/status"),
    ]


def dependents_go_with_their_owner(ns: str) -> Steps:
    return [
        post(ns, "configmaps", config("owner")),
        post(ns, "configmaps", owned(config("child"), 0)),
        post(ns, "configmaps", owned(config("grandchild"), 1)),
        delete(ns, "configmaps/owner", propagationPolicy="Background"),
        Step("GET", namespaced(ns, "configmaps/child"), until=GONE),
        Step("GET", namespaced(ns, "configmaps/grandchild"), until=GONE),
    ]


def dependents_go_before_their_owner(ns: str) -> Steps:
    held = {**config("child"), "metadata": {"name": "child", "finalizers": ["example.com/hold"]}}
    return [
        post(ns, "configmaps", config("owner")),
        post(ns, "configmaps", owned(held, 0, blockOwnerDeletion=True)),
        delete(ns, "configmaps/owner", propagationPolicy="Foreground"),
        merge(ns, "configmaps/child", {"metadata": {"finalizers": None}}),
        Step("GET", namespaced(ns, "configmaps/child"), until=GONE),
        Step("GET", namespaced(ns, "configmaps/owner"), until=GONE),
    ]


def dependents_are_left_behind(ns: str) -> Steps:
    return [
        post(ns, "configmaps", config("owner")),
        post(ns, "configmaps", owned(config("child"), 0)),
        delete(ns, "configmaps/owner", propagationPolicy="Orphan"),
        Step("GET", namespaced(ns, "configmaps/owner"), until=GONE),
        Step("GET", f"{namespaced(ns, 'configmaps')}?fieldSelector=metadata.name%3Dchild"),
    ]


def an_owner_that_never_was(ns: str) -> Steps:
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "never",
        "uid": "11111111-2222-4333-8444-555555555555",
    }
    lost = {**config("lost"), "metadata": {"name": "lost", "ownerReferences": [reference]}}
    two = {**reference, "controller": True}
    return [
        post(ns, "configmaps", lost),
        Step("GET", namespaced(ns, "configmaps/lost"), until=GONE),
        post(
            ns,
            "configmaps",
            {
                **config("two"),
                "metadata": {"name": "two", "ownerReferences": [two, {**two, "name": "other", "uid": "b"}]},
            },
        ),
    ]


def services_of_all_types(ns: str) -> Steps:
    return [
        post(ns, "services", service("plain")),
        post(ns, "services", service("headless", clusterIP="None")),
        post(ns, "services", service("ported", type="NodePort")),
        post(ns, "services", service("balanced", type="LoadBalancer")),
        post(
            ns,
            "services",
            {"metadata": {"name": "external"}, "spec": {"type": "ExternalName", "externalName": "a.example.com"}},
        ),
        post(ns, "services", service("same", clusterIP="<0.spec.clusterIP>")),
        merge(ns, "services/ported", {"spec": {"type": "ClusterIP"}}),
        merge(ns, "services/plain", {"spec": {"type": "NodePort"}}),
        merge(ns, "services/headless", {"spec": {"publishNotReadyAddresses": True}}),
        post(ns, "services", service("Bad_Name")),
        post(ns, "services", service("outside", clusterIP="192.168.1.1")),
        Step("DELETE", f"{namespaced(ns, 'services')}?labelSelector=none%3Dsuch"),
    ]


def configurations_that_never_change(ns: str) -> Steps:
    return [
        post(ns, "configmaps", {**config("c"), "immutable": True, "data": {"a": "b"}}),
        merge(ns, "configmaps/c", {"data": {"a": "c"}}),
        merge(ns, "configmaps/c", {"immutable": None}),
        merge(ns, "configmaps/c", {"metadata": {"labels": {"a": "b"}}}),
        post(ns, "secrets", {"metadata": {"name": "s"}, "immutable": True, "stringData": {"a": "b"}}),
        merge(ns, "secrets/s", {"data": {"a": "eA=="}}),
    ]


def a_job_in_all_its_modes(ns: str) -> Steps:
    jobs = f"/apis/batch/v1/namespaces/{ns}/jobs"
    indexed = job("indexed", completionMode="Indexed", completions=4, backoffLimitPerIndex=1)
    manual = job("manual", manualSelector=True, selector={"matchLabels": {"a": "b"}})
    manual["spec"]["template"]["metadata"] = {"labels": {"a": "b"}}
    steps = [
        Step("POST", jobs, each)
        for each in (job("plain"), indexed, manual, job("suspended", suspend=True), job("UPPER"))
    ]
    return [
        *steps,
        Step("PATCH", f"{jobs}/indexed", spec_of(completions=6, parallelism=6), PATCHES["merge"]),
        Step("PATCH", f"{jobs}/suspended", {"spec": {"template": spec_of(nodeSelector={"a": "b"})}}, PATCHES["merge"]),
        Step("PATCH", f"{jobs}/plain", {"spec": {"template": spec_of(nodeSelector={"a": "b"})}}, PATCHES["merge"]),
        Step("PATCH", f"{jobs}/plain/status", {"status": {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}}, PATCHES["merge"]),
        Step("GET", f"{jobs}?fieldSelector=status.successful%3D1"),
        Step("DELETE", f"{jobs}/plain"),
        Step("DELETE", f"{jobs}/indexed?propagationPolicy=Background"),
    ]  # fmt: skip


def lists_with_keys_are_merged(ns: str) -> Steps:
    deployments = f"/apis/apps/v1/namespaces/{ns}/deployments"
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]},
    }
    made = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}

    def strategic(pod_spec: dict[str, Any]) -> Step:
        return Step(
            "PATCH",
            f"{deployments}/d?fieldManager=patcher",
            {"spec": {"template": {"spec": pod_spec}}},
            PATCHES["strategic"],
        )

    order = {"$setElementOrder/containers": [{"name": "c"}, {"name": "b"}, {"name": "a"}]}
    return [
        Step("POST", f"{deployments}?fieldManager=creator", made),
        strategic({"containers": [{"name": "c", "image": "c"}], **order}),
        strategic({"containers": [{"$patch": "delete", "name": "b"}]}),
        strategic(
            {"containers": [{"name": "a", "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]}]}
        ),
        strategic({"tolerations": [{"key": "a", "operator": "Exists"}]}),
        strategic({"containers": [{"image": "nameless"}]}),
        Step(
            "PATCH",
            f"{deployments}/d",
            {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
            PATCHES["strategic"],
        ),
    ]


def containers_are_applied_by_several(ns: str) -> Steps:
    at = f"/apis/apps/v1/namespaces/{ns}/deployments/d"
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}

    def apply(manager: str, *containers: dict[str, Any], more: str = "", **spec: Any) -> Step:
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": list(containers)}}
        body = {**head, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec}}
        return Step("PATCH", f"{at}?fieldManager={manager}{more}", body, PATCHES["apply"])

    main = {"name": "main", "image": "nginx:1"}
    return [
        apply("one", main, replicas=2),
        apply("two", {"name": "side", "image": "busybox"}),
        apply("two", {**main, "image": "nginx:2"}),
        apply("two", {**main, "image": "nginx:2"}, more="&force=true"),
        apply("one", main, replicas=3),
        apply("three", {"name": "main", "env": [{"name": "A", "value": "1"}]}),
        apply("one"),
        apply("three", {"name": "main", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}),
        Step("GET", at),
    ]


OBJECT_CASES: tuple[Callable[[str], Steps], ...] = (
    a_namespace_goes_with_all_it_holds,
    namespaces_that_are_not_there,
    dependents_go_with_their_owner,
    dependents_go_before_their_owner,
    dependents_are_left_behind,
    an_owner_that_never_was,
    services_of_all_types,
    configurations_that_never_change,
    a_job_in_all_its_modes,
    lists_with_keys_are_merged,
    containers_are_applied_by_several,
)
