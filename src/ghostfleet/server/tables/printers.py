"""Printers: how objects of one kind become cells.

A *printer* is the column definitions of a kind together with the function that makes the cells of one object, in the
same order. Priority 0 columns are what `kubectl get` shows; higher ones it shows only with `-o wide`, but the server
always sends all. A module of kinds declares its printers in one `Printers` table, keyed by resource (`jobs.batch`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ghostfleet.core.changes import Object

__all__ = [
    "AGE",
    "CONTAINERS",
    "IMAGES",
    "NAME",
    "SELECTOR",
    "Cell",
    "Definition",
    "Printer",
    "Printers",
    "boolean",
    "column",
    "integer",
    "text",
    "wide",
]

Cell = str | int | float | bool | None
CellsOf = Callable[[Object, int], list[Cell]]
Definition = dict[str, Any]


def column(name: str, sort: str, description: str, *, form: str = "", priority: int = 0) -> Definition:
    """One column definition, as it goes over the wire."""
    return {"name": name, "type": sort, "format": form, "description": description, "priority": priority}


def text(name: str, description: str) -> Definition:
    return column(name, "string", description)


def integer(name: str, description: str) -> Definition:
    return column(name, "integer", description)


def boolean(name: str, description: str) -> Definition:
    return column(name, "boolean", description)


def wide(name: str, description: str) -> Definition:
    """A column that is shown with `-o wide` only."""
    return column(name, "string", description, priority=1)


NAME = column("Name", "string", "Name of the object, unique within its namespace and kind.", form="name")
AGE = text("Age", "Time since the object was created.")
CONTAINERS = wide("Containers", "Names of the containers in the pod template.")
IMAGES = wide("Images", "Images of the containers in the pod template.")
SELECTOR = wide("Selector", "Labels by which the pods are found.")


@dataclass(frozen=True, slots=True)
class Printer:
    """Columns of a kind, and what fills them."""

    columns: tuple[Definition, ...]
    #: cells of an object at a time in microseconds
    cells: CellsOf
    #: conditions of a row, for kinds whose objects run to completion
    conditions: Callable[[Object], list[dict[str, str]]] | None = None
    #: sort key of rows, for kinds that are not listed in the store's order
    order: Callable[[Object], Any] | None = None


class Printers(dict[str, Printer]):
    """Printers by resource key."""

    def of(
        self,
        key: str,
        *columns: Definition,
        conditions: Callable[[Object], list[dict[str, str]]] | None = None,
        order: Callable[[Object], Any] | None = None,
    ) -> Callable[[CellsOf], CellsOf]:
        """Declare that the decorated function fills these columns for this resource."""

        def register(cells: CellsOf) -> CellsOf:
            self[key] = Printer(columns, cells, conditions, order)
            return cells

        return register
