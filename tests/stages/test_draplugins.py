"""DRA drivers that users install as DaemonSets: devices come and go with the plugin's pods."""

from __future__ import annotations

from typing import Any

from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.drive.embedded import Embedded
from ghostfleet.drive.interface import Kind

_LABELS = {"app.kubernetes.io/name": "dra-example-driver"}
_DAEMON_SETS = Kind("apps", "v1", "daemonsets")


def _daemon_set(labels: dict[str, str] = _LABELS, **env: str) -> dict[str, Any]:
    container = {"name": "plugin", "image": "i", "env": [{"name": name, "value": value} for name, value in env.items()]}
    template = {"metadata": {"labels": {"a": "b", **labels}}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "plugin", "namespace": "default", "labels": labels},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }


def _slices(cluster: Cluster) -> dict[str, int]:
    found = cluster.store.list("resourceslices.resource.k8s.io")
    return {each["spec"]["nodeName"]: len(each["spec"].get("devices") or ()) for each in found}


def _lab(daemon_set: dict[str, Any]) -> tuple[Cluster, Embedded]:
    cluster = Cluster(config=ClusterConfig(nodes=3))
    driven = Embedded(cluster)
    driven.run(driven.create(_DAEMON_SETS, daemon_set))
    driven.run(driven.sleep(5_000_000))
    return cluster, driven


def test_the_example_drivers_pods_publish_a_slice_for_each_node_and_take_it_with_them() -> None:
    cluster, driven = _lab(_daemon_set(NUM_DEVICES="4"))
    assert _slices(cluster) == {"kwok-node-0": 4, "kwok-node-1": 4, "kwok-node-2": 4}
    driven.run(driven.delete(_DAEMON_SETS, "default", "plugin"))
    driven.run(driven.sleep(5_000_000))
    assert cluster.store.list("pods") == []
    assert _slices(cluster) == {}


def test_without_a_number_there_are_eight_devices() -> None:
    cluster, _ = _lab(_daemon_set())
    assert set(_slices(cluster).values()) == {8}


def test_other_daemon_sets_publish_nothing() -> None:
    cluster, _ = _lab(_daemon_set({"app.kubernetes.io/name": "other"}))
    assert len(cluster.store.list("pods")) == 3
    assert _slices(cluster) == {}
