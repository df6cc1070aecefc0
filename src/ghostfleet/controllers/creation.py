"""Creation: pods from templates.

A new pod goes the way of any pod that a client creates: it is defaulted, admitted (priority, tolerations, limit ranges)
and charged to the quotas of its namespace. What comes out depends on the template alone, so it is worked out once, as a
*mould*, and shared by all pods of equal templates: thousands of pods have one spec between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import orjson

from ghostfleet.api.defaults import admit_pod, apply_defaults, finish_create, prepare_for_create
from ghostfleet.api.limitranges import ANNOTATION, apply_limit_ranges
from ghostfleet.api.quotas import charge_quotas
from ghostfleet.controllers.pods import owner_reference
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339

__all__ = ["PodCreator", "name_prefix"]

_LONGEST_NAME = 253
_MOULDS = 4096
_PRIORITY_CLASSES = "priorityclasses.scheduling.k8s.io"
#: Terms with these keys take over labels of the pod itself, so that templates with other labels make other specs.
_LABEL_KEYS = b"atchLabelKeys"


class _Mould(NamedTuple):
    spec: Object
    status: Object
    generation: int | None
    #: What limit ranges noted about the spec.
    annotations: Object | None
    #: The conditions have times in them, so that each pod needs its own.
    stamped: bool


def name_prefix(owner: str) -> str:
    """What the names of an owner's pods begin with."""
    return f"{owner}-" if len(owner) < _LONGEST_NAME else owner


class PodCreator:
    """Creates pods in one store for all controllers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._moulds: dict[tuple[str, bytes], _Mould] = {}
        #: The template used last, its namespace if that matters, and its mould: the next one is often equal.
        self._last: tuple[Object, str, _Mould] | None = None
        self._ranged: dict[str, int] = {}
        store.listen(_PRIORITY_CLASSES, self._forget)
        store.listen("limitranges", self._notice_range)
        for each in store.list("limitranges"):
            self._count_range(each["metadata"]["namespace"], 1)

    def create(
        self,
        owner: Object,
        template: Object,
        *,
        reference: list[Object] | None = None,
        name: str = "",
        prefix: str = "",
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        finalizers: list[str] | None = None,
        spec: Object | None = None,
        environment: Sequence[Object] = (),
    ) -> Object | None:
        """Create a pod of `owner`; None when its namespace is on its way out. `labels` and the like are added.

        `spec` has fields to be set in this pod's spec only, `environment` variables for this pod's containers only.
        Errors are those of the API: a quota is used up, a priority class is not there.
        """
        own = owner["metadata"]
        namespace: str = own["namespace"]
        space = self._store.find("namespaces", "", namespace)
        if space is not None and "deletionTimestamp" in space["metadata"]:
            return None
        given = template.get("metadata") or {}
        metadata: Object = {"namespace": namespace}
        metadata["generateName"] = start = prefix or name_prefix(own["name"])
        metadata["name"] = name or self._store.generate_name("pods", namespace, start)
        if labels or given.get("labels"):
            metadata["labels"] = {**(given.get("labels") or {}), **labels} if labels else given["labels"]
        if annotations or given.get("annotations"):
            more = given.get("annotations") or {}
            metadata["annotations"] = {**more, **annotations} if annotations else more
        if finalizers or given.get("finalizers"):
            metadata["finalizers"] = finalizers or given["finalizers"]
        metadata["ownerReferences"] = reference or [owner_reference(owner)]
        mould = self._mould(namespace, template["spec"], metadata)
        if mould.generation is not None:
            metadata["generation"] = mould.generation
        if mould.annotations:
            metadata["annotations"] = {**metadata.get("annotations", {}), **mould.annotations}
        own_spec = {**mould.spec, **spec} if spec else mould.spec
        if environment:
            own_spec = {**own_spec, "containers": _with_variables(own_spec["containers"], environment)}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": own_spec, "status": mould.status}
        if mould.stamped:
            pod = finish_create("pods", pod, now=rfc3339(self._store.clock.now()))
        charge_quotas(self._store, "pods", pod)
        return self._store.add("pods", pod)

    def _mould(self, namespace: str, spec: Object, metadata: Object) -> _Mould:
        space = namespace if namespace in self._ranged else ""
        last = self._last
        if last is not None and last[1] == space and (last[0] is spec or last[0] == spec):
            return last[2]
        text = orjson.dumps(spec, option=orjson.OPT_SORT_KEYS)
        own = _LABEL_KEYS in text
        if own:
            text += orjson.dumps(metadata.get("labels"), option=orjson.OPT_SORT_KEYS)
        key = (space, text)
        found = self._moulds.get(key)
        if found is None:
            if len(self._moulds) >= _MOULDS:
                del self._moulds[next(iter(self._moulds))]
            found = self._moulds[key] = self._cast(spec, metadata)
        self._last = None if own else (spec, space, found)
        return found

    def _cast(self, spec: Object, metadata: Object) -> _Mould:
        pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        pod = prepare_for_create("pods", apply_defaults("pods", pod))
        pod = admit_pod(
            pod,
            priority_class=lambda name: self._store.find(_PRIORITY_CLASSES, "", name),
            default_priority_class=self._default_priority_class,
        )
        pod = apply_limit_ranges(self._store, pod)
        status: Object = pod["status"]
        note = (pod["metadata"].get("annotations") or {}).get(ANNOTATION)
        annotations = {ANNOTATION: note} if note else None
        return _Mould(
            pod["spec"], status, pod["metadata"].get("generation"), annotations, bool(status.get("conditions"))
        )

    def _default_priority_class(self) -> Object | None:
        classes = [each for each in self._store.list(_PRIORITY_CLASSES) if each.get("globalDefault")]
        return min(classes, key=lambda each: each.get("value", 0), default=None)

    def _forget(self, _change: Change) -> None:
        self._moulds.clear()
        self._last = None

    def _notice_range(self, change: Change) -> None:
        self._forget(change)
        if change.type != "MODIFIED":
            self._count_range(change.namespace, 1 if change.new is not None else -1)

    def _count_range(self, namespace: str, by: int) -> None:
        count = self._ranged.get(namespace, 0) + by
        if count:
            self._ranged[namespace] = count
        else:
            self._ranged.pop(namespace, None)


def _with_variables(containers: Sequence[Object], variables: Sequence[Object]) -> list[Object]:
    return [{**container, "env": [*(container.get("env") or ()), *variables]} for container in containers]
