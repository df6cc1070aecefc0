"""Nodes, namespaces and events: what the cluster is made of and what is told about it."""

from __future__ import annotations

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    cidr,
    invalid,
    ip_version,
    qualified_name,
    required,
)
from ghostfleet.api.validation.pods.placement import taint_effect
from ghostfleet.api.validation.resources import quantity_of
from ghostfleet.api.validation.rules import Rules, dns_label_name, path_segment_name
from ghostfleet.api.validation.structs import Layout, Shown, shown
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

__all__ = ["RULES"]

_TAINT: Layout = (
    ("Key", "key", ""),
    ("Value", "value", ""),
    ("Effect", "effect", ""),
    ("TimeAdded", "timeAdded", None),
)
_STANDARD_FINALIZERS = {"kubernetes", "orphan", "foregroundDeletion"}
_NOT_STANDARD = "name is neither a standard finalizer name nor is it fully qualified"


def _node(errors: Errors, node: Object) -> None:
    spec = node.get("spec") or {}
    _taints(errors, spec.get("taints") or [])
    _node_resources(errors, node)
    ranges = spec.get("podCIDRs") or []
    for index, value in enumerate(ranges):
        cidr(errors, f"spec.podCIDRs[{index}]", value)
    if len(ranges) > 1 and len({ip_version(value.partition("/")[0]) for value in ranges}) != len(ranges):
        why = "may specify no more than one CIDR for each IP family"
        errors.append(FieldError.invalid("spec.podCIDRs", ranges, why))


def _taints(errors: Errors, taints: list[Object]) -> None:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        # Kubernetes looks for a node's taints below its metadata.
        path = f"metadata.taints[{index}]"
        key, effect = taint.get("key", ""), taint.get("effect", "")
        qualified_name(errors, f"{path}.key", key)
        if messages := names.is_label_value(taint.get("value", "")):
            errors.append(FieldError.invalid(f"{path}.value", taint["value"], ";".join(messages)))
        taint_effect(errors, f"{path}.effect", effect, needed=True)
        if (key, effect) in seen:
            detail = "taints must be unique by key and effect pair"
            errors.append(Shown("Duplicate value", path, shown(taint, _TAINT), detail))
        seen.add((key, effect))


def _node_resources(errors: Errors, node: Object) -> None:
    found = node.get("status") or {}
    for field in ("capacity", "allocatable"):
        for name, quantity in (found.get(field) or {}).items():
            quantity_of(errors, f"status.{field}.{name}", name, quantity)


def _node_update(errors: Errors, new: Object, old: Object) -> None:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    _node_resources(errors, new)
    _addresses(errors, (new.get("status") or {}).get("addresses") or [])
    if before.get("podCIDRs") and before["podCIDRs"] != spec.get("podCIDRs"):
        why = 'node updates may not change podCIDR except from "" to valid'
        errors.append(FieldError.forbidden("spec.podCIDRs", why))
    if before.get("providerID") and before["providerID"] != spec.get("providerID"):
        why = 'node updates may not change providerID except from "" to valid'
        errors.append(FieldError.forbidden("spec.providerID", why))
    _taints(errors, spec.get("taints") or [])


def _addresses(errors: Errors, addresses: list[Object]) -> None:
    seen: set[tuple[str, str]] = set()
    for index, address in enumerate(addresses):
        key = (address.get("type", ""), address.get("address", ""))
        if key in seen:
            errors.append(FieldError.duplicate(f"status.addresses[{index}]", address))
        seen.add(key)


def _namespace(errors: Errors, namespace: Object) -> None:
    for finalizer in (namespace.get("spec") or {}).get("finalizers") or ():
        _finalizer(errors, "spec.finalizers", finalizer)


def _finalizer(errors: Errors, path: str, finalizer: str) -> None:
    qualified_name(errors, path, finalizer)
    if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
        errors.append(FieldError.invalid(path, finalizer, _NOT_STANDARD))


def _finalize(errors: Errors, new: Object, _old: Object) -> None:
    for index, finalizer in enumerate((new.get("spec") or {}).get("finalizers") or ()):
        _finalizer(errors, f"spec.finalizers[{index}]", finalizer)


def _namespace_status(errors: Errors, new: Object, _old: Object) -> None:
    deleted = bool((new.get("metadata") or {}).get("deletionTimestamp"))
    phase = (new.get("status") or {}).get("phase", "")
    wanted = "Terminating" if deleted else "Active"
    if phase != wanted:
        why = f"may only be '{wanted}' if `deletionTimestamp` is {'not ' if deleted else ''}empty"
        errors.append(FieldError.invalid("status.Phase", phase, why))


def _event(errors: Errors, event: Object) -> None:
    """Events of core/v1: about an object of their own namespace; new-style ones also say who reports what."""
    namespace = (event.get("metadata") or {}).get("namespace", "")
    about = (event.get("involvedObject") or {}).get("namespace", "")
    if not event.get("eventTime"):
        mismatch = namespace not in ("", "default") if not about else namespace != about
    else:
        mismatch = not about and namespace not in ("default", "kube-system")
    if mismatch:
        errors.append(FieldError.invalid("involvedObject.namespace", about, "does not match event.namespace"))
    if event.get("eventTime"):
        _reported(errors, event)
    invalid(errors, "namespace", namespace, names.is_dns1123_subdomain(namespace))


def _reported(errors: Errors, event: Object) -> None:
    reporter = event.get("reportingComponent", "")
    required(errors, "reportingComponent", reporter)
    qualified_name(errors, "reportingComponent", reporter)
    for field in ("reportingInstance", "action", "reason"):
        value = event.get(field, "")
        required(errors, field, value)
        if len(value) > 128:
            errors.append(FieldError.invalid(field, "", "can have at most 128 characters"))
    if len(event.get("message", "")) > 1024:
        errors.append(FieldError.invalid("message", "", "can have at most 1024 characters"))


RULES: dict[str, Rules] = {
    "nodes": Rules(_node, namespaced=False, update=_node_update, again_on_update=False, status=_node_update),
    "namespaces": Rules(
        _namespace,
        name=dns_label_name,
        namespaced=False,
        again_on_update=False,
        status=_namespace_status,
        subresources={"finalize": _finalize},
    ),
    "events": Rules(
        _event,
        name=path_segment_name,
        update=lambda errors, new, _old: _event(errors, new),
        again_on_update=False,
    ),
    "events.events.k8s.io": Rules(name=path_segment_name),
}
