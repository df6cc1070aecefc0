"""Validation of whole objects: the metadata that all kinds share, then the rules of the object's own kind.

It runs after defaulting, on objects of the right shape. Resources that have no rules here, such as custom resources,
get their metadata checked only. Whether an update names the version it changes is not asked here: storing checks that.
"""

from __future__ import annotations

from ghostfleet.api.validation import (
    admissionpolicies,
    autoscaling,
    config,
    coordination,
    cronjobs,
    definitions,
    device_slices,
    devices,
    extensions,
    jobs,
    metadata,
    networking,
    nodes,
    policy,
    quotas,
    rbac,
    scheduling,
    services,
    storage,
    workloads,
)
from ghostfleet.api.validation.checks import Errors, Object
from ghostfleet.api.validation.pods import pod
from ghostfleet.api.validation.rules import Rules
from ghostfleet.core.errors import FieldError

__all__ = ["validate_create", "validate_metadata", "validate_subresource", "validate_update"]

_RULES: dict[str, Rules] = {
    "pods": Rules(
        pod.create,
        update=pod.update,
        again_on_update=False,
        status=pod.status,
        subresources={
            "ephemeralcontainers": pod.ephemeral_containers,
            "resize": pod.resize,
        },
    ),
    **workloads.RULES,
    **jobs.RULES,
    **cronjobs.RULES,
    **services.RULES,
    **nodes.RULES,
    **config.RULES,
    **storage.RULES,
    **quotas.RULES,
    **policy.RULES,
    **scheduling.RULES,
    **coordination.RULES,
    **rbac.RULES,
    **networking.RULES,
    **autoscaling.RULES,
    **devices.RULES,
    **device_slices.RULES,
    **extensions.RULES,
    **admissionpolicies.RULES,
    **definitions.RULES,
}
_UNKNOWN = Rules()
_ADMISSION = frozenset(
    f"{plural}.admissionregistration.k8s.io"
    for plural in (
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    )
)
#: Kinds whose metadata gets no more than the checks that all objects get, custom ones too.
_PLAIN = _ADMISSION | {
    "customresourcedefinitions.apiextensions.k8s.io",
    "events",
    "leases.coordination.k8s.io",
    "poddisruptionbudgets.policy",
    "runtimeclasses.node.k8s.io",
}
#: Kinds that leave the metadata of an update to the machinery; all others look at it once more and find the same again.
_JUDGED_ONCE = _ADMISSION | {
    "csinodes.storage.k8s.io",
    "endpointslices.discovery.k8s.io",
    "events",
    "flowschemas.flowcontrol.apiserver.k8s.io",
    "limitranges",
    "persistentvolumes",
    "poddisruptionbudgets.policy",
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
    "volumeattachments.storage.k8s.io",
}


def validate_create(resource: str, obj: Object) -> list[FieldError]:
    """What is wrong with a new object; `resource` is a key such as `pods` or `jobs.batch`."""
    rules = _RULES.get(resource)
    found: Errors = []
    own_metadata = obj.get("metadata") or {}
    if rules is None:
        metadata.check(found, own_metadata, _UNKNOWN.name, namespaced=None)
        return found
    metadata.check(found, own_metadata, rules.name, namespaced=rules.namespaced, plain=resource in _PLAIN)
    rules.own(found, obj)
    return found


def validate_metadata(resource: str, own_metadata: Object) -> list[FieldError]:
    """What is wrong with the metadata of a new object of a built-in kind."""
    rules = _RULES[resource]
    found: Errors = []
    metadata.check(found, own_metadata, rules.name, namespaced=rules.namespaced, plain=resource in _PLAIN)
    return found


def validate_update(resource: str, old: Object, new: Object, subresource: str = "") -> list[FieldError]:
    """What is wrong with changing `old` to `new`, or the part of it that a subresource stands for."""
    rules = _RULES.get(resource, _UNKNOWN)
    found: Errors = []
    if new.get("metadata") is not old.get("metadata"):
        # The very same metadata was judged when it was stored.
        metadata.check_update(found, new.get("metadata") or {}, old.get("metadata") or {})
    if found and resource not in _JUDGED_ONCE:
        found += found
    if subresource == "status":
        rules.status(found, new, old)
    elif subresource and subresource != "scale":
        if check := rules.subresources.get(subresource):
            check(found, new, old)
    else:
        rules.update(found, new, old)
        if rules.again_on_update:
            rules.own(found, new)
    return found


def validate_subresource(resource: str, subresource: str, obj: Object) -> list[FieldError]:
    """What is wrong with an object that is sent to a subresource and is not the resource's own kind."""
    found: Errors = []
    if subresource == "scale":
        autoscaling.scale(found, obj)
    elif (resource, subresource) == ("pods", "binding"):
        pod.binding(found, obj)
    return found
