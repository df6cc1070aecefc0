"""The resource claim controller: claims come with pods, and give their devices back when pods end."""

from __future__ import annotations

from typing import Any

import pytest

from ghostfleet.controllers.resourceclaims import ResourceClaimController

CLAIMS, TEMPLATES = "resourceclaims.resource.k8s.io", "resourceclaimtemplates.resource.k8s.io"
FINALIZER = "resource.kubernetes.io/delete-protection"
ASKED = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}
HELD = {"devices": {"results": [{"request": "gpu", "driver": "d", "pool": "p", "device": "gpu-0"}]}}


@pytest.fixture
def claimed(world: Any) -> Any:
    ResourceClaimController(world.store, world.profile)
    return world


def template(world: Any, name: str = "gpus", **metadata: Any) -> Any:
    return world.create(TEMPLATES, name, spec={"metadata": metadata, "spec": ASKED})


def pod(world: Any, name: str = "p", **claim: Any) -> Any:
    claims = [{"name": "gpu", **(claim or {"resourceClaimTemplateName": "gpus"})}]
    return world.create("pods", name, spec={"containers": [{"name": "main"}], "resourceClaims": claims})


def allocated(world: Any, name: str, *pods: Any) -> Any:
    """A claim as the scheduler leaves it."""
    claim = world.get(CLAIMS, name)
    held = {**claim, "metadata": {**claim["metadata"], "finalizers": [FINALIZER]}}
    claim = world.store.replace(CLAIMS, claim, held)
    reserved = [{"resource": "pods", "name": each["metadata"]["name"], "uid": each["metadata"]["uid"]} for each in pods]
    world.store.set_status(CLAIMS, claim, {"allocation": HELD, "reservedFor": reserved})
    world.clock.settle()


def made(world: Any, name: str = "p") -> str:
    found = world.get("pods", name)["status"]["resourceClaimStatuses"]
    assert [each["name"] for each in found] == ["gpu"]
    claim: str = found[0]["resourceClaimName"]
    return claim


def end(world: Any, name: str) -> None:
    there = world.get("pods", name)
    world.store.set_status("pods", there, {**there["status"], "phase": "Succeeded"})
    world.clock.settle()


def test_a_claim_is_made_from_the_template_and_belongs_to_the_pod(claimed: Any) -> None:
    template(claimed, labels={"app": "x"}, annotations={"note": "y"})
    there = pod(claimed)
    claim = claimed.get(CLAIMS, made(claimed))
    metadata = claim["metadata"]
    assert metadata["name"].startswith("p-gpu-")
    assert metadata["generateName"] == "p-gpu-"
    assert metadata["labels"] == {"app": "x"}
    assert metadata["annotations"] == {"note": "y", "resource.kubernetes.io/pod-claim-name": "gpu"}
    uid = there["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": True}
    assert metadata["ownerReferences"] == [owner]
    asked = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    assert claim["spec"] == {"devices": {"requests": [{"name": "gpu", "exactly": asked}]}}


def test_long_names_are_cut_both(claimed: Any) -> None:
    template(claimed)
    pod(claimed, "p" * 100)
    name = made(claimed, "p" * 100)
    assert len(name) <= 63
    assert name.startswith("p" * 54 + "-g")


def test_a_pod_waits_for_its_template_and_is_told_so(claimed: Any) -> None:
    pod(claimed)
    events = claimed.store.list("events")
    assert [each["reason"] for each in events] == ["FailedResourceClaimCreation"]
    assert events[0]["message"] == (
        'PodResourceClaim gpu: resource claim template "gpus": resourceclaimtemplate.resource.k8s.io "gpus" not found'
    )
    template(claimed)
    assert made(claimed)


def test_a_claim_that_was_deleted_by_accident_is_made_again(claimed: Any) -> None:
    template(claimed)
    pod(claimed)
    first = made(claimed)
    claimed.delete(CLAIMS, first)
    assert made(claimed) != first
    assert claimed.get(CLAIMS, made(claimed))


def test_a_claim_goes_with_the_pod_that_ended(claimed: Any) -> None:
    template(claimed)
    there = pod(claimed)
    name = made(claimed)
    allocated(claimed, name, there)
    end(claimed, "p")
    assert claimed.store.find(CLAIMS, "default", name) is None


def test_a_claim_goes_with_the_pod_that_is_deleted(claimed: Any) -> None:
    template(claimed)
    there = pod(claimed)
    name = made(claimed)
    allocated(claimed, name, there)
    claimed.delete("pods", "p")
    assert claimed.store.list(CLAIMS) == []


def test_a_shared_claim_keeps_its_devices_until_the_last_pod_has_ended(claimed: Any) -> None:
    claimed.create(CLAIMS, "shared", spec=ASKED)
    first, second = (pod(claimed, name, resourceClaimName="shared") for name in ("a", "b"))
    allocated(claimed, "shared", first, second)
    end(claimed, "a")
    status = claimed.get(CLAIMS, "shared")["status"]
    assert [each["name"] for each in status["reservedFor"]] == ["b"]
    assert status["allocation"] == HELD
    claimed.delete("pods", "b")
    claim = claimed.get(CLAIMS, "shared")
    assert claim["status"] == {}
    assert "finalizers" not in claim["metadata"]


def test_a_claim_that_nobody_has_used_yet_stays_allocated(claimed: Any) -> None:
    claimed.create(CLAIMS, "early", spec=ASKED)
    allocated(claimed, "early")
    assert claimed.get(CLAIMS, "early")["status"]["allocation"] == HELD


def test_a_claim_in_use_outlives_its_deletion(claimed: Any) -> None:
    claimed.create(CLAIMS, "shared", spec=ASKED)
    there = pod(claimed, resourceClaimName="shared")
    allocated(claimed, "shared", there)
    claimed.delete(CLAIMS, "shared")
    assert "allocation" in claimed.get(CLAIMS, "shared")["status"]
    end(claimed, "p")
    assert claimed.store.find(CLAIMS, "default", "shared") is None


def test_consumers_that_are_not_there_are_dropped(claimed: Any) -> None:
    claimed.create(CLAIMS, "shared", spec=ASKED)
    stranger = {"metadata": {"name": "gone", "uid": "nobody"}}
    allocated(claimed, "shared", stranger)
    assert claimed.get(CLAIMS, "shared")["status"] == {}


def test_a_pod_that_came_to_a_node_by_itself_becomes_a_consumer(claimed: Any) -> None:
    claimed.create(CLAIMS, "shared", spec=ASKED)
    there = pod(claimed, resourceClaimName="shared")
    claimed.store.update("pods", {**there, "spec": {**there["spec"], "nodeName": "n"}})
    claimed.clock.settle()
    assert claimed.get(CLAIMS, "shared")["status"] == {}
    allocated(claimed, "shared")
    assert [each["name"] for each in claimed.get(CLAIMS, "shared")["status"]["reservedFor"]] == ["p"]
