"""The stand-ins of MCAD and KWOK, and what happens when MCAD's pod goes away and comes back."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from mcad_runs import STAGES, Lab, custom, job, quota, subtree, wrapper

ALL = ["mcad-1.32", "mcad-1.40", "better"]


def system_pods(lab: Lab, start: str = "mcad-controller") -> list[str]:
    names = [pod["metadata"]["name"] for pod in lab.pods("kube-system") if pod["status"]["phase"] == "Running"]
    return [name for name in names if name.startswith(start)]


def scale(lab: Lab, replicas: int) -> None:
    deployment = lab.cluster.store.get("deployments.apps", "kube-system", "mcad-controller")
    spec = {**deployment["spec"], "replicas": replicas}
    metadata = {**deployment["metadata"], "generation": deployment["metadata"]["generation"] + 1}
    lab.cluster.store.update("deployments.apps", {**deployment, "metadata": metadata, "spec": spec})


def test_scripts_find_the_pods_and_the_deployment_they_look_for():
    lab = Lab("mcad-1.40", nodes=0)
    lab.advance(1)
    assert len(system_pods(lab)) == len(system_pods(lab, "kwok-controller")) == 1
    deployment = lab.cluster.store.get("deployments.apps", "kube-system", "mcad-controller")
    assert deployment["status"]["availableReplicas"] == deployment["status"]["updatedReplicas"] == 1
    assert deployment["metadata"]["labels"]["chart"] == "mcad-controller-0.1.0"


def test_a_cluster_without_a_dispatcher_has_neither():
    lab = Lab("", nodes=0)
    assert lab.pods("kube-system") == []
    assert lab.cluster.registry.by_key("appwrappers.mcad.ibm.com") is None


@pytest.mark.parametrize("dispatcher", ALL)
def test_a_controller_whose_pod_is_deleted_finds_its_way_back(dispatcher):
    lab = Lab(dispatcher, stages=str(STAGES))
    lab.submit(wrapper("running", job("running", gpus=2)))
    lab.submit(wrapper("waiting", job("waiting", gpus=99)))
    lab.advance(5)
    (pod,) = system_pods(lab)
    lab.delete(pod, "pods", "kube-system")
    lab.clock.settle()
    assert not lab.controller.running
    lab.submit(wrapper("meanwhile", job("meanwhile", gpus=2)))
    lab.advance(90)
    assert lab.controller.running
    assert system_pods(lab) not in ([], [pod])
    assert [lab.state(name) for name in ("running", "meanwhile", "waiting")] == ["Completed", "Completed", "Pending"]
    assert lab.complete_jobs() == 2


def test_a_controller_that_is_scaled_to_zero_does_nothing_until_it_is_back():
    lab = Lab("mcad-1.32")
    scale(lab, 0)
    lab.advance(1)
    assert (system_pods(lab), lab.controller.running) == ([], False)
    lab.submit(wrapper("w", job("w")))
    lab.advance(30)
    assert (lab.state("w"), lab.jobs()) == ("", [])
    scale(lab, 1)
    lab.advance(20)
    assert lab.state("w") == "Completed"


def test_quota_of_running_wrappers_is_taken_again_whether_it_is_there_or_not():
    lab = Lab("mcad-1.40", stages=str(STAGES))
    lab.submit(wrapper("w", job("w"), custompods=[custom(1, gpus=8)]))
    lab.advance(5)
    lab.submit(subtree("root", "tree", [quota("root", 4)]))
    lab.submit(subtree("leaf", "tree", [quota("default", 4, hard=True)], parent="root"))
    lab.delete(system_pods(lab)[0], "pods", "kube-system")
    lab.advance(5)
    assert lab.controller.quotas.forest.trees["tree"].nodes["default"].used.gpu == 8


def test_the_environment_of_the_pod_sets_what_mcad_takes_from_there():
    lab = Lab("mcad-1.32")
    deployment = lab.cluster.store.get("deployments.apps", "kube-system", "mcad-controller")
    template = deployment["spec"]["template"]
    (container,) = template["spec"]["containers"]
    env = [{"name": "BACKOFFTIME", "value": "7"}, {"name": "PREEMPTION", "value": "true"}, {"name": "OTHER"}]
    changed = {**template, "spec": {**template["spec"], "containers": [{**container, "env": env}]}}
    metadata = {**deployment["metadata"], "generation": 2}
    spec = {**deployment["spec"], "template": changed}
    lab.cluster.store.update("deployments.apps", {**deployment, "metadata": metadata, "spec": spec})
    lab.advance(10)
    assert lab.controller.running
    profile = lab.controller.profile
    assert (profile.duration("backoff.time"), profile.switch("preemption")) == (7_000_000, True)


def chart(lab: Lab, *, settings: dict[str, str] | None) -> None:
    """What installing the project's chart leaves behind: a Deployment with pods for real nodes, and a ConfigMap."""
    container: dict[str, object] = {"name": "mcad-controller", "image": "mcad-controller:latest"}
    container["resources"] = {"requests": {"cpu": "1", "memory": "1Gi"}}
    if settings is not None:
        config = {"name": "mcad-settings", "namespace": "kube-system"}
        lab.submit({"apiVersion": "v1", "kind": "ConfigMap", "metadata": config, "data": settings})
        container["envFrom"] = [{"configMapRef": {"name": "mcad-settings"}}]
    labels = {"app": "custom-metrics-apiserver"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": "mcad-controller", "namespace": "kube-system"}
    lab.submit({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})


@pytest.mark.parametrize("nodes", [0, 1])
def test_a_chart_that_is_uninstalled_and_installed_again_takes_the_controller_with_it(nodes):
    lab = Lab("mcad-1.40", nodes=0)
    lab.add_nodes(nodes, 0, fake_taint=False)
    lab.delete("mcad-controller", "deployments.apps", "kube-system")
    lab.advance(40)
    assert not system_pods(lab)
    assert not lab.controller.running
    chart(lab, settings={"QUOTA_ENABLED": "false", "PREEMPTION": "true", "DISPATCHER_MODE": "false"})
    lab.advance(10)
    assert len(system_pods(lab)) == 1
    assert lab.controller.running
    profile = lab.controller.profile
    assert (profile.switch("quota"), profile.switch("preemption")) == (False, True)


def test_what_the_environment_does_not_switch_on_is_off():
    lab = Lab("mcad-1.40:preemption=true,backoff.time=5s", nodes=0)
    assert lab.controller.profile.switch("quota")
    lab.delete("mcad-controller", "deployments.apps", "kube-system")
    lab.advance(40)
    chart(lab, settings=None)
    lab.advance(10)
    profile = lab.controller.profile
    assert (profile.switch("quota"), profile.switch("preemption")) == (False, False)
    assert profile.duration("backoff.time") == 5_000_000


def test_helm_finds_the_stand_in_marked_as_its_own():
    lab = Lab("mcad-1.40:preemption=true", nodes=0)
    config = lab.cluster.store.get("configmaps", "kube-system", "mcad-controller-configmap")
    assert config["data"]["PREEMPTION"] == config["data"]["QUOTA_ENABLED"] == "true"
    deployment = lab.cluster.store.get("deployments.apps", "kube-system", "mcad-controller")
    assert deployment["spec"]["selector"] == {"matchLabels": {"app": "custom-metrics-apiserver"}}
    for obj in (config, deployment):
        metadata = obj["metadata"]
        assert metadata["labels"]["app.kubernetes.io/managed-by"] == "Helm"
        assert metadata["annotations"]["meta.helm.sh/release-name"] == "mcad-controller"
