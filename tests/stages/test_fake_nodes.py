"""Fake nodes, their labels, addresses, and the spans of time that are drawn."""

from __future__ import annotations

import statistics

import pytest

from ghostfleet.core.clock import SECOND
from ghostfleet.stages.distributions import chance, parse_distribution
from ghostfleet.stages.funcmap import Addresses
from ghostfleet.stages.gpumodels import find_product, products
from ghostfleet.stages.nodes import NodeShape, fake_nodes, parse_taint


def test_fake_nodes_carry_what_kwok_and_gpu_discovery_give_them():
    (node,) = fake_nodes(NodeShape(gpus=8, labels={"pool": "train"}, taints=[parse_taint("dedicated=gpu:NoSchedule")]))
    metadata = node["metadata"]
    assert metadata["name"] == "kwok-node-0"
    assert metadata["annotations"]["kwok.x-k8s.io/node"] == "fake"
    assert node["spec"]["taints"] == [
        {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"},
        {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"},
    ]
    expected = {
        "type": "kwok",
        "pool": "train",
        "kubernetes.io/hostname": "kwok-node-0",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        "nvidia.com/gpu.count": "8",
        "nvidia.com/gpu.memory": "81559",
        "nvidia.com/gpu.family": "hopper",
        "nvidia.com/gpu.compute.major": "9",
        "nvidia.com/gpu.compute.minor": "0",
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu.present": "true",
    }
    assert metadata["labels"].items() >= expected.items()
    assert {"nvidia.com/gpu.machine", "nvidia.com/cuda.driver.major", "nvidia.com/cuda.runtime.major"} <= set(
        metadata["labels"]
    )
    resources = {"cpu": "32", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"}
    assert node["status"]["capacity"] == node["status"]["allocatable"] == resources


def test_the_api_takes_fake_nodes_of_every_product(make_world):
    world = make_world()
    for number, product in enumerate(products()):
        for node in fake_nodes(NodeShape(gpus=4, gpu_product=product.product, first=number)):
            world.create(node)
    world.run()
    assert world.store.count("nodes") == len(products())


def test_nodes_are_dealt_out_to_zones_and_racks_in_turn():
    shape = NodeShape(count=4, zones=["a", "b"], racks=["r1", "r2", "r3"], first=10, prefix="n")
    placed = [
        (
            node["metadata"]["name"],
            node["metadata"]["labels"]["topology.kubernetes.io/zone"],
            node["metadata"]["labels"]["topology.kubernetes.io/rack"],
        )
        for node in fake_nodes(shape)
    ]
    assert placed == [("n10", "a", "r1"), ("n11", "b", "r2"), ("n12", "a", "r3"), ("n13", "b", "r1")]


def test_nodes_without_gpus_or_with_others_have_no_labels_of_nvidia():
    for shape in (NodeShape(), NodeShape(gpus=8, gpu_resource="amd.com/gpu")):
        (node,) = fake_nodes(shape)
        assert not any(label.startswith("nvidia.com") for label in node["metadata"]["labels"])


@pytest.mark.parametrize(
    ("name", "product"),
    [
        ("H100", "NVIDIA-H100-80GB-HBM3"),
        ("a100", "NVIDIA-A100-SXM4-80GB"),
        ("T4", "Tesla-T4"),
        ("NVIDIA-L40S", "NVIDIA-L40S"),
    ],
)
def test_products_are_found_by_short_names(name, product):
    found = find_product(name)
    assert found is not None
    assert found.product == product


def test_a_product_that_is_not_known_is_labelled_by_its_name():
    (node,) = fake_nodes(NodeShape(gpus=2, gpu_product="NVIDIA-X1"))
    assert node["metadata"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-X1"
    assert "nvidia.com/gpu.memory" not in node["metadata"]["labels"]


@pytest.mark.parametrize("text", ["", "key", "key=value", "key:Sometimes", ":NoSchedule"])
def test_what_is_no_taint_is_refused(text):
    with pytest.raises(ValueError, match="taint"):
        parse_taint(text)


# -- addresses ---------------------------------------------------------------------------------------------------------


def pod_with(**status):
    return {"metadata": {"name": "p"}, "spec": {"nodeName": "n"}, "status": status}


def test_addresses_of_pods_are_handed_out_in_order_and_taken_back():
    addresses = Addresses()
    node = {"metadata": {"name": "n"}, "spec": {}}
    given = [addresses.of_pod(pod_with(), node)[0] for _ in range(300)]
    assert given[:2] == ["10.0.0.1", "10.0.0.2"]
    assert given[299] == "10.0.1.44"
    assert len(set(given)) == 300
    addresses.release(pod_with(podIP="10.0.0.7"), node)
    assert addresses.of_pod(pod_with(), node) == ["10.0.0.7"]
    addresses.use(pod_with(podIP="10.0.1.45"), node)
    assert addresses.of_pod(pod_with(), node) == ["10.0.1.46"]


def test_a_node_with_ranges_of_its_own_gives_addresses_of_both_families():
    node = {"metadata": {"name": "n"}, "spec": {"podCIDR": "10.7.0.0/24", "podCIDRs": ["10.7.0.0/24", "fd00::/64"]}}
    assert Addresses().of_pod(pod_with(), node) == ["10.7.0.1", "fd00::1"]


def test_a_pod_keeps_its_address_and_one_on_the_hosts_network_has_the_nodes():
    addresses = Addresses()
    listed = [{"type": "ExternalIP", "address": "8.8.8.8"}, {"type": "InternalIP", "address": "192.168.0.1"}]
    node = {"metadata": {"name": "n"}, "status": {"addresses": [*listed, {"type": "InternalIP", "address": "fd::1"}]}}
    assert addresses.of_node(node) == ["192.168.0.1", "fd::1"]
    assert addresses.of_pod(pod_with(podIP="10.0.0.9"), node) == ["10.0.0.9"]
    host = {**pod_with(), "spec": {"hostNetwork": True}}
    assert addresses.of_pod(host, node) == ["192.168.0.1", "fd::1"]


# -- distributions -----------------------------------------------------------------------------------------------------


def draws(text, count=4000):
    distribution = parse_distribution(text)
    return [distribution(chance(1, str(number))) / SECOND for number in range(count)]


@pytest.mark.parametrize(
    ("text", "mean", "median"),
    [
        ("90s", 90, 90),
        ("uniform(1s, 5s)", 3, 3),
        ("normal(5s, 1s)", 5, 5),
        ("exponential(2s)", 2, 1.386),
        ("lognormal(2s, 0.5)", 2.266, 2),
        ("pareto(1s, 3)", 1.5, 1.26),
    ],
)
def test_draws_follow_their_distribution(text, mean, median):
    drawn = draws(text)
    assert statistics.fmean(drawn) == pytest.approx(mean, rel=0.05)
    assert statistics.median(drawn) == pytest.approx(median, rel=0.05)
    assert min(drawn) >= 0


@pytest.mark.parametrize(
    "text", ["", "90", "-5s", "uniform(1s)", "zipf(1s)", "exponential(x)", "lognormal(2s, -1)", "uniform(1s, 2s"]
)
def test_what_is_no_distribution_is_refused(text):
    with pytest.raises(ValueError, match="distribution"):
        parse_distribution(text)


def test_a_draw_depends_on_seed_and_key_alone():
    assert chance(1, "a") == chance("1", "a")
    assert chance(1, "a") != chance(2, "a")
    assert chance(1, "a", "b") != chance(1, "ab")
