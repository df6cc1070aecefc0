"""Fields of pods: how labels, annotations, a priority class or a volume get from a workload to its pods.

Kubernetes' own kinds, and those that wrap them, have templates of pods at the paths that their type names; a Run:ai
workload lists labels, annotations and volumes as *items* of its own spec. Trees are never changed: what is different is
made anew, and the rest is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.lab.types import WorkloadType

__all__ = ["RUNAI", "changed_at", "part_at", "with_metadata", "with_pod_spec"]

Texts = Mapping[str, Any]

#: The pods of a type that has them in Run:ai's words.
RUNAI = "runai"


def with_metadata(tree: Object, kind: WorkloadType, labels: Texts, annotations: Texts) -> Object:
    """The object with more labels and annotations, on itself and on its pods where it is known how."""
    tree = _with_own(tree, ["metadata"], labels, annotations)
    if kind.pod_specs == RUNAI:
        for field, more in (("labels", labels), ("annotations", annotations)):
            items = {key: {"value": value} for key, value in more.items()}
            tree = _merged(tree, ["spec", field, "items"], items)
        return tree
    for path in kind.pod_specs:
        template = path.split(".")[:-1]
        if template and isinstance(part_at(tree, template), dict):
            tree = _with_own(tree, [*template, "metadata"], labels, annotations)
    return tree


def with_pod_spec(tree: Object, kind: WorkloadType, fields: Object) -> Object:
    """The object with more fields in the specs of its pods."""
    assert kind.pod_specs != RUNAI
    for path in kind.pod_specs:
        words = path.split(".")
        if isinstance(part_at(tree, words), dict):
            tree = _merged(tree, words, fields)
    return tree


def _with_own(tree: Object, path: list[str], labels: Texts, annotations: Texts) -> Object:
    return _merged(_merged(tree, [*path, "labels"], labels), [*path, "annotations"], annotations)


def _merged(tree: Object, path: list[str], more: Mapping[str, Any]) -> Object:
    """The tree with more fields in the object at a path."""
    if not more:
        return tree
    merged: Object = changed_at(tree, path, lambda there: {**(there or {}), **more})
    return merged


def part_at(tree: Any, path: list[str]) -> Any:
    """The part of a tree at a path; None when there is none."""
    for word in path:
        if isinstance(tree, list):
            tree = tree[int(word)] if int(word) < len(tree) else None
        else:
            tree = tree.get(word) if isinstance(tree, dict) else None
    return tree


def changed_at(tree: Any, path: list[str], change: Callable[[Any], Any]) -> Any:
    """A copy of the tree with the part at a path changed; the rest is shared. A number stands for a place in a list."""
    if not path:
        return change(tree)
    if isinstance(tree, list):
        place = int(path[0])
        return [*tree[:place], changed_at(tree[place], path[1:], change), *tree[place + 1 :]]
    whole: Object = tree if isinstance(tree, dict) else {}
    return {**whole, path[0]: changed_at(whole.get(path[0]), path[1:], change)}
