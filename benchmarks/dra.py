"""DRA: devices for claims, first without a scheduler around it, then in a whole cluster.

Pods with one claim each come to 500 nodes with 8 devices each until none is left; each pod is tried on the node where
the one before was placed, then on the next. The same with ten times as many nodes shows how the cost of a pod grows.
*All nodes asked* is what a scheduler does that wants to choose: what is known of a node is good until a device of it
is taken. Partitions are the same with counters: 8 cards a node, each cut in 7 parts.

In a whole cluster in process, pods with a claim template are created, get their claims, are scheduled and run; the
same pods without claims are the baseline. These are seconds of the processor, which a busy machine changes less.
`benchmarks.devices` has the same beside a real control plane, and in a large fleet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.figures import Baseline, Figure, at_least, at_most, cpu_seconds_of, seconds_of
from ghostfleet.api.options import WriteOptions
from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.schedulers.dra import AllocatedDevices, Allocator, Features, Inventory, PodClaims, device_class_named

__all__ = ["run"]

_DRIVER = "gpu.example.com"
_MODEL = f"device.attributes['{_DRIVER}'].model == 'H100'"
_CLASS = {
    "metadata": {"name": "gpu"},
    "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{_DRIVER}'"}}]},
}
_NODES, _DEVICES, _PODS = 500, 8, 5_000


def run() -> Iterator[Figure]:
    by_hand = Baseline("a free list a node", _PODS / _by_hand())
    small, large = _placed(_NODES, _PODS), _placed(10 * _NODES, 10 * _PODS)
    what = f"pods with a claim, {_NODES} nodes x {_DEVICES} devices"
    yield Figure(what, 1 / small, "pods/s", by_hand, at_least(1_000))
    even = Baseline("no growth", 1)
    yield Figure("cost of a pod on ten times the nodes", large / small, "x", even, at_most(1.5))
    anew, kept = _asked(kept=False), _asked(kept=True)
    searched = Baseline("us/node searched anew", anew)
    yield Figure("all nodes asked for each pod", kept, "us/node", searched)
    yield Figure("of that, against searching anew", kept / anew, "x", Baseline("anew", 1), at_most(0.5))
    plain = Baseline("the class's alone", _first_asked(""))
    yield Figure("a node's devices seen first, two selectors", _first_asked(_MODEL), "us/device", plain)
    yield Figure("pods on partitions with counters", _partitioned(), "pods/s", by_hand, at_least(1_000))
    plain = Baseline("the same without claims", 1 / _run(_NODES, _PODS, claims=False))
    what = f"{_PODS} pods from creation to running, cluster of {_NODES} nodes"
    yield Figure(what, 1 / _run(_NODES, _PODS), "pods/s", plain, at_least(1_000))


def _by_hand() -> float:
    free = [[f"gpu-{place}" for place in range(_DEVICES)] for _ in range(_NODES)]
    held: set[tuple[int, str]] = set()

    def place() -> None:
        node = 0
        for _ in range(_PODS):
            while node < _NODES and not free[node]:
                node += 1
            if node < _NODES:
                held.add((node, free[node].pop()))

    return seconds_of(place)


def _slice(node: str, devices: list[dict[str, Any]], pool: str = "", **more: Any) -> dict[str, Any]:
    about = {"name": pool or node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": _DRIVER, "nodeName": node, "pool": about, "devices": devices, **more}
    return {"metadata": {"name": f"{pool or node}-{len(more)}"}, "spec": spec}


def _devices(node: str) -> list[dict[str, Any]]:
    return [
        {
            "name": f"gpu-{place}",
            "attributes": {"model": {"string": "H100"}, "uuid": {"string": f"{node}-{place}"}},
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for place in range(_DEVICES)
    ]


def _claims() -> PodClaims:
    request = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    request |= {"selectors": [{"cel": {"expression": _MODEL}}]}
    devices = {"requests": [{"name": "gpu", "exactly": request}]}
    return PodClaims([{"metadata": {"name": "claim", "namespace": "default"}, "spec": {"devices": devices}}])


def _fleet(count: int) -> tuple[Allocator, list[dict[str, Any]]]:
    names = [f"node-{place}" for place in range(count)]
    inventory = Inventory(Features(), [_slice(name, _devices(name)) for name in names])
    nodes = [{"metadata": {"name": name, "labels": {}}} for name in names]
    return Allocator(inventory, AllocatedDevices(), device_class_named({"gpu": _CLASS})), nodes


def _place(allocator: Allocator, nodes: list[dict[str, Any]], pods: int) -> int:
    place = placed = 0
    for _ in range(pods):
        claims = _claims()
        for step in range(len(nodes)):
            node = nodes[(place + step) % len(nodes)]
            results = allocator.allocate(node, claims, str)
            if results is not None:
                allocator.allocated.add(results[0])
                place, placed = (place + step) % len(nodes), placed + 1
                break
        else:
            break
    return placed


def _placed(nodes: int, pods: int) -> float:
    """Seconds for each pod that was placed, with those that were not."""
    allocator, fleet = _fleet(nodes)
    spent = seconds_of(lambda: _place(allocator, fleet, pods))
    assert len(allocator.allocated.devices) == nodes * _DEVICES
    return spent / (nodes * _DEVICES)


def _asked(kept: bool) -> float:
    allocator, nodes = _fleet(_NODES)
    claims = _claims()

    def ask() -> None:
        for _ in range(20):
            found = []
            for node in nodes:
                if not kept:
                    allocator.forget(node["metadata"]["name"])
                found.append(allocator.allocate(node, claims, str))
            allocator.allocated.add(next(each for each in found if each is not None)[0])

    return seconds_of(ask) / (20 * _NODES) * 1e6


def _first_asked(selector: str) -> float:
    allocator, nodes = _fleet(_NODES)
    selectors = [{"cel": {"expression": selector}}] if selector else []
    request = {"deviceClassName": "gpu", "allocationMode": "All", "selectors": selectors}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": request}]}}
    claims = PodClaims([{"metadata": {"name": "all"}, "spec": spec}])
    return seconds_of(lambda: [allocator.allocate(node, claims, str) for node in nodes]) / (_NODES * _DEVICES) * 1e6


def _partitioned() -> float:
    slices = []
    for place in range(50):
        name = f"node-{place}"
        counters = [{"name": f"card-{card}", "counters": {"slices": {"value": "7"}}} for card in range(_DEVICES)]
        counting = _slice(name, [], sharedCounters=counters)
        parts = [
            {
                "name": f"card-{card}-part-{part}",
                "attributes": {"model": {"string": "H100"}},
                "consumesCounters": [{"counterSet": f"card-{card}", "counters": {"slices": {"value": "1"}}}],
            }
            for card in range(_DEVICES)
            for part in range(7)
        ]
        both = [counting, _slice(name, parts)]
        for each in both:
            each["spec"]["pool"]["resourceSliceCount"] = 2
        slices += both
    allocator = Allocator(Inventory(Features(), slices), AllocatedDevices(), device_class_named({"gpu": _CLASS}))
    nodes = [{"metadata": {"name": f"node-{place}", "labels": {}}} for place in range(50)]
    pods = 50 * _DEVICES * 7
    spent = seconds_of(lambda: _place(allocator, nodes, pods))
    assert len(allocator.allocated.devices) == pods
    return pods / spent


def _run(nodes: int, pods: int, *, claims: bool = True) -> float:
    """Seconds for each pod of a whole cluster that runs; those that find no device are tried, too."""
    cluster = Cluster(config=ClusterConfig(nodes=nodes, gpus=_DEVICES, dra="example"))
    _create(cluster, "resourceclaimtemplates.resource.k8s.io", _template())
    cluster.clock.settle()
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "train"}]}
    if claims:
        spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]

    def play() -> None:
        for number in range(pods):
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}"}, "spec": spec}
            _create(cluster, "pods", pod)
        cluster.clock.settle()

    spent = cpu_seconds_of(play)
    running = sum(pod["status"]["phase"] == "Running" for pod in cluster.store.list("pods"))
    assert running == (min(pods, nodes * _DEVICES) if claims else pods)
    return spent / running


def _create(cluster: Cluster, key: str, obj: dict[str, Any]) -> None:
    resource = cluster.registry.by_key(key)
    cluster.api.create(resource, resource.storage, "default", obj, WriteOptions())


def _template() -> dict[str, Any]:
    requests = [{"name": "gpu", "exactly": {"deviceClassName": _DRIVER}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "gpus"},
        "spec": {"spec": {"devices": {"requests": requests}}},
    }
