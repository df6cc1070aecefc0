"""Lines of a YAML text: where the value at each path stands, for messages about single fields.

A *path* is a tuple of keys and list indexes from the top of the first document. What an alias or a merge brings in has
no line of its own; it is told by the line of the nearest thing around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

__all__ = ["Lines", "Path", "path_text"]

Path = tuple[str | int, ...]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Lines:
    """The lines of one text, which must have been read without an error before."""

    def __init__(self, text: str) -> None:
        self._lines: Mapping[Path, int] = _lines(text)

    def of(self, path: Path) -> int:
        """The line of the value at a path, or of the nearest one around it that has a line."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)


def path_text(path: Path) -> str:
    """A path as people write it: `classes[1].gpus`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


class _Place:
    """A mapping or list that is being read, and where its next value goes."""

    __slots__ = ("is_map", "key", "path", "waits_for_key")

    def __init__(self, path: Path, is_map: bool) -> None:
        self.path = path
        self.is_map = is_map
        self.waits_for_key = is_map
        self.key: str | int = "" if is_map else 0

    def next_path(self) -> Path:
        return (*self.path, self.key)

    def step(self) -> None:
        """The value is read."""
        if self.is_map:
            self.waits_for_key = True
        else:
            assert isinstance(self.key, int)
            self.key += 1


def _lines(text: str) -> dict[Path, int]:
    found: dict[Path, int] = {}
    next_event = _LOADER(text).get_event
    stack: list[_Place] = []
    while not isinstance(event := next_event(), yaml.DocumentEndEvent | None):
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
            if stack:
                stack[-1].step()
        elif isinstance(event, yaml.NodeEvent):
            _read(event, stack, found)
    return found


def _read(event: Any, stack: list[_Place], found: dict[Path, int]) -> None:
    place = stack[-1] if stack else None
    line = event.start_mark.line + 1
    if place is not None and place.waits_for_key:
        place.key, place.waits_for_key = getattr(event, "value", ""), False
        found.setdefault(place.next_path(), line)
        return
    path = place.next_path() if place is not None else ()
    found.setdefault(path, line)
    if isinstance(event, yaml.CollectionStartEvent):
        stack.append(_Place(path, isinstance(event, yaml.MappingStartEvent)))
    elif place is not None:
        place.step()
