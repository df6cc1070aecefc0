"""Mix files: a mix of workloads as users write it, in YAML, checked as a whole.

    arrivals: poisson:2/s
    classes:
    - {name: small, weight: 8, type: job, gpus: [1, 2], duration: "lognormal(5m, 0.8)"}
    - {name: large, weight: 1, type: pytorchjob, gpus: 8, workers: {3: 2, 7: 1}, duration: 2h, queues: [research]}

What a class leaves out is as the run's options say. All that is wrong is told together, each problem with the file, the
line and the path of the field.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ghostfleet.core.yamllines import Lines, path_text
from ghostfleet.core.yamllines import Path as FieldPath
from ghostfleet.core.yamltext import YamlError, compose, sort_of
from ghostfleet.lab import mixvalues
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.mix import QUEUE_LABEL, Mix, WorkloadClass, always
from ghostfleet.lab.podfields import RUNAI
from ghostfleet.lab.types import WorkloadType, chosen_type, workload_type
from ghostfleet.stages.distributions import parse_distribution

__all__ = ["CLASS_FIELDS", "ClassDefaults", "digest_of", "read_mix"]

T = TypeVar("T")

#: Estimated: room for a hundred classes with thousands of values each.
_MOST_BYTES = 4 << 20
_MOST_CLASSES = 100
#: More than anybody reads at once.
_MOST_PROBLEMS = 50
_LONGEST = 400
_MIX_FIELDS = ("arrivals", "classes")
#: What a class may say.
CLASS_FIELDS = (
    "name",
    "type",
    "template",
    "weight",
    "arrivals",
    "gpus",
    "workers",
    "duration",
    "namespaces",
    "queues",
    "queueLabel",
    "priorityClassName",
    "labels",
    "annotations",
)


class ClassDefaults(NamedTuple):
    """What a class has where it does not say it: the run's own options."""

    gpus: int
    workers: int
    runtime: str
    namespace: str


def digest_of(path: Path) -> str:
    """What tells the content of a file from any other."""
    return hashlib.sha256(_text(path).encode()).hexdigest()[:16]


def read_mix(path: Path, given: ClassDefaults) -> Mix:
    """The mix in a file; a LabError that tells all that is wrong with it."""
    text = _text(path)
    try:
        documents = [value for value, _, _ in compose(text)]
    except YamlError as error:
        raise LabError(f"{path}: {error}") from None
    if len(documents) != 1:
        raise LabError(f"{path}: expected one document, found {len(documents)}")
    reader = _Reader(path.parent, Lines(text), given)
    mix = reader.mix(documents[0])
    problems = [f"{path}: line {line}: {problem}" for line, problem in sorted(reader.problems, key=itemgetter(0))]
    if len(problems) > _MOST_PROBLEMS:
        problems[_MOST_PROBLEMS:] = [f"{path}: and {len(problems) - _MOST_PROBLEMS:,} more"]
    if problems:
        raise LabError("\n".join(problems))
    return mix


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise LabError(f"cannot read mix {path}: {error.strerror}") from error
    if len(raw) > _MOST_BYTES:
        raise LabError(f"{path}: expected at most {_MOST_BYTES:,} bytes")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise LabError(f"{path}: expected UTF-8 text, found other bytes") from None


class _Reader:
    """Reads the fields of one file and notes what is wrong."""

    def __init__(self, directory: Path, lines: Lines, given: ClassDefaults) -> None:
        #: Each with its line.
        self.problems: list[tuple[int, str]] = []
        self._directory = directory
        self._lines = lines
        self._given = given

    def mix(self, value: Any) -> Mix:
        if not isinstance(value, dict):
            self._note((), f"expected an object with classes, found {sort_of(value)}")
            return Mix(())
        fields = self._known(value, (), _MIX_FIELDS)
        arrivals = self._field(fields, (), "arrivals", mixvalues.arrivals)
        raw = fields.get("classes")
        if not isinstance(raw, list) or not 1 <= len(raw) <= _MOST_CLASSES:
            found = f"{len(raw):,}" if isinstance(raw, list) else sort_of(raw)
            self._note(("classes",), f"expected a list of 1 to {_MOST_CLASSES} classes, found {found}")
            return Mix((), arrivals)
        classes = tuple(self._class(each, ("classes", at)) for at, each in enumerate(raw))
        self._check_names(classes)
        self._check_arrivals(raw, common="arrivals" in fields)
        return Mix(classes, arrivals)

    # -- a class -----------------------------------------------------------------------------------------------------

    def _class(self, value: Any, path: FieldPath) -> WorkloadClass:
        if not isinstance(value, dict):
            self._note(path, f"expected an object with name and type, found {sort_of(value)}")
            return WorkloadClass.alike(workload_type("pod"), self._given.namespace)
        fields = self._known(value, path, CLASS_FIELDS)
        given, kind = self._given, self._kind(fields, path)
        # With a type that is not known, the other fields can be checked all the same.
        stand_in = kind or workload_type("pod")

        def read(name: str, reading: Callable[[Any], T]) -> T | None:
            return self._field(fields, path, name, reading)

        fewest = 1 - min(stand_in.pods(0), 1)
        usual = parse_distribution(given.runtime) if stand_in.ends else None
        made = WorkloadClass(
            read("name", mixvalues.class_name) or "",
            stand_in,
            gpus=read("gpus", mixvalues.gpus) or always(given.gpus),
            workers=read("workers", lambda each: mixvalues.workers(each, fewest)) or always(max(given.workers, fewest)),
            namespaces=read("namespaces", mixvalues.namespaces) or always(given.namespace),
            duration=read("duration", mixvalues.durations) or usual,
            weight=read("weight", mixvalues.weight) or 1.0,
            arrivals=read("arrivals", mixvalues.arrivals),
            queues=read("queues", mixvalues.queues),
            queue_label=read("queueLabel", mixvalues.label_key) or QUEUE_LABEL,
            priority_class=read("priorityClassName", mixvalues.priority_class) or "",
            labels=read("labels", mixvalues.label_texts) or {},
            annotations=read("annotations", mixvalues.annotation_texts) or {},
        )
        if "name" not in fields:
            self._note(path, "expected a name")
        if kind is not None:
            self._check_effect(made, fields, path)
        return made

    def _kind(self, fields: Mapping[str, Any], path: FieldPath) -> WorkloadType | None:
        """The type of a class; None when it cannot be told."""
        field = "template" if "template" in fields else "type"
        if field not in fields:
            self._note(path, "expected a type, as -t takes it, or a template, the path of a file")
            return None
        name = self._field(fields, path, "type", mixvalues.class_name)
        template = self._field(fields, path, "template", mixvalues.file_name)
        if (name is None and "type" in fields) or (template is None and "template" in fields):
            return None
        try:
            return chosen_type(name or "", str(self._directory / template) if template else "")
        except LabError as error:
            self._note((*path, field), str(error))
            return None

    def _check_effect(self, made: WorkloadClass, fields: Mapping[str, Any], path: FieldPath) -> None:
        """Refuse what would change nothing: two classes that look different and are not would mislead."""
        kind = made.kind
        has, source = kind.template.placeholders, kind.template.source
        for field in ("gpus", "workers"):
            if field in fields and field not in has and not (field == "gpus" and kind.claims_devices):
                self._note((*path, field), f"has no effect: the {source} has no {{{{{field}}}}}")
        if "duration" in fields and "runtime" not in has and not (kind.ends and kind.pod_specs):
            self._note((*path, "duration"), f"has no effect: the {source} has no {{{{runtime}}}}")
        if "priorityClassName" in fields and kind.pod_specs in (RUNAI, ()):
            problem = f"it is not known where a {kind.workload.kind} has it; say it in a template or by a label"
            self._note((*path, "priorityClassName"), problem)

    def _check_names(self, classes: tuple[WorkloadClass, ...]) -> None:
        seen: set[str] = set()
        for at, each in enumerate(classes):
            if each.name and each.name in seen:
                self._note(("classes", at, "name"), f"{each.name!r} is the name of another class")
            seen.add(each.name)

    def _check_arrivals(self, raw: list[Any], *, common: bool) -> None:
        """Arrivals are the mix's, or each class has its own."""
        own = [isinstance(each, dict) and "arrivals" in each for each in raw]
        if not any(own):
            return
        for at, each in enumerate(raw):
            path: FieldPath = ("classes", at)
            if own[at] and common:
                self._note((*path, "arrivals"), "expected none: the mix says when all workloads arrive")
            elif own[at] and "weight" in each:
                self._note((*path, "weight"), "expected none: the arrivals of a class say how many workloads it has")
            elif not own[at] and not common:
                self._note(path, "expected arrivals: other classes have their own, so each must")

    # -- fields ------------------------------------------------------------------------------------------------------

    def _known(self, fields: Mapping[str, Any], path: FieldPath, known: tuple[str, ...]) -> Mapping[str, Any]:
        for key in fields:
            if key not in known:
                self._note((*path, key), f"unknown field; known are {', '.join(known)}")
        return fields

    def _field(self, fields: Mapping[str, Any], path: FieldPath, name: str, reading: Callable[[Any], T]) -> T | None:
        """The value of a field; None where it is not there, or cannot be used, which is noted."""
        if name not in fields:
            return None
        try:
            return reading(fields[name])
        except ValueError as error:
            self._note((*path, name), str(error))
            return None

    def _note(self, path: FieldPath, problem: str) -> None:
        said = f"{path_text(path)}: {problem}" if path else problem
        # Keys may be anything, of any length.
        self.problems.append((self._lines.of(path), " ".join(said.split())[:_LONGEST]))
