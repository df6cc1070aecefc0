"""What the fields of built-in types mean, in Kubernetes' own words.

The words are not ours to keep: they come from the docstrings of the `lightkube-models` package, whose classes are made
from the same API. A class says `* **name** ``type`` - text`, wrapped at a fixed width; the text is put back on one line
here, and a line that ended early is taken for the end of a paragraph. The sources are read, not imported: importing
them would build several hundred classes (and whatever else lives in that namespace) just for their docstrings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from itertools import pairwise
from pathlib import Path

__all__ = ["Docs", "docs_of", "docs_version"]

_PACKAGE = "lightkube-models"
_WIDTH = 78
_FIELDS = "**parameters**"
_ITEM = re.compile(r"^\* \*\*([^*]+)\*\* ``[^`]*`` - ?(.*)$")
_BULLET = re.compile(r"[-*] |\d+\. ")


@dataclass(frozen=True, slots=True)
class Docs:
    """What a type and its fields are for; whatever has no words is absent."""

    text: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


def docs_of(type_name: str) -> Docs:
    """The documentation of a built-in type, by its full name; empty if there is none."""
    *_, group, version, kind = type_name.split(".")
    return _module(f"{group}_{version}").get(kind, Docs())


def docs_version() -> str:
    """Whose words these are: documents made from other words are other documents."""
    return metadata.version(_PACKAGE)


@cache
def _module(name: str) -> dict[str, Docs]:
    path = Path(str(metadata.distribution(_PACKAGE).locate_file(f"lightkube/models/{name}.py")))
    if not path.is_file():
        return {}
    classes = (node for node in ast.parse(path.read_bytes()).body if isinstance(node, ast.ClassDef))
    return {node.name: _docs(ast.get_docstring(node, clean=False) or "") for node in classes}


def _docs(docstring: str) -> Docs:
    text, _, parameters = docstring.partition(_FIELDS)
    paragraphs = re.split(r"\n\s*\n", text.strip())
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in parameters.splitlines():
        line = line.strip()
        if match := _ITEM.match(line):
            current = found[_json_name(match[1])] = [match[2]]
        elif line:
            current.append(line)
    fields = {name: _unwrapped(lines) for name, lines in found.items()}
    return Docs(
        "\n\n".join(_unwrapped([line.strip() for line in paragraph.splitlines()]) for paragraph in paragraphs),
        {name: words for name, words in fields.items() if words},
    )


def _json_name(name: str) -> str:
    """A field's name before it was made a Python identifier."""
    if name.startswith("d_"):
        return "$" + name[2:]
    if name.startswith("x_kubernetes_"):
        return name.replace("_", "-")
    return name.removesuffix("_")


def _unwrapped(lines: list[str]) -> str:
    text = lines[0]
    for before, line in pairwise(lines):
        if len(before) + 1 + len(line.split(maxsplit=1)[0]) > _WIDTH:
            text += " "
        else:
            text += "\n" if _BULLET.match(line) else "\n\n"
        text += line
    return text
