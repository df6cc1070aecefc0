"""Cases: what is asked of both servers.

A *case* is a few *steps*, requests that follow each other; all that it makes has names of its own, so that cases do not
meet. A step may refer to earlier answers of its case: `<0.metadata.uid>` in a text stands for that field of the first
answer, and a body `{"$of": 0, "$with": {...}}` is the object of the first answer, changed by a merge patch.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ghostfleet.core.patch import apply_merge_patch

__all__ = ["JSON", "PATCHES", "Case", "Step", "resolved", "slug"]

JSON = "application/json"
PATCHES = {
    "strategic": "application/strategic-merge-patch+json",
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}
_REFERENCE = re.compile(r"<(\d+)\.([\w.]+)>")


@dataclass(frozen=True)
class Step:
    """One request."""

    method: str
    path: str
    body: Any = None
    content: str = JSON
    accept: str = JSON
    #: ask again until the answer has this status, for what controllers do in their own time
    until: int = 0


@dataclass(frozen=True)
class Case:
    """Some requests of one situation."""

    #: `<kind>: <situation>`
    name: str
    steps: tuple[Step, ...]
    #: made before the first step, if it is not empty
    namespace: str = ""

    @property
    def fingerprint(self) -> str:
        """Changes when the case does, so that an old recording of it is noticed."""
        told = [[step.method, step.path, step.body, step.content, step.accept, step.until] for step in self.steps]
        return f"{zlib.crc32(json.dumps([self.namespace, told], sort_keys=True).encode()):08x}"


def slug(text: str, limit: int = 50) -> str:
    """A name for objects: readable, and different for different texts."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return f"{words[: limit - 9].strip('-')}-{zlib.crc32(text.encode()):08x}"


def resolved(value: Any, answers: Sequence[Any]) -> Any:
    """The value with what it refers to put in."""
    if isinstance(value, str):
        return _REFERENCE.sub(lambda match: str(_field(answers[int(match[1])], match[2])), value)
    if isinstance(value, list):
        return [resolved(each, answers) for each in value]
    if not isinstance(value, dict):
        return value
    if "$of" in value:
        return apply_merge_patch(answers[value["$of"]], resolved(value.get("$with", {}), answers))
    return {key: resolved(each, answers) for key, each in value.items()}


def _field(answer: Any, path: str) -> Any:
    for name in path.split("."):
        answer = (answer or {}).get(name)
    return answer
