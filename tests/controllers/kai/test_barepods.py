"""Pods without an owner that are evicted: lost, or brought back where that is asked for."""

from __future__ import annotations

from ghostfleet.cluster import Cluster, ClusterConfig
from support.kai_lab import KaiLab

LABEL = "kai.scheduler/queue"


def reclaimed(*, recreates: bool) -> KaiLab:
    """A cluster on which a queue took its GPUs back from another's bare pods."""
    config = ClusterConfig(nodes=1, gpus=4, schedulers=("kai",), recreate_bare_pods=recreates)
    kai = KaiLab.of(Cluster(config=config))
    kai.queue("vision", gpus=2)
    kai.queue("speech", gpus=2)
    for number in range(4):
        kai.pod(f"v{number}", labels={LABEL: "vision"}, annotations={"note": "kept"})
    kai.advance(5)
    for number in range(2):
        kai.pod(f"s{number}", labels={LABEL: "speech"})
    kai.advance(60)
    return kai


def test_an_evicted_pod_without_an_owner_is_lost() -> None:
    kai = reclaimed(recreates=False)
    assert kai.running() == ["s0", "s1", "v0", "v1"]
    assert len(kai.store.list("pods")) == 4
    assert "PodLost" in dict(kai.events("v3"))


def test_an_evicted_pod_without_an_owner_comes_back_as_it_was_and_waits() -> None:
    kai = reclaimed(recreates=True)
    assert kai.running() == ["s0", "s1", "v0", "v1"]
    back = kai.get("pods", "v3")
    assert back["status"]["phase"] == "Pending"
    assert back["metadata"]["labels"] == {LABEL: "vision"}
    assert back["metadata"]["annotations"]["note"] == "kept"
    assert "received-resource-type" not in back["metadata"]["annotations"]
    assert kai.group("v3")["metadata"]["ownerReferences"][0]["uid"] == back["metadata"]["uid"]
    assert "PodRecreated" in dict(kai.events("v3"))


def test_a_pod_that_its_user_deletes_does_not_come_back() -> None:
    kai = reclaimed(recreates=True)
    kai.store.delete("pods", "default", "v0", grace=0)
    kai.advance(5)
    assert kai.store.find("pods", "default", "v0") is None
    assert "v2" in kai.running() or "v3" in kai.running()
