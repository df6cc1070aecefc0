"""Why a pod is pending.

The cluster is copied and the pod scheduled there by the default scheduler's own rules, so that the answer is what the
scheduler would say now, not what it said last. The *dominant* reason is the one that most nodes give.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import compare
from ghostfleet.drive.interface import PODS, Cluster, Refused
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.explain.copying import copy_cluster
from ghostfleet.lab.explain.kai import KaiExplanation, explain_with_kai, is_kais
from ghostfleet.lab.kaistate import has_kai, read_kai
from ghostfleet.schedulers.dra import RequestCensus
from ghostfleet.schedulers.framework import Profile
from ghostfleet.schedulers.kube.findings import Reason, device_findings, findings
from ghostfleet.schedulers.kube.remedies import Remedy, find_remedies
from ghostfleet.schedulers.kube.schedule_one import ScheduleAlgorithm

__all__ = ["PodExplanation", "explain_pod", "is_for_kai", "judge", "waits", "without_looking"]

_DEFAULT = "default-scheduler"
_NODE_POOL = "kai.scheduler/node-pool"


@dataclass(frozen=True, slots=True)
class PodExplanation:
    """What is the matter with a pod."""

    namespace: str
    name: str
    phase: str
    #: One sentence: what is the case, and the reason that counts most.
    verdict: str
    #: Where it is, if it is somewhere.
    node: str = ""
    #: What the scheduler says, in its own words.
    message: str = ""
    findings: tuple[Reason, ...] = ()
    #: How many devices there are for the requests of its claims.
    devices: tuple[RequestCensus, ...] = ()
    remedies: tuple[Remedy, ...] = ()


async def explain_pod(cluster: Cluster, namespace: str, name: str) -> PodExplanation | KaiExplanation:
    """Explain one pod, by the rules of the scheduler that it waits for."""
    try:
        pod = await cluster.get(PODS, namespace, name)
    except Refused as refusal:
        if refusal.code == 404:
            raise LabError(f"there is no pod {name} in namespace {namespace}") from refusal
        raise
    if waits(pod) and await is_for_kai(cluster, pod):
        pool = (pod["metadata"].get("labels") or {}).get(_NODE_POOL, "")
        return explain_with_kai(await read_kai(cluster, pool), pod)
    simple = without_looking(pod)
    if simple is not None:
        return _explained(pod, simple)
    store = await copy_cluster(cluster)
    return judge(ScheduleAlgorithm.from_store(store, Profile(), Random(0)), pod)


def judge(algorithm: ScheduleAlgorithm, pod: Object) -> PodExplanation:
    """What the scheduler thinks of a pod that is pending."""
    cycle = algorithm.framework_of(pod).cycle_state(pod)
    if cycle.rejection is not None and algorithm.framework_of(pod).is_gated(pod):
        return _explained(pod, f"it is not tried before its claims are there: {cycle.rejection[1]}")
    result = algorithm.schedule(cycle, pod)
    if result.node is not None:
        verdict = f"it fits on {result.node} now and waits for its turn"
        return _explained(pod, verdict, message=_said(pod))
    found = findings(cycle, pod["metadata"]["uid"])
    remedies = find_remedies(algorithm, pod)
    return _explained(
        pod,
        _verdict(found, len(algorithm.snapshot.nodes), result.message),
        message=result.message,
        findings=tuple(found),
        devices=tuple(device_findings(cycle)),
        remedies=tuple(remedies),
    )


async def is_for_kai(cluster: Cluster, pod: Object) -> bool:
    """Whether a pod waits for KAI, on a cluster that has it."""
    name = (cluster.info.made.get("kai") or {}).get("schedulerName", "kai-scheduler")
    return is_kais(pod, name) and await has_kai(cluster)


def waits(pod: Object) -> bool:
    """Whether a pod has no node and may get one."""
    spec, status = pod["spec"], pod.get("status") or {}
    return not (spec.get("nodeName") or spec.get("schedulingGates") or status.get("phase") in ("Succeeded", "Failed"))


def without_looking(pod: Object) -> str | None:
    """What is the case with a pod that no scheduler has to think about."""
    spec, status = pod["spec"], pod.get("status") or {}
    if spec.get("nodeName"):
        return f"it is on {spec['nodeName']} and {status.get('phase', 'Pending')}"
    if status.get("phase") in ("Succeeded", "Failed"):
        return f"it has {status['phase'].lower()} {status.get('message', '')}".rstrip()
    if gates := spec.get("schedulingGates"):
        return f"it is not scheduled before these gates are removed: {', '.join(gate['name'] for gate in gates)}"
    scheduler = spec.get("schedulerName", _DEFAULT)
    if scheduler != _DEFAULT:
        return f"it waits for the scheduler {scheduler}; only what {_DEFAULT} and KAI do can be explained"
    return None


def _verdict(found: list[Reason], nodes: int, message: str) -> str:
    if not found:
        return message
    first = found[0]
    if first.block is None:
        return f"{len(first.nodes)} of {nodes} nodes refuse it: {first.reason}"
    block = first.block
    enough = "fits in aggregate, but no" if _fits_in_sum(first) else "no"
    there = f"{block.largest} on {block.node}" if block.node else "none"
    return f"{enough} node has {block.asked} free {block.resource} (largest free block {there})"


def _fits_in_sum(finding: Reason) -> bool:
    return finding.block is not None and compare(finding.block.asked, finding.block.free) <= 0


def _said(pod: Object) -> str:
    """What the scheduler said when it last tried."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message", ""))
    return ""


def _explained(
    pod: Object,
    verdict: str,
    *,
    message: str = "",
    findings: tuple[Reason, ...] = (),
    devices: tuple[RequestCensus, ...] = (),
    remedies: tuple[Remedy, ...] = (),
) -> PodExplanation:
    metadata = pod["metadata"]
    return PodExplanation(
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        phase=(pod.get("status") or {}).get("phase", "Pending"),
        verdict=verdict,
        node=pod["spec"].get("nodeName", ""),
        message=message,
        findings=findings,
        devices=devices,
        remedies=remedies,
    )
