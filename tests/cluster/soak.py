"""A soak: minutes of mixed work on a cluster, whichever it is, and what is there at its end.

Pods pend for want of room, end and fail; nodes fail and return; a Deployment rolls; pods are deleted under way. Every
minute a Job has to complete, which is how a cluster that stands still is noticed. All waiting is for conditions, with a
patience in looks and not in seconds, so that a busy machine only takes longer. What is left at the end depends on the
minutes alone: not on where pods were placed, nor on how fast the cluster was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from ghostfleet.core.clock import SECOND
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.drive.interface import DEPLOYMENTS, JOBS, NODES, PODS, Cluster, Kind
from ghostfleet.stages.nodes import FAILED_ANNOTATION

DAEMONSETS = Kind("apps", "v1", "daemonsets")
SERVICES = Kind("", "v1", "services")
ENDPOINTS = Kind("", "v1", "endpoints")
BUDGETS = Kind("policy", "v1", "poddisruptionbudgets")

NODE_COUNT = 6
#: Nodes that never fail, for the Jobs that must complete every minute.
STEADY = ("kwok-node-0", "kwok-node-1", "kwok-node-2")
PATIENCE = 5_000

Object = dict[str, Any]


@dataclass
class Soak:
    """One run; `look` is called at the end of every minute."""

    cluster: Cluster
    minutes: int
    look: Callable[[], Awaitable[None]]
    #: Seconds of cluster time that each minute's Job took.
    took: list[float] = field(default_factory=list)

    async def run(self) -> Object:
        """Play all minutes; answers what is there at the end."""
        await self._prepare()
        start = self.cluster.now()
        for minute in range(self.minutes):
            await self.cluster.sleep(max(0, start + minute * 60 * SECOND - self.cluster.now()))
            await self._act(minute)
            await self._tick(minute)
            await self.look()
        for number in range(len(STEADY), NODE_COUNT):
            await self._mark(f"kwok-node-{number}", failed=False)
        await self._until("all is as it should be", self._is_settled)
        return await self._summary()

    # -- acting ------------------------------------------------------------------------------------------------------

    async def _prepare(self) -> None:
        await self._until("nodes are ready", self._nodes_are_ready)
        everywhere = [{"operator": "Exists"}]
        # With it no node ever has eight GPUs to give, so that the large ones wait for ever.
        daemon = template("daemon", gpus=1, tolerations=everywhere)
        await self._create(DAEMONSETS, "daemon", {"selector": selector("daemon"), "template": daemon})
        for name, replicas, gpus in (("web", 4, 0), ("small", 12, 1), ("large", 3, 8)):
            spec = {"replicas": replicas, "selector": selector(name), "template": template(name, gpus)}
            await self._create(DEPLOYMENTS, name, spec)
        for name in ("daemon", "web"):
            await self._create(SERVICES, name, {"selector": {"app": name}, "ports": [{"port": 80}]})
            await self._create(BUDGETS, name, {"minAvailable": 1, "selector": selector(name)})

    async def _act(self, minute: int) -> None:
        shaky = f"kwok-node-{len(STEADY) + minute // 5 % (NODE_COUNT - len(STEADY))}"
        # For two minutes; once in a while for longer than pods tolerate it.
        if minute % 5 == 0:
            await self._mark(shaky, failed=True)
        if minute % 5 == 2 and minute % 20 > 5:
            await self._mark(shaky, failed=False)
        if minute % 20 == 8:
            await self._mark("kwok-node-3", failed=False)
        if minute % 4 == 1:
            metadata = {"annotations": {"rolled": str(minute)}}
            await self.cluster.patch(DEPLOYMENTS, "default", "web", {"spec": {"template": {"metadata": metadata}}})
        if minute % 3 == 2:
            small = await self.cluster.list(PODS, "default", "app=small")
            await self.cluster.delete(PODS, "default", small[minute % len(small)]["metadata"]["name"])
        if minute % 3 == 1:
            failing = {"ghostfleet.dev/failure-probability": "1"}
            await self._job(f"fails-{minute}", template("fails", annotations=failing), backoffLimit=1)
        if minute % 10 == 4:
            # More than there is room for at once.
            burst = template("burst", gpus=4, annotations={"ghostfleet.dev/duration": "20s"})
            await self._job(f"burst-{minute}", burst, completions=15, parallelism=15, backoffLimit=100)

    async def _tick(self, minute: int) -> None:
        """A Job that has to complete, whatever else happens."""
        affinity = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(STEADY)}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {}}
        required["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [{"matchExpressions": [affinity]}]
        }
        pods = template("tick", annotations={"ghostfleet.dev/duration": "10s"}, affinity={"nodeAffinity": required})
        name = f"tick-{minute}"
        await self._job(name, pods, completions=2, parallelism=2)

        async def complete() -> bool:
            return "completionTime" in (await self.cluster.get(JOBS, "default", name))["status"]

        await self._until(f"Job {name} is complete", complete)
        job = await self.cluster.get(JOBS, "default", name)
        times = (job["status"]["completionTime"], job["metadata"]["creationTimestamp"])
        self.took.append((parse_rfc3339(times[0]) - parse_rfc3339(times[1])) / SECOND)

    async def _job(self, name: str, pods: Object, **spec: Any) -> None:
        pods["spec"]["restartPolicy"] = "Never"
        await self._create(JOBS, name, {**spec, "template": pods})

    async def _create(self, kind: Kind, name: str, spec: Object) -> None:
        await self.cluster.create(kind, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})

    async def _mark(self, node: str, *, failed: bool) -> None:
        mark = {FAILED_ANNOTATION: "true" if failed else None}
        await self.cluster.patch(NODES, "", node, {"metadata": {"annotations": mark}})

    async def _until(self, what: str, reached: Callable[[], Awaitable[bool]]) -> None:
        for _ in range(PATIENCE):
            if await reached():
                return
            await self.cluster.sleep(2 * SECOND)
        raise AssertionError(f"in vain: waited until {what}; there is {await self._summary()}")

    # -- looking -----------------------------------------------------------------------------------------------------

    async def _nodes_are_ready(self) -> bool:
        nodes = await self.cluster.list(NODES)
        return len(nodes) == NODE_COUNT and all(is_ready(node) for node in nodes)

    async def _is_settled(self) -> bool:
        there = await self._summary()
        return (
            there["nodes"] == dict.fromkeys(there["nodes"], (True, ()))
            and set(there["jobs"].values()) <= {"Complete", "Failed"}
            and there["ready"] == {"web": 4, "small": 12, "large": 0, "daemon": NODE_COUNT}
            and there["endpoints"] == {"web": 4, "daemon": NODE_COUNT}
            and there["healthy"] == {"web": 4, "daemon": NODE_COUNT}
            and there["pods"].get(("daemon", "Running")) == NODE_COUNT
            and there["pods"].get(("web", "Running")) == 4
        )

    async def _summary(self) -> Object:
        """What is there, as far as it does not depend on chance."""
        jobs, pods, nodes, budgets = [
            await self.cluster.list(kind, namespace)
            for kind, namespace in ((JOBS, "default"), (PODS, "default"), (NODES, ""), (BUDGETS, "default"))
        ]
        deployments = await self.cluster.list(DEPLOYMENTS, "default")
        (daemon,) = await self.cluster.list(DAEMONSETS, "default")
        endpoints = {name: await self.cluster.get(ENDPOINTS, "default", name) for name in ("web", "daemon")}
        return {
            "nodes": {
                node["metadata"]["name"]: (is_ready(node), tuple(node["spec"].get("taints") or ())) for node in nodes
            },
            "jobs": {job["metadata"]["name"]: ending(job) for job in jobs},
            "pods": dict(
                Counter(
                    (pod["metadata"]["labels"]["app"], pod["status"]["phase"])
                    for pod in pods
                    # How often others were tried again depends on where they were when a node failed.
                    if pod["metadata"]["labels"]["app"] not in ("burst", "fails")
                )
            ),
            "ready": {
                **{each["metadata"]["name"]: each["status"].get("readyReplicas", 0) for each in deployments},
                "daemon": daemon["status"]["numberReady"],
            },
            "revisions": {
                each["metadata"]["name"]: each["metadata"]["annotations"]["deployment.kubernetes.io/revision"]
                for each in deployments
            },
            "endpoints": {
                name: sum(len(subset.get("addresses") or ()) for subset in each.get("subsets") or ())
                for name, each in endpoints.items()
            },
            "healthy": {each["metadata"]["name"]: each["status"]["currentHealthy"] for each in budgets},
        }


def selector(app: str) -> Object:
    return {"matchLabels": {"app": app}}


def template(app: str, gpus: int = 0, annotations: Object | None = None, **spec: Any) -> Object:
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    containers = [{"name": "main", "image": "trainer", "resources": resources}]
    metadata = {"labels": {"app": app}, "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"containers": containers, **spec}}


def is_ready(node: Object) -> bool:
    conditions = node.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def ending(job: Object) -> str:
    conditions = job["status"].get("conditions") or ()
    return next((each["type"] for each in conditions if each["type"] in ("Complete", "Failed")), "")
