"""The resource claim controller: makes the claims of pods from templates, and gives claims back that are not in use.

A pod's status tells which claim was made for it. When a pod has ended it is no consumer of its claims any more; a claim
that has lost its last consumer gives its devices back, and goes if it was made for a pod that will not run. A pod that
came to a node without the scheduler is made a consumer here.
"""

from __future__ import annotations

from collections.abc import Iterator

from ghostfleet.api.podclaims import (
    CLAIMS,
    FINALIZER,
    MOST_CONSUMERS,
    TEMPLATES,
    ClaimError,
    allocation_of,
    consumer,
    consumers_of,
    is_made_for,
    is_reserved_for,
    unprotected,
    used_claims,
    uses_claims,
)
from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.pods import is_terminal
from ghostfleet.controllers.requests import Request, Steps, delete, update_status
from ghostfleet.controllers.resourceclaims.templates import POD_CLAIM, claim_from, name_prefix
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.subscription import Subscription

__all__ = ["ResourceClaimController"]

#: `pods` or the claims' own resource, namespace, name.
Key = tuple[str, str, str]
Place = tuple[str, str]


class ResourceClaimController:
    """Looks after the claims of one store."""

    def __init__(self, store: Store, profile: Profile) -> None:
        client = profile.api_client("kube-controller-manager")
        self._store: Reader = store
        self._recorder = EventRecorder(store, "resource_claim", profile, client)
        count = profile.number("resource-claim.workers")
        self._workers: Workers[Key] = Workers(store, self._sync, count=count, client=client)
        #: Pods that wait for a template, or on a node for a claim to be allocated.
        self._awaiting: dict[tuple[str, Place], dict[Place, None]] = {}
        #: Only while there are claims is it of interest that a pod has ended.
        self._subscription = Subscription(lambda: store.listen("pods", self._notice_end))
        for pod in store.list("pods"):
            self._consider(pod)
        for claim in store.list(CLAIMS):
            self._workers.add((CLAIMS, *_place(claim)))
        store.listen("pods", self._notice_pod, status=False)
        store.listen(CLAIMS, self._notice_claim)
        store.listen(TEMPLATES, self._notice_template)
        self._subscription.subscribe_if(store.count(CLAIMS))

    # -- taking note -------------------------------------------------------------------------------------------------

    def _notice_pod(self, change: Change) -> None:
        pod = change.new if change.new is not None else change.old
        if pod is not None and uses_claims(pod):
            self._consider(pod, gone=change.new is None)

    def _notice_end(self, change: Change) -> None:
        pod = change.new
        if pod is not None and uses_claims(pod) and is_terminal(pod):
            self._release(pod)

    def _consider(self, pod: Object, *, gone: bool = False) -> None:
        if not uses_claims(pod):
            return
        if gone or _is_done(pod):
            self._release(pod)
        elif "resourceClaims" in pod["spec"] and "deletionTimestamp" not in pod["metadata"]:
            self._workers.add(("pods", *_place(pod)))

    def _release(self, pod: Object) -> None:
        for name in _known_names(pod):
            self._workers.add((CLAIMS, pod["metadata"]["namespace"], name))

    def _notice_claim(self, change: Change) -> None:
        self._subscription.subscribe_if(self._store.count(CLAIMS))
        claim = change.new
        if claim is not None:
            if consumers_of(claim) or "deletionTimestamp" in claim["metadata"]:
                self._workers.add((CLAIMS, change.namespace, change.name))
            self._look_at_waiting(CLAIMS, change)
        elif change.old is not None:
            for owner in change.old["metadata"].get("ownerReferences") or ():
                if owner["kind"] == "Pod":
                    self._workers.add(("pods", change.namespace, owner["name"]))

    def _notice_template(self, change: Change) -> None:
        if change.new is not None:
            self._look_at_waiting(TEMPLATES, change)

    def _look_at_waiting(self, resource: str, change: Change) -> None:
        if self._awaiting:
            for place in self._awaiting.pop((resource, (change.namespace, change.name)), ()):
                self._workers.add(("pods", *place))

    def _wait(self, pod: Object, resource: str, name: str) -> None:
        key = (resource, (pod["metadata"]["namespace"], name))
        self._awaiting.setdefault(key, {})[_place(pod)] = None

    def _sync(self, key: Key) -> Steps:
        return self._sync_pod(*key[1:]) if key[0] == "pods" else self._sync_claim(*key[1:])

    # -- pods --------------------------------------------------------------------------------------------------------

    def _sync_pod(self, namespace: str, name: str) -> Steps:
        pod = self._store.find("pods", namespace, name)
        if pod is None or "deletionTimestamp" in pod["metadata"] or is_terminal(pod):
            return
        made: dict[str, str] = {}
        for each in pod["spec"]["resourceClaims"]:
            template_name = each.get("resourceClaimTemplateName")
            if template_name is None or self._is_made(pod, each["name"]):
                continue
            claim = self._orphan(pod, each["name"])
            if claim is None:
                template = self._store.find(TEMPLATES, namespace, template_name)
                if template is None:
                    self._wait(pod, TEMPLATES, template_name)
                    self._tell_missing(pod, each["name"], template_name)
                    return
                claim = yield Request("create", CLAIMS, _create, template, pod, each["name"])
            made[each["name"]] = claim["metadata"]["name"]
        if made:
            pod = yield update_status("pods", pod, lambda current: _with_claims(current["status"], made))
            if pod is None:
                return
        if pod["spec"].get("nodeName"):
            yield from self._reserve(pod)

    def _is_made(self, pod: Object, pod_claim: str) -> bool:
        """Whether a claim was made, is there, and is the pod's own."""
        for each in pod["status"].get("resourceClaimStatuses") or ():
            if each["name"] == pod_claim:
                if not each.get("resourceClaimName"):
                    return True
                claim = self._store.find(CLAIMS, pod["metadata"]["namespace"], each["resourceClaimName"])
                return claim is not None and is_made_for(claim, pod)
        return False

    def _orphan(self, pod: Object, pod_claim: str) -> Object | None:
        """A claim that was made for the pod, which its status does not tell of yet."""
        for _, claim in self._store.owned_by(pod["metadata"]["uid"], CLAIMS):
            if (claim["metadata"].get("annotations") or {}).get(POD_CLAIM) == pod_claim and is_made_for(claim, pod):
                return claim
        return None

    def _tell_missing(self, pod: Object, pod_claim: str, template: str) -> None:
        kind = "resourceclaimtemplate.resource.k8s.io"
        problem = f'resource claim template "{template}": {kind} "{template}" not found'
        self._recorder.warning(pod, "FailedResourceClaimCreation", f"PodResourceClaim {pod_claim}: {problem}")

    def _reserve(self, pod: Object) -> Steps:
        """Make a pod on a node a consumer of its claims."""
        for name in _known_names(pod):
            claim = self._store.find(CLAIMS, pod["metadata"]["namespace"], name)
            if claim is None or allocation_of(claim) is None:
                self._wait(pod, CLAIMS, name)
            elif not is_reserved_for(claim, pod) and len(consumers_of(claim)) < MOST_CONSUMERS:
                yield update_status(CLAIMS, claim, lambda current: _reserved(current, pod))

    # -- claims ------------------------------------------------------------------------------------------------------

    def _sync_claim(self, namespace: str, name: str) -> Steps:
        claim = self._store.find(CLAIMS, namespace, name)
        if claim is None:
            return
        before = consumers_of(claim)
        left = [each for each in before if self._is_needed(namespace, each)]
        protected = FINALIZER in (claim["metadata"].get("finalizers") or ())
        if len(left) < len(before) or (protected and not left and "deletionTimestamp" in claim["metadata"]):
            claim = yield Request("update", f"{CLAIMS}/status", _free, claim, left)
            if claim is None:
                # Something happened to it in the meantime, and it will be looked at again.
                return
            if protected and allocation_of(claim) is None:
                yield Request("update", CLAIMS, _take_finalizer, namespace, name)
        if not left and self._is_abandoned(claim):
            yield delete(CLAIMS, namespace, name)

    def _is_needed(self, namespace: str, reference: Object) -> bool:
        """Whether a consumer is still there; all that are not pods are."""
        if reference.get("apiGroup") or reference.get("resource") != "pods":
            return True
        pod = self._store.find("pods", namespace, reference["name"])
        return pod is not None and pod["metadata"]["uid"] == reference["uid"] and not _is_done(pod)

    def _is_abandoned(self, claim: Object) -> bool:
        """Whether a claim was made for a pod that is not going to run."""
        metadata = claim["metadata"]
        if "deletionTimestamp" in metadata:
            return False
        for owner in metadata.get("ownerReferences") or ():
            if owner["kind"] == "Pod" and owner.get("controller"):
                pod = self._store.find("pods", metadata["namespace"], owner["name"])
                return pod is not None and (pod["metadata"]["uid"] != owner["uid"] or _is_done(pod))
        return False


def _create(store: Store, template: Object, pod: Object, pod_claim: str) -> Object:
    prefix = name_prefix(pod["metadata"]["name"], pod_claim)
    name = store.generate_name(CLAIMS, pod["metadata"]["namespace"], prefix)
    return store.add(CLAIMS, claim_from(template, pod, pod_claim, name, prefix))


def _reserved(claim: Object, pod: Object) -> Object:
    """The status of a claim with a pod among its consumers."""
    status: Object = claim["status"]
    return status if is_reserved_for(claim, pod) else {**status, "reservedFor": [*consumers_of(claim), consumer(pod)]}


def _free(store: Store, claim: Object, left: list[Object]) -> Object | None:
    """The claim with the consumers that are left, without any of its devices if there are none; None if it changed."""
    if not store.is_current(CLAIMS, *_place(claim), claim):
        return None
    gone = {"reservedFor"} if left else {"reservedFor", "allocation", "devices"}
    status = {key: value for key, value in claim["status"].items() if key not in gone}
    if left:
        status["reservedFor"] = left
    return store.set_status(CLAIMS, claim, status) if status != claim["status"] else claim


def _take_finalizer(store: Store, namespace: str, name: str) -> None:
    claim = store.find(CLAIMS, namespace, name)
    if claim is None or allocation_of(claim) is not None:
        return
    store.update(CLAIMS, unprotected(claim))


def _place(obj: Object) -> Place:
    return obj["metadata"]["namespace"], obj["metadata"]["name"]


def _is_done(pod: Object) -> bool:
    """Whether a pod has ended, or goes before it came to a node."""
    return is_terminal(pod) or ("deletionTimestamp" in pod["metadata"] and not pod["spec"].get("nodeName"))


def _known_names(pod: Object) -> Iterator[str]:
    """The names of a pod's claims, up to the first that was not made."""
    try:
        for name, _ in used_claims(pod):
            yield name
    except ClaimError:
        return


def _with_claims(status: Object, made: dict[str, str]) -> Object:
    """A pod's status that tells of claims which were made for it."""
    known = [each for each in status.get("resourceClaimStatuses") or () if each["name"] not in made]
    told = [{"name": pod_claim, "resourceClaimName": name} for pod_claim, name in made.items()]
    return {**status, "resourceClaimStatuses": [*known, *told]}
