"""What must hold on a cluster that KAI schedules, whatever is asked of it: as the API says it, second by second.

Jobs, gangs and parts of GPUs come and go, pods are deleted and nodes closed, for longer than the grace of stale gangs.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ghostfleet.controllers.kai import BIND_REQUESTS, POD_GROUPS, QUEUES
from support.kai_lab import KaiLab

LABEL, GPU = "kai.scheduler/queue", "nvidia.com/gpu"
LIMITS = {"a": 3, "b": -1, "c": 6}
GRACE = 60
#: A cycle a second, and as many for binding and for deleting.
SLACK = 5
ENDED = ("Succeeded", "Failed")

WORK = st.tuples(
    st.sampled_from(["gang", "job", "fraction", "bare"]),
    st.sampled_from(sorted(LIMITS)),
    st.integers(1, 4),
    st.sampled_from(["train", "train", "build", "inference"]),
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["submit", "submit", "submit", "break", "kill", "remove", "close", "open"]),
        WORK,
        st.integers(0, 30),
        st.sampled_from([1, 3, 10, 40]),
    ),
    min_size=3,
    max_size=10,
)


class Watched:
    """A cluster, and what is looked at while it works."""

    def __init__(self, profile: str) -> None:
        self.kai = KaiLab.scheduled(nodes=2, gpus=4, profile=profile)
        self.kai.queue("top", gpus=8)
        for name, limit in LIMITS.items():
            self.kai.queue(name, "top", gpus=3, limit=limit)
        self.half_bound: dict[str, int] = {}
        self.made = 0

    # -- what happens ------------------------------------------------------------------------------------------------

    def submit(self, kind: str, queue: str, pods: int, priority: str) -> None:
        kai, name = self.kai, f"w{self.made}"
        self.made += 1
        spec = {"priorityClassName": priority}
        if kind == "gang":
            pods = max(pods, 2)
            group = {"minMember": pods, "queue": queue, "priorityClassName": priority}
            about = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": name}}
            kai.apply({**about, "spec": group})
            for number in range(pods):
                kai.pod(f"{name}-{number}", labels={LABEL: queue}, annotations={"pod-group-name": name}, spec=spec)
        elif kind == "fraction":
            notes = {"gpu-fraction": f"0.{pods + 1}"}
            kai.pod(name, labels={LABEL: queue}, annotations=notes, requests={"cpu": "1"}, spec=spec)
        elif kind == "bare":
            kai.pod(name, labels={LABEL: queue}, requests={"cpu": "1", GPU: str(pods)}, spec=spec)
        else:
            container = {"name": "c", "image": "i", "resources": {"limits": {GPU: 1}}}
            pod = {**spec, "schedulerName": "kai-scheduler", "containers": [container]}
            template = {"metadata": {"labels": {LABEL: queue, "app": name}}, "spec": pod}
            about = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name}}
            kai.apply(
                {**about, "spec": {"replicas": pods, "selector": {"matchLabels": {"app": name}}, "template": template}}
            )

    def kill(self, number: int) -> None:
        pods = self.kai.store.list("pods", "default")
        if pods:
            self.kai.store.delete("pods", "default", pods[number % len(pods)]["metadata"]["name"])

    def break_gang(self, number: int) -> None:
        """Take a pod from a gang that runs."""
        running = [
            pod["metadata"]["name"]
            for pod in self.kai.store.list("pods", "default")
            if pod["status"].get("phase") == "Running" and "-" in pod["metadata"]["name"]
        ]
        if running:
            self.kai.store.delete("pods", "default", running[number % len(running)])

    def remove(self, number: int) -> None:
        owners = self.kai.store.list("replicasets.apps", "default")
        if owners:
            self.kai.store.delete("replicasets.apps", "default", owners[number % len(owners)]["metadata"]["name"])

    def switch(self, number: int, closed: bool) -> None:
        node = self.kai.store.get("nodes", "", f"kwok-node-{number % 2}")
        self.kai.store.update("nodes", {**node, "spec": {**node["spec"], "unschedulable": closed}})

    # -- what must hold ----------------------------------------------------------------------------------------------

    def check(self) -> None:
        pods = [pod for pod in self.kai.store.list("pods") if pod["status"].get("phase") not in ENDED]
        self.check_nodes(pods)
        self.check_queues(pods)
        self.check_gangs(pods)

    def check_nodes(self, pods: list[dict[str, Any]]) -> None:
        """Whole GPUs and reservations of a node are at most its GPUs, and parts of a GPU at most one."""
        whole: dict[str, int] = defaultdict(int)
        parts: dict[str, float] = defaultdict(float)
        for pod in pods:
            node = pod["spec"].get("nodeName")
            if node is not None:
                whole[node] += gpus_of(pod)
                group = pod["metadata"].get("labels", {}).get("runai-gpu-group")
                if group is not None:
                    parts[group] += float(pod["metadata"].get("annotations", {}).get("gpu-fraction", 0))
        assert all(gpus <= 4 for gpus in whole.values()), whole
        assert all(part <= 1.0001 for part in parts.values()), parts

    def check_queues(self, pods: list[dict[str, Any]]) -> None:
        """What is bound, or about to be, is within the limits of queues."""
        requests = {each["spec"]["podName"] for each in self.kai.store.list(BIND_REQUESTS)}
        held: dict[str, float] = defaultdict(float)
        for pod in pods:
            placed = pod["spec"].get("nodeName") or pod["metadata"]["name"] in requests
            if placed and "deletionTimestamp" not in pod["metadata"] and LABEL in pod["metadata"].get("labels", {}):
                part = float(pod["metadata"].get("annotations", {}).get("gpu-fraction", 0))
                held[pod["metadata"]["labels"][LABEL]] += gpus_of(pod) + part
        for name, limit in LIMITS.items():
            assert limit == -1 or held[name] <= limit + 1e-6, (name, held)
        assert {name: each["spec"]["resources"]["gpu"]["limit"] for name, each in self.queues().items()} == LIMITS

    def queues(self) -> dict[str, Any]:
        return {name: self.kai.store.get(QUEUES, "", name) for name in LIMITS}

    def check_gangs(self, pods: list[dict[str, Any]]) -> None:
        """A gang that has some of its pods and not enough of them has had that for no longer than the grace."""
        now = self.kai.clock.now() // 1_000_000
        active: dict[str, int] = defaultdict(int)
        for pod in pods:
            name = pod["metadata"].get("annotations", {}).get("pod-group-name", "")
            if pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]:
                active[name] += 1
        for group in self.kai.store.list(POD_GROUPS, "default"):
            name = group["metadata"]["name"]
            if 0 < active[name] < group["spec"].get("minMember", 1):
                since = self.half_bound.setdefault(name, now)
                assert now - since <= GRACE + SLACK, name
            else:
                self.half_bound.pop(name, None)

    def check_evictions(self) -> None:
        """What cannot be preempted goes only with a gang that is broken."""
        fixed = {
            each["metadata"]["name"]
            for each in self.kai.store.list(POD_GROUPS, "default")
            if each["spec"].get("priorityClassName") in ("build", "inference")
        }
        for event in self.kai.store.list("events", "default"):
            if event["reason"] == "Evict" and event["involvedObject"]["name"] in fixed:
                assert "minimum required number of pods" in event["message"]


def gpus_of(pod: dict[str, Any]) -> int:
    return sum(int(each.get("resources", {}).get("limits", {}).get(GPU, 0)) for each in pod["spec"]["containers"])


@pytest.mark.parametrize("profile", ["instant", "kubernetes"])
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example(steps=[("submit", ("gang", "b", 3, "build"), 0, 10), ("break", None, 0, 10)])
@given(steps=STEPS)
def test_no_rule_is_broken_at_any_second(profile: str, steps: list[Any]) -> None:
    watched = Watched(profile)
    for what, work, number, seconds in [*steps, ("wait", None, 0, GRACE + 20)]:
        if what == "submit":
            watched.submit(*work)
        elif what == "break":
            watched.break_gang(number)
        elif what == "kill":
            watched.kill(number)
        elif what == "remove":
            watched.remove(number)
        elif what in ("close", "open"):
            watched.switch(number, what == "close")
        for _ in range(seconds):
            watched.kai.advance(1)
            watched.check()
    watched.check_evictions()
