"""Workloads whose pods claim DRA devices: type `dra`, and templates of one's own."""

from __future__ import annotations

import pytest

from ghostfleet.lab.clean import clean
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.plan import Plan
from ghostfleet.lab.progress import Silent
from ghostfleet.lab.stress import StressPlan, run_stress

CLAIMS = "resourceclaims.resource.k8s.io"
TEMPLATES = "resourceclaimtemplates.resource.k8s.io"
CLASSES = "deviceclasses.resource.k8s.io"
NAMESPACE = "runai-project-0"


def held(claim):
    return len(claim["status"].get("allocation", {}).get("devices", {}).get("results", ()))


def test_each_pod_has_a_claim_of_its_own_from_one_template(make_fleet, directory):
    fleet = make_fleet(nodes=2, gpus=4, dra="example")
    run = fleet.submit(directory, Plan(count=2, type="dra", workers=2, gpus=2)).run
    fleet.clock.advance(5_000_000)
    assert fleet.names(TEMPLATES) == [f"dra-{run.run}-2"]
    assert [held(claim) for claim in fleet.store.list(CLAIMS)] == [2, 2, 2, 2]
    assert {pod["status"]["phase"] for pod in fleet.store.list("pods")} == {"Running"}


def test_the_pods_of_a_workload_share_a_claim_of_its_name(make_fleet, directory):
    fleet = make_fleet(nodes=2, gpus=4, dra="example")
    fleet.submit(directory, Plan(count=2, type="dra", workers=3, gpus=4, claim="shared"))
    fleet.clock.advance(5_000_000)
    claims = fleet.store.list(CLAIMS)
    assert [claim["metadata"]["name"] for claim in claims] == fleet.names("jobs.batch")
    assert [(held(claim), len(claim["status"]["reservedFor"])) for claim in claims] == [(4, 3), (4, 3)]
    assert not fleet.names(TEMPLATES)


def test_a_selector_chooses_among_the_devices_of_the_class(make_fleet, directory):
    fleet = make_fleet(nodes=1, gpus=2, dra="example")
    selector = "device.attributes['gpu.example.com'].index == 1"
    fleet.submit(directory, Plan(count=1, type="dra", deviceSelector=selector, deviceClass="gpu.example.com"))
    fleet.clock.advance(5_000_000)
    [claim] = fleet.store.list(CLAIMS)
    assert claim["status"]["allocation"]["devices"]["results"][0]["device"] == "gpu-1"


def test_a_whole_test_runs_to_its_end_and_gives_all_devices_back(make_fleet, directory):
    fleet = make_fleet(nodes=2, gpus=4, dra="nvidia", profile="kubernetes")
    tested = fleet.test(directory, Plan(count=20, type="dra", gpus=2))
    assert (tested.finished, tested.gave_up) == (20, False)
    fleet.clock.advance(5_000_000)
    assert not any(held(claim) for claim in fleet.store.list(CLAIMS))
    assert tested.run.deviceClass == "gpu.nvidia.com"


def test_classes_of_a_mix_have_templates_for_their_numbers_of_devices(make_fleet, directory, tmp_path):
    mix = tmp_path / "mix.yaml"
    mix.write_text(
        "classes:\n- {name: one, type: dra, gpus: 1}\n- {name: two, type: dra, gpus: 2}\n- {name: job, type: job}\n"
    )
    fleet = make_fleet(nodes=4, gpus=4, dra="example")
    run = fleet.submit(directory, Plan(count=12, mix=str(mix), gpus=0)).run
    assert fleet.names(TEMPLATES) == [f"dra-{run.run}-1", f"dra-{run.run}-2"]


def test_a_template_of_ones_own_may_name_the_claims(make_fleet, directory, tmp_path):
    template = tmp_path / "own.yaml"
    template.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  containers: [{name: main, image: x}]\n"
        "  resourceClaims: [{name: gpu, resourceClaimTemplateName: '{{claimTemplate}}'}]\n"
    )
    fleet = make_fleet(nodes=1, dra="example")
    fleet.submit(directory, Plan(count=1, template=str(template), gpus=3))
    fleet.clock.advance(5_000_000)
    assert [held(claim) for claim in fleet.store.list(CLAIMS)] == [3]


@pytest.mark.parametrize("claim", ["template", "shared"])
def test_claims_and_templates_are_removed_with_their_run(make_fleet, directory, claim):
    fleet = make_fleet(nodes=2, dra="example")
    run = fleet.submit(directory, Plan(count=3, type="dra", claim=claim)).run
    fleet.clock.advance(5_000_000)
    cleaned = fleet.cluster.run(clean(fleet.cluster, run.run, [], Silent()))
    assert (cleaned.left, cleaned.removed["jobs"]) == (0, 3)
    assert not fleet.names(TEMPLATES)
    assert not fleet.names(CLAIMS)


def test_pods_of_a_stress_test_claim_devices(make_fleet):
    (trial,) = run_stress(StressPlan(("kwok",), (3,), gpus=2, dra="example"), Silent())
    assert trial.pods == 3
    with pytest.raises(LabError, match="no DRA profile 'nope'"):
        run_stress(StressPlan(("kwok",), (3,), gpus=2, dra="nope"), Silent())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"claim": "both"}, "--claim 'both': expected template or shared"),
        ({"gpus": 0}, "--num-gpus 0: a claim asks for one device at least"),
        ({"deviceSelector": "device.x"}, "--device-selector: compilation failed: ERROR: <input>:1:7: undefined field"),
        ({"deviceClass": "x", "type": "job"}, "--device-class: no workload has claims of devices"),
    ],
)
def test_what_cannot_be_asked_for_is_told_before_anything_is_made(options, problem):
    with pytest.raises(LabError) as told:
        Plan(**{"count": 1, "type": "dra", **options}).check()
    assert str(told.value).startswith(problem)


def test_without_a_class_the_run_does_not_begin(make_fleet, directory):
    fleet = make_fleet(nodes=1)
    with pytest.raises(LabError, match="the cluster has no DeviceClass"):
        fleet.submit(directory, Plan(count=1, type="dra"))


def test_among_several_classes_one_has_to_be_named(make_fleet, directory):
    fleet = make_fleet(nodes=1, dra="example")
    about = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "other"}, "spec": {}}
    fleet.store.create(CLASSES, about)
    with pytest.raises(LabError, match=r"several DeviceClasses \(gpu.example.com, other\): name one"):
        fleet.submit(directory, Plan(count=1, type="dra"))
