"""Pods that ask for GPUs by resource claims, on a cluster that KAI schedules."""

from __future__ import annotations

from typing import Any

import pytest

from ghostfleet.api.podclaims import CLAIMS
from ghostfleet.cluster import Cluster, ClusterConfig
from support.kai_lab import KaiLab

LABEL = "kai.scheduler/queue"
VERSION = "resource.k8s.io/v1"


@pytest.fixture
def kai() -> KaiLab:
    lab = KaiLab.of(Cluster(config=ClusterConfig(nodes=2, gpus=4, dra="example", schedulers=("kai",))))
    lab.queue("vision", gpus=4)
    lab.queue("speech", gpus=4)
    return lab


def spec(count: int = 1, **more: Any) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu.example.com", "count": count, **more}
    return {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}


def template(kai: KaiLab, name: str, **more: Any) -> None:
    about = {"apiVersion": VERSION, "kind": "ResourceClaimTemplate", "metadata": {"name": name}}
    kai.apply({**about, "spec": {"spec": spec(**more)}})


def pod(kai: KaiLab, name: str, queue: str = "vision", **claim: str) -> None:
    container = {"name": "main", "image": "app", "resources": {"claims": [{"name": "gpu"}]}}
    claims = [{"name": "gpu", **(claim or {"resourceClaimTemplateName": "two"})}]
    kai.pod(name, labels={LABEL: queue}, spec={"containers": [container], "resourceClaims": claims})


def devices(kai: KaiLab) -> list[tuple[str, str]]:
    found = []
    for claim in kai.store.list(CLAIMS):
        allocation = (claim.get("status") or {}).get("allocation")
        results = allocation["devices"]["results"] if allocation else ()
        found += [(each["pool"], each["device"]) for each in results]
    return found


def test_claims_get_devices_of_the_node_that_their_pod_gets_and_no_device_twice(kai: KaiLab) -> None:
    template(kai, "two", count=2)
    for number in range(5):
        pod(kai, f"p{number}")
    kai.advance(20)
    running = kai.running()
    assert running == ["p0", "p1", "p2", "p3"]
    given = devices(kai)
    assert len(given) == len(set(given)) == 8
    nodes = {kai.get("pods", name)["spec"]["nodeName"] for name in running}
    assert nodes == {"kwok-node-0", "kwok-node-1"}
    for name in running:
        found = kai.get("pods", name)
        (made,) = found["status"]["resourceClaimStatuses"]
        claim = kai.get(CLAIMS, made["resourceClaimName"])
        results = claim["status"]["allocation"]["devices"]["results"]
        assert {each["request"] for each in results} == {"gpus"}
        assert all(found["spec"]["nodeName"] in each["pool"] for each in results)
        assert [each["name"] for each in claim["status"]["reservedFor"]] == [name]
    assert "GPUs" in kai.why("p4")


def test_gpus_by_claims_count_in_queues_and_are_taken_back(kai: KaiLab) -> None:
    template(kai, "two", count=2)
    for number in range(4):
        pod(kai, f"v{number}")
    kai.advance(20)
    pod(kai, "s0", "speech")
    kai.advance(60)
    assert "s0" in kai.running()
    assert len(kai.running()) == 4
    given = devices(kai)
    assert len(given) == len(set(given)) == 8


def test_a_shared_claim_of_another_queue_is_refused(kai: KaiLab) -> None:
    labels = {LABEL: "speech"}
    kai.apply(
        {
            "apiVersion": VERSION,
            "kind": "ResourceClaim",
            "metadata": {"name": "shared", "labels": labels},
            "spec": spec(),
        }
    )
    pod(kai, "p", "vision", resourceClaimName="shared")
    pod(kai, "q", "speech", resourceClaimName="shared")
    kai.advance(20)
    assert kai.running() == ["q"]
    assert "with wrong queue label (expected queue: vision, claim queue label: speech)" in kai.why("p")


def test_a_claim_that_is_missing_or_asks_for_what_kai_cannot_say_is_told_and_others_go_on(kai: KaiLab) -> None:
    template(kai, "two", count=2)
    template(kai, "chosen", selectors=[{"cel": {"expression": "true"}}])
    pod(kai, "lost", resourceClaimName="nowhere")
    pod(kai, "choosy", resourceClaimTemplateName="chosen")
    pod(kai, "fine")
    kai.advance(20)
    assert kai.running() == ["fine"]
    assert kai.why("lost") == 'failed to get resource claim default/nowhere: "default/nowhere" not found'
    assert "KAI takes claims without selectors and constraints of their own here" in kai.why("choosy")
    labels = {LABEL: "vision"}
    kai.apply(
        {
            "apiVersion": VERSION,
            "kind": "ResourceClaim",
            "metadata": {"name": "nowhere", "labels": labels},
            "spec": spec(),
        }
    )
    kai.advance(20)
    assert kai.running() == ["fine", "lost"]
