"""Quota in a cluster: trees that come, change and go, wrappers that borrow, give back, and come again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from mcad_runs import Lab, custom, job, quota, subtree, wrapper

SUBTREES = "quotasubtrees.quota.codeflare.dev"
ALL = ["mcad-1.32", "mcad-1.40", "better"]


def tree(lab: Lab, name: str = "quota_context", root: int = 16, *leaves) -> None:
    leaves = leaves or (quota("gold", 8), quota("silver", 8), quota("bronze", 4, hard=True), quota("default", 0))
    lab.submit(subtree(f"{name}-root".replace("_", "-"), name, [quota("root", root)]))
    lab.submit(subtree(f"{name}-children".replace("_", "-"), name, list(leaves), parent="root"))


def gpu_job(name: str, leaf: str, gpus: int, tree_name: str = "quota_context", **spec):
    """A wrapper that is said to need GPUs, and runs without: only the quota decides."""
    labels = {tree_name: leaf} if leaf else {}
    pods = [custom(max(1, gpus // 8), gpus=min(gpus, 8))]
    return wrapper(name, sleeper(name), custompods=pods, completion="", labels=labels, **spec)


def sleeper(name: str):
    pod = {"tolerations": [{"operator": "Exists"}], "containers": [{"name": "main", "image": "app"}]}
    template = {"metadata": {"labels": {"app": name}}, "spec": pod}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def states(lab: Lab, *names: str) -> list[str]:
    return [lab.state(name) for name in names]


@pytest.mark.parametrize("dispatcher", ALL)
def test_a_wrapper_without_a_label_belongs_to_the_leaf_default(dispatcher):
    lab = Lab(dispatcher, nodes=4)
    tree(lab)
    lab.submit(gpu_job("w", "", 8))
    lab.advance(5)
    # That leaf has no quota of its own, and borrows.
    assert lab.state("w") == "Running"
    if dispatcher != "better":
        assert lab.get("w")["metadata"]["labels"] == {"quota_context": "default"}
    forest = lab.controller.quotas.forest
    assert forest.trees["quota_context"].consumers["default", "w"].node.name == "root"


@pytest.mark.parametrize("dispatcher", ALL)
def test_an_unknown_quota_id_waits_and_says_why(dispatcher):
    lab = Lab(dispatcher, nodes=4)
    tree(lab)
    lab.submit(gpu_job("w", "platinum", 1))
    lab.advance(25)
    assert lab.state("w") == "Pending"
    (told,) = [each for each in lab.status("w")["conditions"] if each["type"] == "Backoff"]
    said = f"{told['reason']} {told['message']}"
    assert {
        "mcad-1.32": "AppWrapperNotRunnable. Failed to allocate quota on quota designation 'quota_context' "
        "Insufficient quota to dispatch AppWrapper.",
        "mcad-1.40": "quota limit exceeded Insufficient quota and/or resources to dispatch AppWrapper.",
        "better": "quota limit exceeded Failed to allocate quota on quota designation 'quota_context': node 'platinum'",
    }[dispatcher] == said
    told = lab.cluster.dispatcher.explain("default", "w")
    assert told.quota.text == "quota tree quota_context has no leaf 'platinum' that leads to its root"


@pytest.mark.parametrize("dispatcher", ALL)
def test_a_hard_limit_holds(dispatcher):
    lab = Lab(dispatcher, nodes=4)
    tree(lab)
    lab.submit(gpu_job("first", "bronze", 4))
    lab.advance(5)
    lab.submit(gpu_job("second", "bronze", 1))
    lab.advance(25)
    assert states(lab, "first", "second") == ["Running", "Pending"]
    told = lab.cluster.dispatcher.explain("default", "second")
    assert told.verdict == "quota tree quota_context: node 'bronze' is short of 1 nvidia.com/gpu for leaf 'bronze'"


@pytest.mark.parametrize("dispatcher", ALL)
def test_borrowed_quota_is_reclaimed_by_its_owner(dispatcher):
    lab = Lab(f"{dispatcher}:preemption=true", nodes=4)
    tree(lab)
    lab.submit(gpu_job("borrower", "silver", 16))
    lab.advance(5)
    assert lab.state("borrower") == "Running"
    lab.submit(gpu_job("owner", "gold", 8))
    lab.advance(5)
    assert states(lab, "borrower", "owner") == ["Pending", "Running"]
    assert [each["metadata"]["name"] for each in lab.cluster.store.list("deployments.apps", "default")] == ["owner"]


@pytest.mark.parametrize("dispatcher", ["mcad-1.32", "better"])
def test_quota_is_released_by_deletion_and_can_be_had_again(dispatcher):
    lab = Lab(dispatcher, nodes=4)
    tree(lab)
    for _ in range(3):
        lab.submit(gpu_job("w", "bronze", 4))
        lab.advance(5)
        assert lab.state("w") == "Running"
        lab.delete("w")
        lab.advance(1)
        assert lab.controller.quotas.forest.trees["quota_context"].root.used.gpu == 0


def test_in_the_last_version_too():
    lab = Lab("mcad-1.40", nodes=4)
    tree(lab)
    lab.submit(gpu_job("w", "bronze", 4))
    lab.advance(5)
    lab.delete("w")
    lab.submit(gpu_job("w", "bronze", 4))
    lab.advance(5)
    assert lab.state("w") == "Running"


@pytest.mark.parametrize("dispatcher", ALL)
def test_completion_releases_quota(dispatcher):
    lab = Lab(dispatcher, nodes=4)
    tree(lab)
    lab.submit(wrapper("w", job("w", gpus=4), labels={"quota_context": "bronze"}))
    lab.advance(20)
    assert lab.state("w") == "Completed"
    assert lab.controller.quotas.forest.trees["quota_context"].root.used.gpu == 0


@pytest.mark.parametrize("dispatcher", ALL)
def test_quota_is_needed_in_all_trees_and_one_may_come_at_run_time(dispatcher):
    lab = Lab(dispatcher, nodes=4)
    tree(lab)
    lab.submit(gpu_job("before", "gold", 4))
    lab.advance(5)
    tree(lab, "quota_service", 2, quota("default", 2, hard=True))
    lab.advance(1)
    lab.submit(gpu_job("large", "gold", 4))
    lab.submit(gpu_job("small", "silver", 2))
    lab.advance(70)
    assert states(lab, "before", "large", "small") == ["Running", "Pending", "Running"]


@pytest.mark.parametrize("dispatcher", ALL)
def test_a_leaf_may_come_at_run_time(dispatcher):
    lab = Lab(dispatcher, nodes=4)
    tree(lab)
    lab.submit(gpu_job("w", "late", 2))
    lab.advance(5)
    assert lab.state("w") == "Pending"
    lab.submit(subtree("more", "quota_context", [quota("late", 4)], parent="root"))
    lab.advance(45)
    assert lab.state("w") == "Running"


def test_a_deleted_tree_stays_until_the_controller_is_started_again():
    lab = Lab("mcad-1.32", nodes=4)
    tree(lab)
    lab.advance(1)
    for name in ("quota-context-root", "quota-context-children"):
        lab.delete(name, SUBTREES, "kube-system")
    lab.submit(gpu_job("w", "nowhere", 2))
    lab.advance(30)
    assert lab.state("w") == "Pending"
    (pod,) = [each for each in lab.pods("kube-system") if each["metadata"]["name"].startswith("mcad-controller")]
    lab.delete(pod["metadata"]["name"], "pods", "kube-system")
    lab.advance(30)
    assert lab.state("w") == "Running"


@pytest.mark.parametrize("dispatcher", ALL)
def test_a_circle_in_a_tree_keeps_only_its_own_wrappers_waiting(dispatcher):
    lab = Lab(dispatcher, nodes=4)
    tree(lab)
    lab.submit(subtree("one", "quota_context", [quota("one", 8)], parent="two"))
    lab.submit(subtree("two", "quota_context", [quota("two", 8)], parent="one"))
    lab.submit(gpu_job("bad", "one", 1))
    lab.submit(gpu_job("good", "gold", 1))
    lab.advance(130)
    assert states(lab, "bad", "good") == ["Pending", "Running"]


def test_the_last_version_gives_quota_away_that_is_in_use_once_a_wrapper_had_to_wait():
    lab = Lab("mcad-1.40", nodes=4)
    tree(lab)
    lab.submit(gpu_job("first", "bronze", 4))
    lab.advance(5)
    lab.submit(gpu_job("second", "bronze", 4))
    lab.advance(10)
    lab.delete("first")
    lab.advance(120)
    assert lab.state("second") == "Running"
    assert lab.controller.quotas.forest.trees["quota_context"].root.used.gpu == 0
    off = Lab("mcad-1.40:defect.quota-released-after-backoff=false", nodes=4)
    tree(off)
    off.submit(gpu_job("first", "bronze", 4))
    off.advance(5)
    off.submit(gpu_job("second", "bronze", 4))
    off.advance(10)
    off.delete("first")
    off.advance(120)
    assert off.controller.quotas.forest.trees["quota_context"].root.used.gpu == 4
