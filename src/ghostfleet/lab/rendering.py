"""Rendering: the object that is submitted for a workload.

It is the template of the workload's class with the workload's values in it, and carries the labels by which everything
of a run (`ghostfleet.dev/run`) and of a class (`ghostfleet.dev/class`) is found. A workload of a mix has its number in
an annotation, for from that all that was drawn for it follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.durations import parse_duration
from ghostfleet.lab.claims import with_claim
from ghostfleet.lab.deviceclaims import DeviceClaims
from ghostfleet.lab.mix import Workload, WorkloadClass
from ghostfleet.lab.podfields import with_metadata, with_pod_spec
from ghostfleet.lab.templates import Values, compiled, placeholder

__all__ = ["CLASS_LABEL", "INDEX_ANNOTATION", "PROJECT_PREFIX", "RUN_LABEL", "Renderer", "project_of", "renderer"]

#: On everything that a run makes.
RUN_LABEL = "ghostfleet.dev/run"
#: On the workloads of a mix and their pods.
CLASS_LABEL = "ghostfleet.dev/class"
#: On the workloads of a mix: the workload's number in the run.
INDEX_ANNOTATION = "ghostfleet.dev/index"
#: On pods: how long they run. `stages.behaviour` knows it too, but takes long to load.
_DURATION = "ghostfleet.dev/duration"
#: Before the name of a project in that of its namespace.
PROJECT_PREFIX = "runai-"

#: The object of a workload, its name, and its number in the run.
Renderer = Callable[[Workload, str, int], Object]


def project_of(namespace: str) -> str:
    """The project whose namespace it is; any other namespace is a project by itself."""
    return namespace.removeprefix(PROJECT_PREFIX)


def renderer(
    of: WorkloadClass, run: str, claims: DeviceClaims, *, pvc: bool, alike: Workload | None = None
) -> Renderer:
    """What makes the objects of a class; where all its workloads are `alike`, they share all but their names."""

    def values(workload: Workload) -> Values:
        template = None if claims.shared else claims.template_name(run, workload.gpus)
        return {**_values(workload), "claimTemplate": template}

    known = {"run": run, "class": of.name or None, "claim": placeholder("name") if claims.shared else None}
    tree = of.kind.template.fixed({**known, **values(alike)} if alike is not None else known)
    tree = _with_class(tree, of) if of.name else tree
    metadata = tree.get("metadata") or {}
    named = {
        "name": placeholder("name"),
        "namespace": alike.namespace if alike is not None else placeholder("namespace"),
        "labels": {**(metadata.get("labels") or {}), RUN_LABEL: run},
    }
    tree = {**tree, "metadata": {**metadata, **named}}
    made = compiled(with_claim(tree, of.kind) if pvc else tree)

    def render(workload: Workload, name: str, number: int) -> Object:
        own = {"name": name, "index": number}
        rendered: Object = made(own if alike is not None else {**own, **values(workload)})
        return rendered

    return render


def _with_class(tree: Object, of: WorkloadClass) -> Object:
    """What a class adds to the objects of its template, and to their pods."""
    labels: dict[str, Any] = {**of.labels, CLASS_LABEL: of.name}
    if of.queues is not None:
        labels[of.queue_label] = placeholder("queue")
    annotations: dict[str, Any] = dict(of.annotations)
    if of.duration is not None and "runtime" not in of.kind.template.placeholders:
        annotations[_DURATION] = placeholder("runtime")
    tree = with_metadata(tree, of.kind, labels, annotations)
    if of.priority_class:
        tree = with_pod_spec(tree, of.kind, {"priorityClassName": of.priority_class})
    metadata = tree["metadata"]
    numbered = {**(metadata.get("annotations") or {}), INDEX_ANNOTATION: placeholder("index", text=True)}
    return {**tree, "metadata": {**metadata, "annotations": numbered}}


def _values(workload: Workload) -> Values:
    runtime = workload.runtime
    return {
        "namespace": workload.namespace,
        "project": project_of(workload.namespace),
        "workers": workload.workers,
        "gpus": workload.gpus,
        "runtime": runtime,
        "seconds": _seconds(runtime or ""),
        "queue": workload.queue or None,
    }


def _seconds(runtime: str) -> str:
    try:
        seconds = f"{parse_duration(runtime) / 1_000_000:.6f}"
    except ValueError:
        return "infinity"
    return seconds.rstrip("0").rstrip(".")
