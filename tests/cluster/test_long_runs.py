"""What happens only after a while: pods that wait for long, nodes that come back, statuses that others overwrite."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ghostfleet.api.options import DeleteOptions, WriteOptions
from ghostfleet.cluster import Cluster, ClusterConfig, add_nodes
from ghostfleet.core.clock import SECOND, Clock, VirtualClock, WallClock, pause
from ghostfleet.stages.nodes import NodeShape

sys.path.insert(0, str(Path(__file__).parent))
import fleet_runs

#: Far more callbacks than a small cluster needs for anything.
MANY = 50_000


def drive(cluster: Cluster, reached: Callable[[], bool]) -> None:
    """Let time pass on any clock until something is reached."""
    clock = cluster.clock
    last = clock.armed + MANY
    if isinstance(clock, VirtualClock):
        clock.run(stop=lambda: reached() or clock.armed > last)
    else:
        assert isinstance(clock, WallClock)
        while not reached() and clock.armed < last:
            if not clock.run_due():
                pause(0.001)
    assert reached(), f"not reached after {MANY:,} callbacks"


def pod(name: str, gpus: int) -> dict:
    container = {"name": "a", "image": "b", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


@pytest.mark.parametrize("clock", [VirtualClock(), WallClock(scale=600), WallClock(scale=6000)])
def test_a_cluster_goes_on_when_something_is_deleted_after_others_waited_for_long(clock: Clock) -> None:
    cluster = Cluster(clock)
    add_nodes(cluster, NodeShape(count=10, gpus=8, fake_taint=False))
    drive(cluster, lambda: all(has(each, "Ready") for each in cluster.store.list("nodes")))
    for number in range(30):
        fleet_runs.submit(cluster, "pods", pod(f"small-{number}", 1))
    drive(cluster, lambda: sum("nodeName" in each["spec"] for each in cluster.store.list("pods")) == 30)
    for number in range(4):
        fleet_runs.submit(cluster, "pods", pod(f"large-{number}", 8))
    began = clock.now()
    drive(cluster, lambda: clock.now() > began + 320 * SECOND)
    cluster.store.delete("pods", "default", "small-7")
    fleet_runs.submit(cluster, "jobs.batch", fleet_runs.job("after"))
    drive(cluster, lambda: bool(cluster.store.get("jobs.batch", "default", "after")["status"].get("completionTime")))
    # The scheduler is at rest afterwards: nothing but leases goes on.
    quiet = clock.armed
    began = clock.now()
    drive(cluster, lambda: clock.now() > began + 600 * SECOND)
    assert clock.armed - quiet < 500


def has(obj: dict, kind: str) -> bool:
    return any(
        each["type"] == kind and each["status"] == "True" for each in obj.get("status", {}).get("conditions", ())
    )


class Scene:
    """A small cluster on a virtual clock with a bit of everything in it."""

    def __init__(self, config: ClusterConfig | None = None, replicas: int = 3) -> None:
        self.cluster = Cluster(config=config)
        add_nodes(self.cluster, NodeShape(count=3, gpus=8, fake_taint=False))
        self.run(2)
        self.create("daemonsets.apps", "daemon", {"selector": selector("daemon"), "template": template("daemon")})
        for kind in ("deployments.apps", "replicasets.apps", "statefulsets.apps"):
            app = kind.partition(".")[0]
            self.create(kind, app, {"replicas": replicas, "selector": selector(app), "template": template(app)})
        self.create(
            "replicationcontrollers", "old", {"replicas": 2, "selector": {"app": "old"}, "template": template("old")}
        )
        job = {**template("job"), "spec": {**template("job")["spec"], "restartPolicy": "Never"}}
        job["metadata"]["annotations"] = {"ghostfleet.dev/duration": "10h"}
        self.create("jobs.batch", "job", {"template": job})
        self.create("cronjobs.batch", "cron", {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": job}}})
        for app in ("daemon", "deployments"):
            self.create("services", app, {"selector": {"app": app}, "ports": [{"port": 80}]})
            self.create("poddisruptionbudgets.policy", app, {"minAvailable": 1, "selector": selector(app)})
        master = {"replicas": 1, "template": {**job, "spec": {"containers": [{"name": "pytorch", "image": "b"}]}}}
        self.create("pytorchjobs.kubeflow.org", "torch", {"pytorchReplicaSpecs": {"Master": master}})
        workload = {"image": {"value": "b"}, "name": {"value": "train"}, "annotations": {"items": {}}}
        self.create("trainingworkloads.run.ai", "train", workload)
        self.create("resourcequotas", "quota", {"hard": {"pods": "100"}})
        self.create(
            "customresourcedefinitions.apiextensions.k8s.io",
            "foos.example.com",
            {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "foos", "kind": "Foo", "singular": "foo", "listKind": "FooList"},
                "versions": [
                    {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
                ],
            },
        )
        self.run(30)

    def run(self, seconds: int) -> None:
        clock = self.cluster.clock
        assert isinstance(clock, VirtualClock)
        clock.run(clock.now() + seconds * SECOND)

    def _of(self, plural: str, namespace: str) -> tuple:
        resource = self.cluster.registry.by_key(plural)
        assert resource is not None
        return resource, resource.storage, namespace if resource.namespaced else ""

    def create(self, plural: str, name: str, spec: dict) -> None:
        self.cluster.api.create(
            *self._of(plural, "default"), {"metadata": {"name": name}, "spec": spec}, WriteOptions()
        )

    def overwrite(self, plural: str, name: str, patch: dict, subresource: str = "", namespace: str = "default") -> None:
        kind = "strategic" if plural in ("nodes", "pods") else "merge"
        self.cluster.api.patch(*self._of(plural, namespace), name, kind, patch, WriteOptions(), subresource)

    def delete(self, plural: str, name: str, namespace: str = "default") -> None:
        self.cluster.api.delete(*self._of(plural, namespace), name, DeleteOptions())

    def get(self, plural: str, name: str, namespace: str = "default") -> dict:
        return self.cluster.store.get(plural, self._of(plural, namespace)[2], name)

    def ready(self) -> dict[str, int]:
        """How many pods are ready, as all those say that depend on it."""
        (subset,) = self.get("endpoints", "daemon")["subsets"]
        slices = [each for each in self.cluster.store.list(SLICES) if each["metadata"]["name"].startswith("daemon-")]
        return {
            "daemons": self.get("daemonsets.apps", "daemon")["status"]["numberReady"],
            "endpoints": len(subset["addresses"]),
            "slices": sum(each["conditions"]["ready"] for piece in slices for each in piece["endpoints"]),
            "budget": self.get("poddisruptionbudgets.policy", "daemon")["status"]["currentHealthy"],
            "deployment": self.get("deployments.apps", "deployments")["status"].get("availableReplicas", 0),
            "replicas": self.get("replicasets.apps", "replicasets")["status"].get("readyReplicas", 0),
        }


SLICES = "endpointslices.discovery.k8s.io"
LEASES = "leases.coordination.k8s.io"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


def selector(app: str) -> dict:
    return {"matchLabels": {"app": app}}


def template(app: str) -> dict:
    """Pods that stay wherever they are."""
    spec = {"containers": [{"name": "a", "image": "b"}], "tolerations": [{"operator": "Exists"}]}
    return {"metadata": {"labels": {"app": app}}, "spec": spec}


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_pods_that_stayed_on_a_failed_node_are_ready_again_when_it_is_back(scene: Scene) -> None:
    all_ready = dict.fromkeys(scene.ready(), 3)
    assert scene.ready() == all_ready
    for seconds in (60, 600):
        scene.cluster.fleet.fail_node("kwok-node-1")
        scene.run(seconds)
        assert scene.ready() == dict.fromkeys(all_ready, 2)
        scene.cluster.fleet.recover_node("kwok-node-1")
        scene.run(30)
        assert scene.ready() == all_ready
    node = scene.get("nodes", "kwok-node-1")
    assert {each["type"]: each["status"] for each in node["status"]["conditions"]} == {
        "Ready": "True",
        **dict.fromkeys(("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"), "False"),
    }
    assert not node["spec"].get("taints")


def test_a_node_that_comes_back_while_its_pods_are_being_marked_has_none_that_stays_so() -> None:
    scene = Scene(ClusterConfig(profile="kubernetes"), replicas=90)
    pods = cluster_pods(scene)
    assert len(pods) > 90

    def marked() -> int:
        return sum(not has(each, "Ready") for each in cluster_pods(scene))

    scene.cluster.fleet.fail_node("kwok-node-1")
    while marked() == 0:
        scene.cluster.clock.run(scene.cluster.clock.now() + SECOND // 10)
    scene.cluster.fleet.recover_node("kwok-node-1")
    scene.run(60)
    assert marked() == 0


def cluster_pods(scene: Scene) -> list[dict]:
    return [each for each in scene.cluster.store.list("pods") if each["status"].get("phase") == "Running"]


def test_a_node_that_is_removed_and_made_again_has_its_daemons_and_a_lease_of_its_own(scene: Scene) -> None:
    scene.cluster.fleet.fail_node("kwok-node-0")
    scene.run(60)
    scene.delete("nodes", "kwok-node-0")
    scene.run(120)
    assert scene.ready()["daemons"] == 2
    add_nodes(scene.cluster, NodeShape(count=1, gpus=8, fake_taint=False))
    scene.run(60)
    assert scene.ready() == dict.fromkeys(scene.ready(), 3)
    (owner,) = scene.get(LEASES, "kwok-node-0", "kube-node-lease")["metadata"]["ownerReferences"]
    assert owner["uid"] == scene.get("nodes", "kwok-node-0")["metadata"]["uid"]


OVERWRITTEN = {
    "deployments.apps": ("deployments", {"replicas": 77, "readyReplicas": 5}),
    "replicasets.apps": ("replicasets", {"replicas": 77, "readyReplicas": 5}),
    "replicationcontrollers": ("old", {"replicas": 77, "readyReplicas": 5}),
    "statefulsets.apps": ("statefulsets", {"replicas": 77, "readyReplicas": 5}),
    "daemonsets.apps": ("daemon", {"numberReady": 77}),
    "jobs.batch": ("job", {"active": 77}),
    "cronjobs.batch": ("cron", {"active": [{"kind": "Job", "name": "nobody"}]}),
    "poddisruptionbudgets.policy": ("daemon", {"currentHealthy": 77}),
    "resourcequotas": ("quota", {"used": {"pods": "77"}}),
    "pytorchjobs.kubeflow.org": ("torch", {"replicaStatuses": {"Master": {"active": 77}}}),
    "trainingworkloads.run.ai": ("train", {"phase": "Unheard"}),
    "runaijobs.run.ai": ("train", {"active": 77}),
    "nodes": ("kwok-node-0", {"conditions": [{"type": "Ready", "status": "False"}]}),
    DEFINITIONS: (
        "foos.example.com",
        {
            "conditions": [
                {
                    "type": "Established",
                    "status": "False",
                    "reason": "No",
                    "message": "no",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ]
        },
    ),
}


@pytest.mark.parametrize("plural", OVERWRITTEN)
def test_a_status_that_somebody_else_wrote_over_is_written_again(scene: Scene, plural: str) -> None:
    name, status = OVERWRITTEN[plural]
    before = plain(scene.get(plural, name)["status"])
    scene.overwrite(plural, name, {"status": status}, "status")
    assert plain(scene.get(plural, name)["status"]) != before
    scene.run(300)
    assert plain(scene.get(plural, name)["status"]) == before


def plain(status: dict) -> dict:
    """A status without the times at which its conditions were told."""
    conditions = {each["type"]: each["status"] for each in status.get("conditions", ())}
    return {**status, "conditions": conditions}


def test_a_volume_that_is_bound_says_so_again(scene: Scene) -> None:
    resource = scene.cluster.registry.by_key("storageclasses.storage.k8s.io")
    scene.cluster.api.create(
        resource, resource.storage, "", {"metadata": {"name": "x"}, "provisioner": "x/y"}, WriteOptions()
    )
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "x"}
    scene.create("persistentvolumeclaims", "claim", asked)
    scene.run(30)
    name = scene.get("persistentvolumeclaims", "claim")["spec"]["volumeName"]
    for plural, each in (("persistentvolumes", name), ("persistentvolumeclaims", "claim")):
        scene.overwrite(plural, each, {"status": {"phase": "Pending"}}, "status")
        scene.run(30)
        assert scene.get(plural, each)["status"]["phase"] == "Bound"


@pytest.mark.parametrize(
    ("plural", "namespace", "name"),
    [
        (LEASES, "kube-node-lease", "kwok-node-0"),
        ("endpoints", "default", "daemon"),
        ("services", "default", "kubernetes"),
        ("serviceaccounts", "default", "default"),
        ("namespaces", "", "kube-node-lease"),
    ],
)
def test_what_the_cluster_keeps_comes_again_when_somebody_deletes_it(
    scene: Scene, plural: str, namespace: str, name: str
) -> None:
    before = scene.get(plural, name, namespace)["metadata"]["uid"]
    scene.delete(plural, name, namespace)
    scene.run(120)
    assert scene.get(plural, name, namespace)["metadata"]["uid"] != before
    # With their namespace all leases were gone.
    assert scene.cluster.store.count(LEASES) == 3


def test_a_slice_that_somebody_emptied_or_deleted_is_as_it_was(scene: Scene) -> None:
    (name,) = [
        each["metadata"]["name"]
        for each in scene.cluster.store.list(SLICES)
        if each["metadata"]["name"].startswith("daemon-")
    ]
    scene.overwrite(SLICES, name, {"endpoints": []})
    scene.run(10)
    assert scene.ready()["slices"] == 3
    scene.delete(SLICES, name)
    scene.run(10)
    assert scene.ready()["slices"] == 3


def test_a_lease_that_was_set_back_is_fresh_again(scene: Scene) -> None:
    then = "2025-01-01T00:00:00.000000Z"
    scene.overwrite(LEASES, "kwok-node-0", {"spec": {"renewTime": then}}, namespace="kube-node-lease")
    scene.run(20)
    assert scene.get(LEASES, "kwok-node-0", "kube-node-lease")["spec"]["renewTime"] > then


def test_on_a_virtual_clock_a_component_that_fails_ends_the_run_and_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(
        "class Broken:\n    name = 'broken'\n\n    def schedule(self, snapshot):\n        raise LookupError\n"
    )
    cluster = Cluster(config=ClusterConfig(schedulers=(f"{broken}:Broken",)))
    waits = pod("waits", 1)
    fleet_runs.submit(cluster, "pods", {**waits, "spec": {**waits["spec"], "schedulerName": "broken"}})
    with pytest.raises(LookupError) as caught:
        cluster.clock.run()
    assert caught.value.__notes__ == ["in component ghostfleet_scheduler_broken"]
