"""Extended resources that are added to nodes by hand."""

from __future__ import annotations

from ghostfleet.api.builtin import load_registry
from ghostfleet.api.options import WriteOptions

GPU = "nvidia.com/gpu"


def patch_status(world, **capacity):
    nodes = load_registry().by_key("nodes")
    body = {"status": {"capacity": capacity}}
    world.api.patch(nodes, nodes.storage, "", "node-0", "merge", body, WriteOptions(), "status")
    world.run(1)
    return world.store.get("nodes", "", "node-0")["status"]


def test_what_is_added_to_the_capacity_can_be_allocated(world):
    before = world.store.get("nodes", "", "node-0")["status"]["allocatable"]
    assert patch_status(world, **{GPU: "8"})["allocatable"] == {**before, GPU: "8"}
    assert patch_status(world, **{GPU: "4"})["allocatable"][GPU] == "4"
    assert patch_status(world, **{GPU: None})["allocatable"] == before


def test_other_capacities_are_left_to_whoever_set_them(world):
    before = world.store.get("nodes", "", "node-0")["status"]["allocatable"]
    assert patch_status(world, cpu="64", **{"example.kubernetes.io/thing": "1"})["allocatable"] == before
