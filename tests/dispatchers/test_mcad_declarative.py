"""The project's own declarative tests, step by step: what they apply, and what they then wait for.

They are written for a small kind cluster with quota and preemption on. Each step may take a few minutes, as there.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from mcad_runs import Lab, custom, job, wrapper

STEP = 240
LATEST = "mcad-1.40:preemption=true"


def node_of(name: str, cpu: str, memory: str, gpus: int = 0, hard: bool | None = None):
    quotas = {"requests": {"cpu": cpu, "memory": memory} | ({"nvidia.com/gpu": gpus} if gpus else {})}
    return {"name": name, "quotas": quotas if hard is None else {"hardLimit": hard, **quotas}}


def subtree(name: str, tree: str, children, parent: str = "", group: str = "ibm.com/v1"):
    spec = {"children": children} | ({"parent": parent} if parent else {})
    metadata = {"name": name, "namespace": "kube-system", "labels": {"tree": tree}}
    return {"apiVersion": group, "kind": "QuotaSubtree", "metadata": metadata, "spec": spec}


def context_tree(gpus: int = 0):
    half = gpus // 2
    yield subtree("context-root", "quota_context", [node_of("context-root", "1075m", "1045Mi", gpus)])
    leaves = [
        node_of("gold", "1075m", "450Mi", half),
        node_of("silver", "1075m", "400Mi", half, hard=False),
        node_of("bronze", "900m", "300Mi", half, hard=True),
        node_of("default", "0m", "0Mi", hard=False),
    ]
    yield subtree("context-root-children", "quota_context", leaves, "context-root")


def service_tree(gpus: int = 0):
    yield subtree("service-root", "quota_service", [node_of("service-root", "1075m", "1045Mi", gpus)])
    leaves = [node_of("gold", "1075m", "1045Mi", gpus), node_of("default", "0m", "0Mi", hard=False)]
    yield subtree("service-root-children", "quota_service", leaves, "service-root")


def set_of(kind: str, name: str, cpu: str, memory: str = "95Mi"):
    amounts = {"cpu": cpu, "memory": memory}
    container = {"name": "main", "image": "echo", "resources": {"requests": amounts, "limits": amounts}}
    pod = {"tolerations": [{"operator": "Exists"}], "containers": [container]}
    spec = {
        "selector": {"matchLabels": {"app": name}},
        "replicas": 1,
        "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
    }
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "labels": {"app": name}}, "spec": spec}


def quota_set(name: str, context: str, service: str, cpu: str, priority: int = 0):
    labels = {"quota_context": context, "quota_service": service}
    return wrapper(name, set_of("StatefulSet", name, cpu), completion="", labels=labels, priority=priority)


def until(lab: Lab, **states: str) -> None:
    """Wait until wrappers are in these states, as an assertion of a step does."""
    for _ in range(STEP):
        if all(lab.state(name.replace("_", "-")) == state for name, state in states.items()):
            return
        lab.advance(1)
    found = {name: lab.state(name.replace("_", "-")) for name in states}
    raise AssertionError(f"expected {states}, found {found}")


def install(lab: Lab, *trees) -> None:
    for tree in trees:
        for each in tree:
            lab.submit(each)
    lab.advance(1)


def test_wrappers_without_quota_run_complete_and_hold():
    lab = Lab(LATEST, nodes=1, gpus=0, cpu="4")
    lab.submit(wrapper("deployment-01", set_of("Deployment", "deployment-01", "300m"), completion=""))
    until(lab, deployment_01="Running")
    lab.advance(2)
    deployment = lab.cluster.store.get("deployments.apps", "default", "deployment-01")
    assert deployment["status"]["availableReplicas"] == 1
    assert (
        deployment["metadata"]["labels"].items()
        >= {
            "workload.codeflare.dev/appwrapper": "deployment-01",
            "workload.codeflare.dev/appwrapper-namespace": "default",
            "workload.codeflare.dev/resourceName": "deployment-01",
        }.items()
    )
    lab.submit(
        wrapper("job-02", job("job-02", cpu="500m"), custompods=[custom(1, cpu="500m", memory="300Mi")],
                schedulingSpec={"minAvailable": 1})
    )  # fmt: skip
    until(lab, job_02="Completed")
    hold = wrapper(
        "hold-03",
        job("hold-03-01", cpu="500m"),
        job("hold-03-02", cpu="5000m"),
        custompods=[custom(1, cpu="1000m", memory="1Gi")],
        schedulingSpec={"minAvailable": 1, "requeuing": {"timeInSeconds": 60, "growthType": "none"}},
    )
    # The second Job's pod is larger than it is said to be, and finds no node.
    del hold["spec"]["resources"]["GenericItems"][1]["completionstatus"]
    lab.submit(hold)
    until(lab, hold_03="RunningHoldCompletion")
    install(lab, context_tree())
    lab.submit(wrapper("job-06", job("job-06", cpu="1500m"), schedulingSpec={"minAvailable": 1}))
    until(lab, job_06="Pending")
    lab.submit(wrapper("bronze-08", job("bronze-08", cpu="300m"), labels={"quota_context": "bronze"}))
    until(lab, bronze_08="Completed", job_06="Pending")


def test_the_quota_forest_refuses_preempts_and_keeps_hard_limits():
    lab = Lab(LATEST, nodes=2, gpus=0)
    install(lab, context_tree(), service_tree())
    lab.submit(quota_set("gold-lo", "gold", "gold", "0.6"))
    until(lab, gold_lo="Running")
    lab.submit(quota_set("bad-id", "context-root2", "service-root2", "0.1"))
    until(lab, bad_id="Pending")
    lab.submit(quota_set("gold-hi", "gold", "gold", "0.6", priority=1000))
    until(lab, gold_hi="Running", gold_lo="Pending", bad_id="Pending")
    lab.submit(quota_set("bronze-1", "bronze", "gold", "0.4", priority=1000))
    until(lab, bronze_1="Running")
    lab.submit(quota_set("bronze-2", "bronze", "gold", "0.6", priority=1000))
    until(lab, bronze_2="Pending", bronze_1="Running", gold_hi="Running", gold_lo="Pending", bad_id="Pending")


def test_deletion_and_reapplying_release_quota():
    lab = Lab(LATEST, nodes=2, gpus=0)
    install(lab, context_tree(), service_tree())
    for _ in range(2):
        lab.submit(quota_set("silver", "silver", "gold", "0.9"))
        until(lab, silver="Running")
        lab.delete("silver")
        lab.advance(1)


def test_borrowed_gpus_are_given_back():
    lab = Lab(LATEST, nodes=2)
    install(lab, context_tree(16), service_tree(16))
    for name, leaf, count in (("my-job-1", "silver", 2), ("my-job-2", "gold", 1)):
        forever = {**set_of("Deployment", name, "500m", "300Mi")}
        lab.submit(
            wrapper(
                name,
                forever,
                custompods=[custom(count, cpu="500m", memory="300Mi", gpus=8)],
                completion="",
                labels={"quota_context": leaf, "quota_service": "gold"},
                schedulingSpec={"minAvailable": 1},
            )
        )
        until(lab, **{name.replace("-", "_"): "Running"})
    assert lab.state("my-job-1") == "Pending"


def test_quota_survives_a_restart_and_trees_can_be_added():
    lab = Lab(LATEST, nodes=2, gpus=0)
    install(lab, context_tree())
    lab.submit(
        wrapper("bronze", set_of("Deployment", "bronze", "500m"), completion="", labels={"quota_context": "bronze"})
    )
    until(lab, bronze="Running")
    for pod in lab.pods("kube-system"):
        if pod["metadata"]["name"].startswith("mcad-controller"):
            lab.delete(pod["metadata"]["name"], "pods", "kube-system")
    lab.advance(5)
    deployment = lab.cluster.store.get("deployments.apps", "kube-system", "mcad-controller")
    assert deployment["status"]["readyReplicas"] == 1
    lab.submit(wrapper("too-much", job("too-much", cpu="500m"), labels={"quota_context": "bronze"}))
    until(lab, bronze="Running", too_much="Pending")
    actinides = [node_of("plutonium", "1075m", "1045Mi"), node_of("lawrencium", "1075m", "1045Mi", hard=True)]
    install(
        lab,
        [subtree("actinides-root", "quota_actinides", [node_of("actinides-root", "1075m", "1045Mi")],
                 group="quota.codeflare.dev/v1alpha1")],
        [subtree("actinides-children", "quota_actinides", actinides, "actinides-root")],
    )  # fmt: skip
    lab.submit(
        wrapper(
            "plutonium", job("plutonium", cpu="300m"), labels={"quota_context": "gold", "quota_actinides": "plutonium"}
        )
    )
    until(lab, plutonium="Completed", too_much="Pending")


def test_jobs_end_as_in_the_kubernetes_of_the_version():
    for dispatcher, types in (
        ("mcad-1.40", ["Complete"]),
        ("mcad-1.32", ["Complete"]),
        ("better", ["SuccessCriteriaMet", "Complete"]),
        ("", ["SuccessCriteriaMet", "Complete"]),
    ):
        lab = Lab(dispatcher, nodes=1)
        lab.submit(job("one"))
        lab.submit(job("two", parallelism=2))
        lab.advance(5)
        assert [[each["type"] for each in made["status"]["conditions"]] for made in lab.jobs()] == [types, types]


def test_the_name_of_its_time_is_meant_where_no_group_is_given():
    for dispatcher, group in (("mcad-1.32", "mcad.ibm.com"), ("mcad-1.40", "workload.codeflare.dev")):
        served = {
            each.group: each for each in Lab(dispatcher, nodes=0).cluster.registry if each.plural == "appwrappers"
        }
        assert [name for name, resource in served.items() if not resource.secondary] == [group]
        assert len(served) == 2
