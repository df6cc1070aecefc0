"""Kind strategies: what the registry of each built-in kind does around a write.

The *generation* of an object counts the changes of what it asks for, so that a controller can say which state it has
seen; most kinds with a spec have one, but by no means all. The *status* of most kinds belongs to their controllers: it
starts empty, and only the status subresource changes it, which in turn changes nothing else. How much of the metadata a
status update may change differs from kind to kind. So much a table can say; each function here is one kind's own
business: the labels by which a job finds its pods, the template generation of a daemon set, the fields a service loses
when it changes its type, the two names of a claim's source.

Two versions of an object ask for the *same* when they differ at most in empty lists, absent ones and nulls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ghostfleet.api.defaults.filling import each, replaced, rule, without
from ghostfleet.api.defaults.services import is_externally_accessible
from ghostfleet.core.changes import Object

__all__ = [
    "RESET",
    "Strategy",
    "changed_service",
    "claim_with_sources",
    "definition_with_stored_version",
    "job_with_selector",
    "keep_template_generation",
    "namespace_with_finalizer",
    "plain_secret_references",
    "request_since",
    "request_without_user",
    "same",
    "start_template_generation",
    "strategy_of",
    "volume_since",
]

#: Metadata that most of the newer kinds protect from writes of their status.
RESET = ("deletionTimestamp", "generation", "selfLink", "labels", "annotations", "finalizers", "ownerReferences")
_ALL_METADATA = (*RESET, "name", "namespace", "uid", "creationTimestamp", "deletionGracePeriodSeconds", "generateName")


@dataclass(frozen=True, slots=True)
class Strategy:
    """How a kind is written."""

    #: Its objects start with generation 1.
    counts: bool = False
    #: Fields whose change raises the generation; `annotations` and `labels` are those of the metadata, and `*` is all
    #: but the metadata.
    raised_by: tuple[str, ...] = ()
    #: It has a status that writes to the object itself do not change.
    status: bool = False
    #: Its status is not reset at creation: a node's may be given, a pod's is made by its own preparation.
    born_with_status: bool = False
    #: Metadata that a write of its status does not change.
    keeps: tuple[str, ...] = ()


_SPEC = ("spec",)
_PLAIN = Strategy()
_COUNTED = Strategy(counts=True, raised_by=_SPEC)
_WORKLOAD = Strategy(counts=True, raised_by=_SPEC, status=True)
_STATUS = Strategy(status=True)
_FLOW = Strategy(counts=True, raised_by=_SPEC, status=True, keeps=_ALL_METADATA)
_WEBHOOKS = Strategy(counts=True, raised_by=("webhooks",))

_STRATEGIES: dict[str, Strategy] = {
    "pods": Strategy(
        counts=True, raised_by=_SPEC, status=True, born_with_status=True, keeps=("ownerReferences", "deletionTimestamp")
    ),
    "podtemplates": Strategy(counts=True, raised_by=("template",)),
    "replicationcontrollers": _WORKLOAD,
    "services": _STATUS,
    "namespaces": _STATUS,
    "nodes": Strategy(status=True, born_with_status=True),
    "persistentvolumes": _STATUS,
    "persistentvolumeclaims": _STATUS,
    "resourcequotas": _STATUS,
    "deployments.apps": Strategy(counts=True, raised_by=("spec", "annotations"), status=True, keeps=("labels",)),
    "replicasets.apps": _WORKLOAD,
    "statefulsets.apps": _WORKLOAD,
    "daemonsets.apps": _WORKLOAD,
    "jobs.batch": _WORKLOAD,
    "cronjobs.batch": _WORKLOAD,
    "horizontalpodautoscalers.autoscaling": _STATUS,
    "poddisruptionbudgets.policy": _WORKLOAD,
    "ingresses.networking.k8s.io": _WORKLOAD,
    "ingressclasses.networking.k8s.io": _COUNTED,
    "networkpolicies.networking.k8s.io": _COUNTED,
    "servicecidrs.networking.k8s.io": Strategy(status=True, keeps=RESET),
    "endpointslices.discovery.k8s.io": Strategy(counts=True, raised_by=("*", "labels")),
    "priorityclasses.scheduling.k8s.io": Strategy(counts=True),
    "csidrivers.storage.k8s.io": Strategy(raised_by=_SPEC),
    "volumeattachments.storage.k8s.io": Strategy(status=True, keeps=RESET),
    "resourceclaims.resource.k8s.io": Strategy(status=True, keeps=RESET),
    "resourceslices.resource.k8s.io": _COUNTED,
    "deviceclasses.resource.k8s.io": _COUNTED,
    "devicetaintrules.resource.k8s.io": Strategy(counts=True, raised_by=_SPEC, status=True, keeps=RESET),
    "certificatesigningrequests.certificates.k8s.io": _STATUS,
    "flowschemas.flowcontrol.apiserver.k8s.io": _FLOW,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": _FLOW,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "validatingadmissionpolicies.admissionregistration.k8s.io": Strategy(
        counts=True, raised_by=_SPEC, status=True, keeps=RESET
    ),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _COUNTED,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": _COUNTED,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _COUNTED,
    "customresourcedefinitions.apiextensions.k8s.io": _WORKLOAD,
    "apiservices.apiregistration.k8s.io": Strategy(
        status=True, keeps=("labels", "annotations", "finalizers", "ownerReferences")
    ),
}


def strategy_of(resource_key: str) -> Strategy:
    """The strategy of a built-in kind; the plainest one for kinds that the table does not name."""
    return _STRATEGIES.get(resource_key, _PLAIN)


_UID, _OLD_UID = "batch.kubernetes.io/controller-uid", "controller-uid"
_JOB, _OLD_JOB = "batch.kubernetes.io/job-name", "job-name"
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def job_with_selector(job: Object) -> Object:
    """A new job with the labels and the selector by which it knows its pods, unless it says that it has its own."""
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector"):
        return job
    name, uid = metadata.get("name", ""), metadata["uid"]
    template = spec["template"]
    given = template["metadata"].get("labels")
    labels = {_OLD_JOB: name, _JOB: name, _OLD_UID: uid, _UID: uid, **(given or {})}
    selector = spec.get("selector") or {}
    spec = {
        **spec,
        "selector": {**selector, "matchLabels": {_UID: uid, **(selector.get("matchLabels") or {})}},
        "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
    }
    # A job without labels shows those of its template, also the ones made just now.
    own = metadata.get("labels")
    if not own or own is given:
        metadata = {**metadata, "labels": labels}
    return {**job, "metadata": metadata, "spec": spec}


def _template_generation(daemonset: Object) -> int:
    text = (daemonset["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "0")
    return int(text) if text.isdecimal() else 0


def _with_template_generation(daemonset: Object, generation: int) -> Object:
    metadata = daemonset["metadata"]
    annotations = metadata.get("annotations") or {}
    text = str(generation)
    if annotations.get(_TEMPLATE_GENERATION) == text:
        return daemonset
    return {**daemonset, "metadata": {**metadata, "annotations": {**annotations, _TEMPLATE_GENERATION: text}}}


def start_template_generation(daemonset: Object) -> Object:
    return _with_template_generation(daemonset, max(_template_generation(daemonset), 1))


def keep_template_generation(old: Object, new: Object) -> Object:
    raised = not same(old["spec"].get("template"), new["spec"].get("template"))
    return _with_template_generation(new, _template_generation(old) + raised)


def definition_with_stored_version(definition: Object) -> Object:
    """A new definition: the version in which its objects will be stored is told from the beginning."""
    stored = [version["name"] for version in definition["spec"].get("versions") or () if version.get("storage")]
    return replaced(definition, "status", {**definition["status"], "storedVersions": stored}) if stored else definition


def namespace_with_finalizer(namespace: Object) -> Object:
    """A new namespace: it is not gone before Kubernetes itself lets go of it."""
    spec = namespace["spec"]
    finalizers = spec.get("finalizers") or []
    if "kubernetes" in finalizers:
        return namespace
    return {**namespace, "spec": {**spec, "finalizers": [*finalizers, "kubernetes"]}}


def plain_secret_references(account: Object) -> Object:
    """A service account: of the secrets it refers to only the names are kept."""
    secrets = account.get("secrets")
    if not secrets:
        return account
    return replaced(account, "secrets", each(_only_name)(secrets))


def _only_name(reference: Object) -> Object:
    return reference if reference.keys() <= {"name"} else {"name": reference["name"]} if "name" in reference else {}


def request_without_user(request: Object) -> Object:
    """A certificate signing request: who asks is not for the client to say."""
    return {**request, "spec": without(request["spec"], "username", "uid", "groups", "extra")}


def request_since(old: Object, request: Object, now: str) -> Object:
    """A certificate signing request with the times of what its conditions say."""
    status: Object = request.get("status") or {}
    known = {
        (condition.get("type"), condition.get("status")): condition.get("lastTransitionTime")
        for condition in (old.get("status") or {}).get("conditions") or ()
    }

    def stamped(condition: Object) -> Object:
        since = known.get((condition.get("type"), condition.get("status"))) or now
        return rule(absent={"lastUpdateTime": now, "lastTransitionTime": since})(condition)

    conditions = each(stamped)(status.get("conditions") or [])
    return replaced(request, "status", replaced(status, "conditions", conditions)) if conditions else request


_CLAIM_SOURCES = {("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")}


def claim_with_sources(old: Object | None, claim: Object) -> Object:
    """A claim that names what it is filled from, under both the old name and the new one.

    The old name takes claims and snapshots only; anything else is silently dropped from a claim that had no source.
    """
    spec: Object = claim["spec"]
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None and reference is None:
        return claim
    before = old["spec"] if old else {}
    had_source = before.get("dataSource") is not None or before.get("dataSourceRef") is not None
    if source is not None and reference is None:
        if not had_source and (source.get("apiGroup") or "", source.get("kind")) not in _CLAIM_SOURCES:
            return {**claim, "spec": without(spec, "dataSource")}
        return {**claim, "spec": {**spec, "dataSourceRef": source}}
    if source is None and reference is not None and not reference.get("namespace"):
        return {**claim, "spec": {**spec, "dataSource": without(reference, "namespace")}}
    return claim


def volume_since(old: Object | None, volume: Object, now: str) -> Object:
    """A persistent volume with the time of its last change of phase."""
    status: Object = volume["status"]
    before: Object = old["status"] if old else {}
    key = "lastPhaseTransitionTime"
    given, last = status.get(key), before.get(key)
    if status.get("phase") == before.get("phase"):
        since = given or last
    else:
        since = given if given and given != last else now
    return replaced(volume, "status", replaced(status, key, since or None))


def changed_service(old: Object, new: Object) -> Object:
    """A service that may have changed its type: what was set for the old type, and is not touched, goes with it."""
    before, spec = old["spec"], new["spec"]
    if before.get("type") != spec.get("type") or before.get("externalTrafficPolicy") != spec.get(
        "externalTrafficPolicy"
    ):
        new = {**new, "spec": _without_old_type(before, spec)}
    if spec.get("type") != "LoadBalancer" and new["status"].get("loadBalancer"):
        new = {**new, "status": {**new["status"], "loadBalancer": {}}}
    return new


def _without_old_type(before: Object, spec: Object) -> Object:
    lost: list[str] = []

    def lose(*keys: str) -> None:
        if all(before.get(key) == spec.get(key) for key in keys):
            lost.extend(keys)

    was, sort = before.get("type"), spec.get("type")
    if was != "ExternalName" and sort == "ExternalName":
        lose("clusterIP", "clusterIPs")
        lose("ipFamilies")
        lose("ipFamilyPolicy")
    if _has_node_ports(was) and not _has_node_ports(sort) and _node_ports(before) == _node_ports(spec):
        spec = replaced(spec, "ports", each(lambda port: without(port, "nodePort"))(spec.get("ports") or []))
    if _has_health_port(before) and not _has_health_port(spec):
        lose("healthCheckNodePort")
    if was == "LoadBalancer" and sort != "LoadBalancer":
        lose("allocateLoadBalancerNodePorts")
        lose("loadBalancerClass")
    if is_externally_accessible(before) and not is_externally_accessible(spec):
        lose("externalTrafficPolicy")
    return without(spec, *lost)


def _has_node_ports(sort: str | None) -> bool:
    return sort in ("NodePort", "LoadBalancer")


def _node_ports(spec: Object) -> set[int]:
    return {port.get("nodePort") or 0 for port in spec.get("ports") or ()}


def _has_health_port(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def same(left: Any, right: Any) -> bool:
    """Whether both mean the same."""
    if left is right or left == right:
        return True
    if isinstance(left, dict) and isinstance(right, dict):
        return all(same(left.get(key), right.get(key)) for key in left.keys() | right.keys())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left in (None, []) and right in (None, [])
