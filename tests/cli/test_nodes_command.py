"""`ghostfleet nodes`, as users run it."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.fleet


def nodes(ghostfleet) -> dict[str, dict]:
    """The nodes of the cluster `default` by name."""
    from ghostfleet.drive.access import Access
    from ghostfleet.drive.connection import Connection

    connection = Connection(Access(ghostfleet.directory("default") / "kubeconfig"))
    try:
        return {node["metadata"]["name"]: node for node in connection.items("/api/v1/nodes")}
    finally:
        connection.close()


def test_nodes_are_added_scaled_failed_recovered_and_removed(ghostfleet, here, tmp_path):
    ghostfleet("up", "-d", "-q", "--nodes", "1")
    assert "Added 1 node." in ghostfleet(
        "nodes", "add", "--gpus", "4", "--label", "pool=big", "--taint", "a=b:NoSchedule"
    )
    made = nodes(ghostfleet)["kwok-node-1"]
    assert made["status"]["capacity"]["nvidia.com/gpu"] == "4"
    assert made["metadata"]["labels"]["pool"] == "big"
    assert [taint["key"] for taint in made["spec"]["taints"]] == ["a"]

    said = here("nodes", "scale", "--count", "3", "--prefix", "x-", "--zone", "east", "--zone", "west")
    assert "scaling nodes: 3 of 3" in said
    assert "3 nodes now (+3)." in said
    assert nodes(ghostfleet)["x-1"]["metadata"]["labels"]["topology.kubernetes.io/zone"] == "west"
    assert here("nodes", "scale", "--count", "1", "--prefix", "x-", "-q") == ""

    assert here("nodes", "fail", "x-0") == "Node x-0 has failed.\n"
    assert "ghostfleet.dev/failed" in nodes(ghostfleet)["x-0"]["metadata"]["annotations"]
    assert here("nodes", "recover", "x-0") == "Node x-0 goes on.\n"

    manifest = tmp_path / "node.yaml"
    manifest.write_text("apiVersion: v1\nkind: Node\nmetadata: {generateName: mine-}\n")
    assert "Added 2 nodes." in here("nodes", "add", "--count", "2", "-f", str(manifest))
    assert "Removed 2 nodes." in here("nodes", "remove", "--prefix", "mine-")
    assert sorted(nodes(ghostfleet)) == ["kwok-node-0", "kwok-node-1", "x-0"]

    assert 'the cluster refused: nodes "none" not found' in here("nodes", "remove", "none", code=1)


def test_wrong_usage_and_a_cluster_that_is_not_there_exit_2_as_everywhere(here, tmp_path):
    absent = "cluster default is not running; `ghostfleet up --detach` starts it, --kubeconfig names another"
    for command in (("nodes", "add"), ("nodes", "scale", "--count", "2"), ("nodes", "fail", "x"), ("clean", "--all")):
        assert absent in here(*command, code=2)
    assert "give one" in here("nodes", "add", "--cluster", "a", "--context", "b", code=2)
    assert "--cpu many: " in here("nodes", "scale", "--count", "2", "--cpu", "many", code=2)
    assert "--label 'x': expected key=value" in here("nodes", "add", "--label", "x", code=2)
    assert "say which nodes" in here("nodes", "remove", code=2)
    assert "cannot read" in here("nodes", "add", "-f", str(tmp_path / "none.yaml"), code=2)
