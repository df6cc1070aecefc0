"""Children: the objects that Run:ai's workload controller makes of a workload, complete and ready to be stored.

All of them carry the workload's name: as `release` and `workloadName` in their labels, by which tools find what belongs
together, and as their own name or the beginning of it. A *project* is a namespace `runai-<project>`, and the queue of
that name.
"""

from __future__ import annotations

from ghostfleet.api.strategy import apply_defaults, prepare_for_create
from ghostfleet.controllers.pods import owner_reference
from ghostfleet.controllers.runai.templatecache import ClaimTemplate, WorkloadTemplate
from ghostfleet.controllers.runai.values import text
from ghostfleet.controllers.volumes.controller import CLAIMS
from ghostfleet.controllers.volumes.protection import CLAIM_PROTECTION
from ghostfleet.core.changes import Object

__all__ = [
    "GROUP_NAME",
    "JOB_NAME",
    "PRIORITY_CLASS",
    "PROJECT",
    "RELEASE",
    "WORKLOAD_NAME",
    "claim_of",
    "group_name",
    "name_of",
    "project_of",
    "pytorch_job_of",
    "runai_job_of",
]

RELEASE = "release"
WORKLOAD_NAME = "workloadName"
JOB_NAME = "job-name"
PROJECT = "project"
PRIORITY_CLASS = "priorityClassName"
#: The annotation in which a pod names its group.
GROUP_NAME = "pod-group-name"
_NAMESPACE = "runai-"
_OWN_ANNOTATIONS = ("ghostfleet.dev/", "stage.kwok.x-k8s.io/")


def name_of(workload: Object) -> str:
    """What a workload is called, which need not be the object's own name."""
    return text(workload["spec"], "name") or str(workload["metadata"]["name"])


def project_of(obj: Object) -> str:
    metadata = obj["metadata"]
    project: str = (metadata.get("labels") or {}).get(PROJECT) or metadata["namespace"].removeprefix(_NAMESPACE)
    return project


def group_name(job: Object) -> str:
    """What the pod group of a job is called."""
    return f"pg-{job['metadata']['name']}-{job['metadata']['uid']}"


def runai_job_of(workload: Object, workload_template: WorkloadTemplate, *, interactive: bool) -> Object:
    """The RunaiJob of a training or interactive workload."""
    name = name_of(workload)
    labels = {
        RELEASE: name,
        WORKLOAD_NAME: name,
        JOB_NAME: name,
        PROJECT: project_of(workload),
        **workload_template.labels,
    }
    if interactive:
        # Of this class, and of those above it, nobody is preempted.
        labels.setdefault(PRIORITY_CLASS, "build")
    spec = {
        "backoffLimit": workload_template.backoff_limit,
        "completions": workload_template.completions,
        "parallelism": workload_template.parallelism,
        "template": _template(workload, workload_template, name, labels),
    }
    return _job(workload, "run.ai/v1", "RunaiJob", name, labels, spec)


def pytorch_job_of(workload: Object, workload_template: WorkloadTemplate) -> Object:
    """The PyTorchJob of a distributed workload: a master, and its workers if it has any."""
    name, given = name_of(workload), workload["spec"]
    labels = {RELEASE: name, WORKLOAD_NAME: name, PROJECT: project_of(workload), **workload_template.labels}
    replica = {
        "replicas": 1,
        "restartPolicy": text(given, "restartPolicy") or "Never",
        "template": _template(workload, workload_template, name, labels),
    }
    specs = {"Master": replica}
    if workload_template.workers:
        specs["Worker"] = {**replica, "replicas": workload_template.workers}
    policy = ((given.get("runPolicy") or {}).get("values") or {}).get("cleanPodPolicy") or {}
    run_policy: Object = {"cleanPodPolicy": policy.get("value") or "None"}
    if text(given, "backoffLimit"):
        run_policy["backoffLimit"] = workload_template.backoff_limit
    spec = {"pytorchReplicaSpecs": specs, "runPolicy": run_policy}
    return _job(workload, "kubeflow.org/v1", "PyTorchJob", name, labels, spec)


def _template(workload: Object, workload_template: WorkloadTemplate, name: str, labels: dict[str, str]) -> Object:
    metadata: Object = {"labels": labels}
    annotations = workload_template.annotations
    own = workload["metadata"].get("annotations") or {}
    passed = {key: text for key, text in own.items() if any(each in key for each in _OWN_ANNOTATIONS)}
    if passed:
        annotations = {**passed, **annotations}
    if annotations:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": workload_template.pod_spec(name)}


def _job(workload: Object, api_version: str, kind: str, name: str, labels: dict[str, str], spec: Object) -> Object:
    metadata = {
        "name": name,
        "namespace": workload["metadata"]["namespace"],
        "labels": labels,
        "ownerReferences": [owner_reference(workload)],
        "generation": 1,
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def claim_of(workload: Object, claim_template: ClaimTemplate) -> Object:
    """A claim that is made for a workload."""
    name = name_of(workload)
    metadata: Object = {
        "name": claim_template.claim_name(name),
        "namespace": workload["metadata"]["namespace"],
        "labels": {RELEASE: name, WORKLOAD_NAME: name, PROJECT: project_of(workload)},
        "finalizers": [CLAIM_PROTECTION],
    }
    if claim_template.ephemeral:
        metadata["ownerReferences"] = [owner_reference(workload)]
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": claim_template.spec}
    return prepare_for_create(CLAIMS, apply_defaults(CLAIMS, claim))
