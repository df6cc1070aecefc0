"""Bad values as Kubernetes shows them when they are whole structs.

Its messages print such a value as JSON of the internal Go struct: with Go's field names, in Go's order, and with the
zero value or null for what is absent. A *layout* lists a struct's fields that way; `Shown` is a finding with such a
value. Where it prints how two structs differ, line by line, we list the fields that do.
"""

from __future__ import annotations

from typing import Any

import orjson

from ghostfleet.core.errors import FieldError

__all__ = ["Layout", "Shown", "difference", "shown"]

#: (Go's name, name in JSON, what stands for an absent one or the layout of a struct or of a list of them)
Layout = tuple[tuple[str, str, Any], ...]


class Shown(FieldError):
    """A finding whose value keeps the order of its fields."""

    __slots__ = ()

    @property
    def body(self) -> str:
        text = f"{self.sort}: {orjson.dumps(self.value).decode()}"
        return f"{text}: {self.detail}" if self.detail else text


def shown(value: Any, layout: Layout) -> Any:
    """The value as the struct of this layout; lists item by item, nothing as null."""
    if value is None:
        return None
    if isinstance(value, list):
        return [shown(item, layout) for item in value]
    return {go: _field(value, name, absent) for go, name, absent in layout}


def _field(value: dict[str, Any], name: str, absent: Any) -> Any:
    if isinstance(absent, tuple):
        return shown(value.get(name), absent)
    return value.get(name, absent)


def difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    """The fields that differ, as JSON: what was, and what should be."""
    lines: list[str] = []
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            lines += [f"-{_line(key, old)}"] if key in old else []
            lines += [f"+{_line(key, new)}"] if key in new else []
    return "\n".join(lines)


def _line(key: str, value: dict[str, Any]) -> str:
    return orjson.dumps({key: value[key]}, option=orjson.OPT_SORT_KEYS).decode()
