"""Template cache: what becomes of the spec of a pod or a Job on its way into the store, worked out once for all alike.

Whoever makes pods, a client or a controller, sends thousands that differ in nothing but their metadata. Defaults,
admission (priority, tolerations, service account, limit ranges) and validation depend, for nearly all of them, on the
spec alone; so the first of a template goes all the way, and what comes out is kept as the *admitted template* by the
bytes of the spec. Later pods share its dicts, so that they cost little time and little memory. Where a namespace has
limit ranges, its pods have admitted templates of their own; when priority classes or limit ranges change, all go.

The templates of built-in kinds are validated when their owner is written; custom resources may hold anything, so that
their controllers have a template *read* first: unknown fields go, and the rest must be valid.

Jobs of one spec share the dicts that the first became in the same way. To these comes what every Job has of its own,
the labels and the selector by which it knows its pods; the values of other labels of its pods are its own too, since
whoever makes Jobs for others, as dispatchers do, writes there whom they are for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from ghostfleet.api.builtin import kind_type
from ghostfleet.api.kindstrategies import job_with_selector
from ghostfleet.api.limitranges import ANNOTATION
from ghostfleet.api.strategy import apply_defaults, prepare_for_create
from ghostfleet.api.validation import normalise, validate_create, validate_metadata
from ghostfleet.api.validation.checks import Errors
from ghostfleet.api.validation.checks import labels as check_labels
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import bad_request, invalid
from ghostfleet.core.patch.fieldset import FieldSet
from ghostfleet.core.store import Store

__all__ = ["AdmittedTemplate", "JobKey", "JobTemplate", "JobTemplates", "PodTemplates", "TemplateKey"]

#: Namespace where limit ranges make a difference, else "", and the bytes of the spec.
TemplateKey = tuple[str, bytes]

_REMEMBERED = 4096
_PRIORITY_CLASSES, _LIMIT_RANGES = "priorityclasses.scheduling.k8s.io", "limitranges"
#: Terms with these keys take over labels of the pod itself, so that templates with other labels make other specs.
_LABEL_KEYS = b"atchLabelKeys"
#: With these, what becomes of a spec that a client sent depends on the pod's name, labels or time of creation too.
_PERSONAL = ("schedulingGates", "affinity", "topologySpreadConstraints", "hostname", "setHostnameAsFQDN", "subdomain")
#: The pod that a template is read as; it is never stored.
_POD = {"name": "template", "namespace": "default"}
_NO_METADATA: Object = {}
_POD_PLACEHOLDER: Object = {"restartPolicy": "Always"}
_REMEMBERED_JOBS = 1024
#: Whether these are right depends on the name and the uid of a Job.
_OWN_SELECTION = ("selector", "manualSelector")
_GIVEN_LABELS = frozenset(
    ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")
)
#: A Job's name becomes a label of its pods, and must not be longer.
_LONGEST_LABEL = 63
_JOB_PLACEHOLDER: Object = {"suspend": False}


@dataclass(frozen=True, slots=True)
class AdmittedTemplate:
    """What a spec became."""

    spec: Object
    status: Object
    generation: int | None
    #: What limit ranges noted about the spec.
    annotations: Object | None
    #: The conditions have times in them, so that each pod needs its own.
    stamped: bool
    #: A pod with it was found valid.
    validated: bool = False
    #: The fields of the spec that belong to whoever created a pod with it; None when nobody was said to have.
    fields: FieldSet | None = None

    @property
    def placeholder(self) -> Object:
        """Stands for the spec while fields are attributed: something to own, so that there is an entry for them."""
        return _POD_PLACEHOLDER

    def described(self, metadata: Object) -> Object:
        """Metadata of a pod with this spec."""
        if self.generation is not None:
            metadata = {**metadata, "generation": self.generation}
        if self.annotations:
            metadata = {**metadata, "annotations": {**(metadata.get("annotations") or {}), **self.annotations}}
        return metadata

    def whole(self, pod: Object) -> Object:
        """The pod, to which all but its metadata is given."""
        return {**pod, "spec": self.spec, "status": self.status}


class PodTemplates:
    """The admitted templates of one store; `admit` is what admission does to a new pod."""

    def __init__(self, store: Store, admit: Callable[[Object], Object]) -> None:
        self._store = store
        self._admit = admit
        self._admitted: dict[TemplateKey, AdmittedTemplate] = {}
        #: The template used last and its namespace: the next one is often equal.
        self._last: tuple[Object, str, AdmittedTemplate] | None = None
        self._read: dict[bytes, Object] = {}
        self._last_read: tuple[Any, Object] | None = None
        self._classes = store.bucket(_PRIORITY_CLASSES).history
        self._ranges = store.bucket(_LIMIT_RANGES)
        self._state = (-1, -1)

    # -- for controllers ---------------------------------------------------------------------------------------------

    def admitted(self, namespace: str, spec: Object, metadata: Object) -> AdmittedTemplate:
        """What a template's spec becomes in a namespace; the API's error when it is not admitted."""
        self._forget_outdated()
        space = self._space(namespace)
        last = self._last
        if last is not None and last[1] == space and (last[0] is spec or last[0] == spec):
            return last[2]
        text = orjson.dumps(spec)
        own = _LABEL_KEYS in text
        key = (space, text + orjson.dumps(metadata.get("labels")) if own else text)
        found = self._admitted.get(key)
        if found is None:
            found = self._made(spec, metadata)
            self._put(key, found)
        self._last = None if own else (spec, space, found)
        return found

    def read(self, template: Any) -> Object:
        """A template of a custom resource in clean form; the API's error if no pod can be made of it."""
        if not isinstance(template, dict):
            raise bad_request("a pod template was expected to be an object")
        given = template.get("metadata") or _NO_METADATA
        metadata = _read_metadata(given)
        spec = self._spec(template.get("spec"))
        if spec is template.get("spec") and metadata is given:
            return template
        return {"metadata": metadata, "spec": spec}

    # -- for clients' pods -------------------------------------------------------------------------------------------

    def key(self, namespace: str, body: Any) -> TemplateKey | None:
        """By what the spec of a client's pod is known; None when it cannot share an admitted template."""
        if not isinstance(body, dict) or body.get("status"):
            return None
        spec, metadata = body.get("spec"), body.get("metadata")
        if not isinstance(spec, dict) or not isinstance(metadata, dict) or metadata.get("annotations"):
            return None
        if any(field in spec for field in _PERSONAL):
            return None
        self._forget_outdated()
        try:
            return self._space(namespace), orjson.dumps(spec)
        except TypeError:  # nested too deeply, or not JSON: the long way says what is wrong
            return None

    def find(self, key: TemplateKey) -> AdmittedTemplate | None:
        """The admitted template of a spec that was validated."""
        found = self._admitted.get(key)
        return found if found is not None and found.validated else None

    def keep(self, key: TemplateKey, pod: Object, fields: FieldSet | None) -> None:
        """Keep what became of the spec of a client's pod."""
        self._put(key, replace(_template_of(pod), validated=True, fields=fields))

    # -- the cache ---------------------------------------------------------------------------------------------------

    def _forget_outdated(self) -> None:
        state = (self._classes.newest, self._ranges.history.newest)
        if state != self._state:
            self._state = state
            self._admitted.clear()
            self._last = None

    def _space(self, namespace: str) -> str:
        return namespace if self._ranges.size and namespace in self._ranges.spaces else ""

    def _put(self, key: TemplateKey, admitted: AdmittedTemplate) -> None:
        if len(self._admitted) >= _REMEMBERED:
            del self._admitted[next(iter(self._admitted))]
        self._admitted[key] = admitted

    def _made(self, spec: Object, metadata: Object) -> AdmittedTemplate:
        pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        return _template_of(self._admit(prepare_for_create("pods", apply_defaults("pods", pod))))

    def _spec(self, given: Any) -> Object:
        if self._last_read is not None and (self._last_read[0] is given or self._last_read[0] == given):
            return self._last_read[1]
        key = orjson.dumps(given, option=orjson.OPT_SORT_KEYS)
        found = self._read.get(key)
        if found is None:
            if len(self._read) >= _REMEMBERED:
                del self._read[next(iter(self._read))]
            found = self._read[key] = _read_spec(given)
        self._last_read = (given, found)
        return found


def _template_of(pod: Object) -> AdmittedTemplate:
    metadata, status = pod["metadata"], pod["status"]
    note = (metadata.get("annotations") or {}).get(ANNOTATION)
    return AdmittedTemplate(
        spec=pod["spec"],
        status=status,
        generation=metadata.get("generation"),
        annotations={ANNOTATION: note} if note else None,
        stamped=bool(status.get("conditions")),
    )


def _read_metadata(given: Any) -> Object:
    metadata: Object = _shaped({"metadata": given})["metadata"]
    errors = validate_metadata("pods", {**metadata, **_POD})
    if errors:
        raise invalid("Pod", "", _POD["name"], errors)
    return metadata


def _shaped(body: Object) -> Object:
    """A pod's body without fields that pods do not have."""
    schema = kind_type("", "v1", "Pod")
    assert schema is not None
    return normalise(body, schema, kind="Pod", version="v1")[0]


def _read_spec(given: Any) -> Object:
    pod = _shaped({"metadata": _POD, "spec": given if given is not None else {}})
    whole = {"apiVersion": "v1", "kind": "Pod", **pod}
    errors = validate_create("pods", prepare_for_create("pods", apply_defaults("pods", whole)))
    if errors:
        raise invalid("Pod", "", _POD["name"], errors)
    spec: Object = pod["spec"]
    return spec


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
        return _JOB_PLACEHOLDER

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
        if len(self._kept) >= _REMEMBERED_JOBS:
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
