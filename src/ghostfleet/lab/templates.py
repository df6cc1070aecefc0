"""Templates: manifests with placeholders, from which workloads are made.

A *placeholder* is a word in double braces, `{{name}}`. One that stands alone and without quotes becomes the value with
its type, so `{{workers}}` is a number; in quotes, or within a text, it becomes text. A key whose value is a placeholder
that stands for nothing is left out, and so is an object in which nothing is left. The file is read once; the values
that are the same for all objects of a run are *fixed* then, and what has no other placeholder in it is shared by all of
them, so making one costs little more than its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.manifests import ManifestError, load_documents
from ghostfleet.lab.errors import LabError

__all__ = ["PLACEHOLDERS", "ManifestTemplate", "Render", "Values", "compiled", "load_template", "placeholder"]

#: The placeholders that exist, and what they stand for.
PLACEHOLDERS = {
    "name": "the workload's name, `j-` and six digits",
    "namespace": "the project's namespace, `runai-` and the project",
    "project": "--project",
    "workers": "--num-workers, a number",
    "gpus": "--num-gpus, a number",
    "claimTemplate": "the ResourceClaimTemplate for --num-gpus devices; nothing with --claim shared",
    "claim": "with --claim shared, the ResourceClaim of the workload's pods; otherwise nothing",
    "runtime": "--runtime, a duration or distribution; nothing for workloads that stay",
    "seconds": "--runtime in seconds where it is a duration, else `infinity`",
    "run": "the id of the run",
    "index": "the workload's number in the run, from 0, a number",
    "class": "the workload's class in a mix; nothing in other runs",
    "queue": "the queue of the workload, in a mix whose class has queues; nothing in other runs",
}

Values = Mapping[str, Any]
#: Makes an object, or a part of one, from the values of the placeholders.
Render = Callable[[Values], Any]

_PLACEHOLDER = re.compile(r"""(["']?)\{\{\s*([A-Za-z_]\w*)\s*\}\}(["']?)""")
# While YAML is read, placeholders are in disguise: two characters that no manifest has around line and name. The first
# tells whether the placeholder stood in quotes of its own.
_PLAIN, _QUOTED, _END = "\ue000", "\ue001", "\ue002"
_DISGUISED = re.compile(f"([{_PLAIN}{_QUOTED}])([0-9]+)_([A-Za-z_][A-Za-z0-9_]*){_END}")
_NOTHING = object()
#: Values in a template, counted with what aliases repeat: every workload is made from all of them.
_MOST_VALUES = 50_000


@dataclass(frozen=True, slots=True)
class ManifestTemplate:
    """One object with placeholders."""

    source: str
    api_version: str
    kind: str
    #: The object as it was read; placeholders in it are in disguise.
    tree: Object

    @property
    def placeholders(self) -> set[str]:
        """Those that it has."""
        return {name for text in _texts(self.tree) for _, _, name in _DISGUISED.findall(text)}

    def fixed(self, values: Values) -> Object:
        """The object with some values in their places; the other placeholders are left for `compiled`."""
        made: Object = _compiled(self.tree)(values)
        return made


def placeholder(name: str, *, text: bool = False) -> str:
    """A placeholder for an object that `compiled` is to be given; as a text, whatever the value's type is."""
    return f"{_QUOTED if text else _PLAIN}0_{name}{_END}"


def compiled(tree: Object) -> Render:
    """What makes objects from a tree with placeholders."""
    return _compiled(tree)


def load_template(path: Path, source: str = "") -> ManifestTemplate:
    """The template in a file; a LabError that names file and line when it cannot be used."""
    source = source or str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(f"cannot read template {source}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise LabError(f"{source}: expected UTF-8 text, found other bytes") from None
    try:
        documents = load_documents(_disguised(text), source=source, most=_MOST_VALUES)
    except ManifestError as error:
        raise LabError(str(error).replace(_PLAIN, "{{").replace(_QUOTED, "{{").replace(_END, "}}")) from None
    if len(documents) != 1:
        raise LabError(f"{source}: expected one object, found {len(documents)}")
    tree = documents[0].object
    _check_placeholders(tree, source)
    api_version, kind = tree.get("apiVersion"), tree.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not api_version or not kind:
        raise LabError(f"{source}: line {documents[0].line}: expected an object with apiVersion and kind")
    if not isinstance(tree.get("metadata") or {}, dict):
        raise LabError(f"{source}: metadata: expected an object")
    return ManifestTemplate(source, api_version, kind, tree)


def _disguised(text: str) -> str:
    line, place = 1, 0

    def disguise(found: re.Match[str]) -> str:
        nonlocal line, place
        before, name, after = found.groups()
        line += text.count("\n", place, found.start())
        place = found.start()
        mark = _QUOTED if before and before == after else _PLAIN
        return f"{before}{mark}{line}_{name}{_END}{after}"

    return _PLACEHOLDER.sub(disguise, text)


def _check_placeholders(tree: Object, source: str) -> None:
    for text in _texts(tree):
        for _, line, name in _DISGUISED.findall(text):
            if name not in PLACEHOLDERS:
                known = ", ".join(PLACEHOLDERS)
                raise LabError(f"{source}: line {line}: unknown placeholder {{{{{name}}}}}; known are {known}")


def _texts(part: Any) -> Iterator[str]:
    """All texts in a tree, keys included."""
    if isinstance(part, dict):
        for key, value in part.items():
            yield from _texts(key)
            yield from _texts(value)
    elif isinstance(part, list):
        for value in part:
            yield from _texts(value)
    elif isinstance(part, str):
        yield part


def _compiled(part: Any) -> Render:
    """A function that makes the part anew, or answers the part itself where nothing in it changes."""
    if not _changes(part):
        return lambda _values: part
    if isinstance(part, str):
        return _compiled_text(part)
    return _compiled_object(part) if isinstance(part, dict) else _compiled_list(part)


def _compiled_text(text: str) -> Render:
    alone = _DISGUISED.fullmatch(text)
    if alone is None:
        return lambda values: _DISGUISED.sub(lambda found: _as_text(values, found), text)
    name, plain = alone[3], alone[1] == _PLAIN

    def render_alone(values: Values) -> Any:
        value = values.get(name, text)
        if value is None:
            return _NOTHING
        return value if plain else str(value)

    return render_alone


def _as_text(values: Values, found: re.Match[str]) -> str:
    value = values.get(found[3], found[0])
    return "" if value is None else str(value)


def _compiled_list(parts: list[Any]) -> Render:
    renders = [_compiled(part) for part in parts]

    def render_list(values: Values) -> Any:
        return [made for render in renders if (made := render(values)) is not _NOTHING] or _NOTHING

    return render_list


def _compiled_object(part: Object) -> Render:
    if any(_END in key for key in part):
        return _compiled_keys(part)
    same = {key: value for key, value in part.items() if not _changes(value)}
    renders = [(key, _compiled(value)) for key, value in part.items() if key not in same]

    def render_object(values: Values) -> Any:
        made = dict(same)
        for key, render in renders:
            value = render(values)
            if value is not _NOTHING:
                made[key] = value
        return made or _NOTHING

    return render_object


def _compiled_keys(part: Object) -> Render:
    """As above, with placeholders in the keys too."""
    pairs = [(_compiled(key), _compiled(value)) for key, value in part.items()]

    def render_pairs(values: Values) -> Any:
        made = {str(key(values)): render(values) for key, render in pairs}
        return {key: value for key, value in made.items() if value is not _NOTHING} or _NOTHING

    return render_pairs


def _changes(part: Any) -> bool:
    if isinstance(part, str):
        return _END in part
    if isinstance(part, dict):
        return any(_END in key or _changes(value) for key, value in part.items())
    return isinstance(part, list) and any(_changes(value) for value in part)
