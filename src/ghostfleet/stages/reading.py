"""Reading the fields of a stage, and telling what is wrong with them.

A *reader* stands at one object of a stage and hands out its fields by name and type. A field of the wrong type is an
error that names its path; a field that nobody asked for is unknown, and is *noted*, because it is most often a typing
mistake and KWOK would pass over it in silence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ghostfleet.core.errors import shown
from ghostfleet.core.yamltext import sort_of

__all__ = ["FieldReader", "StageError"]


class StageError(ValueError):
    """A stage that cannot be loaded; names the stage and the place in it."""


class FieldReader:
    """One object of a stage, whose fields are asked for by name and type."""

    __slots__ = ("_asked", "_children", "_fields", "path")

    def __init__(self, fields: dict[str, Any], path: str = "") -> None:
        self._fields = fields
        self._asked: set[str] = set()
        self._children: list[FieldReader] = []
        self.path = path

    def place(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def has(self, key: str) -> bool:
        """Whether the field is there; null counts as absent."""
        return self._get(key) is not None

    def text(self, key: str, default: str = "") -> str:
        found: str = self._scalar(key, str, "a text", default)
        return found

    def boolean(self, key: str) -> bool:
        found: bool = self._scalar(key, bool, "true or false", False)
        return found

    def whole(self, key: str) -> int | None:
        """An integer that is not negative."""
        number: int | None = self._scalar(key, int, "a whole number", None)
        if number is not None and number < 0:
            raise StageError(f"{self.place(key)}: expected a number from 0 on, found {number}")
        return number

    def _scalar(self, key: str, wanted: type, called: str, default: Any) -> Any:
        value = self._get(key)
        if value is None:
            return default
        if type(value) is not wanted:
            raise StageError(f"{self.place(key)}: expected {called}, found {sort_of(value)} ({shown(value)})")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        values = self._list(key)
        for index, value in enumerate(values):
            if type(value) is not str:
                raise StageError(
                    f"{self.place(key)}[{index}]: expected a text, found {sort_of(value)} ({shown(value)})"
                )
        return tuple(values)

    def mapping(self, key: str) -> dict[str, str]:
        """Texts by name, as labels are."""
        child = self.child(key)
        if child is None:
            return {}
        return {name: child.text(name) for name in child._fields}

    def child(self, key: str) -> FieldReader | None:
        """The reader of an object in this one; None when it is absent."""
        value = self._get(key)
        return None if value is None else self._inner(value, self.place(key))

    def children(self, key: str) -> list[FieldReader]:
        """Readers of the objects in a list."""
        return [self._inner(value, f"{self.place(key)}[{index}]") for index, value in enumerate(self._list(key))]

    def unknown(self) -> Iterator[str]:
        """Paths of all fields, in this object and those read below it, that nobody asked for."""
        for key in self._fields:
            if key not in self._asked:
                yield self.place(key)
        for child in self._children:
            yield from child.unknown()

    def _get(self, key: str) -> Any:
        self._asked.add(key)
        return self._fields.get(key)

    def _list(self, key: str) -> list[Any]:
        value = self._get(key)
        if value is None:
            return []
        if type(value) is not list:
            raise StageError(f"{self.place(key)}: expected a list, found {sort_of(value)} ({shown(value)})")
        return value

    def _inner(self, value: Any, path: str) -> FieldReader:
        if type(value) is not dict:
            raise StageError(f"{path}: expected an object, found {sort_of(value)} ({shown(value)})")
        child = FieldReader(value, path)
        self._children.append(child)
        return child
