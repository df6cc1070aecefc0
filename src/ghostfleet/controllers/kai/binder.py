"""The binder: does what bind requests say, and says how it went.

A pod that gets parts of GPUs has its GPU groups reserved first, one that claims volumes has them bound first; where
that takes time the request waits without holding up others, until it is done or too late. A bound pod has the kind of
resource it received in an annotation, and a condition. A request that fails is tried again as often as it says, a
second later and then twice as long each time; KAI's scheduler asks for no retries, it removes failed requests and
decides anew. (KAI v0.12 writes down the first failed attempt only, so that its retries never end; here they are
counted.)
"""

from __future__ import annotations

from ghostfleet.api.admission import Admission
from ghostfleet.api.subresources import bind
from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.kai.bindrequests import is_failed, is_for_fraction
from ghostfleet.controllers.kai.claims import VOLUME_CLAIMS, allot_devices, unbound_claims, with_selected_node
from ghostfleet.controllers.kai.constants import (
    BIND_REQUESTS,
    GPU_INDEX,
    RECEIVED_RESOURCE_TYPE,
    RESERVATION,
    KaiConfig,
)
from ghostfleet.controllers.kai.reservation import Reservations, group_label, groups_of
from ghostfleet.controllers.pods import with_condition
from ghostfleet.controllers.requests import Request, Steps, delete, unwritten, update_status
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.errors import ApiError
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.subscription import Subscription
from ghostfleet.core.timestamps import rfc3339

__all__ = ["Binder"]

_ENDED = ("Succeeded", "Failed")

Key = tuple[str, str]


class _Waits(Exception):
    """Something has to happen before the pod can be bound."""


class Binder:
    """Binds pods of one store."""

    def __init__(self, store: Store, admission: Admission, profile: Profile, config: KaiConfig) -> None:
        self._store: Reader = store
        self._config = config
        self._reservations = Reservations(store, admission)
        self._reservation_timeout = profile.duration("kai-binder.reservation-timeout")
        self._volume_timeout = profile.duration("kai-binder.volume-binding-timeout")
        #: Until when requests wait for a reservation or for volumes.
        self._deadlines: dict[tuple[Key, str], int] = {}
        #: Requests that wait for volume claims.
        self._claiming: dict[Key, None] = {}
        client = profile.api_client("kai-binder")
        self._recorder = EventRecorder(store, "binder", profile, client)
        self._workers: Workers[Key] = Workers(
            store, self._sync, count=profile.number("kai-binder.workers"), client=client
        )
        self._groups: Workers[str] = Workers(store, self._reservations.sync, client=client)
        self._claims = Subscription(lambda: store.listen(VOLUME_CLAIMS, self._notice_claim))
        store.listen("pods", self._notice_pod)
        store.listen(BIND_REQUESTS, self._notice, status=False)
        for request in store.list(BIND_REQUESTS):
            self._workers.add((request["metadata"]["namespace"], request["metadata"]["name"]))

    # -- what happens ------------------------------------------------------------------------------------------------

    def _notice(self, change: Change) -> None:
        if change.new is not None:
            self._workers.add((change.namespace, change.name))
        elif change.old is not None:
            self._stop_waiting((change.namespace, change.name), change.old)
            for group in _groups_for(change.old):
                self._groups.add(group)

    def _notice_pod(self, change: Change) -> None:
        pod = change.new if change.new is not None else change.old
        assert pod is not None
        if change.namespace == RESERVATION:
            for group in groups_of(pod):
                for key in self._reservations.expected(group):
                    self._workers.add(key)
        elif pod["spec"].get("schedulerName") == self._config.scheduler_name and _has_ended(change):
            for group in groups_of(pod):
                self._groups.add(group)

    def _notice_claim(self, _change: Change) -> None:
        for key in self._claiming:
            self._workers.add(key)

    # -- a request ---------------------------------------------------------------------------------------------------

    def _sync(self, key: Key) -> Steps:
        request = self._store.find(BIND_REQUESTS, *key)
        if request is None or "deletionTimestamp" in request["metadata"] or _is_done(request):
            return
        spec = request.get("spec") or {}
        if is_for_fraction(request) and not spec.get("selectedGPUGroups"):
            # Nothing can be made of it; the scheduler will write a proper one.
            yield delete(BIND_REQUESTS, *key)
            return
        pod = self._store.find("pods", key[0], spec.get("podName", ""))
        try:
            if pod is None:
                raise ApiError(404, "NotFound", f'Pod "{spec.get("podName", "")}" not found')
            if not pod["spec"].get("nodeName"):
                yield from self._bind(key, request, pod)
        except _Waits:
            return
        except ApiError as error:
            self._stop_waiting(key, request)
            yield from self._fail(key, request, pod, error.message)
        else:
            self._stop_waiting(key, request)
            yield from self._succeed(request, pod)

    def _bind(self, key: Key, request: Object, pod: Object) -> Steps:
        node = request["spec"].get("selectedNode", "")
        if self._store.find("nodes", "", node) is None:
            raise ApiError(404, "NotFound", f'Node "{node}" not found')
        yield from self._reservations.sync_node(node)
        labels: dict[str, str] = {}
        for group in _groups_for(request):
            yield from self._reserve(key, node, group)
            yield unwritten("patch", "pods")
            labels[group_label(pod, group)] = group
        yield from self._bind_volumes(key, pod, node)
        yield from allot_devices(pod, request)
        yield unwritten("patch", "pods")
        own = pod["metadata"]
        annotations = {RECEIVED_RESOURCE_TYPE: request["spec"].get("receivedResourceType", "")}
        metadata = {"name": own["name"], "uid": own["uid"], "annotations": annotations, "labels": labels}
        binding = {"metadata": metadata, "target": {"kind": "Node", "name": node}}
        yield Request("create", "pods/binding", bind, own["namespace"], own["name"], binding)

    def _reserve(self, key: Key, node: str, group: str) -> Steps:
        """Have a group's GPU held; waits until it is known which one it is."""
        # Before the pod is bound nothing else shows that the reservation is needed.
        self._reservations.expect(group, key)
        pod = self._reservations.reservation_pod(group)
        if pod is None:
            pod = yield Request("create", "pods", self._reservations.create, node, group)
        if (pod["metadata"].get("annotations") or {}).get(GPU_INDEX):
            return
        if self._is_too_late(key, "reservation", self._reservation_timeout):
            name = pod["metadata"]["name"]
            yield self._reservations.release(pod)
            problem = f"failed waiting for GPU reservation pod to allocate: {RESERVATION}/{name}"
            raise ApiError(500, "InternalError", problem)
        raise _Waits

    def _bind_volumes(self, key: Key, pod: Object, node: str) -> Steps:
        for claim in unbound_claims(self._store, pod):
            if with_selected_node(claim, node) is None:
                continue
            yield Request("update", VOLUME_CLAIMS, _select_node, claim["metadata"], node)
        if not unbound_claims(self._store, pod):
            return
        if self._is_too_late(key, "volumes", self._volume_timeout):
            raise ApiError(504, "Timeout", "binding volumes: context deadline exceeded")
        self._claiming[key] = None
        self._claims.subscribe_if(self._claiming)
        raise _Waits

    # -- waiting -----------------------------------------------------------------------------------------------------

    def _is_too_late(self, key: Key, what: str, timeout: int) -> bool:
        """Whether a request has waited for something long enough; it begins to wait when this is asked first."""
        now = self._store.clock.now()
        left = self._deadlines.setdefault((key, what), now + timeout) - now
        if left > 0:
            self._workers.add_after(key, left)
        return left <= 0

    def _stop_waiting(self, key: Key, request: Object) -> None:
        for what in ("reservation", "volumes"):
            self._deadlines.pop((key, what), None)
        self._claiming.pop(key, None)
        self._claims.subscribe_if(self._claiming)
        for group in _groups_for(request):
            self._reservations.forget(group, key)

    # -- how it went -------------------------------------------------------------------------------------------------

    def _succeed(self, request: Object, pod: Object) -> Steps:
        node = request["spec"].get("selectedNode", "")
        yield _report(request, {"phase": "Succeeded"})
        message = f"Pod bound successfully to node {node}"
        self._recorder.normal(pod, "Bound", message)
        yield self._note(pod, "True", "Bound", message)

    def _fail(self, key: Key, request: Object, pod: Object | None, why: str) -> Steps:
        attempts = (request.get("status") or {}).get("failedAttempts", 0)
        spec = request.get("spec") or {}
        limit = spec.get("backoffLimit")
        news: Object = {"phase": "Failed", "reason": why}
        if limit is not None and attempts < limit:
            news["failedAttempts"] = attempts + 1
        yield _report(request, news)
        if limit is not None and attempts + 1 < limit:
            self._workers.add_after(key, (1 << attempts) * SECOND)
            return
        if pod is not None:
            where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            message = f"Failed to bind pod {where} to node {spec.get('selectedNode', '')}: {why}"
            self._recorder.warning(pod, "BindingError", message)
            yield self._note(pod, "False", "BindingError", message)

    def _note(self, pod: Object, status: str, reason: str, message: str) -> Request:
        """Give a pod the condition that says whether it was bound."""

        def noted(current: Object) -> Object:
            condition = {
                "type": "PodBound",
                "status": status,
                "lastProbeTime": None,
                "lastTransitionTime": rfc3339(self._store.clock.now()),
                "reason": reason,
                "message": message,
            }
            conditions = with_condition(current["status"].get("conditions") or (), condition)
            return {**current["status"], "conditions": conditions}

        return update_status("pods", pod, noted)


def _report(request: Object, news: Object) -> Request:
    return update_status(BIND_REQUESTS, request, lambda current: {**(current.get("status") or {}), **news})


def _select_node(store: Store, claim: Object, node: str) -> None:
    told = with_selected_node(store.get(VOLUME_CLAIMS, claim["namespace"], claim["name"]), node)
    if told is not None:
        store.update(VOLUME_CLAIMS, told)


def _groups_for(request: Object) -> list[str]:
    """The GPU groups that a request is for."""
    return request["spec"].get("selectedGPUGroups") or [] if is_for_fraction(request) else []


def _is_done(request: Object) -> bool:
    return (request.get("status") or {}).get("phase") == "Succeeded" or is_failed(request)


def _has_ended(change: Change) -> bool:
    """Whether a pod is gone, or has come to its end."""
    if change.new is None:
        return True
    phase = change.new["status"].get("phase")
    return phase in _ENDED and (change.old is None or change.old["status"].get("phase") != phase)
