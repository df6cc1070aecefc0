"""Creation: pods from templates.

A new pod goes the way of any pod that a client creates: it is defaulted and admitted, which is worked out once for all
pods of equal templates, and charged to the quotas of its namespace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ghostfleet.api.admission import Admission
from ghostfleet.api.strategy import finish_create
from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.pods import owner_reference
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339

__all__ = ["PodCreator", "name_prefix"]

_LONGEST_NAME = 253


def name_prefix(owner: str) -> str:
    """What the names of an owner's pods begin with."""
    return f"{owner}-" if len(owner) < _LONGEST_NAME else owner


class PodCreator:
    """Creates pods in one store for all controllers."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        #: What becomes of templates, shared with the API.
        self.templates = admission.templates

    def create(
        self,
        store: Store,
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
        recorder: EventRecorder | None = None,
    ) -> Object | None:
        """Create a pod of `owner`; None when its namespace is on its way out. `labels` and the like are added.

        `spec` has fields to be set in this pod's spec only, `environment` variables for this pod's containers only. A
        `recorder` tells how it went. Errors are those of the API: a quota is used up, a priority class is not there.
        """
        own = owner["metadata"]
        namespace: str = own["namespace"]
        space = store.find("namespaces", "", namespace)
        if space is not None and "deletionTimestamp" in space["metadata"]:
            return None
        given = template.get("metadata") or {}
        metadata: Object = {"namespace": namespace}
        metadata["generateName"] = start = prefix or name_prefix(own["name"])
        metadata["name"] = name or store.generate_name("pods", namespace, start)
        if labels or given.get("labels"):
            metadata["labels"] = {**(given.get("labels") or {}), **labels} if labels else given["labels"]
        if annotations or given.get("annotations"):
            more = given.get("annotations") or {}
            metadata["annotations"] = {**more, **annotations} if annotations else more
        if finalizers or given.get("finalizers"):
            metadata["finalizers"] = finalizers or given["finalizers"]
        metadata["ownerReferences"] = reference or [owner_reference(owner)]
        try:
            pod = self._admit(store, metadata, template["spec"], spec, environment)
        except ApiError as error:
            if recorder is not None:
                recorder.warning(owner, "FailedCreate", f"Error creating: {error.message}")
            raise
        if recorder is not None:
            recorder.normal(owner, "SuccessfulCreate", f"Created pod: {metadata['name']}")
        return pod

    def _admit(
        self, store: Store, metadata: Object, template: Object, spec: Object | None, environment: Sequence[Object]
    ) -> Object:
        admitted = self.templates.admitted(metadata["namespace"], template, metadata)
        own_spec = {**admitted.spec, **spec} if spec else admitted.spec
        if environment:
            own_spec = {**own_spec, "containers": _with_variables(own_spec["containers"], environment)}
        metadata = admitted.described(metadata)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": own_spec, "status": admitted.status}
        if admitted.stamped:
            pod = finish_create("pods", pod, now=rfc3339(store.clock.now()))
        self._admission.review("pods", None, pod)
        self._admission.charge("pods", pod)
        return store.add("pods", pod)


def _with_variables(containers: Sequence[Object], variables: Sequence[Object]) -> list[Object]:
    return [{**container, "env": [*(container.get("env") or ()), *variables]} for container in containers]
