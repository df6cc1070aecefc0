"""The PyTorchJob controller: makes the pods and services of jobs, and follows them to the end.

The master's pods come first, then the workers'; each replica also gets a headless service by the name of its pod. The
job succeeds with its master, or with all of its workers when it has none, and fails when a replica fails for good. One
that fails under a policy of restarting is deleted and made anew.
"""

from __future__ import annotations

from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.following import Followed, Key
from ghostfleet.controllers.kubeflow.definitions import PYTORCH_JOBS
from ghostfleet.controllers.kubeflow.ending import clean_up, decide_limit, time_to_deadline, time_to_live
from ghostfleet.controllers.kubeflow.records import ReplicaStatus, TrainingJobRecord
from ghostfleet.controllers.kubeflow.replicas import (
    CONTROLLER,
    MASTER,
    Role,
    RoleReader,
    service_of,
    variables_of,
)
from ghostfleet.controllers.kubeflow.status import JobStatus, is_finished
from ghostfleet.controllers.pods import PodCreator, delete_pod, owner_reference
from ghostfleet.controllers.requests import Request, Steps, create, delete, update_status
from ghostfleet.controllers.routing import PodRoutes
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.timestamps import rfc3339

__all__ = ["PyTorchJobController"]

_MANAGER = "kubeflow.org/training-operator"
#: Exit codes from here on are signals, and worth another try.
_RETRYABLE = 128


class PyTorchJobController:
    """Runs the PyTorchJobs of one store."""

    def __init__(self, store: Store, routes: PodRoutes, creator: PodCreator, profile: Profile) -> None:
        client = profile.api_client("training-operator", "Training operator")
        self._store: Reader = store
        self._creator = creator
        self._reader = RoleReader(creator.templates)
        self._recorder = EventRecorder(store, CONTROLLER, profile, client)
        self._workers: Workers[Key] = Workers(
            store, self._sync, count=profile.number("pytorchjob.workers"), client=client
        )
        self._jobs = Followed(
            store, routes, PYTORCH_JOBS, ("kubeflow.org/v1", "PyTorchJob"), self._record, self._workers.add
        )

    def _record(self, job: Object) -> TrainingJobRecord | None:
        ours = (job["spec"].get("runPolicy") or {}).get("managedBy", _MANAGER) == _MANAGER
        return TrainingJobRecord(job, self._reader) if ours else None

    def _sync(self, key: Key) -> Steps:
        found = self._jobs.find(key)
        if found is None:
            return
        job, record = found
        status = JobStatus(job, rfc3339(self._store.clock.now()))
        if is_finished(job):
            yield from self._finish(job, record, status)
            return
        name = job["metadata"]["name"]
        status.put("Created", f"PyTorchJob {name} is created.")
        policy = job["spec"].get("runPolicy") or {}
        record.watches_restarts = "backoffLimit" in policy
        if record.problem:
            status.end()
            self._fail(job, status, f"PyTorchJob {name} failed validation because {record.problem}", "FailedValidation")
        elif policy.get("suspend"):
            yield from self._suspend(job, record, status)
        else:
            yield from self._run(job, record, status)
        changed = status.to_object()
        if changed is not None:
            yield update_status(PYTORCH_JOBS, job, changed)
        if status.has("Succeeded") or status.has("Failed"):
            self._workers.add(key)

    def _run(self, job: Object, record: TrainingJobRecord, status: JobStatus) -> Steps:
        if status.has("Suspended"):
            message = f"PyTorchJob {job['metadata']['name']} is resumed."
            status.put("Suspended", message, value=False, reason="Resumed")
            status.begin(anew=True)
            self._recorder.normal(job, "PyTorchJobResumed", message)
        now = self._store.clock.now()
        problem = decide_limit(job, record, status, now)
        if problem:
            status.end()
            yield from clean_up(self._store, self._recorder, job, record, "All")
            self._fail(job, status, problem)
            return
        # The job stands as its pods stood before any of them was removed or made.
        tallies = {role.type: record.tally(role) for role in record.roles}
        for role in record.roles:
            yield from self._manage_pods(job, record, role, status)
        record.served = True
        status.begin()
        status.count(job["metadata"]["name"], record.roles, tallies)
        self._judge(job, record, status, tallies)
        left = time_to_deadline(job, status, now)
        if left is not None:
            self._workers.add_after(record.key, left)

    def _manage_pods(self, job: Object, record: TrainingJobRecord, role: Role, status: JobStatus) -> Steps:
        """Make what a role lacks, remove what it has too much of, and restart what failed."""
        for _, pod in record.failed_pods(role):
            yield from self._restart(job, role, pod, status)
        for pod in record.surplus(role):
            yield Request("delete", "pods", self._delete, job, pod)
        missing = record.missing(role) if len(record.pods) != sum(each.size for each in record.roles) else []
        reference = [owner_reference(job)]
        for index in missing:
            yield Request("create", "pods", self._create_pod, job, record, role, index, reference)
        if not record.served:
            for index in range(role.size):
                name = role.pod_name(job["metadata"]["name"], index)
                if self._store.find("services", job["metadata"]["namespace"], name) is None:
                    yield create("services", service_of(job, role, index))
                    self._recorder.normal(job, "SuccessfulCreateService", f"Created service: {name}")

    def _create_pod(
        self, store: Store, job: Object, record: TrainingJobRecord, role: Role, index: int, reference: list[Object]
    ) -> None:
        name = job["metadata"]["name"]
        leads = role.type == record.roles[0].type and index == 0
        record.own_write = True
        try:
            pod = self._creator.create(
                store,
                job,
                role.template,
                reference=reference,
                name=role.pod_name(name, index),
                labels=role.pod_labels(name, index, leads=leads),
                environment=variables_of(job, record.roles, role, index),
            )
        except ApiError as error:
            self._recorder.warning(job, "FailedCreatePod", f"Error creating: {error.message}")
            raise
        finally:
            record.own_write = False
        if pod is not None:
            self._recorder.normal(job, "SuccessfulCreatePod", f"Created pod: {pod['metadata']['name']}")

    def _restart(self, job: Object, role: Role, pod: Object, status: JobStatus) -> Steps:
        name = job["metadata"]["name"]
        if role.restart_policy == "Never" or "deletionTimestamp" in pod["metadata"]:
            return
        if role.restart_policy == "ExitCode" and not _is_retryable(pod):
            status.end()
            self._fail(job, status, f'job "{name}" is failing because "{role.type}" replica(s) failed.')
            return
        yield Request("delete", "pods", self._delete, job, pod)
        message = f"job {name} is restarting because {role.type} replica(s) failed."
        self._recorder.warning(job, "PyTorchJobRestarting", message)
        status.put("Restarting", message)

    def _delete(self, store: Store, job: Object, pod: Object) -> None:
        if delete_pod(store, pod):
            self._recorder.normal(job, "SuccessfulDeletePod", f"Deleted pod: {pod['metadata']['name']}")

    def _judge(
        self, job: Object, record: TrainingJobRecord, status: JobStatus, tallies: dict[str, ReplicaStatus]
    ) -> None:
        """Say how the job stands, from the states of its pods."""
        name = job["metadata"]["name"]
        for role in record.roles:
            active, succeeded, failed = tallies[role.type]
            if role is record.roles[0]:
                running, completed = _messages(job, role)
                if active and (role.type == MASTER or succeeded < role.size):
                    status.put("Running", running)
                if succeeded >= role.size:
                    status.end()
                    status.put("Succeeded", completed)
                    self._recorder.normal(job, "PyTorchJobSucceeded", completed)
                    return
            if not failed or role.size <= active + succeeded:
                continue
            if role.restart_policy != "Never":
                status.put(
                    "Restarting", f"PyTorchJob {name} is restarting because {failed} {role.type} replica(s) failed."
                )
            else:
                status.end()
                self._fail(job, status, f"PyTorchJob {name} is failed because {failed} {role.type} replica(s) failed.")

    def _fail(self, job: Object, status: JobStatus, message: str, reason: str = "Failed") -> None:
        self._recorder.normal(job, f"PyTorchJob{reason}", message)
        status.put("Failed", message, reason=reason)

    def _suspend(self, job: Object, record: TrainingJobRecord, status: JobStatus) -> Steps:
        yield from clean_up(self._store, self._recorder, job, record, "All")
        record.served = False
        status.stop()
        message = f"PyTorchJob {job['metadata']['name']} is suspended."
        if status.has("Running"):
            status.put("Running", message, value=False, reason="Suspended")
        if not status.has("Suspended"):
            status.put("Suspended", message)
            self._recorder.normal(job, "PyTorchJobSuspended", message)

    def _finish(self, job: Object, record: TrainingJobRecord, status: JobStatus) -> Steps:
        """See to what is left of a job that has ended, and to the job itself when its time is over."""
        policy = job["spec"].get("runPolicy") or {}
        yield from clean_up(self._store, self._recorder, job, record, policy.get("cleanPodPolicy") or "None")
        status.settle()
        changed = status.to_object()
        if changed is not None:
            yield update_status(PYTORCH_JOBS, job, changed)
        left = time_to_live(job, status, self._store.clock.now())
        if left is None:
            self._jobs.forget(job)
        elif left > 0:
            self._workers.add_after(record.key, left)
        else:
            yield delete(PYTORCH_JOBS, *record.key)


def _messages(job: Object, leader: Role) -> tuple[str, str]:
    """What is said of a job that runs, and of one that is done; the operator has other words where no master is."""
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    if leader.type == MASTER:
        return f"PyTorchJob {name} is running.", f"PyTorchJob {name} is successfully completed."
    return f"PyTorchJob {namespace}/{name} is running.", f"PyTorchJob {namespace}/{name} successfully completed."


def _is_retryable(pod: Object) -> bool:
    for each in pod["status"].get("containerStatuses") or ():
        terminated = (each.get("state") or {}).get("terminated")
        if each["name"] == "pytorch" and terminated is not None:
            return bool(terminated.get("exitCode", 0) >= _RETRYABLE)
    # A pod that was lost with its node has no exit code, and is worth another try.
    return True
