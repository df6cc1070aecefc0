"""dynamicresources: device claims of pods.

A claim must be there, must have room for one more consumer, and, when it is shared and about GPUs, must carry the label
of the job's queue. A claim gets devices of the node when its first pod is allocated and loses them with its last one.
"""

from __future__ import annotations

from ghostfleet.schedulers.kai.claims import GPU_DEVICE_CLASSES, MAX_CONSUMERS, ResourceClaim
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.session import Session

__all__ = ["DynamicResources"]


class DynamicResources:
    def on_session_open(self, session: Session) -> None:
        self._session = session
        self._claims = {key: _State(claim) for key, claim in session.cluster.claims.items()}
        #: All devices that claims have; None when that has to be found out anew.
        self._taken: set[str] | None = None
        session.pre_predicates.append(self._pre_filter)
        session.predicates.append(self._filter)
        session.allocate_handlers.append(self._allocated)
        session.deallocate_handlers.append(self._deallocated)

    def _pre_filter(self, task: PodInfo, job: PodGroupInfo) -> str | None:
        pod, config = task.pod, self._session.config
        if not pod.resource_claims:
            return None
        if not config.dynamic_resource_allocation:
            names = ", ".join(reference for reference, _name, _template in pod.resource_claims)
            return (
                f"pod {pod.namespace}/{pod.name} cannot be scheduled, it references resource claims <{names}> "
                "while dynamic resource allocation feature is not enabled in cluster"
            )
        for _reference, name, from_template in pod.resource_claims:
            state = self._claims.get((pod.namespace, name))
            if state is None:
                return f'failed to get resource claim {pod.namespace}/{name}: "{pod.namespace}/{name}" not found'
            if len(state.reserved_for) >= MAX_CONSUMERS:
                return (
                    f"resource claim {pod.namespace}/{name} has reached its maximum number of consumers "
                    f"({MAX_CONSUMERS})"
                )
            if state.claim.is_gpu and not from_template:
                wrong = self._wrong_queue(state.claim, job)
                if wrong is not None:
                    return f"pod {pod.namespace}/{pod.name} cannot be scheduled: {wrong}"
        return None

    def _wrong_queue(self, claim: ResourceClaim, job: PodGroupInfo) -> str | None:
        label = claim.labels.get(self._session.config.queue_label, "")
        told = f"DRA claim {claim.name} is a shared GPU claim"
        if not label:
            return f"{told} but does not have a queue label ({self._session.config.queue_label})"
        if label != job.queue:
            return f"{told} with wrong queue label (expected queue: {job.queue}, claim queue label: {label})"
        return None

    def _filter(self, task: PodInfo, _job: PodGroupInfo, node: NodeInfo) -> str | None:
        pod = task.pod
        if not pod.resource_claims:
            return None
        needed: dict[str, int] = {}
        for _reference, name, _template in pod.resource_claims:
            state = self._claims.get((pod.namespace, name))
            if state is None:
                continue
            if state.devices:
                if not all(device.startswith(f"{node.name}/") for device in state.devices):
                    return "resourceclaim not available on the node"
            else:
                needed[state.claim.device_class] = needed.get(state.claim.device_class, 0) + state.claim.count
        for device_class, count in needed.items():
            free = len(self._free_devices(node, device_class))
            if device_class not in GPU_DEVICE_CLASSES and free < count:
                return "cannot allocate all claims"
        return None

    def _free_devices(self, node: NodeInfo, device_class: str) -> list[str]:
        if self._taken is None:
            self._taken = {device for state in self._claims.values() for device in state.devices}
        listed = self._session.cluster.devices.get(f"{node.name}/{device_class}", ())
        return [device for device in listed if device not in self._taken]

    def _allocated(self, task: PodInfo) -> None:
        pod = task.pod
        for reference, name, _template in pod.resource_claims:
            state = self._claims.get((pod.namespace, name))
            node = self._session.nodes.get(task.node)
            if state is None or node is None:
                continue
            state.reserved_for[task.uid] = None
            known = (task.claims or {}).get(reference)
            if known:
                state.devices = known
            elif not state.devices:
                state.devices = tuple(self._free_devices(node, state.claim.device_class)[: state.claim.count])
            self._taken = None
            task.claims = {**(task.claims or {}), reference: state.devices}

    def _deallocated(self, task: PodInfo) -> None:
        pod = task.pod
        for reference, name, _template in pod.resource_claims:
            state = self._claims.get((pod.namespace, name))
            if state is None:
                continue
            self._taken = None
            state.reserved_for.pop(task.uid, None)
            if not state.reserved_for:
                state.devices = ()
            if task.claims is not None and reference in task.claims:
                task.claims = {**task.claims, reference: state.devices}


class _State:
    """A claim as the session sees it."""

    __slots__ = ("claim", "devices", "reserved_for")

    def __init__(self, claim: ResourceClaim) -> None:
        self.claim = claim
        self.devices = claim.devices
        self.reserved_for: dict[str, None] = dict.fromkeys(claim.reserved_for)
