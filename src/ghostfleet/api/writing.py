"""Writing: the way of an object from a request into the store.

Every create, update and patch goes the same way: the body is *checked* against the endpoint, *normalised* by its schema
(types, unknown fields), *converted* to the storage version, *defaulted*, *prepared* (what a client may not set is set
here), *admitted* (namespace, priority class, cluster IPs), *validated*, *reviewed* by whoever has a say in its kind,
its fields are *attributed* to the manager who wrote them, and then it is stored. Built-in and custom kinds differ only
in the functions behind normalise, default and validate.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.api.admission import Admission
from ghostfleet.api.attribution import attributed, ignored
from ghostfleet.api.bodies import (
    check_applied,
    check_identity,
    check_name,
    check_resource_version,
    check_size,
    checked,
    judge_unknown,
    not_a_map,
    patch_to_blame,
)
from ghostfleet.api.kinds import Resource, Version, from_storage, storage_key, to_storage
from ghostfleet.api.lifecycle import CREATED_BY_UPDATE
from ghostfleet.api.options import PatchType, WriteOptions
from ghostfleet.api.strategy import (
    apply_defaults,
    check_change,
    check_new,
    complete_changed,
    complete_new,
    finish_create,
    read,
    read_changed,
    warnings_about,
)
from ghostfleet.api.templatecache import AdmittedTemplate, JobKey, JobTemplate, JobTemplates, TemplateKey
from ghostfleet.api.validation import validate_metadata
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import (
    ApiError,
    FieldError,
    bad_request,
    conflict,
    invalid,
    not_found,
    unsupported_media_type,
)
from ghostfleet.core.patch import (
    apply_json_patch,
    apply_merge_patch,
    apply_strategic_merge,
    same_but_for_times,
    server_side_apply,
)
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339

__all__ = ["ObjectWriter"]

_PODS, _JOBS = "pods", "jobs.batch"
#: What only the server sets; a create starts without them, whatever the client sent.
_SERVER_SIDE = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
    "resourceVersion",
    "managedFields",
)


class ObjectWriter:
    """Creates, updates and patches objects in a store."""

    def __init__(self, store: Store, admission: Admission) -> None:
        self._store = store
        self._admission = admission
        self._pods = admission.templates
        self._jobs = JobTemplates()

    # -- verbs -------------------------------------------------------------------------------------------------------

    def create(self, resource: Resource, version: Version, namespace: str, body: Any, options: WriteOptions) -> Object:
        """Store a new object; answers it in the version of the request."""
        key: TemplateKey | JobKey | None = None
        found: AdmittedTemplate | JobTemplate | None = None
        if resource.key == _PODS:
            key = pod_key = self._pods.key(namespace, body)
            found = self._pods.find(pod_key) if pod_key is not None else None
        elif resource.key == _JOBS:
            key = job_key = self._jobs.key(body)
            found = self._jobs.find(job_key, body["spec"]) if job_key is not None else None
        if found is not None and (found.fields is not None or not options.manager):
            made = self._create_alike(resource, version, namespace, body, found, options)
            if made is not None:
                return made
        obj = self._read(resource, version, namespace, body, options)
        made = self._create(resource, version, obj, None, options)
        if key is not None and not options.unknown:
            self._keep(key, obj, made)
        return made

    def update(
        self,
        resource: Resource,
        version: Version,
        namespace: str,
        name: str,
        body: Any,
        options: WriteOptions,
        subresource: str = "",
    ) -> tuple[Object, bool]:
        """Replace an object; answers it and whether it was created."""
        obj = self._read(resource, version, namespace, body, options)
        check_name(obj, name)
        key = storage_key(resource)
        old = self._store.find(key, namespace, name)
        if old is None and key in CREATED_BY_UPDATE and not subresource and not obj["metadata"].get("uid"):
            return self._create(resource, version, obj, None, options), True
        if old is None:
            raise not_found(key, name)
        check_resource_version(resource, obj)
        check_identity(resource, old, obj)
        return self._update(resource, version, old, obj, options, subresource), False

    def patch(
        self,
        resource: Resource,
        version: Version,
        namespace: str,
        name: str,
        patch_type: PatchType,
        patch: Any,
        options: WriteOptions,
        subresource: str = "",
    ) -> tuple[Object, bool]:
        """Change parts of an object; answers it and whether it was created (apply may)."""
        if patch_type == "apply":
            return self._apply(resource, version, namespace, name, patch, options, subresource)
        old = self._store.get(storage_key(resource), namespace, name)
        current = from_storage(resource, version, old)
        try:
            patched = _patched(resource, version, current, patch_type, patch)
        except ApiError as error:
            raise _clients_fault(error) from None
        if patched is current:
            return current, False
        with patch_to_blame(patched, patch_type):
            obj = self._read(resource, version, namespace, patched, options, known=current)
        check_name(obj, name)
        return self._update(resource, version, old, obj, options, subresource), False

    def _apply(
        self,
        resource: Resource,
        version: Version,
        namespace: str,
        name: str,
        patch: Any,
        options: WriteOptions,
        subresource: str,
    ) -> tuple[Object, bool]:
        if not options.manager:
            raise invalid(
                "PatchOptions", "meta.k8s.io", "", [FieldError.required("fieldManager", "is required for apply patch")]
            )
        check_applied(resource, version, patch)
        applied = checked(resource, version, namespace, patch)
        if not applied["metadata"].get("name"):
            applied = {**applied, "metadata": {**applied["metadata"], "name": name}}
        check_name(applied, name)
        key = storage_key(resource)
        old = self._store.find(key, namespace, name)
        if old is None and applied["metadata"].get("uid"):
            stated = applied["metadata"]["uid"]
            why = f"uid mismatch: the provided object specified uid {stated}, and no existing object was found"
            raise conflict(resource.key, name, why)
        if old is None and subresource:
            raise not_found(key, name)
        live = from_storage(resource, version, old) if old is not None else None
        if not (patch.get("metadata") or {}).get("namespace"):
            # The namespace of the request comes later: it belongs to nobody, and messages do not tell it.
            applied = {**applied, "metadata": {k: v for k, v in applied["metadata"].items() if k != "namespace"}}
        try:
            merged, managed = server_side_apply(
                live,
                applied,
                version.schema,
                manager=options.manager,
                api_version=resource.api_version(version.name),
                time=self._now(),
                force=options.force,
                subresource=subresource,
                kind=resource.kind,
                has_status=resource.has_status,
                ignored=ignored(resource, subresource),
            )
        except ApiError as error:
            raise _clients_fault(error) from None
        if (
            live is not None
            and merged is live
            and same_but_for_times(managed, live["metadata"].get("managedFields", []))
        ):
            return live, False
        merged = self._read(resource, version, namespace, merged, options)
        if old is None:
            return self._create(resource, version, merged, managed, options), True
        return self._update(resource, version, old, merged, options, subresource, managed), False

    # -- steps -------------------------------------------------------------------------------------------------------

    def _read(
        self,
        resource: Resource,
        version: Version,
        namespace: str,
        body: Any,
        options: WriteOptions,
        known: Object | None = None,
    ) -> Object:
        """The body, checked against the endpoint and normalised by its schema; `known` is the object it changes."""
        obj = checked(resource, version, namespace, body)
        if known is None:
            obj, unknown = read(resource, version, obj)
        else:
            obj, unknown = read_changed(resource, version, obj, known)
        judge_unknown(resource, version, unknown, options)
        return obj

    def _create(
        self,
        resource: Resource,
        version: Version,
        obj: Object,
        managed: list[Object] | None,
        options: WriteOptions,
    ) -> Object:
        key = storage_key(resource)
        self._admission.check_namespace(resource, obj)
        self._admission.check_definition(resource, obj)
        obj = to_storage(resource, obj)
        obj = complete_new(resource, version, key, {**obj, "metadata": self._newborn(key, obj["metadata"])})
        if managed is None:
            # What admission adds belongs to nobody, so the fields are attributed before it.
            managed = self._attributed(resource, version, None, obj, options)
        obj = finish_create(key, self._admission.admit(key, obj), now=self._now())
        check_new(resource, version, key, obj)
        check_size(obj)
        options.warnings += warnings_about(resource, key, obj, None)
        options.warnings += self._admission.review(key, None, obj)
        self._admission.charge(key, obj, dry_run=options.dry_run)
        stored = self._store.create(key, _with_managed(obj, managed), dry_run=options.dry_run)
        return from_storage(resource, version, stored)

    def _newborn(self, key: str, metadata: Object) -> Object:
        """Metadata of a new object: without what only the server sets, and with a name and a uid."""
        if metadata.get("resourceVersion"):
            raise bad_request("resourceVersion should not be set on objects to be created")
        metadata = {field: value for field, value in metadata.items() if field not in _SERVER_SIDE}
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = self._store.generate_name(key, metadata.get("namespace", ""), metadata["generateName"])
        metadata["uid"] = self._store.new_uid()
        return metadata

    def _create_alike(
        self,
        resource: Resource,
        version: Version,
        namespace: str,
        body: Object,
        template: AdmittedTemplate | JobTemplate,
        options: WriteOptions,
    ) -> Object | None:
        """Create an object whose spec is known: only its metadata goes all the way. None if it must go itself."""
        key = resource.key
        rest = {field: value for field, value in body.items() if field not in ("spec", "status")}
        obj = self._read(resource, version, namespace, rest, options)
        self._admission.check_namespace(resource, obj)
        metadata = template.described(self._newborn(key, obj["metadata"]))
        if metadata is None or validate_metadata(key, metadata):
            # The long way finds all that is wrong.
            return None
        obj = {**obj, "metadata": metadata}
        attributable = {**obj, "spec": template.placeholder}
        managed = self._attributed(resource, version, None, attributable, options)
        if managed:
            (entry,) = managed
            managed = [{**entry, "fieldsV1": {**entry["fieldsV1"], "f:spec": template.fields}}]
        whole = _with_managed(template.whole(obj), managed)
        options.warnings += self._admission.review(key, None, whole)
        self._admission.charge(key, whole, dry_run=options.dry_run)
        stored = self._store.create(key, whole, dry_run=True) if options.dry_run else self._store.add(key, whole)
        return from_storage(resource, version, stored)

    def _keep(self, key: TemplateKey | JobKey, read: Object, made: Object) -> None:
        """Keep what became of a spec; `read` is the object as it came."""
        entries = made["metadata"].get("managedFields")
        fields = entries[0]["fieldsV1"].get("f:spec") if entries else None
        if entries and fields is None:
            return
        if isinstance(key, JobKey):
            # A Job's own selector comes only after this.
            self._jobs.keep(key, JobTemplate(apply_defaults(_JOBS, read)["spec"], made["status"], fields))
        else:
            self._pods.keep(key, made, fields)

    def _attributed(
        self,
        resource: Resource,
        version: Version,
        old: Object | None,
        new: Object,
        options: WriteOptions,
        subresource: str = "",
    ) -> list[Object] | None:
        """The managedFields of an object after this write; untracked writes leave them as they are."""
        if not options.manager:
            return old["metadata"].get("managedFields") if old is not None else None
        return attributed(resource, version, old, new, options.manager, self._now(), subresource)

    def _now(self) -> str:
        return rfc3339(self._store.clock.now())

    def _update(
        self,
        resource: Resource,
        version: Version,
        old: Object,
        obj: Object,
        options: WriteOptions,
        subresource: str,
        managed: list[Object] | None = None,
    ) -> Object:
        key = storage_key(resource)
        known = old["metadata"]["resourceVersion"]
        if obj["metadata"].get("resourceVersion", known) != known:
            # Before anything is judged: what is wrong may be so because others were faster.
            raise conflict(key, old["metadata"]["name"])
        new = complete_changed(resource, version, key, old, to_storage(resource, obj), subresource, self._now())
        if not subresource:
            new = self._admission.admit_change(key, new)
        check_change(resource, version, key, old, new, subresource)
        check_size(new)
        options.warnings += warnings_about(resource, key, new, old)
        if not subresource:
            options.warnings += self._admission.review(key, old, new)
        if managed is None:
            managed = self._attributed(resource, version, old, new, options, subresource)
        stored = self._store.update(key, _with_managed(new, managed), dry_run=options.dry_run)
        return from_storage(resource, version, stored)


def _with_managed(obj: Object, managed: list[Object] | None) -> Object:
    """The object with these managedFields."""
    metadata = obj["metadata"]
    if not managed:
        if "managedFields" not in metadata:
            return obj
        return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}
    if metadata.get("managedFields") is managed:
        return obj
    return {**obj, "metadata": {**metadata, "managedFields": managed}}


def _patched(resource: Resource, version: Version, current: Object, patch_type: PatchType, patch: Any) -> Any:
    if patch_type == "json":
        return apply_json_patch(current, patch)
    if patch_type == "strategic":
        if resource.custom:
            raise unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: "
                "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
            )
        if not isinstance(patch, dict):
            raise not_a_map(patch)
        return apply_strategic_merge(current, patch, version.schema)
    if not isinstance(patch, dict):
        raise not_a_map(patch)
    return apply_merge_patch(current, patch)


def _clients_fault(error: ApiError) -> ApiError:
    """What an "internal" error over a malformed patch is: the client's mistake.

    Kubernetes answers some of them with 500, as if the server had failed; the words stay the same.
    """
    return error if error.code < 500 else bad_request(error.message)
