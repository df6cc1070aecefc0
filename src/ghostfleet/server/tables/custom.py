"""Custom resources in one line, by the columns their definition declares.

A column takes its cell from a JSONPath. A cell of a column of type `string` is text, whatever is found there; of the
other types it is null where the value found is of another type. A `date` shows as an age.
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any

import orjson

from ghostfleet.api.kinds import Column, ScalePaths, Version
from ghostfleet.core import jsonpath
from ghostfleet.core.changes import Object
from ghostfleet.core.timestamps import age, parse_rfc3339
from ghostfleet.server.tables.cells import name_of
from ghostfleet.server.tables.printers import AGE, NAME, Cell, Definition, Printer, column

__all__ = ["custom_printer", "custom_scale_printer"]

#: First integer that does not fit into 64 bits; Go makes the smallest one of what does not fit.
_OUT_OF_RANGE = 2**63

_AGE = Column("Age", "date", ".metadata.creationTimestamp", AGE["description"])
_DESIRED = Column("Desired", "integer", ".spec.replicas", "Replicas that are wanted.")
_AVAILABLE = Column("Available", "integer", ".status.replicas", "Replicas that exist.")


def custom_printer(version: Version) -> Printer:
    """What prints objects of this version of a custom resource."""
    return _printer(version.columns or (_AGE,))


def custom_scale_printer(paths: ScalePaths | None) -> Printer:
    """What prints the scale of a custom resource."""
    if paths is None:
        return _printer((_AGE,))
    counts = ((paths.spec_replicas, _DESIRED), (paths.status_replicas, _AVAILABLE))
    return _printer((*(declared for path, declared in counts if path), _AGE))


@lru_cache(maxsize=1024)
def _printer(declared: tuple[Column, ...]) -> Printer:
    readable = _readable(declared)
    paths = [(jsonpath.compile(entry.json_path), entry.type) for entry in readable]

    def cells(obj: Object, now: int) -> list[Cell]:
        return [name_of(obj), *(_cell(path.find(obj), sort, now) for path, sort in paths)]

    return Printer((NAME, *(_definition(entry) for entry in readable)), cells)


def _readable(declared: tuple[Column, ...]) -> list[Column]:
    """The columns before the first whose path makes no sense; Kubernetes shows no more than those."""
    readable = []
    for entry in declared:
        try:
            jsonpath.compile(entry.json_path)
        except ValueError:
            break
        readable.append(entry)
    return readable


def _definition(entry: Column) -> Definition:
    description = entry.description or f"Custom resource definition column (in JSONPath format): {entry.json_path}"
    return column(entry.name, entry.type, description, form=entry.format, priority=entry.priority)


def _cell(found: list[Any], sort: str, now: int) -> Cell:
    if not found:
        return None
    value = found[0]
    match sort:
        case "string":
            return _text(value)
        case "integer" | "number" if isinstance(value, int | float) and not isinstance(value, bool):
            return _number(value, whole=sort == "integer")
        case "boolean" if isinstance(value, bool):
            return value
        case "date" if isinstance(value, str):
            return _age(value, now)
    return None


def _number(value: float, *, whole: bool) -> int | float:
    """A number; one without fraction is written without a point."""
    if abs(value) >= _OUT_OF_RANGE:
        return -_OUT_OF_RANGE if whole else float(value)
    return int(value) if whole or value == int(value) else value


def _age(stamp: str, now: int) -> str:
    if stamp in ("", "null"):
        return "<unknown>"
    try:
        return age(now - parse_rfc3339(stamp))
    except ValueError:
        return "<invalid>"


def _text(value: Any) -> str:
    """A value as Go prints it."""
    match value:
        case None:
            return "<no value>"
        case bool():
            return "true" if value else "false"
        case int() if abs(value) >= _OUT_OF_RANGE:
            return _float_text(float(value))
        case float():
            return _float_text(value)
        case dict() | list():
            return _json_text(value)
    return str(value)


def _float_text(value: float) -> str:
    """Shortest digits that name the number, with an exponent for what is large or very small."""
    if value.is_integer() and abs(value) < _OUT_OF_RANGE:
        return str(int(value))
    digits = Decimal(repr(value)).normalize()
    if -4 <= digits.adjusted() < 6:
        return repr(value)
    return f"{value:.{len(digits.as_tuple().digits) - 1}e}"


def _json_text(value: Any) -> str:
    """JSON as Go writes it: sorted keys, and escapes for what HTML would read."""
    dumped = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return dumped.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
