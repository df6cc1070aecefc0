"""Manifests: objects as people write them, in YAML or JSON, read as kubectl reads them.

A *manifest* is a text of one or more *documents*; each holds one object, or nothing. Documents of YAML stand between
lines of `---`, those of JSON just follow each other. A document may hold a *list* of objects, which can be expanded.
The bodies of requests are read here too, under the same bound on depth, and objects are written as `kubectl -o yaml`
writes them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import orjson

from ghostfleet.core.yamltext import MAX_DEPTH, TOO_DEEP, YamlError, compose, deeper_than, emit, sort_of

__all__ = [
    "Document",
    "ManifestError",
    "dump",
    "duplicate_keys",
    "expand_lists",
    "load_documents",
    "load_json",
]

Object = dict[str, Any]

_SEPARATOR = re.compile(r"^---[ \t]*([^\s#].*)$", re.MULTILINE)

_WORD = re.compile(r"\S")


class ManifestError(ValueError):
    """Something in a manifest that cannot be read: where, and what is wrong there. Lines and columns count from 1."""

    def __init__(self, source: str, line: int, column: int, problem: str) -> None:
        super().__init__(f"{source}: line {line}, column {column}: {problem}")
        self.source = source
        self.line = line
        self.column = column
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Document:
    """One object of a manifest, and where it was found."""

    object: Object
    source: str
    line: int


def load_documents(text: str | bytes, source: str = "<manifest>", *, most: int = sys.maxsize) -> list[Document]:
    """All objects of a manifest, in order; empty documents are left out. Each holds at most so many values."""
    text = (_decoded(text, source) if isinstance(text, bytes) else text).removeprefix("\ufeff")
    if most < sys.maxsize or not text.lstrip().startswith("{"):
        # JSON is YAML too, only that this reader counts.
        return _yaml_documents(text, source, most)
    try:
        return _json_documents(text, source)
    except (ValueError, RecursionError) as problem:
        # Braces may also open a YAML mapping; YAML knows more about places too, except where JSON is just broken.
        try:
            return _yaml_documents(text, source, most)
        except ManifestError as error:
            if isinstance(problem, json.JSONDecodeError):
                raise ManifestError(source, problem.lineno, problem.colno, f"not JSON: {problem.msg}") from None
            raise error from None


def _decoded(raw: bytes, source: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ManifestError(source, line, 1, "expected UTF-8 text, found other bytes") from None


def expand_lists(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents, with the items of each List (or PodList ...) in the place of the list."""
    for document in documents:
        items = document.object.get("items")
        if not isinstance(items, list):
            yield document
            continue
        kind = str(document.object.get("kind", "")).removesuffix("List")
        inherited = {"apiVersion": document.object.get("apiVersion", ""), "kind": kind}
        for index, item in enumerate(items):
            if not isinstance(item, dict):
                problem = f"expected an object as item {index} of the list, found {sort_of(item)}"
                raise ManifestError(document.source, document.line, 1, problem)
            named = item if item.get("kind") or item.get("apiVersion") else inherited | item
            yield from expand_lists([Document(named, document.source, document.line)])


def _document(value: Any, source: str, line: int, column: int = 1) -> Document:
    if not isinstance(value, dict):
        problem = f"expected an object with apiVersion and kind, found {sort_of(value)}"
        raise ManifestError(source, line, column, problem)
    return Document(value, source, line)


def _yaml_documents(text: str, source: str, most: int) -> list[Document]:
    wrong = _SEPARATOR.search(text)
    if wrong is not None:
        line = text.count("\n", 0, wrong.start()) + 1
        problem = f"invalid document separator: expected nothing after '---', found {wrong[1]!r}"
        raise ManifestError(source, line, 4, problem)
    try:
        composed = [(value, line, column) for value, line, column in compose(text, most=most) if value is not None]
    except YamlError as error:
        raise ManifestError(source, error.line, error.column, error.problem) from None
    return [_document(value, source, line, column) for value, line, column in composed]


def _json_documents(text: str, source: str) -> list[Document]:
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
    documents = []
    position, line = 0, 1
    while (start := _WORD.search(text, position)) is not None:
        line += text.count("\n", position, start.start())
        value, position = decoder.raw_decode(text, start.start())
        if deeper_than(value, MAX_DEPTH):
            raise ManifestError(source, line, 1, TOO_DEEP)
        documents.append(_document(value, source, line))
        line += text.count("\n", start.start(), position)
    return documents


def _unique(pairs: list[tuple[str, Any]]) -> Object:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key comes twice")
    return made


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def load_json(body: bytes, source: str = "request body") -> Any:
    """The value that a JSON text stands for."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ManifestError(source, error.lineno, error.colno, error.msg) from None
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH and deeper_than(value, MAX_DEPTH):
        raise ManifestError(source, 1, 1, TOO_DEEP)
    return value


def duplicate_keys(body: bytes) -> list[str]:
    """Paths of keys that come twice in a JSON object, such as `spec.containers[0].image`; usually none."""
    found: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> Object:
        made = dict(pairs)
        if len(made) != len(pairs):
            found.append("")
        return made

    json.loads(body, object_pairs_hook=note, parse_int=str)
    # Only the second reading keeps what it takes to name the paths; it is rarely needed.
    return list(dict.fromkeys(_repeated(json.loads(body, object_pairs_hook=tuple, parse_int=str), ""))) if found else []


def _repeated(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, tuple):
        seen = set()
        for key, part in value:
            place = f"{path}.{key}" if path else key
            if key in seen:
                yield place
            seen.add(key)
            yield from _repeated(part, place)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _repeated(part, f"{path}[{index}]")


def dump(obj: Any) -> str:
    """YAML as `kubectl -o yaml` prints it."""
    return emit(obj)
