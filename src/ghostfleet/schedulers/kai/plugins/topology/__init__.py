"""topology: which domains of a topology a part of a job may be placed in, and in which order they are tried.

The narrowest allowed level first, and within a level the domain that the job would fill most. A preferred level also
scores nodes. Pods of a required level that run already pin the others to their domain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ghostfleet.schedulers.kai.fit_errors import POD_SCHEDULING_ERRORS, UNSCHEDULABLE_WORKLOAD, JobFitError
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.plugins.scores import TOPOLOGY
from ghostfleet.schedulers.kai.plugins.topology.accommodation import (
    are_alike,
    count_allocatable,
    ratio_to_free,
    sum_of_tasks,
)
from ghostfleet.schedulers.kai.plugins.topology.domains import NOT_SET, ROOT, Domain, TopologyTree, is_part_of
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.pod_status import ACTIVE_ALLOCATED
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.resources import Resource
from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.subgroup_info import DEFAULT_SUB_GROUP, PodSet, SubGroupSet, TopologyConstraint

__all__ = ["TopologyPlugin"]


class TopologyPlugin:
    def on_session_open(self, session: Session) -> None:
        self._session = session
        self._trees: dict[str, TopologyTree] = {}
        #: By sub group, the scores of nodes.
        self._scores: dict[str, dict[str, float]] = {}
        session.subset_nodes_fns.append(self._subset_nodes)
        session.node_order.add_group_score(self._has_scores, self._score)
        session.pre_job_allocation_fns.append(lambda _job: self._scores.clear())

    def _tree(self, name: str) -> TopologyTree | None:
        if name not in self._trees:
            topology = self._session.cluster.topologies.get(name)
            if topology is None:
                return None
            self._trees[name] = TopologyTree(topology, self._session.nodes.values())
        return self._trees[name]

    def _subset_nodes(
        self,
        job: PodGroupInfo,
        sub_group: PodSet | SubGroupSet,
        pod_sets: Sequence[PodSet],
        tasks: Sequence[PodInfo],
        nodes: Sequence[NodeInfo],
    ) -> list[Sequence[NodeInfo]]:
        constraint = sub_group.topology
        if constraint is None or not constraint.topology:
            return [nodes]
        tree = self._tree(constraint.topology)
        if tree is None:
            job.add_fit_error(_error(f"Requested topology {constraint.topology} does not exist"))
            return []
        if not tasks:
            return [nodes]
        valid = [node for node in nodes if is_part_of(node, tree.levels)]
        common = tree.lowest_common(valid, constraint.preferred)
        if common is None:
            return []
        domains = self._domains(job, sub_group, constraint, tree, common, pod_sets, tasks)
        names = {node.name for node in valid}
        return [[node for node in domain.nodes.values() if node.name in names] for domain in domains]

    def _domains(
        self,
        job: PodGroupInfo,
        sub_group: PodSet | SubGroupSet,
        constraint: TopologyConstraint,
        tree: TopologyTree,
        common: Domain,
        pod_sets: Sequence[PodSet],
        tasks: Sequence[PodInfo],
    ) -> list[Domain]:
        """The domains that can take the tasks, in the order in which they are tried."""
        tree.reset()
        common.count_free()
        if are_alike(tasks):
            count_allocatable(tasks, common)
        asked = sum_of_tasks(tasks)
        if _misfit(asked, len(tasks), common) is not None:
            where = "the cluster" if common.id == ROOT else common.id
            told = _no_match(job, sub_group, constraint, tree)
            job.add_fit_error(_error(f"{told}: not enough resources in {where} to allocate the job"))
            return []
        _sort(asked, common, constraint.preferred or constraint.required)
        if constraint.preferred:
            self._scores[sub_group.name] = _node_scores(common, constraint.preferred)
        levels = _relevant_levels(constraint, tree)
        found = _fitting_domains(job, constraint, tree, levels, pod_sets, asked, len(tasks))
        if not found:
            job.add_fit_error(_error(_no_match(job, sub_group, constraint, tree)))
        wanted = set(map(id, found))
        return [domain for domain in tree.from_the_bottom() if id(domain) in wanted]

    def _has_scores(self, task: PodInfo) -> bool:
        return bool(self._scores) and self._scores_of(task) is not None

    def _score(self, task: PodInfo, node: NodeInfo) -> float | None:
        """Nodes outside of the domains that were scored are left out."""
        scores = self._scores_of(task)
        return 0.0 if scores is None else scores.get(node.name)

    def _scores_of(self, task: PodInfo) -> dict[str, float] | None:
        group: PodSet | SubGroupSet | None
        group = self._session.jobs[task.pod.job].pod_sets.get(task.pod.sub_group or DEFAULT_SUB_GROUP)
        while group is not None:
            if group.name in self._scores:
                return self._scores[group.name]
            group = group.parent
        return None


def _fitting_domains(
    job: PodGroupInfo,
    constraint: TopologyConstraint,
    tree: TopologyTree,
    levels: Sequence[str],
    pod_sets: Sequence[PodSet],
    asked: Resource,
    count: int,
) -> list[Domain]:
    running = [task for pod_set in pod_sets for task in pod_set.tasks.values() if task.status & ACTIVE_ALLOCATED]
    found: list[Domain] = []
    misfits: list[JobFitError] = []
    for level in levels:
        for domain in tree.by_level.get(level, {}).values():
            if running and constraint.required and not _holds_running(tree, constraint.required, domain, running):
                continue
            misfit = _misfit(asked, count, domain)
            if misfit is None:
                found.append(domain)
            elif level == levels[-1]:
                misfits.append(misfit)
    if not found:
        for misfit in misfits:
            job.add_fit_error(misfit)
    return found


def _holds_running(tree: TopologyTree, required: str, domain: Domain, running: Sequence[PodInfo]) -> bool:
    """Whether a domain lies in one of the required level that has pods of the job already."""
    for above in tree.by_level.get(required, {}).values():
        if any(task.node in above.nodes for task in running) and any(each is domain for each in above.subtree()):
            return True
    return False


def _misfit(asked: Resource, count: int, domain: Domain) -> JobFitError | None:
    if domain.allocatable_pods != NOT_SET:
        if domain.allocatable_pods >= count:
            return None
        told = f"node-group {domain.id} can allocate only {domain.allocatable_pods} of {count} required pods"
        return JobFitError(UNSCHEDULABLE_WORKLOAD, (told,), domain.id)
    if ratio_to_free(asked, domain) <= 1:
        return None
    return JobFitError(UNSCHEDULABLE_WORKLOAD, tuple(_shortages(asked, domain.free)), domain.id)


def _shortages(asked: Resource, free: Resource) -> list[str]:
    found = [f"mig profile: {name}" for name, count in asked.mig.items() if free.scalars.get(name, 0) < count]
    if not asked.mig and asked.gpus > free.gpus:
        found.append("GPUs")
    if int(asked.cpu) > int(free.cpu):
        found.append("CPU cores")
    if asked.memory > free.memory:
        found.append("memory")
    return [f"node-group(s) didn't have enough resources: {name}" for name in found]


def _sort(asked: Resource, domain: Domain, deepest: str) -> None:
    """Order domains by how full the job would make them, down to a level."""
    ratios = {child.id: ratio_to_free(asked, child) for child in domain.children}
    domain.children.sort(key=lambda child: (-ratios[child.id], child.id))
    if domain.level != deepest:
        for child in domain.children:
            _sort(asked, child, deepest)


def _node_scores(domain: Domain, preferred: str) -> dict[str, float]:
    """Steps of ten over the domains of the preferred level, in the order of the tree."""
    domains = list(domain.at_level(preferred))
    return {
        name: math.floor(index / len(domains) * 10) * TOPOLOGY
        for index, each in enumerate(domains, 1)
        for name in each.nodes
    }


def _relevant_levels(constraint: TopologyConstraint, tree: TopologyTree) -> list[str]:
    """From the preferred level up to the required one, or to the root; none if a level is not there."""
    found: list[str] = []
    for level in (*reversed(tree.levels), ROOT):
        if level in (constraint.preferred, constraint.required) or found:
            found.append(level)
        if level == constraint.required:
            break
    missing = [level for level in (constraint.preferred, constraint.required) if level and level not in found]
    return [] if missing else found


def _no_match(
    job: PodGroupInfo, sub_group: PodSet | SubGroupSet, constraint: TopologyConstraint, tree: TopologyTree
) -> str:
    what = f"job <{job.namespace}/{job.name}>"
    if sub_group.name and sub_group.name != DEFAULT_SUB_GROUP:
        what += f", subgroup {sub_group.name}"
    return f"topology {tree.name}, requirement {constraint.required} couldn't be satisfied for {what}"


def _error(message: str) -> JobFitError:
    return JobFitError(POD_SCHEDULING_ERRORS, (message,))
