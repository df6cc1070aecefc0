"""Strategies: what the registry of each kind does around a write, as far as a table can say it.

The *generation* of an object counts the changes of what it asks for, so that a controller can say which state it has
seen; most kinds with a spec have one, but by no means all. The *status* of most kinds belongs to their controllers: it
starts empty, and only the status subresource changes it, which in turn changes nothing else. How much of the metadata a
status update may change differs from kind to kind.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RESET", "Strategy", "strategy_of"]

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
