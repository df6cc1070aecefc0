"""Pod groups: the pods of a workload, as one thing to be scheduled.

When the first pod of a job appears, its group is made, named `pg-<job>-<uid of the job>`. Each pod has the name of its
group in an annotation: those of a RunaiJob are made with it, others get it when they are grouped. The queue of a group
is its project. A job of PyTorch on its own, without a workload, is none of Run:ai's business.
"""

from __future__ import annotations

from ghostfleet.controllers.kubeflow import PYTORCH_JOBS
from ghostfleet.controllers.pods import controller_of, owner_reference
from ghostfleet.controllers.requests import Request, Steps, create
from ghostfleet.controllers.runai.children import (
    GROUP_NAME,
    PRIORITY_CLASS,
    RELEASE,
    WORKLOAD_NAME,
    group_name,
    project_of,
)
from ghostfleet.controllers.runai.definitions import POD_GROUPS, RUNAI_JOBS
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.subscription import Subscription

__all__ = ["PodGrouper"]

_JOBS = {("run.ai/v1", "RunaiJob"): RUNAI_JOBS, ("kubeflow.org/v1", "PyTorchJob"): PYTORCH_JOBS}

Key = tuple[str, str]


class PodGrouper:
    """Groups the pods of one store."""

    def __init__(self, store: Store, profile: Profile) -> None:
        self._store: Reader = store
        self._workers: Workers[Key] = Workers(
            store,
            self._sync,
            count=profile.number("pod-grouper.workers"),
            client=profile.api_client("runai-pod-grouper", "Pod grouper"),
        )
        self._subscription = Subscription(lambda: store.listen("pods", self._notice, status=False))
        for resource in _JOBS.values():
            store.listen(resource, self._notice_job, status=False)
        self._look()
        for pod in store.list("pods"):
            self._consider(pod)

    def _notice_job(self, change: Change) -> None:
        if change.type != "MODIFIED":
            self._look()

    def _look(self) -> None:
        self._subscription.subscribe_if(any(map(self._store.count, _JOBS.values())))

    def _notice(self, change: Change) -> None:
        if change.old is None and change.new is not None:
            self._consider(change.new)

    def _consider(self, pod: Object) -> None:
        owner = controller_of(pod)
        if owner is None or (owner["apiVersion"], owner["kind"]) not in _JOBS:
            return
        metadata = pod["metadata"]
        if owner["kind"] == "RunaiJob" or WORKLOAD_NAME in (metadata.get("labels") or {}):
            self._workers.add((metadata["namespace"], metadata["name"]))

    def _sync(self, key: Key) -> Steps:
        pod = self._store.find("pods", *key)
        owner = controller_of(pod) if pod is not None else None
        if owner is None:
            return
        job = self._store.find(_JOBS[owner["apiVersion"], owner["kind"]], key[0], owner["name"])
        if job is None or job["metadata"]["uid"] != owner["uid"]:
            return
        name = group_name(job)
        if self._store.find(POD_GROUPS, key[0], name) is None:
            yield create(POD_GROUPS, _group(name, job))
        pod = self._store.find("pods", *key)
        if pod is not None and (pod["metadata"].get("annotations") or {}).get(GROUP_NAME) != name:
            yield Request("patch", "pods", _annotate, key, name)


def _annotate(store: Store, key: Key, group: str) -> None:
    pod = store.find("pods", *key)
    if pod is not None:
        notes = {**(pod["metadata"].get("annotations") or {}), GROUP_NAME: group}
        store.update("pods", {**pod, "metadata": {**pod["metadata"], "annotations": notes}})


def _group(name: str, job: Object) -> Object:
    own = job["metadata"]
    labels = own.get("labels") or {}
    if RELEASE not in labels or WORKLOAD_NAME not in labels:
        labels = {RELEASE: own["name"], WORKLOAD_NAME: own["name"], **labels}
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": own["namespace"],
            "labels": labels,
            "ownerReferences": [owner_reference(job)],
            "generation": 1,
        },
        "spec": {
            "minMember": _members(job["spec"]),
            "priorityClassName": labels.get(PRIORITY_CLASS, "train"),
            "queue": project_of(job),
        },
    }


def _members(spec: Object) -> int:
    """How many pods must be placed for the work to go on."""
    replicas = spec.get("pytorchReplicaSpecs")
    if replicas is None:
        return 1
    wanted = ((spec.get("runPolicy") or {}).get("schedulingPolicy") or {}).get("minAvailable")
    return int(wanted) if wanted else sum(each.get("replicas", 1) for each in replicas.values())
