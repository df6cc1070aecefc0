"""predicates: what a node must fulfil besides room.

The queue's capacity on that node, rules of MIG, GPU memory that is known, the number of pods (a new shared GPU needs a
second one for its reservation), the node's conditions, and the rules of Kubernetes: ports, taints, node affinity, other
pods, volumes, config maps.
"""

from __future__ import annotations

from collections.abc import Iterable

from ghostfleet.schedulers.framework.nodematcher import untolerated
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.pod_info import MIG_INSTANCE, REGULAR, PodInfo
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.pods import PodAffinityTerm, are_ports_taken, matches_node, reaches_volumes
from ghostfleet.schedulers.kai.resources import Resource, ResourceRequirements, humanize
from ghostfleet.schedulers.kai.session import Session

__all__ = ["Predicates"]

GPU_WORKER_LABEL = "node-role.kubernetes.io/gpu-worker"
CPU_WORKER_LABEL = "node-role.kubernetes.io/cpu-worker"
EXCLUDING_EFFECTS = ("NoSchedule", "NoExecute")


class Predicates:
    def on_session_open(self, session: Session) -> None:
        self._session = session
        self._most = Resource()
        for node in session.nodes.values():
            self._most.raise_to(node.allocatable)
        #: Node affinity and taints of a kind of pod on a node do not change in a session.
        self._fixed: dict[tuple[object, ...], dict[str, str | None]] = {}
        self._anti_affine: bool | None = None
        session.pre_predicates.append(self._pre_filter)
        session.predicates.append(self._filter)

    def _pre_filter(self, task: PodInfo, _job: PodGroupInfo) -> str | None:
        refusal = self._missing_config_map(task) or self._too_large(task)
        if refusal is None:
            return None
        name = f"{task.pod.namespace}/{task.pod.name}"
        return f"Scheduling conditions were not met for pod {name}:\n{refusal}\n"

    def _missing_config_map(self, task: PodInfo) -> str | None:
        missing = [name for name in task.pod.config_maps if name not in self._session.cluster.config_maps]
        return f"ConfigMap: Missing required configmaps: {missing}." if missing else None

    def _too_large(self, task: PodInfo) -> str | None:
        """Whether no node could take the task even if it were empty."""
        request, most = task.pod.request, self._most
        if request.device_gpus > most.gpus:
            return self._told(task, "GPU", most.gpus, "")
        if request.cpu > most.cpu:
            return self._told(task, "CPU", most.cpu / 1000, " cores")
        if request.memory > most.memory:
            return self._told(task, "memory", most.memory / 1e9, " GB")
        for name, count in request.scalars.items():
            if count > most.scalars.get(name, 0):
                return self._told(task, name, 0, "")
        return None

    def _told(self, task: PodInfo, resource: str, most: float, unit: str) -> str:
        pool = self._session.config.node_pool or "default"
        told = f"MaxNodePoolResources: The pod {task.pod.namespace}/{task.pod.name} requires {_amounts(task)}. "
        if most == 0:
            return f"{told}No node in the {pool} node-pool has {resource} resources."
        available = f"{resource} resources available in a single node in the {pool} node-pool"
        return f"{told}Max {available} is topped at {humanize(most)}{unit}."

    def _filter(self, task: PodInfo, job: PodGroupInfo, node: NodeInfo) -> str | None:
        pod = task.pod
        over = self._session.task_over_capacity(task, job, node)
        if over is not None:
            return f"node does not have enough capacity. Reason: {over.reason}, Details: {over.message}"
        refusal = _by_resource_type(task, node)
        if refusal is not None:
            return refusal
        if pod.request.gpu_memory > 0 and not node.gpu_memory_synced:
            return (
                "node is not a gpu node or the gpu memory count on the node was not synced yet, "
                f"task: <{pod.namespace}/{pod.name}>, node: <{node.name}>"
            )
        if len(node.tasks) + (2 if pod.is_shared_request else 1) > node.max_tasks:
            return "node(s) pod number exceeded"
        if node.not_ready:
            return ", ".join(node.not_ready)
        return self._fixed_refusal(task, node) or self._by_neighbours(task, node) or self._by_role(task, node)

    def _fixed_refusal(self, task: PodInfo, node: NodeInfo) -> str | None:
        affinity = task.pod.affinity
        if not affinity.is_required and not node.taints:
            return None
        known = self._fixed.setdefault(affinity.signature, {})
        if node.name not in known:
            known[node.name] = _by_labels_and_taints(task, node)
        return known[node.name]

    def _by_neighbours(self, task: PodInfo, node: NodeInfo) -> str | None:
        affinity = task.pod.affinity
        others = [each for each in node.tasks.values() if each.uid != task.uid]
        if affinity.host_ports and are_ports_taken(
            affinity.host_ports, (port for other in others for port in other.pod.affinity.host_ports)
        ):
            return "node(s) didn't have free ports for the requested pod ports"
        if affinity.pod_affinity and not self._is_near(task, node):
            return "node(s) didn't match pod affinity rules"
        if affinity.pod_anti_affinity and self._is_near_any(task, affinity.pod_anti_affinity, node):
            return "node(s) didn't match pod anti-affinity rules"
        if self._there_is_anti_affinity() and self._is_unwelcome(task, node):
            return "node(s) didn't satisfy existing pods anti-affinity rules"
        return None

    def _there_is_anti_affinity(self) -> bool:
        if self._anti_affine is None:
            tasks = (task for job in self._session.jobs.values() for task in job.tasks())
            self._anti_affine = any(task.pod.affinity.pod_anti_affinity for task in tasks)
        return self._anti_affine

    def _is_near(self, task: PodInfo, node: NodeInfo) -> bool:
        """Every term must find a pod in the node's domain; a first pod that would match itself is let through."""
        terms = task.pod.affinity.pod_affinity
        if all(self._is_near_any(task, (term,), node) for term in terms):
            return True
        if any(term.topology_key not in node.labels for term in terms):
            return False
        matches_itself = all(_selects(task, term, task) for term in terms)
        return matches_itself and not any(
            _selects(task, term, other) for term in terms for other in self._everyone() if other.uid != task.uid
        )

    def _is_near_any(self, task: PodInfo, terms: Iterable[PodAffinityTerm], node: NodeInfo) -> bool:
        return any(
            _selects(task, term, other) for term in terms for other in self._in_domain(term.topology_key, node, task)
        )

    def _is_unwelcome(self, task: PodInfo, node: NodeInfo) -> bool:
        return any(
            _selects(other, term, task)
            for other in self._everyone()
            if other.uid != task.uid
            for term in other.pod.affinity.pod_anti_affinity
            if term.topology_key in node.labels
            and self._session.nodes[other.node].labels.get(term.topology_key) == node.labels[term.topology_key]
        )

    def _everyone(self) -> Iterable[PodInfo]:
        return (task for node in self._session.nodes.values() for task in node.tasks.values())

    def _in_domain(self, key: str, node: NodeInfo, task: PodInfo) -> Iterable[PodInfo]:
        value = node.labels.get(key)
        if value is None:
            return ()
        return (
            other
            for each in self._session.nodes.values()
            if each.labels.get(key) == value
            for other in each.tasks.values()
            if other.uid != task.uid
        )

    def _by_role(self, task: PodInfo, node: NodeInfo) -> str | None:
        if not self._session.config.restrict_node_scheduling:
            return None
        pod = task.pod
        kind, label = ("gpu", GPU_WORKER_LABEL) if pod.requires_gpu else ("cpu", CPU_WORKER_LABEL)
        if label in node.labels:
            return None
        return f"{kind} task: <{pod.namespace}/{pod.name}> can't run on non {kind} nodes, node: <{node.name}>"


def _by_resource_type(task: PodInfo, node: NodeInfo) -> str | None:
    pod = task.pod
    if pod.legacy_mig:
        return f"Legacy MIG jobs cannot be scheduled on node {node.name}"
    if not pod.requires_gpu:
        return None
    if pod.request.gpus > 0 and node.has_dra_gpus:
        return "device-plugin GPU requests cannot be scheduled on DRA-only nodes"
    if not node.is_mig_enabled:
        return "MIG job cannot be scheduled on non-MIG node" if pod.request_type == MIG_INSTANCE else None
    if pod.request_type == MIG_INSTANCE and node.legacy_mig_tasks:
        tasks = " ".join(node.legacy_mig_tasks.values())
        return f"MIG job cannot be scheduled on node with legacy MIG jobs: <[{tasks}]>"
    if node.mig_strategy == "single" and pod.request_type != REGULAR:
        return "only whole gpu jobs can run on a node with MigStrategy='single'"
    if node.mig_strategy == "mixed" and pod.request_type != MIG_INSTANCE:
        return "non MIG jobs cant run on a node with MigStrategy='mixed'"
    return None


def _by_labels_and_taints(task: PodInfo, node: NodeInfo) -> str | None:
    affinity = task.pod.affinity
    for taint in node.taints:
        if untolerated([dict(taint)], [dict(each) for each in affinity.tolerations], EXCLUDING_EFFECTS):
            return f"node(s) had untolerated taint {{{taint.get('key')}: {taint.get('value', '')}}}"
    if not matches_node(affinity, node.name, node.labels):
        return "node(s) didn't match Pod's node affinity/selector"
    if not reaches_volumes(affinity, node.name, node.labels):
        return "node(s) didn't match PersistentVolume's node affinity"
    return None


def _selects(holder: PodInfo, term: PodAffinityTerm, other: PodInfo) -> bool:
    namespaces = term.namespaces or (holder.pod.namespace,)
    return other.pod.namespace in namespaces and term.selects(other.pod.labels)


def _amounts(task: PodInfo) -> str:
    request: ResourceRequirements = task.pod.request
    cpu, memory, gpus = request.quantities
    told = [
        f"GPU: {humanize(gpus)}",
        f"CPU: {humanize(cpu, 1000)} (cores)",
        f"memory: {humanize(memory, 1e9)} (GB)",
        f"pods: {request.pods}",
        *[f"{name}: {count} (GB)" for name, count in request.scalars.items()],
        *[f"mig {name}: {count}" for name, count in request.mig.items()],
    ]
    return ", ".join(told)
