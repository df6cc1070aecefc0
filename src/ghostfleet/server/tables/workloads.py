"""Controllers of pods in one line: replicas wanted and there, and what their pods are made of."""

from __future__ import annotations

from ghostfleet.core.changes import Object
from ghostfleet.server.tables.cells import (
    container_images,
    container_names,
    created,
    items,
    label_text,
    name_of,
    part,
    selector_query,
    selector_text,
)
from ghostfleet.server.tables.printers import AGE, CONTAINERS, IMAGES, NAME, SELECTOR, Cell, Printers, integer, text

__all__ = ["WORKLOADS"]

WORKLOADS = Printers()

_REPLICAS = (
    integer("Desired", "Replicas that are wanted."),
    integer("Current", "Replicas that exist."),
    integer("Ready", "Replicas that are ready."),
)


def _replicas(obj: Object, now: int) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    template = part(spec, "template")
    return [
        name_of(obj),
        spec.get("replicas") or 0,
        status.get("replicas") or 0,
        status.get("readyReplicas") or 0,
        created(obj, now),
        container_names(template),
        container_images(template),
    ]


@WORKLOADS.of("replicationcontrollers", NAME, *_REPLICAS, AGE, CONTAINERS, IMAGES, SELECTOR)
def replication_controller(obj: Object, now: int) -> list[Cell]:
    return [*_replicas(obj, now), label_text(part(obj, "spec").get("selector"))]


@WORKLOADS.of("replicasets.apps", NAME, *_REPLICAS, AGE, CONTAINERS, IMAGES, SELECTOR)
def replica_set(obj: Object, now: int) -> list[Cell]:
    return [*_replicas(obj, now), selector_text(part(obj, "spec").get("selector"))]


def _ready(obj: Object) -> str:
    return f"{part(obj, 'status').get('readyReplicas') or 0}/{part(obj, 'spec').get('replicas') or 0}"


@WORKLOADS.of(
    "deployments.apps",
    NAME,
    text("Ready", "Replicas that are ready, of those wanted."),
    text("Up-to-date", "Replicas with the latest pod template."),
    text("Available", "Replicas that have been ready long enough."),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
)
def deployment(obj: Object, now: int) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    template = part(spec, "template")
    return [
        name_of(obj),
        _ready(obj),
        status.get("updatedReplicas") or 0,
        status.get("availableReplicas") or 0,
        created(obj, now),
        container_names(template),
        container_images(template),
        selector_query(spec.get("selector")),
    ]


@WORKLOADS.of(
    "statefulsets.apps", NAME, text("Ready", "Replicas that are ready, of those wanted."), AGE, CONTAINERS, IMAGES
)
def stateful_set(obj: Object, now: int) -> list[Cell]:
    template = part(obj, "spec", "template")
    return [name_of(obj), _ready(obj), created(obj, now), container_names(template), container_images(template)]


@WORKLOADS.of(
    "daemonsets.apps",
    NAME,
    integer("Desired", "Nodes that should run the pod."),
    integer("Current", "Nodes that run the pod and should."),
    integer("Ready", "Nodes on which the pod is ready."),
    integer("Up-to-date", "Nodes with the latest pod template."),
    integer("Available", "Nodes on which the pod has been ready long enough."),
    text("Node Selector", "Labels of the nodes that should run the pod."),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
)
def daemon_set(obj: Object, now: int) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    template = part(spec, "template")
    return [
        name_of(obj),
        status.get("desiredNumberScheduled") or 0,
        status.get("currentNumberScheduled") or 0,
        status.get("numberReady") or 0,
        status.get("updatedNumberScheduled") or 0,
        status.get("numberAvailable") or 0,
        label_text(part(template, "spec").get("nodeSelector")),
        created(obj, now),
        container_names(template),
        container_images(template),
        selector_text(spec.get("selector")),
    ]


@WORKLOADS.of(
    "controllerrevisions.apps",
    NAME,
    text("Controller", "Owner of the revision."),
    text("Revision", "Number of the revision."),
    AGE,
)
def controller_revision(obj: Object, now: int) -> list[Cell]:
    owner = "<none>"
    for reference in items(part(obj, "metadata"), "ownerReferences"):
        if reference.get("controller"):
            group = reference["apiVersion"].rpartition("/")[0]
            kind = f"{reference['kind']}.{group}" if group else reference["kind"]
            owner = f"{kind.lower()}/{reference['name']}"
            break
    return [name_of(obj), owner, obj.get("revision") or 0, created(obj, now)]


@WORKLOADS.of(
    "podtemplates",
    NAME,
    text("Containers", "Names of the containers in the template."),
    text("Images", "Images of the containers in the template."),
    text("Pod Labels", "Labels of the template."),
)
def pod_template(obj: Object, _now: int) -> list[Cell]:
    template = part(obj, "template")
    labels = part(template, "metadata").get("labels")
    return [name_of(obj), container_names(template), container_images(template), label_text(labels)]
