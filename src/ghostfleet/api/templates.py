"""Templates: pods, or Jobs, that were made from one template share what is made of it.

A load test creates thousands of pods and Jobs that differ in nothing but their metadata. What a spec becomes on its way
into the store depends, for nearly all of them, on the spec alone; so the first of a template goes all the way, and its
*cast* is kept by the bytes of the spec that was sent. Later ones take the cast: the same dicts, so that they cost
little time and little memory. To the cast of a Job comes what every Job has of its own, the labels and the selector by
which it knows its pods; the values of other labels of its pods are its own too, since whoever makes Jobs for others,
as dispatchers do, writes there whom they are for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from ghostfleet.api.defaults.kindpreparation import job_with_selector
from ghostfleet.api.validation.checks import Errors
from ghostfleet.api.validation.checks import labels as check_labels
from ghostfleet.core.changes import Object
from ghostfleet.core.patch.fieldset import FieldSet

__all__ = ["CASTABLE", "PODS", "Cast", "Key", "Templates"]

PODS, JOBS = "pods", "jobs.batch"
#: Resources whose objects are cast.
CASTABLE = frozenset((PODS, JOBS))

_REMEMBERED = 1024
#: With these, what becomes of a pod's spec depends on its name, labels or time of creation.
_PERSONAL = ("schedulingGates", "affinity", "topologySpreadConstraints", "hostname", "setHostnameAsFQDN", "subdomain")
#: Whether these are right depends on the name and the uid of a Job.
_OWN_SELECTION = ("selector", "manualSelector")
_GIVEN_LABELS = frozenset(
    ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")
)
#: A Job's name becomes a label of its pods, and must not be longer.
_LONGEST_LABEL = 63
#: Stand for a spec whose fields are known: something to own, so that there is an entry to put them into.
_PLACEHOLDERS: dict[str, Object] = {PODS: {"restartPolicy": "Always"}, JOBS: {"suspend": False}}


class Key(NamedTuple):
    """By what a spec is known."""

    resource: str
    #: The bytes of the spec, without the labels of a Job's pods.
    spec: bytes
    #: The names of those labels.
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """What a spec became."""

    spec: Object
    status: Object
    #: The fields of the spec that belong to whoever created the object; None when nobody was said to have.
    fields: FieldSet | None

    def fits(self, resource: str, metadata: Object) -> bool:
        """Whether an object with this metadata, which is valid in itself, may have the cast."""
        return resource != JOBS or len(metadata["name"]) <= _LONGEST_LABEL

    def labelled(self, resource: str, metadata: Object) -> Object:
        """The metadata, with the labels of the template where a Job has none of its own."""
        labels = self.spec["template"]["metadata"].get("labels") if resource == JOBS else None
        return {**metadata, "labels": labels} if labels and not metadata.get("labels") else metadata

    def placeholder(self, resource: str, obj: Object) -> Object:
        """The object with a spec that is quickly attributed."""
        return {**obj, "spec": _PLACEHOLDERS[resource]}

    def owned(self, managed: list[Object] | None) -> list[Object] | None:
        """The managedFields of an object with a placeholder, with the fields of the spec in its place."""
        if not managed:
            return managed
        (entry,) = managed
        return [{**entry, "fieldsV1": {**entry["fieldsV1"], "f:spec": self.fields}}]

    def whole(self, resource: str, obj: Object) -> Object:
        """The object, to which all but its metadata is given."""
        whole = {**obj, "spec": self.spec, "status": self.status}
        return job_with_selector(whole) if resource == JOBS else whole


class Templates:
    """The casts of the specs seen lately."""

    def __init__(self) -> None:
        self._casts: dict[Key, Cast] = {}
        self._state = -1

    def key(self, resource: str, body: Any, *, uniform: bool) -> Key | None:
        """By what a new object's spec is known; None when it is none that has a cast.

        Pods have none where they are not `uniform`, admitted alike in all namespaces.
        """
        if not isinstance(body, dict) or body.get("status"):
            return None
        spec, metadata = body.get("spec"), body.get("metadata")
        if not isinstance(spec, dict) or not isinstance(metadata, dict):
            return None
        if resource == PODS and (metadata.get("annotations") or not uniform):
            return None
        names: tuple[str, ...] = ()
        if resource == JOBS:
            spec, names = _without_labels(spec)
        try:
            return Key(resource, orjson.dumps(spec), names)
        except TypeError:  # nested too deeply, or not JSON: the long way says what is wrong
            return None

    def find(self, key: Key, state: int, sent: Object) -> Cast | None:
        """The cast of a spec, if the cluster's priority classes are still in the `state` in which it was made.

        `sent` is the spec itself, from which a Job's pods have the values of their labels.
        """
        if state != self._state:
            self._casts.clear()
            self._state = state
        cast = self._casts.get(key)
        return _relabelled(cast, sent["template"]["metadata"]["labels"]) if cast is not None and key.labels else cast

    def keep(self, key: Key, state: int, sent: Object, cast: Cast) -> None:
        """Keep the cast of a spec, as it was `sent`, if others can have it."""
        if len(self._casts) >= _REMEMBERED:
            self._casts.clear()
        common = not any(field in sent for field in _PERSONAL) if key.resource == PODS else _is_common_job(sent)
        if common and state == self._state:
            self._casts[key] = cast


def _without_labels(spec: Object) -> tuple[Object, tuple[str, ...]]:
    """A Job's spec without the labels of its pods, and their names; the spec itself where these are not plain texts."""
    template = spec.get("template")
    metadata = template.get("metadata") if isinstance(template, dict) else None
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    if not template or not metadata or not isinstance(labels, dict) or not labels:
        return spec, ()
    if not all(type(value) is str for value in labels.values()):
        return spec, ()
    return {**spec, "template": {**template, "metadata": {**metadata, "labels": None}}}, tuple(labels)


def _relabelled(cast: Cast, labels: Object) -> Cast | None:
    """The cast with these labels of the Job's pods; None if they are not valid."""
    template = cast.spec["template"]
    if template["metadata"]["labels"] == labels:
        return cast
    errors: Errors = []
    check_labels(errors, "", labels)
    if errors:
        return None
    template = {**template, "metadata": {**template["metadata"], "labels": labels}}
    return Cast({**cast.spec, "template": template}, cast.status, cast.fields)


def _is_common_job(spec: Object) -> bool:
    """Whether nothing but a Job's name and uid tells what its selector and the labels of its pods are."""
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    return (
        _GIVEN_LABELS.isdisjoint(labels)
        # The name of an indexed Job is judged by its completions.
        and spec.get("completionMode") != "Indexed"
        and not any(field in spec for field in _OWN_SELECTION)
    )
