"""Templates: files of a test, rendered and read as YAML.

All paths are relative to the directory of the test's config; a leading `/` and `..` are allowed, as in ClusterLoader2.
A *document* is what one rendering gave: its values, and for messages the text it was read from, so that a problem in a
field is told with the line of the template that made it. Objects are made many times from one template and mostly
differ by their names; what was read is therefore kept with a mark in place of the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from ghostfleet.clusterloader.functions import template_functions
from ghostfleet.clusterloader.mapping import MOST_VALUES, TemplateMapping, read_text
from ghostfleet.clusterloader.problems import ConfigError
from ghostfleet.core.errors import shortened
from ghostfleet.core.yamltext import YamlError, compose
from ghostfleet.languages.errors import EvaluationError, Unsupported
from ghostfleet.languages.gotemplate import Template, compile_template

__all__ = ["Document", "FieldPath", "ObjectKind", "TemplateProvider"]

#: Keys and indexes from the root of a document to a value.
FieldPath = tuple[str | int, ...]

#: Chosen: the largest public config takes about 3,000 steps at 5,000 nodes, and this many take a second or two.
_STEPS = 1_000_000
_ACTION = re.compile(r"\{\{.*?\}\}")
_SEPARATOR = re.compile(r"^---\s*$", re.MULTILINE)
_KIND = re.compile(r"^kind:\s*[\"']?([A-Za-z][\w.-]*)", re.MULTILINE)
_API_VERSION = re.compile(r"^apiVersion:\s*[\"']?([\w./-]+)", re.MULTILINE)
#: Begins and ends the number of a line; characters for private use.
_LINE_MARK = re.compile("\ue0f0([0-9]+)\ue0f1")
_NAME_MARK = "ghostfleet-name-of-the-object"
_MOST_KEPT = 256
_LONGEST_KEPT = 16_384


class ObjectKind(NamedTuple):
    """What a template makes, as far as it can be told without rendering it."""

    api_version: str
    kind: str


class Document:
    """The values of a rendered file, and where they come from."""

    def __init__(self, file: str, value: Any, text: str, lines: Callable[[], list[int]]) -> None:
        self.file = file
        self.value = value
        self._text = text
        self._lines = lines

    def line_of(self, path: FieldPath) -> int:
        """The line in which a field stands, or the innermost part around it that there is."""
        node = self._root
        line = node.start_mark.line if node is not None else 0
        for part in path:
            found = _child(node, part)
            if found is None:
                break
            place, node = found
            line = place.start_mark.line
        return _at(self._source_lines, line + 1)

    @cached_property
    def _root(self) -> Any:
        return yaml.compose(self._text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))

    @cached_property
    def _source_lines(self) -> list[int]:
        return self._lines()


def _child(node: Any, part: str | int) -> tuple[Any, Any] | None:
    """What marks the place of a key or element, and its value."""
    if isinstance(node, yaml.MappingNode):
        wanted = str(part).lower()
        return next(((key, value) for key, value in node.value if str(key.value).lower() == wanted), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part]
    return None


class TemplateProvider:
    """The templates of one test."""

    def __init__(self, root: Path, random: Random) -> None:
        self._root = root
        self._functions = template_functions(root, random)
        self._random = random
        self._templates: dict[str, Template] = {}
        self._kinds: dict[str, list[ObjectKind]] = {}
        self._read: dict[tuple[str, str], list[Any]] = {}

    def path(self, name: str) -> Path:
        """Where a file of the test is."""
        return self._root / name.lstrip("/")

    def exists(self, name: str) -> bool:
        try:
            return self.path(name).is_file()
        except (OSError, ValueError):
            return False

    def document(self, name: str, mapping: TemplateMapping) -> Document:
        """A config or module, rendered and read; a ConfigError with file and line where that cannot be."""
        path, template = str(self.path(name)), self._compiled(name)
        state = self._random.getstate()
        text = self._rendered(name, template, mapping)
        after = self._random.getstate()

        def lines() -> list[int]:
            self._random.setstate(state)
            try:
                return _traced(path, template, self._functions, mapping, text)
            finally:
                self._random.setstate(after)

        values = _values(path, text, lambda line: _at(lines(), line))
        return Document(path, values[0] if values else None, text, lines)

    def objects(self, name: str, mapping: TemplateMapping) -> list[Any]:
        """The objects that a template makes; none where it renders to nothing. They are shared: do not change them."""
        text = self._rendered(name, self._compiled(name), mapping)
        own = mapping.get("Name", "")
        key = (name, text.replace(own, _NAME_MARK)) if own else (name, text)
        known = self._read.get(key)
        if known is None:
            path = str(self.path(name))
            known = [each for each in _values(path, key[1], lambda line: line) if each is not None]
            if len(self._read) < _MOST_KEPT and len(text) <= _LONGEST_KEPT:
                self._read[key] = known
        return [_filled(each, own) for each in known]

    def kinds(self, name: str) -> list[ObjectKind]:
        """What a template makes, without rendering it: actions are taken out, and kind and apiVersion looked for."""
        if name not in self._kinds:
            text = _ACTION.sub("", read_text(self.path(name), "object template"))
            found = [
                ObjectKind(version[1], kind[1])
                for part in _SEPARATOR.split(text)
                if (kind := _KIND.search(part)) and (version := _API_VERSION.search(part))
            ]
            if not found:
                raise ConfigError(f"{self.path(name)}: expected an object with apiVersion and kind")
            self._kinds[name] = found
        return self._kinds[name]

    def _compiled(self, name: str) -> Template:
        if name not in self._templates:
            path = self.path(name)
            text = read_text(path, "config" if not self._templates else "template")
            try:
                self._templates[name] = compile_template(text, self._functions, str(path), _STEPS)
            except Unsupported as error:
                raise ConfigError(f"{path}: {_shifted(str(error), text)}") from None
        return self._templates[name]

    def _rendered(self, name: str, template: Template, mapping: TemplateMapping) -> str:
        try:
            return template.render(mapping)
        except EvaluationError as error:
            path = str(self.path(name))
            problem = str(error).removeprefix(f"{path}: ")
            place = f"{path}: line {error.line + _skipped(template.text)}" if error.line else path
            action = f" in {shortened(error.action)}" if error.action else ""
            # One line, even where the action or a value has several.
            raise ConfigError(" ".join(f"{place}: {problem}{action}".split())) from None


def _values(path: str, text: str, source_line: Callable[[int], int]) -> list[Any]:
    try:
        return [value for value, _, _ in compose(text, lenient=True, most=MOST_VALUES)]
    except YamlError as error:
        lines = text.splitlines()
        shown = f" in {lines[error.line - 1].strip()[:80]!r}" if error.line <= len(lines) else ""
        raise ConfigError(f"{path}: line {source_line(error.line)}: not YAML: {error.problem}{shown}") from None


def _skipped(text: str) -> int:
    """Lines before the first word of a template, which its lines are counted from."""
    return text[: len(text) - len(text.lstrip())].count("\n")


def _shifted(message: str, text: str) -> str:
    """A message of the template's parser, with the line of the file."""
    return re.sub(r"^line (\d+)", lambda found: f"line {int(found[1]) + _skipped(text)}", message)


def _traced(path: str, template: Template, functions: Any, mapping: TemplateMapping, rendered: str) -> list[int]:
    """For each line of a rendering the line of the template from which it comes.

    The template is rendered once more with the number of its line before each line. Where marks get in the way, as next
    to a trim marker, lines are looked for by their texts.
    """
    source, skipped = template.text.strip(), _skipped(template.text)
    try:
        marked = compile_template(_with_marks(source), functions, path, _STEPS).render(mapping)
    except (EvaluationError, Unsupported):
        marked = ""
    if _LINE_MARK.sub("", marked) == rendered:
        found, last = [], 1
        for line in marked.split("\n"):
            marks = _LINE_MARK.findall(line)
            last = int(marks[-1]) if marks else last
            found.append(last + skipped)
        return found
    places: dict[str, int] = {}
    for number, line in enumerate(source.split("\n"), 1):
        places.setdefault(line.strip(), number)
    return [places.get(line.strip(), number) + skipped for number, line in enumerate(rendered.split("\n"), 1)]


def _at(lines: list[int], line: int) -> int:
    return lines[min(line, len(lines)) - 1] if lines else line


def _with_marks(source: str) -> str:
    """The template with the number of its line before each line that does not begin within an action."""
    pieces, inside = [], False
    for number, line in enumerate(source.split("\n"), 1):
        pieces.append(line if inside else f"\ue0f0{number}\ue0f1{line}")
        opened, closed = line.rfind("{{"), line.rfind("}}")
        inside = opened > closed if opened != closed else inside
    return "\n".join(pieces)


def _filled(value: Any, name: str) -> Any:
    """The value with a name in place of its marks; parts without a mark are shared."""
    if isinstance(value, str):
        return value.replace(_NAME_MARK, name) if _NAME_MARK in value else value
    if isinstance(value, dict):
        made = {_filled(key, name): _filled(part, name) for key, part in value.items()}
        return (
            made
            if any(made[key] is not part for key, part in value.items() if key in made) or (made.keys() != value.keys())
            else value
        )
    if isinstance(value, list):
        parts = [_filled(part, name) for part in value]
        return parts if any(new is not old for new, old in zip(parts, value, strict=True)) else value
    return value
