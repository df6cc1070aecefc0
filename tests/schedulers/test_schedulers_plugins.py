"""Every plugin, one scenario at a time: where a pod goes, and what it is told when it goes nowhere."""

from __future__ import annotations

from typing import Any

import pytest

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
GPU_TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


def zone(name: str) -> dict[str, str]:
    return {ZONE: name}


def term(app: str, key: str = ZONE, **more: Any) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more}


def required(*terms: Any) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}


def preferred(weight: int, wish: Any) -> dict[str, Any]:
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "podAffinityTerm": wish}]}


def spread(app: str, key: str = ZONE, **more: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector, **more}


# -- GPUs and other resources -----------------------------------------------------------------------------------------


def test_sixteen_gpus_on_nodes_of_eight_stay_pending_and_say_so(lab: Any) -> None:
    for index in range(4):
        lab.node(f"n{index}")
    lab.gpus("big", 16)
    lab.run()
    assert lab.node_of("big") is None
    assert lab.message("big") == (
        "0/4 nodes are available: 4 Insufficient nvidia.com/gpu. no new claims to deallocate, "
        "preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
    )
    condition = lab.condition("big")
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")


def test_adding_nodes_does_not_help_a_pod_that_is_too_big_for_any(lab: Any) -> None:
    lab.node("n0")
    lab.gpus("big", 16)
    lab.run()
    for index in range(1, 5):
        lab.node(f"n{index}")
    lab.run()
    assert lab.node_of("big") is None


def test_two_pods_of_eight_gpus_land_on_two_nodes(lab: Any) -> None:
    for index in range(3):
        lab.node(f"n{index}")
    lab.gpus("a", 8)
    lab.gpus("b", 8)
    lab.run()
    assert lab.node_of("a") is not None
    assert lab.node_of("b") is not None
    assert lab.node_of("a") != lab.node_of("b")


def test_a_pod_waits_for_gpus_and_gets_them_when_another_ends(lab: Any) -> None:
    lab.node("n0")
    lab.gpus("first", 8)
    lab.run()
    lab.gpus("second", 8)
    lab.run()
    assert "1 No preemption victims found for incoming pod" in lab.message("second")
    lab.finish("first")
    lab.run()
    assert lab.node_of("second") == "n0"
    assert lab.condition("second")["status"] == "True"


def test_the_largest_init_container_counts_and_sidecars_add_up(lab: Any) -> None:
    lab.node("n0", allocatable={"cpu": "3"})
    lab.node("n1", allocatable={"cpu": "4"})

    def container(name: str, cpu: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "image": "img", "resources": {"requests": {"cpu": cpu}}, **more}

    starting = [container("side", "1", restartPolicy="Always"), container("init", "2500m")]
    lab.pod("p", containers=[container("main", "1")], initContainers=starting)
    lab.run()
    assert lab.node_of("p") == "n1"


def test_overhead_and_requests_of_the_whole_pod_count(lab: Any) -> None:
    lab.node("n0", allocatable={"cpu": "3"})
    lab.pod("p", {"cpu": "1"}, resources={"requests": {"cpu": "2"}}, overhead={"cpu": "1001m"})
    lab.run()
    assert lab.message("p").startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_a_node_takes_only_as_many_pods_as_it_allows(lab: Any) -> None:
    lab.node("n0", allocatable={"pods": "2"})
    for name in "abc":
        lab.pod(name)
    lab.run()
    assert [lab.node_of(name) for name in "abc"] == ["n0", "n0", None]
    assert lab.message("c").startswith("0/1 nodes are available: 1 Too many pods.")


def test_pods_spread_over_equal_nodes(lab: Any) -> None:
    for index in range(4):
        lab.node(f"n{index}")
    for index in range(4):
        lab.pod(f"p{index}", {"cpu": "1", "memory": "1Gi"})
    lab.run()
    assert {lab.node_of(f"p{index}") for index in range(4)} == {"n0", "n1", "n2", "n3"}


def test_most_allocated_packs_gpus(lab: Any) -> None:
    strategy = {"type": "MostAllocated", "resources": [{"name": "nvidia.com/gpu", "weight": 1}]}
    args = {"scoringStrategy": strategy}
    config = {"profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}]}
    for index in range(4):
        lab.node(f"n{index}")
    for index in range(8):
        lab.gpus(f"p{index}", 1)
    lab.run(config)
    assert len({lab.node_of(f"p{index}") for index in range(8)}) == 1


def test_ignored_resources_are_not_asked_for(lab: Any) -> None:
    args = {"ignoredResourceGroups": ["nvidia.com"]}
    config = {"profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}]}
    lab.node("n0")
    lab.gpus("p", 100)
    lab.run(config)
    assert lab.node_of("p") == "n0"


def test_a_pod_bound_by_hand_counts_like_any_other(lab: Any) -> None:
    lab.node("n0")
    lab.gpus("by-hand", 6, nodeName="n0")
    lab.gpus("p", 3)
    lab.run()
    assert lab.node_of("p") is None
    lab.delete("by-hand")
    lab.run()
    assert lab.node_of("p") == "n0"


# -- nodes ------------------------------------------------------------------------------------------------------------


def test_without_nodes_a_pod_waits_for_the_first_one(lab: Any) -> None:
    lab.pod("p")
    lab.run()
    assert lab.message("p") == "no nodes available to schedule pods"
    lab.node("n0")
    lab.run()
    assert lab.node_of("p") == "n0"


def test_a_cordoned_node_takes_pods_again_when_it_is_uncordoned(lab: Any) -> None:
    node = lab.node("n0", unschedulable=True)
    lab.pod("p")
    lab.run()
    assert lab.message("p").startswith("0/1 nodes are available: 1 node(s) were unschedulable.")
    lab.store.update("nodes", {**node, "spec": {}})
    lab.run()
    assert lab.node_of("p") == "n0"


def test_a_pod_that_tolerates_it_goes_to_a_cordoned_node(lab: Any) -> None:
    lab.node("n0", unschedulable=True)
    lab.pod("p", tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}])
    lab.run()
    assert lab.node_of("p") == "n0"


@pytest.mark.parametrize(
    "toleration",
    [
        {"operator": "Exists"},
        {"key": "gpu", "operator": "Exists"},
        {"key": "gpu", "operator": "Equal", "value": "yes"},
        {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
    ],
)
def test_taints_keep_away_only_pods_that_do_not_tolerate_them(lab: Any, toleration: Any) -> None:
    lab.node("n0", taints=[GPU_TAINT])
    lab.pod("tolerant", tolerations=[toleration])
    lab.pod("other", tolerations=[{"key": "gpu", "operator": "Equal", "value": "no"}])
    lab.run()
    assert lab.node_of("tolerant") == "n0"
    assert lab.message("other").startswith("0/1 nodes are available: 1 node(s) had untolerated taint(s).")


def test_taints_that_only_prefer_are_avoided_when_possible(lab: Any) -> None:
    lab.node("n0", taints=[{**GPU_TAINT, "effect": "PreferNoSchedule"}])
    lab.node("n1")
    for index in range(3):
        lab.pod(f"p{index}", {"cpu": "100m"})
    lab.run()
    assert {lab.node_of(f"p{index}") for index in range(3)} == {"n1"}


def test_a_node_selector_must_match(lab: Any) -> None:
    lab.node("n0", labels={"pool": "a"})
    lab.node("n1", labels={"pool": "b"})
    lab.pod("p", nodeSelector={"pool": "b"})
    lab.pod("q", nodeSelector={"pool": "c"})
    lab.run()
    assert lab.node_of("p") == "n1"
    assert "2 node(s) didn't match Pod's node affinity/selector" in lab.message("q")


def test_a_label_put_on_a_node_lets_a_waiting_pod_in(lab: Any) -> None:
    node = lab.node("n0")
    lab.pod("p", nodeSelector={"pool": "a"})
    lab.run()
    labels = {**node["metadata"]["labels"], "pool": "a"}
    lab.store.update("nodes", {**node, "metadata": {**node["metadata"], "labels": labels}})
    lab.run()
    assert lab.node_of("p") == "n0"


@pytest.mark.parametrize(
    ("expression", "nodes"),
    [
        ({"key": "rank", "operator": "In", "values": ["1", "2"]}, {"n1", "n2"}),
        ({"key": "rank", "operator": "NotIn", "values": ["1"]}, {"n0", "n2", "n3"}),
        ({"key": "rank", "operator": "Exists"}, {"n1", "n2", "n3"}),
        ({"key": "rank", "operator": "DoesNotExist"}, {"n0"}),
        ({"key": "rank", "operator": "Gt", "values": ["1"]}, {"n2", "n3"}),
        ({"key": "rank", "operator": "Lt", "values": ["2"]}, {"n1"}),
    ],
)
def test_node_affinity_knows_all_operators(lab: Any, expression: Any, nodes: set[str]) -> None:
    lab.node("n0")
    for rank in (1, 2, 3):
        lab.node(f"n{rank}", labels={"rank": str(rank)})
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    for index in range(12):
        lab.pod(f"p{index}", {"cpu": "500m"}, affinity=affinity)
    lab.run()
    assert {lab.node_of(f"p{index}") for index in range(12)} == nodes


def test_an_empty_node_selector_term_matches_nothing(lab: Any) -> None:
    lab.node("n0")
    required_terms = {"nodeSelectorTerms": [{}]}
    lab.pod("p", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required_terms}})
    lab.run()
    assert lab.node_of("p") is None


def test_images_that_are_there_already_attract_a_pod(lab: Any) -> None:
    size = 900 * 1024 * 1024
    lab.node("n0")
    lab.node("n1", images=[{"names": ["img:latest"], "sizeBytes": size}])
    lab.pod("p", {"cpu": "100m"})
    lab.run()
    assert lab.node_of("p") == "n1"


def test_a_host_port_is_given_once_a_node(lab: Any) -> None:
    def with_port(address: str = "") -> list[Any]:
        return [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": address}]}]

    lab.node("n0")
    lab.pod("a", containers=with_port())
    lab.pod("b", containers=with_port("127.0.0.1"))
    lab.run()
    assert lab.node_of("a") == "n0"
    assert "1 node(s) didn't have free ports for the requested pod ports" in lab.message("b")
    lab.delete("a")
    lab.run()
    assert lab.node_of("b") == "n0"


# -- other pods -------------------------------------------------------------------------------------------------------


def test_hard_spreading_fills_zones_evenly(lab: Any) -> None:
    for name in "aab":
        lab.node(f"{name}{len(lab.store.list('nodes'))}", labels=zone(name))
    for index in range(6):
        lab.pod(f"p{index}", labels={"app": "x"}, topologySpreadConstraints=[spread("x")])
    lab.run()
    zones = [lab.node_of(f"p{index}")[0] for index in range(6)]
    assert sorted(zones) == ["a", "a", "a", "b", "b", "b"]


def test_hard_spreading_waits_rather_than_lean_to_one_side(lab: Any) -> None:
    lab.node("a0", labels=zone("a"))
    lab.node("b0", labels=zone("b"), allocatable={"pods": "0"})
    lab.node("c0")
    for index in range(2):
        lab.pod(f"p{index}", labels={"app": "x"}, topologySpreadConstraints=[spread("x")])
    lab.run()
    assert lab.node_of("p0") == "a0"
    assert lab.message("p1").startswith(
        "0/3 nodes are available: 1 Too many pods, 1 node(s) didn't match pod topology spread constraints, "
        "1 node(s) didn't match pod topology spread constraints (missing required label)."
    )


def test_a_pod_that_waits_for_balance_goes_when_the_other_zone_fills(lab: Any) -> None:
    lab.node("a0", labels=zone("a"))
    lab.node("b0", labels=zone("b"), taints=[GPU_TAINT])
    for index in range(2):
        lab.pod(f"p{index}", labels={"app": "x"}, topologySpreadConstraints=[spread("x")])
    lab.run()
    assert lab.node_of("p1") is None
    lab.pod("on-b", labels={"app": "x"}, nodeName="b0")
    lab.run()
    assert lab.node_of("p1") == "a0"


def test_too_few_domains_count_as_empty_ones(lab: Any) -> None:
    lab.node("a0", labels=zone("a"))
    lab.node("b0", labels=zone("b"))
    for index in range(3):
        constraint = spread("x", minDomains=3)
        lab.pod(f"p{index}", labels={"app": "x"}, topologySpreadConstraints=[constraint])
    lab.run()
    assert sum(lab.node_of(f"p{index}") is not None for index in range(3)) == 2


def test_pods_of_a_replica_set_are_spread_by_default(lab: Any) -> None:
    for index in range(3):
        lab.node(f"n{index}", labels=zone(f"z{index}"), allocatable={"cpu": "64", "memory": "512Gi"})
    lab.put({"kind": "ReplicaSet", "metadata": {"name": "rs"}, "spec": {"selector": {"matchLabels": {"app": "x"}}}})
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u", "controller": True}
    lab.pod("heavy", {"cpu": "30", "memory": "200Gi"}, nodeName="n0")
    for index in range(6):
        lab.pod(f"p{index}", {"cpu": "100m"}, labels={"app": "x"}, owner=owner)
    lab.run()
    counts = [[lab.node_of(f"p{index}") for index in range(6)].count(f"n{node}") for node in range(3)]
    assert counts == [2, 2, 2]


def test_pods_that_want_each_other_end_up_in_one_zone(lab: Any) -> None:
    for name in ("a0", "a1", "b0", "b1"):
        lab.node(name, labels=zone(name[0]))
    for index in range(5):
        lab.pod(f"p{index}", labels={"app": "x"}, affinity={"podAffinity": required(term("x"))})
    lab.run()
    assert len({lab.node_of(f"p{index}")[0] for index in range(5)}) == 1


def test_a_pod_waits_for_company_and_joins_it(lab: Any) -> None:
    lab.node("a0", labels=zone("a"))
    lab.node("b0", labels=zone("b"))
    lab.pod("p", affinity={"podAffinity": required(term("db"))})
    lab.run()
    assert "2 node(s) didn't match pod affinity rules" in lab.message("p")
    lab.pod("db", labels={"app": "db"}, nodeSelector=zone("b"))
    lab.run()
    assert lab.node_of("p") == "b0"


def test_pods_that_avoid_each_other_get_a_node_each(lab: Any) -> None:
    for index in range(3):
        lab.node(f"n{index}")
    for index in range(4):
        lab.pod(f"p{index}", labels={"app": "x"}, affinity={"podAntiAffinity": required(term("x", HOST))})
    lab.run()
    placed = [lab.node_of(f"p{index}") for index in range(4)]
    assert sorted(node for node in placed if node) == ["n0", "n1", "n2"]
    assert "3 node(s) didn't match pod anti-affinity rules" in lab.message("p3")
    lab.delete("p0")
    lab.run()
    assert lab.node_of("p3") == placed[0]


def test_pods_on_nodes_keep_others_away(lab: Any) -> None:
    lab.node("n0")
    lab.pod("shy", nodeName="n0", affinity={"podAntiAffinity": required(term("loud", HOST))})
    lab.pod("p", labels={"app": "loud"})
    lab.run()
    assert "1 node(s) didn't satisfy existing pods anti-affinity rules" in lab.message("p")
    lab.delete("shy")
    lab.run()
    assert lab.node_of("p") == "n0"


def test_terms_reach_into_namespaces_by_their_labels(lab: Any) -> None:
    lab.put({"kind": "Namespace", "metadata": {"name": "default"}})
    lab.put({"kind": "Namespace", "metadata": {"name": "far", "labels": {"team": "ml"}}})
    lab.node("a0", labels=zone("a"))
    lab.node("b0", labels=zone("b"))
    lab.pod("db", labels={"app": "db"}, namespace="far", nodeName="b0")
    wish = term("db", namespaceSelector={"matchLabels": {"team": "ml"}})
    lab.pod("p", affinity={"podAffinity": required(wish)})
    lab.run()
    assert lab.node_of("p") == "b0"


def test_wishes_decide_between_equal_nodes(lab: Any) -> None:
    for name in ("a0", "b0"):
        lab.node(name, labels=zone(name[0]))
    lab.pod("db", labels={"app": "db"}, nodeName="b0")
    lab.pod("near", {"cpu": "1"}, affinity={"podAffinity": preferred(50, term("db"))})
    lab.pod("away", {"cpu": "1"}, affinity={"podAntiAffinity": preferred(50, term("db"))})
    lab.run()
    assert (lab.node_of("near"), lab.node_of("away")) == ("b0", "a0")


# -- volumes ----------------------------------------------------------------------------------------------------------


def claim(name: str, **spec: Any) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": {"storageClassName": "fast", **spec}}


def storage_class(mode: str, **more: Any) -> dict[str, Any]:
    metadata = {"name": "fast"}
    return {"kind": "StorageClass", "metadata": metadata, "provisioner": "x.io/y", "volumeBindingMode": mode, **more}


def volume(name: str, node: str) -> dict[str, Any]:
    expression = {"key": HOST, "operator": "In", "values": [node]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}
    spec["nodeAffinity"] = affinity
    return {"kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec, "status": {"phase": "Available"}}


def claiming(name: str) -> list[Any]:
    return [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]


def bind_claim(lab: Any, name: str, volume_name: str) -> None:
    found = lab.store.get("persistentvolumeclaims", "default", name)
    spec = {**found["spec"], "volumeName": volume_name}
    lab.store.update("persistentvolumeclaims", {**found, "spec": spec, "status": {"phase": "Bound"}})


def test_a_pod_waits_until_its_claim_is_there_and_bound(lab: Any) -> None:
    lab.node("n0")
    lab.node("n1")
    lab.pod("p", volumes=claiming("c"))
    lab.run()
    assert lab.message("p") == '0/2 nodes are available: persistentvolumeclaim "c" not found. not found'
    lab.put(storage_class("Immediate"))
    lab.put(claim("c"))
    lab.run()
    assert lab.message("p") == "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
    lab.put(volume("v", "n1"))
    bind_claim(lab, "c", "v")
    lab.run()
    assert lab.node_of("p") == "n1"


def test_a_first_consumer_tells_its_claim_the_node_and_waits_for_it(lab: Any) -> None:
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]
    lab.put(storage_class("WaitForFirstConsumer", allowedTopologies=allowed))
    lab.put(claim("c"))
    lab.node("a0", labels=zone("a"))
    lab.node("b0", labels=zone("b"))
    lab.pod("p", volumes=claiming("c"))
    lab.run()
    told = lab.store.get("persistentvolumeclaims", "default", "c")["metadata"]["annotations"]
    assert told == {"volume.kubernetes.io/selected-node": "b0"}
    assert lab.node_of("p") is None
    lab.put(volume("v", "b0"))
    bind_claim(lab, "c", "v")
    lab.run()
    assert lab.node_of("p") == "b0"


def test_a_first_consumer_takes_a_free_volume_of_the_node(lab: Any) -> None:
    lab.put(storage_class("WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner"))
    lab.put(claim("c"))
    lab.put(volume("v", "n1"))
    lab.node("n0")
    lab.node("n1")
    lab.pod("p", volumes=claiming("c"))
    lab.run()
    assert lab.store.get("persistentvolumes", "", "v")["spec"]["claimRef"]["name"] == "c"
    bind_claim(lab, "c", "v")
    lab.run()
    assert lab.node_of("p") == "n1"


def test_a_disk_is_not_attached_twice(lab: Any) -> None:
    disk = [{"name": "d", "gcePersistentDisk": {"pdName": "pd"}}]
    lab.node("n0")
    lab.pod("a", volumes=disk)
    lab.pod("b", volumes=disk)
    lab.run()
    assert lab.node_of("a") == "n0"
    assert "1 node(s) had no available disk" in lab.message("b")


def test_two_claims_of_a_pod_need_two_volumes(lab: Any) -> None:
    lab.put(storage_class("WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner"))
    for name in ("c", "d"):
        lab.put(claim(name))
    lab.put(volume("v", "n0"))
    lab.node("n0")
    lab.pod("p", volumes=[*claiming("c"), {**claiming("d")[0], "name": "more"}])
    lab.run()
    assert "1 node(s) didn't find available persistent volumes to bind" in lab.message("p")
    lab.put(volume("w", "n0"))
    lab.run()
    taken = [each["spec"]["claimRef"]["name"] for each in lab.store.list("persistentvolumes")]
    assert sorted(taken) == ["c", "d"]
