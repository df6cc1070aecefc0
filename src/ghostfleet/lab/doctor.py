"""The doctor: what a cluster offers and lacks for each type of test.

A *finding* is one thing that was looked at. It is `good`, `lacking` (a test cannot run without it) or `noted` (worth
knowing). Nothing is changed in the cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ghostfleet.drive.interface import NAMESPACES, PODS, Cluster, Kind, Refused
from ghostfleet.lab.deviceclaims import CLAIM_TEMPLATE
from ghostfleet.lab.survey import Survey, survey
from ghostfleet.lab.types import KindName, WorkloadType, type_names, workload_type

__all__ = ["DoctorReport", "Finding", "TypeFinding", "examine"]

_REVIEW = KindName("authorization.k8s.io/v1", "SelfSubjectAccessReview")
_LEASE = KindName("coordination.k8s.io/v1", "Lease")
_CLASSES = KindName("storage.k8s.io/v1", "StorageClass")
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_DEFAULT_SCHEDULER = "default-scheduler"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about the cluster."""

    check: str
    #: `good`, `lacking` or `noted`
    state: str
    detail: str


@dataclass(frozen=True, slots=True)
class TypeFinding:
    """Whether workloads of one type can be submitted."""

    type: str
    about: str
    lacking: tuple[str, ...]

    @property
    def ready(self) -> bool:
        return not self.lacking


@dataclass(slots=True)
class DoctorReport:
    """All findings."""

    findings: list[Finding] = field(default_factory=list)
    types: list[TypeFinding] = field(default_factory=list)


async def examine(cluster: Cluster, project: str) -> DoctorReport:
    """Look at a cluster with the eyes of a scale test."""
    info, found = cluster.info, await survey(cluster)
    whose = "ghostfleet" if info.ghostfleet else "not ghostfleet"
    diagnosis = DoctorReport()
    diagnosis.findings += [
        Finding("API", "good", f"Kubernetes {info.version} at {info.address} ({whose}, clock: {info.clock})"),
        _nodes(found),
        _gpus(found),
        await _scheduler(cluster),
        await _project(cluster, f"runai-{project}"),
        await _storage(cluster),
    ]
    common = () if found.nodes else ("nodes",)
    for name in type_names():
        kind = workload_type(name)
        lacking = (*await _kinds_lacking(cluster, kind), *await _rights_lacking(cluster, kind, project), *common)
        diagnosis.types.append(TypeFinding(name, kind.about, lacking))
    return diagnosis


def _nodes(found: Survey) -> Finding:
    if not found.nodes:
        return Finding("nodes", "lacking", "none; `ghostfleet nodes add` makes fake ones")
    detail = f"{found.nodes:,}, {found.ready:,} of them ready, {found.fake:,} fake"
    return Finding("nodes", "good" if found.ready == found.nodes else "noted", detail)


def _gpus(found: Survey) -> Finding:
    if not found.gpus:
        return Finding("GPUs", "noted", "none on any node; submit with --num-gpus 0")
    products = ", ".join(f"{count:,} {product}" for product, count in sorted(found.products.items()))
    return Finding("GPUs", "good", f"{found.gpus:,} ({products})")


async def _scheduler(cluster: Cluster) -> Finding:
    """Whether the default scheduler was seen at work."""
    leases = await cluster.resolve(*_LEASE)
    if leases is not None:
        try:
            lease = await cluster.get(leases, "kube-system", "kube-scheduler")
            return Finding("default scheduler", "good", f"held by {(lease.get('spec') or {}).get('holderIdentity')}")
        except Refused:
            pass
    pods = await cluster.list(PODS)
    placed = any(each["spec"].get("nodeName") for each in pods if _by_default_scheduler(each))
    if placed:
        return Finding("default scheduler", "good", "has placed pods")
    if cluster.info.ghostfleet:
        return Finding("default scheduler", "good", "ghostfleet's own, unless it was disabled")
    return Finding("default scheduler", "noted", "not seen: no lease, and no pod that it has placed")


def _by_default_scheduler(pod: dict[str, dict[str, str]]) -> bool:
    return pod["spec"].get("schedulerName", _DEFAULT_SCHEDULER) == _DEFAULT_SCHEDULER


async def _project(cluster: Cluster, namespace: str) -> Finding:
    try:
        await cluster.get(NAMESPACES, "", namespace)
        return Finding("project", "good", f"namespace {namespace} is there")
    except Refused as refusal:
        made = "submit makes it" if cluster.info.ghostfleet else "submit makes it with --create-project"
        return Finding("project", "noted", f"no namespace {namespace} ({refusal.code}); {made}")


async def _storage(cluster: Cluster) -> Finding:
    classes = await cluster.resolve(*_CLASSES)
    listed = await cluster.list(classes) if classes is not None else []
    for each in listed:
        if (each["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true":
            return Finding("storage", "good", f"default class {each['metadata']['name']}")
    return Finding("storage", "noted", "no default storage class: claims of --pvc will wait")


async def _kinds_lacking(cluster: Cluster, kind: WorkloadType) -> list[str]:
    kinds = [*kind.kinds(), *([CLAIM_TEMPLATE] if kind.claims_devices else ())]
    return [f"{each.kind} ({each.api_version})" for each in kinds if await cluster.resolve(*each) is None]


async def _rights_lacking(cluster: Cluster, kind: WorkloadType, project: str) -> list[str]:
    """Whether whoever asks may create workloads of the type."""
    served = await cluster.resolve(*kind.workload)
    review = await cluster.resolve(*_REVIEW)
    if served is None or review is None:
        return []
    try:
        answer = await cluster.create(review, _question(served, project))
    except Refused:
        return []
    allowed = (answer.get("status") or {}).get("allowed", True)
    return [] if allowed else [f"the right to create {served.plural}"]


def _question(kind: Kind, project: str) -> dict[str, object]:
    attributes = {"verb": "create", "group": kind.group, "resource": kind.plural, "namespace": f"runai-{project}"}
    return {
        "apiVersion": _REVIEW.api_version,
        "kind": _REVIEW.kind,
        "metadata": {},
        "spec": {"resourceAttributes": attributes},
    }
