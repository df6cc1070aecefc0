"""Tables: objects as rows of cells, which is what `kubectl get` asks the server for.

A *table* holds column definitions and one row for each object: its cells, and beside them the object itself, its
metadata only, or nothing. In a watch every event carries a table of one row, and only the first has the definitions.
Kinds that have no printer show their name and when they were created.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from ghostfleet.api.kinds import Resource, Version
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import FieldError, bad_request
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.server.tables.access import ACCESS
from ghostfleet.server.tables.administration import ADMINISTRATION
from ghostfleet.server.tables.autoscaling import AUTOSCALING, SCALE
from ghostfleet.server.tables.cells import moment, name_of, part
from ghostfleet.server.tables.configuration import CONFIGURATION
from ghostfleet.server.tables.custom import custom_printer, custom_scale_printer
from ghostfleet.server.tables.devices import DEVICES
from ghostfleet.server.tables.events import EVENTS
from ghostfleet.server.tables.jobs import JOBS
from ghostfleet.server.tables.networking import NETWORKING
from ghostfleet.server.tables.nodes import NODES
from ghostfleet.server.tables.pods import PODS
from ghostfleet.server.tables.printers import NAME, Cell, Definition, Printer, column
from ghostfleet.server.tables.scheduling import SCHEDULING
from ghostfleet.server.tables.storage import STORAGE
from ghostfleet.server.tables.workloads import WORKLOADS

__all__ = ["BUILT_IN", "IncludeObject", "columns", "include_object_of", "row", "table"]

IncludeObject = Literal["Metadata", "None", "Object"]

_GROUPS = (
    ACCESS,
    ADMINISTRATION,
    AUTOSCALING,
    CONFIGURATION,
    DEVICES,
    EVENTS,
    JOBS,
    NETWORKING,
    NODES,
    PODS,
    SCHEDULING,
    STORAGE,
    WORKLOADS,
)
#: Printers of all built-in kinds that have one.
BUILT_IN: Mapping[str, Printer] = {key: printer for group in _GROUPS for key, printer in group.items()}

_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def _name_and_creation(obj: Object, _now: int) -> list[Cell]:
    created = moment(part(obj, "metadata").get("creationTimestamp"))
    if created is None:
        return [name_of(obj), "0001-01-01T00:00:00Z"]
    return [name_of(obj), rfc3339(created)]


_DEFAULT = Printer((NAME, column("Created At", "date", "When the object was created.")), _name_and_creation)


def _printer(resource: Resource, version: Version, subresource: str = "") -> Printer:
    if subresource == "scale":
        return custom_scale_printer(resource.scale) if resource.custom else SCALE
    return custom_printer(version) if resource.custom else BUILT_IN.get(resource.key, _DEFAULT)


def columns(resource: Resource, version: Version, subresource: str = "") -> list[Definition]:
    """Definitions of the columns of a resource."""
    return list(_printer(resource, version, subresource).columns)


def row(resource: Resource, version: Version, obj: Object, now_us: int, subresource: str = "") -> list[Cell]:
    """Cells of one object."""
    return _printer(resource, version, subresource).cells(obj, now_us)


def include_object_of(asked: str) -> IncludeObject:
    """What a request's `includeObject` parameter asks for."""
    match asked:
        case "" | "Metadata":
            return "Metadata"
        case "None":
            return "None"
        case "Object":
            return "Object"
    finding = FieldError.invalid("includeObject", asked, "must be 'Metadata', 'Object', 'None', or empty")
    raise bad_request(f"Unable to convert to Table as requested: {finding}")


def table(
    resource: Resource,
    version: Version,
    objects: Iterable[Object],
    *,
    revision: str,
    now_us: int,
    continue_: str = "",
    remaining: int | None = None,
    include_object: IncludeObject = "Metadata",
    with_columns: bool = True,
    api: str = "meta.k8s.io/v1",
    subresource: str = "",
) -> dict[str, Any]:
    """The table of these objects, as they stand at a time.

    `revision` is that of the list, or of the object when it is a single one.
    """
    printer = _printer(resource, version, subresource)
    metadata: dict[str, Any] = {"resourceVersion": revision} if revision else {}
    if continue_:
        metadata["continue"] = continue_
    if remaining is not None:
        metadata["remainingItemCount"] = remaining
    if printer.order is not None:
        objects = sorted(objects, key=printer.order)
    rows = [_row(printer, obj, now_us, include_object, api) for obj in objects]
    return {
        "kind": "Table",
        "apiVersion": api,
        "metadata": metadata,
        "columnDefinitions": list(printer.columns) if with_columns else None,
        # Kubernetes sends no empty list for kinds without a printer, but null.
        "rows": None if printer is _DEFAULT and not rows else rows,
    }


def _row(printer: Printer, obj: Object, now_us: int, include_object: IncludeObject, api: str) -> dict[str, Any]:
    made: dict[str, Any] = {"cells": printer.cells(obj, now_us)}
    if printer.conditions is not None and (conditions := printer.conditions(obj)):
        made["conditions"] = conditions
    made["object"] = _beside(obj, include_object, api)
    return made


def _beside(obj: Object, include_object: IncludeObject, api: str) -> Object | None:
    """What stands beside the cells of an object."""
    if include_object == "Object":
        return obj
    metadata = part(obj, "metadata")
    # The end of the initial events must be seen, even by those who want cells only.
    ends_initial_events = part(metadata, "annotations").get(_INITIAL_EVENTS_END) == "true"
    if include_object == "None" and not ends_initial_events:
        return None
    return {"kind": "PartialObjectMetadata", "apiVersion": api, "metadata": metadata}
