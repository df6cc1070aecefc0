"""Stages: KWOK's way to say how objects change by themselves.

A *stage* says for which objects it is (its kind and selector), how long it waits (delay), how it fares against others
that match as well (weight), and what it then does (steps). Stages are written as objects of kind Stage, group
kwok.x-k8s.io, version v1alpha1. Everything in a stage is compiled when it is read, so that whatever is wrong with it is
an error then, which names the stage. The *compatibility* says which KWOK it is read for: before 0.8, a deletion took
the place of all patches and there were no `steps`.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ghostfleet.api.options import PatchType
from ghostfleet.core.changes import Object
from ghostfleet.core.durations import parse_duration
from ghostfleet.core.errors import shown
from ghostfleet.languages.errors import Unsupported
from ghostfleet.languages.gotemplate import Template, compile_template
from ghostfleet.stages.funcmap import signatures
from ghostfleet.stages.reading import FieldReader, StageError
from ghostfleet.stages.selectors import Selector, read_selector
from ghostfleet.stages.steps import Apply, Finalizers, Patch, StageEvent, Step
from ghostfleet.stages.values import Delay, Warn, Weight, read_delay, read_weight

__all__ = [
    "API_VERSION",
    "COMPATIBILITIES",
    "KIND",
    "Compatibility",
    "Stage",
    "StageError",
    "Work",
    "is_stage",
    "parse_stage",
]

API_VERSION = "kwok.x-k8s.io/v1alpha1"
KIND = "Stage"
_WORK = "ghostfleet.dev/contended-work"
_CONCURRENCY = "ghostfleet.dev/contended-concurrency"

Compatibility = Literal["0.7", "0.8"]
COMPATIBILITIES: tuple[Compatibility, ...] = ("0.7", "0.8")

_PATCH_TYPES: tuple[PatchType, ...] = ("json", "merge", "strategic")
_APPLY_TYPES: tuple[PatchType, ...] = ("apply", "merge", "strategic")
_PHASE = re.compile(r"^phase:\s*[\"']?(\w+)[\"']?\s*$", re.MULTILINE)

_log = logging.getLogger(__name__)


class Work(NamedTuple):
    """Work of a node that its pods share, and for how many at once it is done."""

    microseconds: int
    concurrency: int


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """One Stage of KWOK, compiled."""

    name: str
    #: group and version of the objects it is for, `v1` or `apps/v1`
    api_version: str
    kind: str
    #: None: the stage is for no object at all
    selector: Selector | None
    weight: Weight
    delay: Delay | None
    steps: tuple[Step, ...]
    immediate: bool
    #: the phase that its status template states, if it states one
    phase: str
    #: work of its node that an object needs after the delay
    work: Work | None
    #: what may surprise the author
    notes: tuple[str, ...]


def is_stage(obj: Object) -> bool:
    return obj.get("kind") == KIND and str(obj.get("apiVersion", "")).startswith("kwok.x-k8s.io/")


def parse_stage(
    obj: Object, *, source: str = "", compatibility: Compatibility = "0.8", warn: Warn = _log.warning
) -> Stage:
    """A stage from its object; StageError says what is wrong, and where. `warn` is told what goes wrong later on."""
    metadata = obj.get("metadata")
    name = metadata.get("name", "") if isinstance(metadata, dict) else ""
    called = f"stage {name!r}" + (f" ({source})" if source else "")
    try:
        if not name:
            raise StageError("metadata.name: required")
        if obj.get("apiVersion") != API_VERSION:
            raise StageError(f"apiVersion: expected {API_VERSION}, found {shown(obj.get('apiVersion'))}")
        return _read(name, called, obj, compatibility, warn)
    except (StageError, Unsupported) as error:
        raise StageError(f"{called}: {error}") from None


def _read(name: str, called: str, obj: Object, compatibility: Compatibility, warn: Warn) -> Stage:
    reader = FieldReader({"spec": obj.get("spec")})
    spec = reader.child("spec")
    if spec is None:
        raise StageError("spec: required")
    api_version, kind = _read_reference(spec)
    selector, delay = spec.child("selector"), spec.child("delay")
    notes: list[str] = []
    steps = _Steps(api_version, kind, compatibility, notes).read(spec)
    selects = read_selector(selector) if selector is not None else None
    waits, surprises = read_delay(delay, called, warn) if delay is not None else (None, [])
    weight, immediate = read_weight(spec), spec.boolean("immediateNextStage")
    if selector is None:
        notes.append("no spec.selector, so that it is never used (`selector: {}` selects everything)")
    notes += [*surprises, *(f"unknown field {path}" for path in reader.unknown())]
    return Stage(
        name=name,
        api_version=api_version,
        kind=kind,
        selector=selects,
        weight=weight,
        delay=waits,
        steps=steps,
        immediate=immediate,
        phase=_stated_phase(steps),
        work=_read_work(obj),
        notes=tuple(f"{called}: {note}" for note in notes),
    )


def _read_reference(spec: FieldReader) -> tuple[str, str]:
    reference = spec.child("resourceRef")
    if reference is None or not reference.text("kind"):
        raise StageError("spec.resourceRef.kind: required")
    return reference.text("apiGroup") or "v1", reference.text("kind")


def _read_work(obj: Object) -> Work | None:
    annotations = obj["metadata"].get("annotations") or {}
    span, concurrency = annotations.get(_WORK), str(annotations.get(_CONCURRENCY, "1"))
    if span is None:
        return None
    if not concurrency.isdecimal() or int(concurrency) < 1:
        raise StageError(f"metadata.annotations[{_CONCURRENCY}]: expected a number from 1, found {shown(concurrency)}")
    try:
        return Work(parse_duration(str(span)), int(concurrency))
    except ValueError as error:
        raise StageError(f"metadata.annotations[{_WORK}]: {error}") from None


def _stated_phase(steps: tuple[Step, ...]) -> str:
    for step in steps:
        if step.patch is not None and step.patch.root == "status":
            found = _PHASE.findall(step.patch.template.text)
            if found:
                return str(found[-1])
    return ""


class _Steps:
    """Reads `steps`, or the older `next`, of one stage."""

    def __init__(self, api_version: str, kind: str, compatibility: Compatibility, notes: list[str]) -> None:
        self._functions = signatures(api_version, kind)
        self._compatibility = compatibility
        self._notes = notes

    def read(self, spec: FieldReader) -> tuple[Step, ...]:
        following = spec.child("next")
        if self._compatibility != "0.7":
            listed = spec.children("steps")
            if listed:
                return tuple(self._step(each) for each in listed)
        elif spec.has("steps"):
            self._notes.append("spec.steps came with KWOK 0.8 and has no effect in 0.7")
        return tuple(self._next(following)) if following is not None else ()

    def _step(self, reader: FieldReader) -> Step:
        patch, apply = reader.child("patch"), reader.child("apply")
        return Step(
            event=_read_event(reader.child("event")),
            finalizers=_read_finalizers(reader.child("finalizers")),
            delete=reader.boolean("delete"),
            patch=self._patch(patch) if patch is not None else None,
            apply=self._apply(apply) if apply is not None else None,
        )

    def _next(self, reader: FieldReader) -> list[Step]:
        """What `next` comes to: event, finalizers, patches and deletion, in this order."""
        steps = []
        event, finalizers = _read_event(reader.child("event")), _read_finalizers(reader.child("finalizers"))
        if event is not None:
            steps.append(Step(event=event))
        if finalizers is not None:
            steps.append(Step(finalizers=finalizers))
        deletes = reader.boolean("delete")
        patches = [Step(patch=self._patch(each)) for each in reader.children("patches")]
        status = self._status_patch(reader)
        if not patches and status is not None:
            patches = [Step(patch=status)]
        if not (deletes and self._compatibility == "0.7"):
            steps += patches
        if deletes:
            steps.append(Step(delete=True))
        return steps

    def _status_patch(self, reader: FieldReader) -> Patch | None:
        template = reader.text("statusTemplate")
        subresource = reader.text("statusSubresource") if reader.has("statusSubresource") else "status"
        user = _read_user(reader.child("statusPatchAs"))
        return Patch(self._template(reader, "statusTemplate"), "status", subresource, None, user) if template else None

    def _patch(self, reader: FieldReader) -> Patch:
        return Patch(
            template=self._template(reader, "template"),
            root=reader.text("root"),
            subresource=reader.text("subresource"),
            type=_read_type(reader, _PATCH_TYPES),
            user=_read_user(reader.child("impersonation")),
        )

    def _apply(self, reader: FieldReader) -> Apply:
        return Apply(
            template=self._template(reader, "template"),
            subresource=reader.text("subresource"),
            type=_read_type(reader, _APPLY_TYPES) or "apply",
            user=_read_user(reader.child("impersonation")),
        )

    def _template(self, reader: FieldReader, key: str) -> Template:
        try:
            return compile_template(reader.text(key).strip(), self._functions, reader.place(key))
        except Unsupported as error:
            raise StageError(f"{reader.place(key)}: {error}") from None


def _read_type(reader: FieldReader, known: tuple[PatchType, ...]) -> PatchType | None:
    text = reader.text("type")
    for each in known:
        if text == each:
            return each
    if text:
        raise StageError(f"{reader.place('type')}: expected one of {', '.join(known)}, found {shown(text)}")
    return None


def _read_event(reader: FieldReader | None) -> StageEvent | None:
    if reader is None:
        return None
    return StageEvent(reader.text("type"), reader.text("reason"), reader.text("message"))


def _read_finalizers(reader: FieldReader | None) -> Finalizers | None:
    def names(each: FieldReader, key: str) -> tuple[str, ...]:
        return tuple(item.text("value") for item in each.children(key))

    if reader is None:
        return None
    return Finalizers(names(reader, "add"), names(reader, "remove"), reader.boolean("empty"))


def _read_user(reader: FieldReader | None) -> str:
    return reader.text("username") if reader is not None else ""
