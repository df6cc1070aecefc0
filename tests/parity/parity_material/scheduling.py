"""Scheduling: a scenario given to a scheduler, one pod at a time.

A *verdict* is what became of one pod: its node, or the message of its condition; the scores of the nodes that it could
have gone to; the node it was promised and the pods that must go for it. `replay` follows the recorded scheduler: after
each verdict a pod is put where the recorded one went, so that every pod meets the same cluster, however ties were broken.
"""

from __future__ import annotations

from typing import Any

from parity_material.scenarios import CLASSES, Scenario

from ghostfleet.api.options import DeleteOptions, WriteOptions
from ghostfleet.cluster import BARE, Cluster, ClusterConfig
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import VirtualClock
from ghostfleet.schedulers.kube.scheduler import KubeScheduler

__all__ = ["Place", "Verdict", "differences", "priority_classes", "replay", "started"]

_SCHEDULER_ALONE = ClusterConfig(without=BARE.without - {"scheduler"})
Verdict = dict[str, Any]


def priority_classes() -> list[Object]:
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return [{**head, "metadata": {"name": name}, "value": value} for name, value in CLASSES.items()]


def started(pod: Object) -> Object:
    """The status of a pod that runs: those who started last are the first to go."""
    word, _, number = pod["metadata"]["name"].partition("-")
    return {"status": {"startTime": f"201{5 if word == 'resident' else 6}-01-01T00:00:{int(number):02}Z"}}


def replay(scenario: Scenario, recorded: list[Verdict]) -> list[Verdict]:
    """What our scheduler says to each pod, in the footsteps of the recorded one."""
    place = Place()
    for node in scenario.nodes:
        place.add_node(node)
    for pod in scenario.residents:
        place.settle(pod)
    return [_judged(place, pod, real) for pod, real in zip(scenario.arrivals, recorded, strict=False)]


def _judged(place: Place, pod: Object, real: Verdict) -> Verdict:
    # A dry run shows the pod with its defaults, before anybody has seen it.
    found = place.scores(place.create("pods", pod, dry_run=True))
    place.create("pods", pod)
    verdict = place.verdict(pod, found)
    place.remove(pod)
    if real["node"] is not None:
        place.settle({**pod, "spec": {**pod["spec"], "nodeName": real["node"]}})
    return verdict


class Place:
    """A cluster with a scheduler and nothing else that acts."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self._cluster = Cluster(self.clock, _SCHEDULER_ALONE)
        self.store = self._cluster.store
        (scheduler,) = self._cluster._schedulers
        assert isinstance(scheduler, KubeScheduler)
        self._scheduler = scheduler
        for each in priority_classes():
            self.create("priorityclasses.scheduling.k8s.io", each)

    def create(self, key: str, obj: Object, *, dry_run: bool = False) -> Object:
        resource = self._cluster.registry.by_key(key)
        assert resource is not None
        namespace = "default" if resource.namespaced else ""
        options = WriteOptions(dry_run=dry_run)
        made = self._cluster.api.create(resource, resource.storage, namespace, obj, options)
        self.clock.settle()
        return made

    def patch(self, key: str, name: str, patch: Object, subresource: str = "") -> None:
        resource = self._cluster.registry.by_key(key)
        assert resource is not None
        namespace = "default" if resource.namespaced else ""
        self._cluster.api.patch(
            resource, resource.storage, namespace, name, "merge", patch, WriteOptions(), subresource
        )

    def add_node(self, node: Object) -> None:
        self.create("nodes", node)
        # A new node is tainted until somebody says that it is ready.
        self.patch("nodes", node["metadata"]["name"], {"spec": {"taints": node["spec"].get("taints")}})

    def settle(self, pod: Object) -> None:
        """Create a pod that has its node and runs there."""
        self.create("pods", pod)
        self.patch("pods", pod["metadata"]["name"], started(pod), "status")

    def scores(self, pod: Object) -> dict[str, int]:
        """What the scheduler thinks of each possible node."""
        return self._scheduler.algorithm.scores(pod)

    def verdict(self, pod: Object, scores: dict[str, int]) -> Verdict:
        """What has become of a pod."""
        seen = self.store.get("pods", "default", pod["metadata"]["name"])
        conditions = {each["type"]: each for each in seen["status"].get("conditions", [])}
        pods = self.store.list("pods")
        return {
            "node": seen["spec"].get("nodeName"),
            "message": conditions.get("PodScheduled", {}).get("message"),
            "nominated": seen["status"].get("nominatedNodeName"),
            "victims": sorted(each["metadata"]["name"] for each in pods if "deletionTimestamp" in each["metadata"]),
            "scores": scores,
        }

    def remove(self, pod: Object) -> None:
        resource = self._cluster.registry.by_key("pods")
        assert resource is not None
        options = DeleteOptions(grace_seconds=0)
        self._cluster.api.delete(resource, resource.storage, "default", pod["metadata"]["name"], options)
        self.clock.settle()


def differences(real: Verdict, ours: Verdict) -> list[str]:
    """How a verdict of ours is not that of the real scheduler; among equal scores any node is right."""
    told = []
    feasible = set(real["scores"]) or ({real["node"]} - {None})
    if set(ours["scores"]) != feasible:
        told.append(f"feasible: real {sorted(feasible)}, ours {sorted(ours['scores'])}")
    best = max(ours["scores"].values(), default=0)
    choices = {node for node, score in ours["scores"].items() if score == best}
    if real["node"] is not None and real["node"] not in choices:
        told.append(f"node: real {real['node']}, ours one of {sorted(choices)}")
    if (ours["node"] is None) is not (real["node"] is None):
        told.append(f"placed: real {real['node']}, ours {ours['node']}")
    if len(choices) == 1 and real["node"] is not None and ours["node"] != real["node"]:
        told.append(f"placement without a tie: real {real['node']}, ours {ours['node']}")
    if real["scores"] and _above_least(real["scores"]) != _above_least(ours["scores"]):
        told.append(f"scores: real {real['scores']}, ours {ours['scores']}")
    same = ("message", "nominated", "victims")
    return told + [f"{what}: real {real[what]}, ours {ours[what]}" for what in same if real[what] != ours[what]]


def _above_least(found: dict[str, int]) -> dict[str, int]:
    """Plugins that have nothing to say may give all nodes the same, or nothing; only differences count."""
    least = min(found.values(), default=0)
    return {node: score - least for node, score in sorted(found.items())}
