"""Why the pods of an owner wait, all of them together: a Job, a Deployment, or whatever else made pods.

The pods of an owner are found by their owner references, over several steps where there are (a Deployment's ReplicaSet,
a workload's Job). Those that wait, and those that a Job, Deployment, ReplicaSet or StatefulSet still lacks, are placed
one after another in a copy of the cluster by the default scheduler's own rules. So the answer is how many of them *fit
now*, why the first of the *rest* does not, and how many more nodes would be enough for all, which is tried out too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.drive.interface import PODS, Cluster, Refused
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.explain.copying import copy_cluster
from ghostfleet.lab.explain.kai import KaiExplanation
from ghostfleet.lab.explain.pod import PodExplanation, explain_pod, is_for_kai, judge, waits, without_looking
from ghostfleet.schedulers.framework import Profile
from ghostfleet.schedulers.kube.remedies import fresh_nodes
from ghostfleet.schedulers.kube.schedule_one import ScheduleAlgorithm

__all__ = ["MoreNodes", "OwnerExplanation", "explain_owner"]

#: Short names that kubectl has for owners, and their kinds.
_SHORT = {"deploy": "deployment", "rs": "replicaset", "sts": "statefulset", "ds": "daemonset", "cj": "cronjob"}
#: How far up owners are looked for, how many nodes are tried at most, and how many missing pods are imagined.
_STEPS, _MOST_NODES, _MOST_MISSING = 5, 256, 10_000


@dataclass(frozen=True, slots=True)
class MoreNodes:
    """So many more nodes of one shape place all pods."""

    count: int
    #: A node of this shape that is there.
    like: str


@dataclass(frozen=True, slots=True)
class OwnerExplanation:
    """What is the matter with the pods of an owner."""

    kind: str
    namespace: str
    name: str
    #: Pods by phase; those that have no node yet are `waiting`, whatever their phase.
    pods: dict[str, int]
    waiting: int
    #: Pods that the owner still lacks.
    missing: int
    #: How many of those that wait or are lacking have room now.
    fit_now: int
    verdict: str
    #: The first pod that has none, when all that fit are placed.
    first: PodExplanation | KaiExplanation | None = None
    nodes: MoreNodes | None = None


async def explain_owner(cluster: Cluster, kind: str, namespace: str, name: str) -> OwnerExplanation:
    """Explain the pods of an owner, by any name that its kind has."""
    wanted = _SHORT.get(kind.lower(), kind.lower())
    pods, owner = await _pods_of(cluster, wanted, namespace, name)
    if not pods and owner is None:
        raise LabError(
            f"no pod in namespace {namespace} belongs to {kind}/{name}, and there is no Job, Deployment, ReplicaSet or "
            "StatefulSet of that name; `kubectl get events` may say why nothing was made"
        )
    for_kai = [pod for pod in pods if waits(pod) and await is_for_kai(cluster, pod)]
    if for_kai:
        first = await explain_pod(cluster, namespace, for_kai[0]["metadata"]["name"])
        verdict = f"{len(for_kai)} of its pods wait for KAI; the first one: {first.verdict}"
        return OwnerExplanation(wanted, namespace, name, _phases(pods), len(for_kai), 0, 0, verdict, first)
    waiting = [pod for pod in pods if without_looking(pod) is None]
    lacking = _lacking(owner, pods) if owner is not None else []
    counts = _phases(pods)
    facts = (wanted, namespace, name, counts, len(waiting), len(lacking))
    if not waiting and not lacking:
        return OwnerExplanation(*facts, 0, _settled(counts))
    store = await copy_cluster(cluster)
    algorithm = ScheduleAlgorithm.from_store(store, Profile(), Random(0))
    rest = _place(algorithm, [*waiting, *lacking])
    total = len(waiting) + len(lacking)
    fit = total - len(rest)
    if not rest:
        return OwnerExplanation(*facts, fit, f"all {total} that wait fit now, and have only to be taken up")
    first = judge(algorithm, rest[0])
    verdict = f"{fit} of {total} that wait fit now; the next one: {first.verdict}"
    return OwnerExplanation(*facts, fit, verdict, first, _enough_nodes(algorithm, rest))


async def _pods_of(cluster: Cluster, kind: str, namespace: str, name: str) -> tuple[list[Object], Object | None]:
    """The pods that belong to an owner, oldest first, and the owner itself where it is one that says how many."""
    owners = _Owners(cluster, namespace)
    found = [pod for pod in await cluster.list(PODS, namespace) if await owners.lead_to(pod, kind, name)]
    known = _KINDS.get(kind.removesuffix("s"))
    owner = await owners.get(*known, name) if known is not None else None
    return sorted(found, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"])), owner


_KINDS = {
    "job": ("batch/v1", "Job"),
    "deployment": ("apps/v1", "Deployment"),
    "replicaset": ("apps/v1", "ReplicaSet"),
    "statefulset": ("apps/v1", "StatefulSet"),
}


class _Owners:
    """Owners of one namespace, each asked for once."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._seen: dict[tuple[str, str, str], Object | None] = {}

    async def lead_to(self, obj: Object, kind: str, name: str, steps: int = _STEPS) -> bool:
        """Whether an object belongs to an owner, or to one that does."""
        for reference in obj["metadata"].get("ownerReferences") or ():
            if reference["name"] == name and kind in (reference["kind"].lower(), f"{reference['kind'].lower()}s"):
                return True
            if steps and reference["kind"] != "Node":
                above = await self.get(reference["apiVersion"], reference["kind"], reference["name"])
                if above is not None and await self.lead_to(above, kind, name, steps - 1):
                    return True
        return False

    async def get(self, api_version: str, kind: str, name: str) -> Object | None:
        key = (api_version, kind, name)
        if key not in self._seen:
            self._seen[key] = await self._asked(*key)
        return self._seen[key]

    async def _asked(self, api_version: str, kind: str, name: str) -> Object | None:
        where = await self._cluster.resolve(api_version, kind)
        if where is None:
            return None
        try:
            return await self._cluster.get(where, self._namespace, name)
        except Refused as refusal:
            if refusal.code not in (403, 404):
                raise
            return None


def _lacking(owner: Object, pods: list[Object]) -> list[Object]:
    """Pods that the owner is to have and that are not there, as its template says they would be."""
    spec, status = owner["spec"], owner.get("status") or {}
    if owner["kind"] == "Job":
        if spec.get("suspend") or any(_is_true(each, "Complete", "Failed") for each in status.get("conditions") or ()):
            return []
        wanted = min(spec.get("parallelism", 1), _left_of(spec, status))
    else:
        wanted = spec.get("replicas", 1)
    alive = sum((pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed") for pod in pods)
    missing = range(min(max(0, wanted - alive), _MOST_MISSING))
    return [_imagined(owner, spec["template"], number) for number in missing]


def _left_of(spec: Object, status: Object) -> int:
    completions = spec.get("completions")
    return (
        int(completions) - int(status.get("succeeded") or 0) if completions is not None else spec.get("parallelism", 1)
    )


def _is_true(condition: Object, *types: str) -> bool:
    return condition["type"] in types and condition["status"] == "True"


def _imagined(owner: Object, template: Object, number: int) -> Object:
    given: dict[str, Any] = template.get("metadata") or {}
    name = f"{owner['metadata']['name']}-missing-{number}"
    metadata = {**given, "name": name, "namespace": owner["metadata"]["namespace"], "uid": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"], "status": {}}


def _phases(pods: list[Object]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for pod in pods:
        phase = (pod.get("status") or {}).get("phase", "Pending")
        counts[phase] = counts.get(phase, 0) + 1
    return dict(sorted(counts.items()))


def _settled(counts: dict[str, int]) -> str:
    if not counts:
        return "it asks for no pods"
    return "none of its pods waits for a node: " + ", ".join(f"{count} {phase}" for phase, count in counts.items())


def _node_for(algorithm: ScheduleAlgorithm, pod: Object) -> str | None:
    return algorithm.schedule(algorithm.framework_of(pod).cycle_state(pod), pod).node


def _place(algorithm: ScheduleAlgorithm, pods: list[Object]) -> list[Object]:
    """Place pods one after another; answers those that found no node."""
    rest = []
    for pod in pods:
        node = _node_for(algorithm, pod)
        if node is None:
            rest.append(pod)
        else:
            algorithm.snapshot.assume(pod, node)
    return rest


def _enough_nodes(algorithm: ScheduleAlgorithm, rest: list[Object]) -> MoreNodes | None:
    """The smallest number of more nodes of one shape that place the rest; the snapshot keeps what was tried."""
    best: MoreNodes | None = None
    for like, fresh in fresh_nodes(algorithm.snapshot):
        most = best.count - 1 if best is not None else _MOST_NODES
        count = _needed(algorithm, rest, fresh, most)
        if count is not None:
            best = MoreNodes(count, like)
    return best


def _needed(algorithm: ScheduleAlgorithm, rest: list[Object], fresh: Object, most: int) -> int | None:
    snapshot, left = algorithm.snapshot, rest
    added: list[str] = []
    placed: list[Any] = []
    try:
        while left and len(added) < most:
            node = _numbered(fresh, len(added))
            snapshot.put_node(node)
            added.append(node["metadata"]["name"])
            before = len(left)
            left = list(_unplaced(algorithm, left, placed))
            if len(left) == before:
                return None
        return len(added) if not left else None
    finally:
        for pod in placed:
            snapshot.remove(pod)
        for name in added:
            snapshot.drop_node(name)


def _unplaced(algorithm: ScheduleAlgorithm, pods: list[Object], placed: list[Any]) -> Iterator[Object]:
    for index, pod in enumerate(pods):
        node = _node_for(algorithm, pod)
        if node is None:
            # Those after it are as large or larger more often than not; the next node will tell.
            yield from pods[index:]
            return
        placed.append(algorithm.snapshot.assume(pod, node))


def _numbered(fresh: Object, number: int) -> Object:
    name = f"{fresh['metadata']['name']}-{number}"
    labels = {**(fresh["metadata"].get("labels") or {}), "kubernetes.io/hostname": name}
    return {**fresh, "metadata": {**fresh["metadata"], "name": name, "uid": name, "labels": labels}}
