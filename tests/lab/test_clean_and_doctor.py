"""Cleaning up, and what the doctor finds."""

from __future__ import annotations

import pytest

from ghostfleet.lab.clean import clean
from ghostfleet.lab.directory import RunDirectory
from ghostfleet.lab.doctor import examine
from ghostfleet.lab.plan import Plan
from ghostfleet.lab.progress import Silent

pytestmark = pytest.mark.fleet


def cleaned(fleet, run):
    return fleet.cluster.run(clean(fleet.cluster, run, [], Silent()))


def test_all_that_a_run_made_is_removed(fleet, directory):
    run = fleet.test(directory, Plan(count=5, type="distributed", pvc=True, project="fresh")).run.run
    done = cleaned(fleet, run)
    assert dict(done.removed) == {"distributedworkloads": 5}
    assert done.namespaces == ["runai-fresh"]
    fleet.clock.settle()
    for resource in ("distributedworkloads.run.ai", "pytorchjobs.kubeflow.org", "pods", "persistentvolumeclaims"):
        assert fleet.names(resource) == []
    assert "runai-fresh" not in fleet.names("namespaces")


def test_another_run_is_left_alone_and_so_is_the_namespace_it_uses(fleet, directory):
    first = fleet.submit(directory, Plan(count=3, type="job", project="fresh")).run.run
    fleet.submit(RunDirectory(directory.path / "second"), Plan(count=2, type="pod", seed=1, project="fresh"))
    done = cleaned(fleet, first)
    assert dict(done.removed) == {"jobs": 3}
    assert done.kept == ["runai-fresh"]
    assert len(fleet.names("pods", "runai-fresh")) == 2


def test_all_runs_can_be_removed_at_once(fleet, directory):
    fleet.submit(directory, Plan(count=3, type="job", project="a"))
    fleet.submit(RunDirectory(directory.path / "second"), Plan(count=2, type="deployment", project="b"))
    done = cleaned(fleet, "")
    assert dict(done.removed) == {"jobs": 3, "deployments": 2}
    assert done.namespaces == ["runai-a", "runai-b"]
    assert dict(cleaned(fleet, "").removed) == {}


def test_the_doctor_finds_everything_on_a_cluster_of_ours(fleet):
    found = fleet.cluster.run(examine(fleet.cluster, "p"))
    lacking = {each.type: each.lacking for each in found.types if not each.ready}
    assert lacking == {"appwrapper": ("AppWrapper (workload.codeflare.dev/v1beta1)",)}
    details = {each.check: each.detail for each in found.findings}
    assert details["nodes"] == "4, 4 of them ready, 4 fake"
    assert details["GPUs"] == "32 (32 NVIDIA-H100-80GB-HBM3)"
    assert "runai-p" in details["project"]


def test_the_doctor_says_what_a_type_lacks(make_fleet):
    fleet = make_fleet(nodes=0, without=frozenset({"runai"}))
    found = {each.type: each.lacking for each in fleet.cluster.run(examine(fleet.cluster, "p")).types}
    assert found["job"] == ("nodes",)
    assert found["training"] == (
        "TrainingWorkload (run.ai/v2alpha1)",
        "RunaiJob (run.ai/v1)",
        "PodGroup (scheduling.run.ai/v1)",
        "nodes",
    )
