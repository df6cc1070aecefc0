"""A pod as KAI sees it: `Pod`, what never changes while it is scheduled, and `PodInfo`, the task, which has a status
and a place.

A task is copied where KAI copies it: the part of it that can change is small. `IsVirtualStatus` of KAI is `virtual`
here: the status was set by a statement that is not committed yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ghostfleet.schedulers.kai.pod_status import PENDING, RELEASING
from ghostfleet.schedulers.kai.pods import Affinity, StorageClaim
from ghostfleet.schedulers.kai.resources import ResourceRequirements

__all__ = ["FRACTION", "GPU_MEMORY", "MIG_INSTANCE", "REGULAR", "Pod", "PodInfo"]

REGULAR = "Regular"
FRACTION = "Fraction"
GPU_MEMORY = "GpuMemory"
MIG_INSTANCE = "MigInstance"


@dataclass(eq=False)
class Pod:
    """What a pod asks for and how it is known. `job` names its pod group, `created` is a time in seconds."""

    uid: str
    name: str
    namespace: str = ""
    job: str = ""
    sub_group: str = ""
    request: ResourceRequirements = field(default_factory=ResourceRequirements)
    request_type: str = REGULAR
    created: float = 0.0
    labels: Mapping[str, str] = field(default_factory=dict)
    scheduler_name: str = "kai-scheduler"
    nominated_node: str = ""
    legacy_mig: bool = False
    reservation: bool = False
    affinity: Affinity = field(default_factory=Affinity)
    resource_claims: Sequence[tuple[str, str, bool]] = ()
    storage_claims: Mapping[str, StorageClaim] = field(default_factory=dict)
    config_maps: Sequence[str] = ()

    @cached_property
    def is_shared_request(self) -> bool:
        """Whether a part of devices is asked for, by portion or by memory."""
        return self.request_type in (FRACTION, GPU_MEMORY)

    @cached_property
    def requires_gpu(self) -> bool:
        """Whether a GPU of any kind is asked for."""
        return self.request.device_gpus > 0 or self.request_type in (GPU_MEMORY, MIG_INSTANCE)

    @cached_property
    def is_best_effort(self) -> bool:
        return self.request.is_empty and not self.storage_claims and self.request_type != GPU_MEMORY

    @cached_property
    def shape(self) -> tuple[object, ...]:
        """All that decides which nodes can take the pod and how they score, but for its name: alike pods are alike."""
        return (self.request.shape, self.request_type, self.legacy_mig, self.nominated_node)

    @cached_property
    def constraints(self) -> tuple[object, ...]:
        """KAI's scheduling constraints signature: what limits the nodes besides amounts."""
        claims = tuple(sorted((claim.storage_class, claim.phase) for claim in self.storage_claims.values()))
        return (claims, self.affinity.signature, self.resource_claims)


class PodInfo:
    """A task: a pod with its status, its node and what it got there."""

    __slots__ = ("accepted", "claims", "gpu_groups", "node", "pod", "received_type", "status", "uid", "virtual")

    def __init__(self, pod: Pod, status: int, node: str = "", gpu_groups: tuple[str, ...] = ()) -> None:
        self.pod = pod
        self.uid = pod.uid
        self.status = status
        self.node = node
        self.gpu_groups = gpu_groups
        self.accepted: ResourceRequirements = _NOTHING
        self.received_type = ""
        self.virtual = False
        self.claims: dict[str, tuple[str, ...]] | None = None

    def clone(self) -> PodInfo:
        """A copy whose status and place are its own."""
        copy = PodInfo.__new__(PodInfo)
        copy.pod = self.pod
        copy.uid = self.uid
        copy.status = self.status
        copy.node = self.node
        copy.gpu_groups = self.gpu_groups
        copy.accepted = self.accepted
        copy.received_type = self.received_type
        copy.virtual = self.virtual
        copy.claims = None if self.claims is None else dict(self.claims)
        return copy

    @property
    def is_shared_allocation(self) -> bool:
        return self.received_type == FRACTION

    def should_allocate(self, real: bool) -> bool:
        """Whether the task waits for a place; in a simulation also when it was evicted only there."""
        return self.status == PENDING or (not real and self.status == RELEASING and self.virtual)

    def __repr__(self) -> str:
        return f"<PodInfo {self.pod.namespace}/{self.pod.name} {self.status} on {self.node or 'no node'}>"


_NOTHING = ResourceRequirements(pods=0)
