"""Pods, from objects to what KAI sees in them: what they ask for, where they may go, and how far they are.

What pods of one template share is read once, by the framework's key of their spec and the annotations that ask for
parts of GPUs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from ghostfleet.api.podclaims import ClaimError, uses_claims
from ghostfleet.controllers.kai.constants import (
    GPU,
    GPU_FRACTION,
    GPU_FRACTIONS_NUM_DEVICES,
    GPU_MEMORY,
    POD_GROUP_ANNOTATION,
    RESERVATION,
    SUB_GROUP_LABEL,
)
from ghostfleet.controllers.kai.webhooks import gpu_request_problem
from ghostfleet.core.changes import Object
from ghostfleet.schedulers.framework.podinfo import DEFAULT_SCHEDULER, SpecCache, SpecInfo
from ghostfleet.schedulers.framework.terms import AffinityTerm, pod_terms
from ghostfleet.schedulers.kai import pod_info, pod_status
from ghostfleet.schedulers.kai.cache.devices import DeviceBook, pod_claims
from ghostfleet.schedulers.kai.cache.nodes import scalar_amount
from ghostfleet.schedulers.kai.cache.podgroups import job_key
from ghostfleet.schedulers.kai.cache.queues import seconds_of
from ghostfleet.schedulers.kai.cache.volumes import Volumes, node_terms
from ghostfleet.schedulers.kai.pod_info import Pod
from ghostfleet.schedulers.kai.pods import Affinity, PodAffinityTerm
from ghostfleet.schedulers.kai.resources import ResourceRequirements, is_mig

__all__ = ["PodReader", "pod_problem", "pod_state"]

_SHARING = (GPU_FRACTION, GPU_MEMORY, GPU_FRACTIONS_NUM_DEVICES)
_REMEMBERED = 16_384
_PHASES = {"Succeeded": pod_status.SUCCEEDED, "Failed": pod_status.FAILED, "Unknown": pod_status.UNKNOWN}


class _Shared(NamedTuple):
    """What pods alike have in common."""

    request: ResourceRequirements
    request_type: str
    affinity: Affinity


def pod_problem(pod: Object, book: DeviceBook, volumes: Volumes) -> str:
    """Why a pod cannot be scheduled as it is; "" when nothing is wrong with it."""
    problem = gpu_request_problem(pod) if "annotations" in pod["metadata"] else ""
    if not problem and uses_claims(pod):
        problem = book.problem_of(pod)
    return problem or (volumes.problem_of(pod) if "volumes" in pod["spec"] else "")


def pod_state(pod: Object, request: Object | None) -> tuple[int, str]:
    """The status and the node of a pod, which may have a bind request."""
    spec, phase = pod["spec"], (pod.get("status") or {}).get("phase", "Pending")
    node = spec.get("nodeName") or ""
    if phase in _PHASES:
        return _PHASES[phase], node
    if "deletionTimestamp" in pod["metadata"]:
        return pod_status.RELEASING, node
    if phase == "Running":
        return pod_status.RUNNING, node
    if node:
        return pod_status.BOUND, node
    if request is not None:
        return pod_status.BINDING, request["spec"].get("selectedNode", "")
    return (pod_status.GATED if spec.get("schedulingGates") else pod_status.PENDING), ""


class PodReader:
    """Reads pods of one store."""

    def __init__(self, book: DeviceBook, volumes: Volumes) -> None:
        self._book = book
        self._volumes = volumes
        self._specs = SpecCache()
        self._shared: dict[tuple[object, ...], _Shared] = {}

    def read(self, pod: Object) -> Pod:
        """A pod that has no problem."""
        metadata, spec = pod["metadata"], pod["spec"]
        notes, labels = metadata.get("annotations") or {}, metadata.get("labels") or {}
        namespace = metadata["namespace"]
        group = notes.get(POD_GROUP_ANNOTATION)
        shared = self._what_is_shared(namespace, spec, notes)
        request, claims = shared.request, _claims(pod)
        if claims:
            request = replace(request, dra_gpus=self._book.asked_gpus(namespace, claims))
        affinity = shared.affinity
        reach = self._volumes.terms_of(pod) if "volumes" in spec else ()
        if reach:
            affinity = replace(affinity, volumes=reach)
        return Pod(
            metadata["uid"],
            metadata["name"],
            namespace,
            job=job_key(namespace, group) if group else "",
            sub_group=labels.get(SUB_GROUP_LABEL, ""),
            request=request,
            request_type=shared.request_type,
            created=seconds_of(metadata.get("creationTimestamp")) or 0.0,
            labels=labels,
            scheduler_name=spec.get("schedulerName", DEFAULT_SCHEDULER),
            nominated_node=(pod.get("status") or {}).get("nominatedNodeName") or "",
            reservation=namespace == RESERVATION,
            affinity=affinity,
            resource_claims=claims,
        )

    def _what_is_shared(self, namespace: str, spec: Object, notes: Mapping[str, str]) -> _Shared:
        info = self._specs.of(spec)
        key = (info.key, namespace if info.has_terms else "", *[notes.get(name) for name in _SHARING])
        found = self._shared.get(key)
        if found is None:
            if len(self._shared) >= _REMEMBERED:
                self._shared.clear()
            found = self._shared[key] = _Shared(*_request(info, notes), _affinity(info, namespace))
        return found


def _claims(pod: Object) -> tuple[tuple[str, str, bool], ...]:
    if not uses_claims(pod):
        return ()
    try:
        return pod_claims(pod)
    except ClaimError:
        # One that has a node already may have lost its claims.
        return ()


def _request(info: SpecInfo, notes: Mapping[str, str]) -> tuple[ResourceRequirements, str]:
    asked = info.requests.asked
    scalars = {name: scalar_amount(name, count) for name, count in asked.items() if _is_other(name) and count}
    mig = {name: count for name, count in asked.items() if is_mig(name) and count}
    cpu, memory = asked.get("cpu", 0), asked.get("memory", 0)
    devices = int(notes.get(GPU_FRACTIONS_NUM_DEVICES, "1"))
    if GPU_FRACTION in notes:
        portion = float(notes[GPU_FRACTION])
        asks = ResourceRequirements(cpu, memory, scalars=scalars, count=devices, portion=portion, mig=mig)
        return asks, pod_info.FRACTION
    if GPU_MEMORY in notes:
        amount = int(notes[GPU_MEMORY])
        asks = ResourceRequirements(cpu, memory, scalars=scalars, count=devices, gpu_memory=amount, mig=mig)
        return asks, pod_info.GPU_MEMORY
    gpus = asked.get(GPU, 0)
    asks = ResourceRequirements(cpu, memory, scalars=scalars, count=gpus, portion=1.0 if gpus else 0.0, mig=mig)
    return asks, pod_info.MIG_INSTANCE if mig else pod_info.REGULAR


def _is_other(name: str) -> bool:
    return ("/" in name or name.startswith("hugepages-")) and name != GPU and not is_mig(name)


def _affinity(info: SpecInfo, namespace: str) -> Affinity:
    required = info.node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = pod_terms(info.affinity, namespace)
    return Affinity(
        node_selector=info.node_selector,
        node_terms=None if required is None else node_terms(required.get("nodeSelectorTerms") or ()),
        tolerations=info.tolerations,
        pod_affinity=_terms(terms.required_affinity),
        pod_anti_affinity=_terms(terms.required_anti_affinity),
        preferred_pods=tuple((each.weight, _term(each)) for each in terms.preferred_affinity),
        host_ports=info.ports,
    )


def _terms(terms: Iterable[AffinityTerm]) -> tuple[PodAffinityTerm, ...]:
    return tuple(_term(each) for each in terms)


def _term(term: AffinityTerm) -> PodAffinityTerm:
    return PodAffinityTerm(
        ((str(term.selector), ""),), term.topology_key, tuple(sorted(term.namespaces)), term.selector.matches
    )
