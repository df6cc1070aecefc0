"""Cases of KAI: tables with expected results, scenarios with the state after every action, and vectors of single
functions.

A case gives nodes, queues and jobs; it is run in rounds, each on a snapshot built from what the last one left: a pod
that is being bound runs, one that was evicted or waits for a place is pending again. This mirrors how KAI's own tests
build their sessions, down to the odd figure that a fractional job has as its allocation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from ghostfleet.schedulers.kai.actions import ACTIONS
from ghostfleet.schedulers.kai.claims import ResourceClaim
from ghostfleet.schedulers.kai.cluster_info import ClusterInfo, Topology
from ghostfleet.schedulers.kai.conf import PROFILES, PluginOption, SchedulerConfiguration
from ghostfleet.schedulers.kai.cycle import open_session
from ghostfleet.schedulers.kai.fit_errors import detailed_message
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.plugins.proportion.queue_order import Standing, compare_queues, minus, plus
from ghostfleet.schedulers.kai.plugins.proportion.reclaimable import Reclaimer, Victim, can_reclaim, is_reclaimable
from ghostfleet.schedulers.kai.plugins.proportion.resource_division import divide_resource
from ghostfleet.schedulers.kai.plugins.proportion.resource_share import QueueAttributes
from ghostfleet.schedulers.kai.pod_info import FRACTION, Pod, PodInfo
from ghostfleet.schedulers.kai.pod_status import (
    ACTIVE_USED,
    ALLOCATED_STATUSES,
    BINDING,
    NAMES,
    PENDING,
    PIPELINED,
    RELEASING,
    RUNNING,
    STATUSES,
)
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.pods import Affinity, NodeSelectorTerm, PodAffinityTerm
from ghostfleet.schedulers.kai.queue_info import QueueInfo, ResourceQuota
from ghostfleet.schedulers.kai.resources import Resource, ResourceRequirements
from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.subgroup_info import PodSet, SubGroupSet, TopologyConstraint

Case = dict[str, Any]
#: By task: status, node, GPU groups.
State = dict[str, tuple[int, str, tuple[str, ...]]]

NOW = 1_000_000.0
MINUTE = 60.0


def run(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The asserted cases, scenarios or vectors of a file, each with what was wrong."""
    found = json.loads(path.read_text())
    if "vectors" in found:
        yield from run_vectors(found["vectors"])
        return
    for case in found["cases"]:
        if case["asserted"]:
            yield case["id"], run_case(case)
        elif "roundsByAction" in case.get("oracle", {}):
            yield case["id"], run_scenario(case)


# -- table cases ---------------------------------------------------------------------------------------------------


def run_case(case: Case) -> list[str]:
    """Run a case with expectations."""
    state = initial_state(case)
    if case["kind"] == "unit":
        session = _round(case, state)
        return [*_check(case, session), *_check_counts(case, session)]
    problems: list[str] = []
    session = None
    for _ in range(case["rounds"]["untilMatch"]):
        session = _round(case, state)
        problems += _check_counts(case, session)
        state = _fed_back(case, session)
    rebuilt = _session(case, state)
    for uid, job in session.jobs.items() if session else ():
        rebuilt.jobs[uid].fit_errors = job.fit_errors
    problems += _check(case, rebuilt)
    for number in range(case["rounds"]["afterMatch"]):
        session = _round(case, state)
        problems += [f"round {number + 1} after the match: {problem}" for problem in _check(case, session)]
        problems += _check_counts(case, session)
        state = _fed_back(case, session)
    return problems


def _check(case: Case, session: Session) -> list[str]:
    expected = case["expected"]
    problems: list[str] = []
    for name, wanted in expected["jobs"].items():
        job = session.jobs[name]
        tasks = list(job.tasks())
        for task in tasks:
            problems += _check_task(task, wanted)
        problems += _check_amounts(name, tasks, wanted)
        message = wanted.get("errorMessage")
        if message and detailed_message(job.fit_errors) != message:
            problems.append(f"{name}: told {detailed_message(job.fit_errors)!r}, expected {message!r}")
    for name, wanted in expected["tasks"].items():
        task = _task(session, name)
        if task is not None:
            problems += _check_task(task, wanted)
            problems += _check_amounts(name, [task], wanted)
    for name, wanted in expected["nodes"].items():
        node = session.nodes[name]
        if (node.idle.gpus, node.releasing.gpus) != (wanted["idleGpus"], wanted["releasingGpus"]):
            problems.append(f"{name}: {node.idle.gpus} GPUs idle and {node.releasing.gpus} releasing, not {wanted}")
    return problems


def _check_task(task: PodInfo, wanted: dict[str, Any]) -> list[str]:
    problems = []
    if NAMES[task.status] != wanted["status"]:
        problems.append(f"{task.uid} is {NAMES[task.status]}, not {wanted['status']}")
    if wanted["node"] and task.node != wanted["node"]:
        problems.append(f"{task.uid} is on {task.node or 'no node'}, not on {wanted['node']}")
    return problems


def _check_amounts(name: str, tasks: list[PodInfo], wanted: dict[str, Any]) -> list[str]:
    figures = {
        "gpusRequired": sum(task.pod.request.gpus for task in tasks),
        "milliCpuRequired": sum(task.pod.request.cpu for task in tasks),
        "memoryRequired": sum(task.pod.request.memory for task in tasks),
        "gpusAccepted": sum(task.accepted.gpus for task in tasks),
    }
    return [
        f"{name}: {key} is {figure}, not {wanted[key]}"
        for key, figure in figures.items()
        if wanted.get(key) and abs(figure - wanted[key]) > 1e-9
    ]


def _check_counts(case: Case, session: Session) -> list[str]:
    """Decisions of one session are limited from above."""
    decided = session.decisions
    counts = {
        "binds": len(decided.binds),
        "evictions": len(decided.evictions),
        "pipelines": len(decided.pipelines),
    }
    limits = case["expected"]["maxPerSession"]
    return [f"{count} {kind}, at most {limits[kind]}" for kind, count in counts.items() if count > limits[kind]]


# -- scenarios with the state after every action -------------------------------------------------------------------


#: In how many orders of its input a scenario is tried whose outcome in KAI depends on the order of Go's maps.
ORDERS = 32


def run_scenario(case: Case) -> list[str]:
    """Run a scenario and compare the state after every action, as far as KAI's was recorded.

    Where KAI's own runs differ, one of the orders in which the input can be read must lead to what was recorded."""
    problems = _run_scenario(case)
    if case["oracle"].get("deterministic", True):
        return problems
    for seed in range(ORDERS):
        if not problems:
            break
        problems = _run_scenario(_reordered(case, seed))
    return problems


def _reordered(case: Case, seed: int) -> Case:
    random = Random(seed)
    jobs = [{**job, "tasks": random.sample(job["tasks"], len(job["tasks"]))} for job in case["jobs"]]
    nodes = dict(random.sample(list(case["nodes"].items()), len(case["nodes"])))
    return {**case, "jobs": jobs, "nodes": nodes}


def _run_scenario(case: Case) -> list[str]:
    state = initial_state(case)
    oracle = case["oracle"]
    problems: list[str] = []
    for number, actions in enumerate(oracle["roundsByAction"]):
        session = _session(case, state)
        seen: Any = None
        for action in case["actions"]:
            if action not in actions:
                return problems  # KAI crashed here
            ACTIONS[action](session)
            recorded = seen if actions[action] == "same" else actions[action]
            seen = recorded
            for name, (status, node, *_groups) in recorded.items():
                task = _task(session, name)
                assert task is not None
                if (NAMES[task.status], task.node) != (status, node):
                    where = f"round {number + 1}, {action}"
                    problems.append(f"{where}: {name} is {NAMES[task.status]} {task.node!r}, not {status} {node!r}")
            if problems:
                return problems
        state = _fed_back(case, session)
    return problems


# -- sessions ------------------------------------------------------------------------------------------------------


def initial_state(case: Case) -> State:
    return {
        task["name"]: (STATUSES[task["status"]], task["node"], _groups(task))
        for job in case["jobs"]
        for task in job["tasks"]
    }


def _groups(task: dict[str, Any]) -> tuple[str, ...]:
    """The shared GPUs of a task; those of a fractional task on a node that are not told are its own."""
    groups = list(task["gpuGroups"])
    if task["node"] and task["request"]["type"] == FRACTION:
        groups += [f"{task['name']}/{number}" for number in range(len(groups), task["request"]["gpuDevices"])]
    return tuple(groups)


def _fed_back(case: Case, session: Session) -> State:
    """What the next round starts from."""
    state: State = {}
    for job in case["jobs"]:
        for task in session.jobs[job["name"]].tasks():
            status, node, groups = task.status, task.node, task.gpu_groups
            if (status == RELEASING and not job["deleteJobInTest"]) or status == PIPELINED:
                status, node = PENDING, ""
            elif status == BINDING:
                status = RUNNING
            state[task.uid] = (status, node, groups)
    return state


def _round(case: Case, state: State) -> Session:
    session = _session(case, state)
    for action in case["actions"]:
        ACTIONS[action](session)
    return session


def _session(case: Case, state: State) -> Session:
    return open_session(build_cluster(case, state), build_config(case), NOW)


def build_config(case: Case) -> SchedulerConfiguration:
    found = case["session"]
    plugins = [
        PluginOption(plugin["name"], plugin.get("arguments") or {})
        for tier in found["tiers"]
        for plugin in tier["plugins"]
        if found["predicatesPluginEnabled"] or plugin["name"] != "predicates"
    ]
    return SchedulerConfiguration(
        plugins=plugins,
        max_consolidation_preemptees=found["maxConsolidationPreemptees"],
        allow_consolidating_reclaim=found["allowConsolidatingReclaim"],
        use_scheduling_signatures=found["useSchedulingSignatures"],
        staleness_grace=found["stalenessGracePeriodSeconds"],
        dynamic_resource_allocation="DynamicResourceAllocation" in found["featureGates"],
        profile=PROFILES[found.get("profile", "v0.13")],
    )


def build_cluster(case: Case, state: State) -> ClusterInfo:
    """A snapshot of a case in a state."""
    claims, devices, gpus_by_claim = _claims(case)
    nodes = {}
    for name, found in case["nodes"].items():
        dra = sum(len(listed) for key, listed in devices.items() if key.split("/", 1)[0] == name)
        nodes[name] = NodeInfo(
            name,
            Resource(
                found["cpuMilli"], found["memoryBytes"], found["allocatableGpus"], found["pods"], found["migInstances"]
            ),
            found["labels"],
            max_tasks=found["maxTaskNum"],
            dra_gpus=dra,
            gpu_memory_synced=found["gpuMemorySynced"],
        )
    cluster = ClusterInfo(
        nodes=nodes,
        queues={name: _queue(name, found) for name, found in case["queues"].items()},
        topologies={each["name"]: Topology(each["name"], tuple(each["levels"])) for each in case.get("topologies", ())},
        claims=claims,
        devices=devices,
    )
    on_nodes: dict[str, list[PodInfo]] = {}
    sharing: set[str] = set()
    for found in case["jobs"]:
        job = _job(found, state, gpus_by_claim)
        for task in job.tasks():
            if task.status & ACTIVE_USED and task.node in nodes:
                on_nodes.setdefault(task.node, []).append(task)
        job.allocated = _harness_allocation(job, sharing)
        cluster.pod_groups[job.uid] = job
    for name, tasks in on_nodes.items():
        for task in sorted(tasks, key=lambda each: each.uid):
            nodes[name].add_task(task)
    return cluster


def _queue(name: str, found: dict[str, Any]) -> QueueInfo:
    quotas = {
        kind: ResourceQuota(found[kind]["quota"], found[kind]["limit"], found[kind]["overQuotaWeight"])
        for kind in ("cpu", "memory", "gpu")
    }
    return QueueInfo(
        name,
        parent=found["parent"] or "",
        priority=found["priority"],
        created=found["creationOrder"] * MINUTE,
        preempt_min_runtime=found.get("preemptMinRuntimeSeconds"),
        reclaim_min_runtime=found.get("reclaimMinRuntimeSeconds"),
        **quotas,
    )


def _job(found: dict[str, Any], state: State, gpus_by_claim: dict[tuple[str, str], int]) -> PodGroupInfo:
    job = PodGroupInfo(
        found["name"],
        found["queue"],
        namespace=found["namespace"],
        priority=found["priority"],
        preemptible=found["preemptibility"] == "preemptible",
        created=NOW - found["ageMinutes"] * MINUTE,
        root=_sub_groups(found["subGroups"]),
    )
    for task in found["tasks"]:
        status, node, groups = state[task["name"]]
        job.add_task(PodInfo(_pod(found, task, gpus_by_claim), status, node, groups))
    if found["staleSeconds"] is not None:
        job.stale_since = NOW - found["staleSeconds"]
        job.stale = True
    if job.num_allocated:
        job.last_start = NOW - MINUTE
    return job


def _sub_groups(found: dict[str, Any]) -> SubGroupSet:
    group = SubGroupSet(found["name"], _topology(found["topology"]))
    for pod_set in found["podSets"]:
        group.add_pod_set(PodSet(pod_set["name"], pod_set["minAvailable"], _topology(pod_set["topology"])))
    for child in found["groups"]:
        group.add_group(_sub_groups(child))
    return group


def _topology(found: dict[str, str] | None) -> TopologyConstraint | None:
    if not found:
        return None
    return TopologyConstraint(found["topology"], found["required"], found["preferred"])


def _pod(job: dict[str, Any], task: dict[str, Any], gpus_by_claim: dict[tuple[str, str], int]) -> Pod:
    asked = task["request"]
    claims = [(name, name, False) for name in task["resourceClaimNames"]]
    claims += [(template, name, True) for template, name in task["resourceClaimTemplates"].items()]
    request = ResourceRequirements(
        cpu=asked["cpuMilli"],
        memory=asked["memoryBytes"],
        pods=asked["pods"],
        count=asked["gpuDevices"],
        portion=asked["gpuPortion"],
        gpu_memory=asked["gpuMemoryMiB"],
        mig=asked["mig"],
        dra_gpus=sum(gpus_by_claim.get((job["namespace"], name), 0) for _reference, name, _template in claims),
    )
    labels = {}
    if task["taskPriority"] is not None:
        labels["kai.scheduler/task-priority"] = str(task["taskPriority"])
    return Pod(
        task["name"],
        task["name"],
        job["namespace"],
        job["name"],
        task["subGroup"],
        request,
        asked["type"],
        labels={**labels, **((task["podAffinity"] or {}).get("labels") or {})},
        legacy_mig=task["isLegacyMig"],
        affinity=_affinity(task),
        resource_claims=tuple(claims),
    )


def _affinity(task: dict[str, Any]) -> Affinity:
    names = task["nodeAffinityNames"]
    terms = [NodeSelectorTerm(((("kai.scheduler/type"), "In", tuple(names)),))] if names else None
    found = task["podAffinity"] or {}
    selector = tuple((found.get("labels") or {}).items())
    near, apart = found.get("affinityTopologyKey"), found.get("antiAffinityTopologyKey")
    return Affinity(
        node_terms=terms,
        pod_affinity=(PodAffinityTerm(selector, near),) if near else (),
        pod_anti_affinity=(PodAffinityTerm(selector, apart),) if apart else (),
    )


def _claims(
    case: Case,
) -> tuple[dict[tuple[str, str], ResourceClaim], dict[str, tuple[str, ...]], dict[tuple[str, str], int]]:
    found = case.get("dra") or {}
    claims = {}
    for each in found.get("ResourceClaims") or ():
        status = each.get("ClaimStatus") or {}
        results = ((status.get("Allocation") or {}).get("Devices") or {}).get("Results") or ()
        reserved = status.get("ReservedFor") or each.get("ReservedFor") or ()
        claims[each["Namespace"], each["Name"]] = ResourceClaim(
            each["Namespace"],
            each["Name"],
            each["DeviceClassName"],
            each["Count"],
            each.get("Labels") or {},
            tuple(f"{result['Pool']}/{result['Device']}" for result in results),
            tuple(consumer["Name"] for consumer in reserved),
        )
    devices = {
        f"{each['NodeName']}/{each['DeviceClassName']}": tuple(f"{each['NodeName']}/{i}" for i in range(each["Count"]))
        for each in found.get("ResourceSlices") or ()
    }
    return claims, devices, {key: claim.count for key, claim in claims.items() if claim.is_gpu}


def _harness_allocation(job: PodGroupInfo, sharing: set[str]) -> Resource:
    """What KAI's tests book for a job: only the first fractional task on a node counts, whatever its status."""
    total = Resource()
    for task in job.tasks():
        request = task.pod.request
        if task.pod.request_type == FRACTION:
            if task.node and task.node not in sharing:
                sharing.add(task.node)
                total.cpu += request.cpu
                total.memory += request.memory
                total.gpus += request.portion * request.count
        elif task.status & ALLOCATED_STATUSES:
            total.add_base(request, 1)
            total.gpus += request.gpus if task.pod.request_type == "Regular" else 0.0
    return total


def _task(session: Session, name: str) -> PodInfo | None:
    for job in session.jobs.values():
        task = job.find_task(name)
        if task is not None:
            return task
    return None


# -- vectors -------------------------------------------------------------------------------------------------------

_RESOURCES = ("CPU", "Memory", "GPU")


def run_vectors(vectors: dict[str, list[dict[str, Any]]]) -> Iterator[tuple[str, list[str]]]:
    """Inputs and outputs of single functions."""
    for kind, listed in vectors.items():
        for index, vector in enumerate(listed):
            given = _VECTORS[kind](vector["in"])
            wanted = vector["out"]
            problems = [] if _alike(given, wanted) else [f"gives {given}, not {wanted}"]
            yield f"{kind}/{index:03}", problems


def _alike(given: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return set(given) == set(wanted) and all(_alike(given[key], wanted[key]) for key in wanted)
    if isinstance(wanted, bool):
        return given is wanted
    return abs(given - wanted) < 1e-9 * max(1.0, abs(wanted))


def _attributes(found: dict[str, Any]) -> QueueAttributes:
    def of(key: str) -> list[float]:
        return [float(found[resource][key]) for resource in _RESOURCES]

    return QueueAttributes(
        uid=found["uid"],
        name=found["uid"],
        parent=found["parent"],
        created=found["created"],
        priority=found["priority"],
        deserved=of("deserved"),
        fair_share=of("fairShare"),
        max_allowed=of("limit"),
        weight=of("overQuotaWeight"),
        allocated=of("allocated"),
        allocated_non_preemptible=of("allocatedNonPreemptible"),
        request=of("request"),
        usage=of("usage"),
    )


def _quantities(found: dict[str, float]) -> tuple[float, float, float]:
    cpu, memory, gpu = (float(found.get(resource) or 0) for resource in _RESOURCES)
    return (cpu, memory, gpu)


def _involved(found: dict[str, float]) -> frozenset[int]:
    return frozenset(index for index, resource in enumerate(_RESOURCES) if found.get(resource, 0) > 0)


def _set_resource_share(given: dict[str, Any]) -> Any:
    queues = _queues(given)
    resource = _RESOURCES.index(given["resource"])
    remaining = divide_resource(given["total"], given["k"], resource, list(queues.values()))
    return {"fairShare": {uid: queue.fair_share[resource] for uid, queue in queues.items()}, "remaining": remaining}


def _reclaimer(found: dict[str, Any]) -> Reclaimer:
    needed = found["requested"]
    return Reclaimer(found["queue"], _quantities(needed), _involved(needed), found["preemptible"])


def _queues(given: dict[str, Any]) -> dict[str, QueueAttributes]:
    return {uid: _attributes(found) for uid, found in given["queues"].items()}


def _is_reclaimable(given: dict[str, Any]) -> bool:
    victims = {
        queue: [Victim(_quantities(taken), _involved(taken)) for taken in listed]
        for queue, listed in given["victims"].items()
    }
    return is_reclaimable(_queues(given), _reclaimer(given["reclaimer"]), victims, given["saturationMultiplier"])


def _can_reclaim(given: dict[str, Any]) -> bool:
    return can_reclaim(_queues(given), _reclaimer(given["reclaimer"]))


def _queue_order(given: dict[str, Any]) -> int:
    total = given["total"] or dict.fromkeys(_RESOURCES, 0.0)
    return compare_queues(_standing(given, "l"), _standing(given, "r"), _quantities(total))


def _standing(given: dict[str, Any], side: str) -> Standing:
    queue = _attributes(given[side])
    with_job = plus(queue.allocated, _quantities(given[f"{side}Job"]))
    return Standing(queue, with_job, minus(with_job, [_quantities(victim) for victim in given[f"{side}Victims"]]))


_VECTORS = {
    "setResourceShare": _set_resource_share,
    "reclaimable": _is_reclaimable,
    "canReclaim": _can_reclaim,
    "queueOrder": _queue_order,
}
