"""Every generator of kubectl create, and kubectl run."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.kubectl


def test_create_makes_every_kind_it_has_a_generator_for(kubectl, space):
    made = [
        kubectl("create", "configmap", "cm", "--from-literal=a=b"),
        kubectl("create", "secret", "generic", "s", "--from-literal=password=x"),
        kubectl("create", "secret", "docker-registry", "reg", "--docker-username=u", "--docker-password=p"),
        kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2", "--port=80"),
        kubectl("create", "job", "once", "--image=busybox", "--", "sleep", "1"),
        kubectl("create", "service", "clusterip", "svc", "--tcp=80:8080"),
        kubectl("create", "service", "nodeport", "np", "--tcp=80"),
        kubectl("create", "service", "loadbalancer", "lb", "--tcp=80"),
        kubectl("create", "service", "externalname", "ext", "--external-name=example.com"),
        kubectl("create", "serviceaccount", "robot"),
        kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods"),
        kubectl("create", "rolebinding", "readers", "--role=reader", f"--serviceaccount={space}:robot"),
        kubectl("create", "clusterrole", f"{space}-all", "--verb=*", "--resource=*.*"),
        kubectl("create", "clusterrolebinding", f"{space}-admin", f"--clusterrole={space}-all", "--user=u"),
        kubectl("create", "quota", "quota", "--hard=pods=100,requests.cpu=50"),
        kubectl("create", "priorityclass", f"{space}-high", "--value=1000"),
        kubectl("create", "ingress", "ing", "--rule=example.com/*=svc:80"),
        kubectl("create", "namespace", f"{space[:40]}-two"),
    ]
    if kubectl.has(21):  # older ones know batch/v1beta1 and policy/v1beta1 only, which are gone
        made.append(kubectl("create", "poddisruptionbudget", "pdb", "--selector=app=web", "--min-available=1"))
        made.append(kubectl("create", "cronjob", "often", "--image=busybox", "--schedule=*/5 * * * *"))
        made.append(kubectl("create", "job", "manual", "--from=cronjob/often"))
    assert all("created" in said for said in made)
    kubectl("delete", "clusterrole", f"{space}-all")
    kubectl("delete", "clusterrolebinding", f"{space}-admin")
    kubectl("delete", "priorityclass", f"{space}-high")
    kubectl("delete", "namespace", f"{space[:40]}-two")


def test_what_was_created_is_complete(kubectl):
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2")
    spec = kubectl.json("get", "deploy", "web")["spec"]
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    assert spec["template"]["spec"]["terminationGracePeriodSeconds"] == 30
    kubectl("create", "service", "nodeport", "np", "--tcp=80:8080")
    service = kubectl.json("get", "svc", "np")["spec"]
    assert service["clusterIP"].startswith("10.")
    assert 30000 <= service["ports"][0]["nodePort"] <= 32767
    kubectl("create", "secret", "generic", "s", "--from-literal=password=x")
    assert kubectl.json("get", "secret", "s")["data"] == {"password": "eA=="}


def test_tokens_of_service_accounts(kubectl):
    kubectl.needs(24, "create token")
    kubectl("create", "serviceaccount", "robot")
    token = kubectl("create", "token", "robot").strip()
    assert len(token) > 20
    assert kubectl("auth", "can-i", "get", "pods", f"--token={token}").strip() == "yes"


def test_run_makes_a_pod(kubectl):
    assert "pod/shell created" in kubectl("run", "shell", "--image=busybox", "--restart=Never", "--", "sleep", "10")
    pod = kubectl.json("get", "pod", "shell")
    assert pod["spec"]["containers"][0]["args"] == ["sleep", "10"]
    assert pod["spec"]["tolerations"][0]["tolerationSeconds"] == 300
    dry = kubectl("run", "dry", "--image=busybox", "--dry-run=client", "-o", "json")
    assert json.loads(dry)["metadata"]["name"] == "dry"
    assert "created (server dry run)" in kubectl("run", "dry", "--image=busybox", "--dry-run=server")
    assert "exposed" in kubectl("expose", "pod", "shell", "--port=80")
