"""Job templates: what becomes of a Job's spec on its way into the store, worked out once for all Jobs that share it.

As with pods, the first Job of a spec goes all the way, and the others share the dicts that it became. To these comes
what every Job has of its own, the labels and the selector by which it knows its pods; the values of other labels of its
pods are its own too, since whoever makes Jobs for others, as dispatchers do, writes there whom they are for.
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

__all__ = ["JobKey", "JobTemplate", "JobTemplates"]

_REMEMBERED = 1024
#: Whether these are right depends on the name and the uid of a Job.
_OWN_SELECTION = ("selector", "manualSelector")
_GIVEN_LABELS = frozenset(
    ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")
)
#: A Job's name becomes a label of its pods, and must not be longer.
_LONGEST_LABEL = 63
_PLACEHOLDER: Object = {"suspend": False}


class JobKey(NamedTuple):
    """By what a Job's spec is known."""

    #: The bytes of the spec, without the labels of the Job's pods.
    spec: bytes
    #: The names of those labels.
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobTemplate:
    """What a spec became."""

    spec: Object
    status: Object
    #: The fields of the spec that belong to whoever created the Job; None when nobody was said to have.
    fields: FieldSet | None

    @property
    def placeholder(self) -> Object:
        """Stands for the spec while fields are attributed: something to own, so that there is an entry for them."""
        return _PLACEHOLDER

    def described(self, metadata: Object) -> Object | None:
        """Metadata of a Job with this spec; None when it has no name, or one that is too long for it."""
        if not 0 < len(metadata.get("name") or "") <= _LONGEST_LABEL:
            return None
        labels = self.spec["template"]["metadata"].get("labels")
        own = {"labels": labels} if labels and not metadata.get("labels") else {}
        return {**metadata, "generation": 1, **own}

    def whole(self, job: Object) -> Object:
        """The Job, to which all but its metadata is given."""
        return job_with_selector({**job, "spec": self.spec, "status": self.status})


class JobTemplates:
    """The templates of the Jobs seen lately."""

    def __init__(self) -> None:
        self._kept: dict[JobKey, JobTemplate] = {}

    def key(self, body: Any) -> JobKey | None:
        """By what a new Job's spec is known; None when others cannot share it."""
        if not isinstance(body, dict) or body.get("status"):
            return None
        spec = body.get("spec")
        if not isinstance(spec, dict) or not isinstance(body.get("metadata"), dict) or not _is_common(spec):
            return None
        bare, names = _without_labels(spec)
        try:
            return JobKey(orjson.dumps(bare), names)
        except TypeError:  # nested too deeply, or not JSON: the long way says what is wrong
            return None

    def find(self, key: JobKey, sent: Object) -> JobTemplate | None:
        """What the spec became; `sent` is the spec itself, which has the values of the labels of the Job's pods."""
        found = self._kept.get(key)
        return _relabelled(found, sent["template"]["metadata"]["labels"]) if found is not None and key.labels else found

    def keep(self, key: JobKey, template: JobTemplate) -> None:
        if len(self._kept) >= _REMEMBERED:
            self._kept.clear()
        self._kept[key] = template


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


def _relabelled(kept: JobTemplate, labels: Object) -> JobTemplate | None:
    """The template with these labels of the Job's pods; None if they are not valid."""
    template = kept.spec["template"]
    if template["metadata"]["labels"] == labels:
        return kept
    errors: Errors = []
    check_labels(errors, "", labels)
    if errors:
        return None
    template = {**template, "metadata": {**template["metadata"], "labels": labels}}
    return JobTemplate({**kept.spec, "template": template}, kept.status, kept.fields)


def _is_common(spec: Object) -> bool:
    """Whether nothing but a Job's name and uid tells what its selector and the labels of its pods are."""
    # The name of an indexed Job is judged by its completions.
    if spec.get("completionMode") == "Indexed" or any(field in spec for field in _OWN_SELECTION):
        return False
    template = spec.get("template")
    metadata = template.get("metadata") if isinstance(template, dict) else None
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return not isinstance(labels, dict) or _GIVEN_LABELS.isdisjoint(labels)
