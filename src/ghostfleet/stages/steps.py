"""Steps: what a stage does to an object when its time has come.

A step may tell an *event*, change *finalizers*, *patch* the object, *delete* it, or *apply* another object. `actions`
lists what the steps of a stage come to for one object, without doing it: everything is rendered from the object as it
was when the stage was chosen. After a delete only events are left. Bodies of patches come from Go templates: the text
is YAML, put under the *root* of the patch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ghostfleet.api.options import PatchType
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import shown
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.languages.gotemplate import Template, render_yaml

__all__ = [
    "Action",
    "Apply",
    "ApplyAction",
    "DeleteAction",
    "Finalizers",
    "Functions",
    "Patch",
    "PatchAction",
    "StageEvent",
    "Step",
    "actions",
]

Functions = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class StageEvent:
    """An event to be told about the object."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Finalizers:
    """A change of the object's finalizers."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    empty: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Patch:
    """A patch of the object; without a type it is strategic for pods and nodes, and a merge for others."""

    template: Template
    root: str = ""
    subresource: str = ""
    type: PatchType | None = None
    user: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Apply:
    """Another object to be created, or patched if it is there."""

    template: Template
    subresource: str = ""
    type: PatchType = "apply"
    user: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step; what it has is done in the order of the fields."""

    event: StageEvent | None = None
    finalizers: Finalizers | None = None
    delete: bool = False
    patch: Patch | None = None
    apply: Apply | None = None
    #: it does nothing but merge something into the status
    patches_status: bool = field(init=False)

    def __post_init__(self) -> None:
        patch = self.patch
        alone = self.event is None and self.finalizers is None and self.apply is None and not self.delete
        merges = patch is not None and patch.root == patch.subresource == "status" and patch.type != "json"
        object.__setattr__(self, "patches_status", alone and merges)


@dataclass(frozen=True, slots=True)
class PatchAction:
    """A patch to be sent."""

    type: PatchType
    data: Any
    subresource: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True)
class ApplyAction:
    """An object to be created, or patched in this way."""

    type: PatchType
    data: Any
    subresource: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True)
class DeleteAction:
    """The object is to be deleted."""


Action = StageEvent | PatchAction | ApplyAction | DeleteAction


def actions(
    steps: tuple[Step, ...], obj: Object, functions: Functions, *, default_type: PatchType = "merge"
) -> Iterator[Action]:
    """What the steps come to; each is rendered only when the one before it has been taken."""
    deleted = False
    for step in steps:
        if step.event is not None:
            yield step.event
        if deleted:
            continue
        if step.finalizers is not None:
            operations = _finalizer_operations(obj["metadata"].get("finalizers") or [], step.finalizers)
            if operations:
                yield PatchAction("json", operations)
        if step.delete:
            deleted = True
            yield DeleteAction()
            continue
        if step.patch is not None:
            yield _patch_action(step.patch, obj, functions, default_type)
        if step.apply is not None:
            data = render_yaml(step.apply.template, obj, functions)
            yield ApplyAction(step.apply.type, data, step.apply.subresource, step.apply.user)


def _patch_action(patch: Patch, obj: Object, functions: Functions, default_type: PatchType) -> PatchAction:
    type_ = patch.type or default_type
    data = render_yaml(patch.template, obj, functions)
    if patch.root:
        data = _operations_below(patch.root, data) if type_ == "json" else {patch.root: data}
    return PatchAction(type_, data, patch.subresource, patch.user)


def _operations_below(root: str, operations: Any) -> list[Object]:
    """JSON patch operations with their paths put under `root`; only what an operation may have is kept."""
    if operations is None:
        return []
    if not isinstance(operations, list) or not all(isinstance(each, dict) for each in operations):
        raise EvaluationError(f"the template of a JSON patch gives no list of operations: {shown(operations)}")
    moved = []
    for each in operations:
        operation = {"op": each.get("op", ""), "path": f"/{root}{each.get('path') or ''}"}
        if "value" in each:
            operation["value"] = each["value"]
        if each.get("from"):
            operation["from"] = each["from"]
        moved.append(operation)
    return moved


def _finalizer_operations(present: list[str], change: Finalizers) -> list[Object]:
    """JSON patch operations that change the finalizers; none when there is nothing to do."""
    removed = [index for index, name in enumerate(present) if name in change.remove]
    if change.empty or (change.remove and len(removed) == len(present)):
        operations: list[Object] = [{"op": "remove", "path": "/metadata/finalizers"}] if present else []
        return operations + _added([], change.add)
    operations = [{"op": "remove", "path": f"/metadata/finalizers/{index}"} for index in reversed(removed)]
    return operations + _added(present, change.add)


def _added(present: list[str], names: tuple[str, ...]) -> list[Object]:
    if not names:
        return []
    if not present:
        return [{"op": "add", "path": "/metadata/finalizers", "value": list(names)}]
    missing = [name for name in names if name not in present]
    return [{"op": "add", "path": "/metadata/finalizers/-", "value": name} for name in missing]
