"""Namespaces and what configures them in one line: secrets, config maps, accounts, quotas, component health."""

from __future__ import annotations

from ghostfleet.core.changes import Object
from ghostfleet.server.tables.cells import created, items, name_of, part, quantity_text
from ghostfleet.server.tables.printers import AGE, NAME, Cell, Printers, text

__all__ = ["CONFIGURATION"]

CONFIGURATION = Printers()


@CONFIGURATION.of("namespaces", NAME, text("Status", "Whether the namespace is active or goes."), AGE)
def namespace(obj: Object, now: int) -> list[Cell]:
    return [name_of(obj), part(obj, "status").get("phase") or "", created(obj, now)]


@CONFIGURATION.of(
    "secrets", NAME, text("Type", "What the secret is for."), text("Data", "How many entries it has."), AGE
)
def secret(obj: Object, now: int) -> list[Cell]:
    return [name_of(obj), obj.get("type") or "", len(part(obj, "data")), created(obj, now)]


@CONFIGURATION.of("configmaps", NAME, text("Data", "How many entries it has."), AGE)
def config_map(obj: Object, now: int) -> list[Cell]:
    return [name_of(obj), len(part(obj, "data")) + len(part(obj, "binaryData")), created(obj, now)]


@CONFIGURATION.of("serviceaccounts", NAME, AGE)
def service_account(obj: Object, now: int) -> list[Cell]:
    return [name_of(obj), created(obj, now)]


@CONFIGURATION.of(
    "resourcequotas",
    NAME,
    text("Request", "Used and allowed, of all that is not a limit."),
    text("Limit", "Used and allowed, of limits."),
    AGE,
)
def resource_quota(obj: Object, now: int) -> list[Cell]:
    status = part(obj, "status")
    requests, limits = list[str](), list[str]()
    for resource, hard in sorted(part(status, "hard").items()):
        used = part(status, "used").get(resource)
        listed = limits if resource.startswith("limits.") else requests
        listed.append(f"{resource}: {quantity_text(used)}/{quantity_text(hard)}")
    return [name_of(obj), ", ".join(requests), ", ".join(limits), created(obj, now)]


@CONFIGURATION.of(
    "componentstatuses",
    NAME,
    text("Status", "Whether the component is healthy."),
    text("Message", "What the component says."),
    text("Error", "What went wrong, if anything."),
)
def component_status(obj: Object, _now: int) -> list[Cell]:
    for found in items(obj, "conditions"):
        if found.get("type") == "Healthy":
            word = "Healthy" if found.get("status") == "True" else "Unhealthy"
            return [name_of(obj), word, found.get("message") or "", found.get("error") or ""]
    return [name_of(obj), "Unknown", "", ""]
