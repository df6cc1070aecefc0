"""Rules of a resource's life that differ from kind to kind, as small tables.

What is allowed on an update, what a delete answers, what becomes of dependents when nobody says. Source: the registry
strategies of Kubernetes 1.36 (pkg/registry).
"""

from __future__ import annotations

from collections.abc import Mapping

from ghostfleet.core.changes import Object

__all__ = [
    "CREATED_BY_UPDATE",
    "IMMORTAL_NAMESPACES",
    "NEEDS_RESOURCE_VERSION",
    "ORPHANS_BY_DEFAULT",
    "grace_period",
]

#: A PUT to a name that is not there creates it.
CREATED_BY_UPDATE = frozenset(
    {
        "endpoints",
        "events",
        "limitranges",
        "services",
        "leases.coordination.k8s.io",
        "runtimeclasses.node.k8s.io",
        "roles.rbac.authorization.k8s.io",
        "rolebindings.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "clusterrolebindings.rbac.authorization.k8s.io",
    }
)

#: An update must say which version it was made from; so must one of any custom resource.
NEEDS_RESOURCE_VERSION = frozenset(
    {
        "leases.coordination.k8s.io",
        "runtimeclasses.node.k8s.io",
        "poddisruptionbudgets.policy",
        "csidrivers.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "csistoragecapacities.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
    }
)

#: A delete that says nothing about dependents leaves them alone.
ORPHANS_BY_DEFAULT = frozenset({"jobs.batch", "replicationcontrollers"})

IMMORTAL_NAMESPACES = frozenset({"default", "kube-system", "kube-public"})


def grace_period(resource: str, obj: Object, asked: int | None) -> int:
    """Seconds between the mark and the end of an object; only pods that may be running on a node have any."""
    if resource != "pods":
        return 0
    spec: Mapping[str, object] = obj.get("spec", {})
    if not spec.get("nodeName") or obj.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    if asked is not None:
        return max(asked, 0)
    own = spec.get("terminationGracePeriodSeconds")
    return max(own, 0) if isinstance(own, int) else 30
