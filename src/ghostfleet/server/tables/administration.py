"""What administers the API itself, in one line: webhooks, admission policies, flow control, storage versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.server.tables.cells import condition, created, first_few, items, name_of, part
from ghostfleet.server.tables.printers import AGE, NAME, Cell, Printers, column, integer, text

__all__ = ["ADMINISTRATION"]

ADMINISTRATION = Printers()

_WEBHOOKS = integer("Webhooks", "How many webhooks it registers.")
_PARAM_KIND = text("ParamKind", "Kind of the objects that hold the policy's parameters.")
_BINDING = (
    NAME,
    text("PolicyName", "Policy that is bound."),
    text("ParamRef", "Object with the parameters."),
    AGE,
)


@ADMINISTRATION.of("mutatingwebhookconfigurations.admissionregistration.k8s.io", NAME, _WEBHOOKS, AGE)
@ADMINISTRATION.of("validatingwebhookconfigurations.admissionregistration.k8s.io", NAME, _WEBHOOKS, AGE)
def webhook_configuration(obj: Object, now: int) -> list[Cell]:
    return [name_of(obj), len(items(obj, "webhooks")), created(obj, now)]


def _param_kind(policy: Object) -> str:
    kind = part(policy, "spec").get("paramKind")
    return "<unset>" if kind is None else f"{kind.get('apiVersion') or ''}/{kind.get('kind') or ''}"


@ADMINISTRATION.of(
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    NAME,
    integer("Validations", "How many rules the policy has."),
    _PARAM_KIND,
    AGE,
)
def validating_admission_policy(obj: Object, now: int) -> list[Cell]:
    return [name_of(obj), len(items(part(obj, "spec"), "validations")), _param_kind(obj), created(obj, now)]


@ADMINISTRATION.of(
    "mutatingadmissionpolicies.admissionregistration.k8s.io",
    NAME,
    integer("Mutations", "How many mutations the policy has."),
    _PARAM_KIND,
    AGE,
)
def mutating_admission_policy(obj: Object, now: int) -> list[Cell]:
    return [name_of(obj), len(items(part(obj, "spec"), "mutations")), _param_kind(obj), created(obj, now)]


def _selector_struct(selector: Mapping[str, Any]) -> str:
    """A label selector as Go prints the struct: that is what stands in this column."""
    labels = "".join(f"{key}: {value}," for key, value in sorted(part(selector, "matchLabels").items()))
    requirements = "".join(
        f"LabelSelectorRequirement{{Key:{entry.get('key') or ''},Operator:{entry.get('operator') or ''},"
        f"Values:[{' '.join(items(entry, 'values'))}],}},"
        for entry in items(selector, "matchExpressions")
    )
    expressions = f"[]LabelSelectorRequirement{{{requirements}}}"
    return f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:{expressions},}}"


def _param(reference: Mapping[str, Any]) -> str:
    if name := reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{name}"
    selector = reference.get("selector")
    return "<unset>" if selector is None else _selector_struct(selector)


@ADMINISTRATION.of("validatingadmissionpolicybindings.admissionregistration.k8s.io", *_BINDING)
@ADMINISTRATION.of("mutatingadmissionpolicybindings.admissionregistration.k8s.io", *_BINDING)
def admission_policy_binding(obj: Object, now: int) -> list[Cell]:
    spec = part(obj, "spec")
    return [name_of(obj), spec.get("policyName") or "", _param(part(spec, "paramRef")), created(obj, now)]


def _precedence(schema: Object) -> tuple[int, str]:
    return part(schema, "spec").get("matchingPrecedence") or 0, name_of(schema)


@ADMINISTRATION.of(
    "flowschemas.flowcontrol.apiserver.k8s.io",
    NAME,
    text("PriorityLevel", "Priority level of matching requests."),
    text("MatchingPrecedence", "The schema with the lowest number that matches decides."),
    text("DistinguisherMethod", "How requests are told apart into flows."),
    AGE,
    text("MissingPL", "Whether the priority level does not exist."),
    order=_precedence,
)
def flow_schema(obj: Object, now: int) -> list[Cell]:
    spec = part(obj, "spec")
    method = spec.get("distinguisherMethod")
    return [
        name_of(obj),
        part(spec, "priorityLevelConfiguration").get("name") or "",
        spec.get("matchingPrecedence") or 0,
        "<none>" if method is None else method.get("type") or "",
        created(obj, now),
        condition(obj, "Dangling").get("status", "?"),
    ]


@ADMINISTRATION.of(
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
    NAME,
    text("Type", "Whether the level is limited."),
    text("NominalConcurrencyShares", "Share of the server's concurrency."),
    text("Queues", "Queues of the level."),
    text("HandSize", "Queues among which a flow chooses."),
    text("QueueLengthLimit", "Requests that may wait in a queue."),
    AGE,
)
def priority_level_configuration(obj: Object, now: int) -> list[Cell]:
    spec = part(obj, "spec")
    limited = spec.get("limited")
    shares = "<none>" if limited is None else limited.get("nominalConcurrencyShares") or 0
    queuing = part(spec, "limited", "limitResponse").get("queuing")
    fields = ("queues", "handSize", "queueLengthLimit")
    return [
        name_of(obj),
        spec.get("type") or "",
        shares,
        *("<none>" if queuing is None else queuing.get(field) or 0 for field in fields),
        created(obj, now),
    ]


def _availability(service: Object) -> str:
    found = condition(service, "Available")
    status, reason = found.get("status") or "Unknown", found.get("reason")
    return f"{status} ({reason})" if reason and status != "True" else status


@ADMINISTRATION.of(
    "apiservices.apiregistration.k8s.io",
    NAME,
    text("Service", "Service that serves this part of the API."),
    text("Available", "Whether it can be reached."),
    AGE,
)
def api_service(obj: Object, now: int) -> list[Cell]:
    service = part(obj, "spec").get("service")
    location = "Local" if service is None else f"{service.get('namespace') or ''}/{service.get('name') or ''}"
    return [name_of(obj), location, _availability(obj), created(obj, now)]


@ADMINISTRATION.of(
    "storageversions.internal.apiserver.k8s.io",
    NAME,
    text("CommonEncodingVersion", "Version in which all servers store."),
    text("StorageVersions", "Version in which each server stores."),
    AGE,
)
def storage_version(obj: Object, now: int) -> list[Cell]:
    status = part(obj, "status")
    servers = [f"{entry['apiServerID']}={entry['encodingVersion']}" for entry in items(status, "storageVersions")]
    common = status.get("commonEncodingVersion")
    return [name_of(obj), "<unset>" if common is None else common, first_few(servers) or "<unset>", created(obj, now)]


@ADMINISTRATION.of(
    "storageversionmigrations.storagemigration.k8s.io",
    column("Name", "string", "Name of the object."),
    text("Resource", "Resource to migrate."),
    text("Status", "How far the migration is."),
)
def storage_version_migration(obj: Object, _now: int) -> list[Cell]:
    resource = part(obj, "spec", "resource")
    words = [
        found.get("type") or "" for found in items(part(obj, "status"), "conditions") if found.get("status") == "True"
    ]
    word = next((word for word in reversed(words) if word in ("Running", "Failed", "Succeeded")), "Unknown")
    return [name_of(obj), ".".join(filter(None, (resource.get("resource"), resource.get("group")))), word]
