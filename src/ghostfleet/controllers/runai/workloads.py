"""Workloads: what people submit to Run:ai, turned into jobs and followed to their end.

For a workload, its claims are made first, then its job: a RunaiJob for training and interactive work, a PyTorchJob for
distributed work. The workload's *phase* says how the job stands: Pending, Running, Completed, Failed, or Stopped when
it is not to be active. A workload that makes no sense has failed, with a message.
"""

from __future__ import annotations

from typing import NamedTuple

from ghostfleet.api.quotas import charge_quotas
from ghostfleet.api.templatecache import PodTemplates
from ghostfleet.controllers.definitions import DEFINITIONS
from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.kubeflow import PYTORCH_JOBS
from ghostfleet.controllers.pods import controller_of
from ghostfleet.controllers.repairing import is_overwritten
from ghostfleet.controllers.requests import Request, Steps, delete, update_status
from ghostfleet.controllers.runai.children import claim_of, name_of, pytorch_job_of, runai_job_of
from ghostfleet.controllers.runai.definitions import DISTRIBUTED, INTERACTIVE, RUNAI_JOBS, TRAINING, WORKLOADS
from ghostfleet.controllers.runai.templatecache import TemplateCache, WorkloadTemplate
from ghostfleet.controllers.runai.values import FieldProblem, flag
from ghostfleet.controllers.volumes.controller import CLAIMS
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.errors import ApiError, not_found
from ghostfleet.core.names import is_dns1123_label
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.timestamps import parse_rfc3339, rfc3339

__all__ = ["WorkloadController"]

_ENDED = ("Completed", "Failed")
_PHASES = {
    "Pending": "Pending",
    "Running": "Running",
    "Succeeded": "Completed",
    "Failed": "Failed",
    "Suspended": "Stopped",
}


class Key(NamedTuple):
    """Which workload."""

    resource: str
    namespace: str
    name: str


_RESOURCES = {
    ("run.ai/v2alpha1", "TrainingWorkload"): TRAINING,
    ("run.ai/v2alpha1", "InteractiveWorkload"): INTERACTIVE,
    ("run.ai/v2alpha1", "DistributedWorkload"): DISTRIBUTED,
}


class WorkloadController:
    """Turns the workloads of one store into jobs."""

    def __init__(self, store: Store, templates: PodTemplates, profile: Profile, scheduler: str) -> None:
        client = profile.api_client("runai-workload-controller", "Run:ai workload controller")
        self._store: Reader = store
        self._recorder = EventRecorder(store, "workload-controller", profile, client)
        self._template_caches = {
            resource: TemplateCache("pytorch" if resource == DISTRIBUTED else "main", templates, scheduler)
            for resource in WORKLOADS
        }
        self._workers: Workers[Key] = Workers(
            store, self._sync, count=profile.number("runai-workload.workers"), client=client
        )
        for resource in WORKLOADS:
            for each in store.list(resource):
                self._workers.add(Key(resource, each["metadata"]["namespace"], each["metadata"]["name"]))
            store.listen(resource, self._notice, status=False)
        store.listen(RUNAI_JOBS, self._notice_job)
        store.listen(PYTORCH_JOBS, self._notice_job)

    # -- taking note -------------------------------------------------------------------------------------------------

    def _notice(self, change: Change) -> None:
        fresh = change.old is None or (change.new is not None and change.old["spec"] is not change.new["spec"])
        if fresh or is_overwritten(change):
            self._workers.add(Key(change.resource, change.namespace, change.name))

    def _notice_job(self, change: Change) -> None:
        new, old = change.new, change.old
        # That a job is there is known to whoever made it.
        if old is None or (new is not None and _phase(old) == _phase(new)):
            return
        owner = controller_of(old)
        resource = _RESOURCES.get((owner["apiVersion"], owner["kind"])) if owner is not None else None
        if owner is not None and resource is not None:
            self._workers.add(Key(resource, change.namespace, owner["name"]))

    # -- acting ------------------------------------------------------------------------------------------------------

    def _sync(self, key: Key) -> Steps:
        workload = self._store.find(*key)
        # A template is for others to be based on, and makes nothing itself.
        if (
            workload is None
            or "deletionTimestamp" in workload["metadata"]
            or workload["spec"].get("usage") == "Template"
        ):
            return
        resource = PYTORCH_JOBS if key.resource == DISTRIBUTED else RUNAI_JOBS
        job = self._own_job(workload, resource)
        if job is not None and flag(workload["spec"], "active", default=True):
            yield from self._report(key, workload, _phase(job))
            if "ttlAfterFinish" in workload["spec"]:
                yield from self._expire(key)
            return
        try:
            workload_template = self._template(key, workload)
        except (FieldProblem, ApiError) as error:
            yield from self._report(key, workload, "Failed", str(error))
            return
        if not flag(workload["spec"], "active", default=True):
            if job is not None:
                yield delete(resource, key.namespace, job["metadata"]["name"])
            yield from self._report(key, workload, "Stopped")
        elif (workload.get("status") or {}).get("phase") not in _ENDED:
            yield from self._create(key, workload, workload_template, resource)

    def _own_job(self, workload: Object, resource: str) -> Object | None:
        """The job of a workload, if it has one; others may have the same name."""
        job = self._store.find(resource, workload["metadata"]["namespace"], name_of(workload))
        owner = controller_of(job) if job is not None else None
        return job if owner is not None and owner["uid"] == workload["metadata"]["uid"] else None

    def _template(self, key: Key, workload: Object) -> WorkloadTemplate:
        name = name_of(workload)
        problems = is_dns1123_label(name)
        if problems:
            raise FieldProblem("name.value", name, f"a name for objects ({problems[0]})")
        return self._template_caches[key.resource].template_of(workload["spec"])

    def _create(self, key: Key, workload: Object, workload_template: WorkloadTemplate, resource: str) -> Steps:
        try:
            for claim_template in workload_template.claims:
                name = claim_template.claim_name(name_of(workload))
                if not claim_template.existing and self._store.find(CLAIMS, key.namespace, name) is None:
                    yield Request("create", CLAIMS, _create_claim, claim_of(workload, claim_template))
            if resource == PYTORCH_JOBS:
                job = pytorch_job_of(workload, workload_template)
            else:
                job = runai_job_of(workload, workload_template, interactive=key.resource == INTERACTIVE)
            yield Request("create", resource, _create_job, resource, job)
        except ApiError as error:
            self._recorder.warning(workload, "FailedCreate", f"Error creating: {error.message}")
            raise
        yield from self._report(key, workload, "Pending")

    def _report(self, key: Key, workload: Object, phase: str, message: str = "") -> Steps:
        """Write the phase of a workload down, and when it began and ended."""
        before = workload.get("status") or {}
        if before.get("phase") == phase and before.get("message", "") == message:
            return

        def status_of(current: Object) -> Object:
            return self._status(current, phase, message)

        yield update_status(key.resource, workload, status_of)

    def _status(self, workload: Object, phase: str, message: str) -> Object:
        status = {field: value for field, value in (workload.get("status") or {}).items() if field != "message"}
        status["phase"] = phase
        if message:
            status["message"] = message
            self._recorder.warning(workload, "FailedCreate", message)
        now = rfc3339(self._store.clock.now())
        if phase == "Running":
            status.setdefault("startTime", now)
        if phase in _ENDED:
            status.setdefault("completionTime", now)
        else:
            status.pop("completionTime", None)
        return status

    def _expire(self, key: Key) -> Steps:
        """Remove a workload that has ended and been kept long enough."""
        workload = self._store.find(*key)
        ended = (workload.get("status") or {}).get("completionTime") if workload is not None else None
        if workload is None or ended is None:
            return
        life = self._template(key, workload).time_to_live
        if life is None:
            return
        left = parse_rfc3339(ended) + life - self._store.clock.now()
        if left > 0:
            self._workers.add_after(key, left)
            return
        yield delete(*key)


def _create_claim(store: Store, claim: Object) -> None:
    charge_quotas(store, CLAIMS, claim)
    store.create(CLAIMS, claim)


def _create_job(store: Store, resource: str, job: Object) -> None:
    if resource == PYTORCH_JOBS and store.find(DEFINITIONS, "", PYTORCH_JOBS) is None:
        raise not_found(DEFINITIONS, PYTORCH_JOBS)
    store.create(resource, job)


def _phase(job: Object) -> str:
    """How a job stands, in the words for workloads."""
    status = job.get("status") or {}
    if job["kind"] == "RunaiJob":
        return _PHASES.get(status.get("phase", ""), "Pending")
    true = {each["type"] for each in status.get("conditions") or () if each["status"] == "True"}
    return next((_PHASES[kind] for kind in ("Failed", "Succeeded", "Suspended", "Running") if kind in true), "Pending")
