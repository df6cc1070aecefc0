"""Preparation of single kinds: what the tables of strategies cannot say.

Each function here is one kind's own business around a write: the labels by which a job finds its pods, the template
generation of a daemon set, the fields a service loses when it changes its type, the two names of a claim's source.
"""

from __future__ import annotations

from ghostfleet.api.defaults.comparison import same
from ghostfleet.api.defaults.filling import each, replaced, rule, without
from ghostfleet.api.defaults.services import is_externally_accessible
from ghostfleet.core.changes import Object

__all__ = [
    "changed_service",
    "claim_with_sources",
    "definition_with_stored_version",
    "job_with_selector",
    "keep_template_generation",
    "namespace_with_finalizer",
    "plain_secret_references",
    "request_since",
    "request_without_user",
    "start_template_generation",
    "volume_since",
]

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
