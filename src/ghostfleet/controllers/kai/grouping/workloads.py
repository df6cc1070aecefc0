"""Groupers for what Kubernetes and Run:ai run: pods, Jobs, CronJobs, Deployments, and what is like them.

Pods of a Job and of a Deployment are a group each: a Job is no gang. Spark's pods find each other by a label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ghostfleet.controllers.kai.constants import POD_GROUPS
from ghostfleet.controllers.kai.grouping.default import INFERENCE, DefaultGrouper, group_name
from ghostfleet.controllers.kai.grouping.metadata import (
    Grouper,
    GroupingError,
    Metadata,
    integer,
    labels_of,
    reference,
)
from ghostfleet.controllers.kai.grouping.owners import Owners
from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store

__all__ = ["AmlGrouper", "CronJobGrouper", "DeploymentGrouper", "JobGrouper", "PodGrouper", "SkipTopOwner", "of_class"]

_SPARK_APP, _SPARK_SELECTOR = "spark-app-name", "spark-app-selector"


class PodGrouper:
    """A pod of its own is a group of its own, but for Spark's."""

    def __init__(self, default: DefaultGrouper) -> None:
        self._default = default

    def __call__(self, owner: Object, pod: Object, _owners: Sequence[Object]) -> Metadata:
        metadata = self._default(owner, pod)
        labels = labels_of(pod)
        if _SPARK_APP in labels and _SPARK_SELECTOR in labels:
            metadata.name = labels[_SPARK_SELECTOR]
        return metadata


class JobGrouper:
    """A group for each pod of a Job, or for each of a RunaiJob's indexes; one that is there from long ago is kept."""

    def __init__(self, default: DefaultGrouper, store: Store, name: Callable[[str], str] = str) -> None:
        self._default = default
        self._store = store
        #: From the name of a pod to the middle of its group's name.
        self._name = name

    def __call__(self, owner: Object, pod: Object, _owners: Sequence[Object]) -> Metadata:
        metadata = self._default(owner, pod)
        own, uid = pod["metadata"]["name"], owner["metadata"]["uid"]
        before = own if (integer(owner, "spec", "parallelism") or 1) > 1 else owner["metadata"]["name"]
        metadata.name = f"pg-{before}-{uid}"
        if self._store.find(POD_GROUPS, metadata.namespace, metadata.name) is None:
            metadata.name = f"pg-{self._name(own)}-{uid}"
        return metadata


class CronJobGrouper:
    """Pods of a CronJob belong to one of its Jobs."""

    def __init__(self, default: DefaultGrouper, owners: Owners) -> None:
        self._default = default
        self._owners = owners

    def __call__(self, _owner: Object, pod: Object, _owners: Sequence[Object]) -> Metadata:
        for each in pod["metadata"].get("ownerReferences") or ():
            if each["kind"] == "Job":
                job = self._owners.find("batch/v1", "Job", pod["metadata"]["namespace"], each["name"])
                if job is None:
                    raise GroupingError(f'Job "{each["name"]}" not found')
                return self._default(job, pod)
        raise GroupingError("no owner reference of type 'Job'")


class DeploymentGrouper:
    """A group for each pod, that serves rather than trains."""

    def __init__(self, default: DefaultGrouper) -> None:
        self._default = default

    def __call__(self, owner: Object, pod: Object, _owners: Sequence[Object]) -> Metadata:
        metadata = self._default(owner, pod)
        metadata.owner = reference(pod)
        metadata.name = group_name(pod)
        metadata.priority_class = self._default.priority_class(owner, pod, INFERENCE)
        return metadata


class AmlGrouper:
    """An AmlJob is a gang of as many pods as it has nodes."""

    def __init__(self, default: DefaultGrouper) -> None:
        self._default = default

    def __call__(self, owner: Object, pod: Object, _owners: Sequence[Object]) -> Metadata:
        metadata = self._default(owner, pod)
        nodes = integer(owner, "spec", "job", "options", "envs", "AZUREML_NODE_COUNT")
        if nodes is None:
            raise GroupingError("azureml envs count not found in spec")
        metadata.min_available = nodes
        return metadata


def of_class(default: DefaultGrouper, usual: str) -> Grouper:
    """As the default grouper, with another usual priority class."""

    def group(owner: Object, pod: Object, _owners: Sequence[Object]) -> Metadata:
        metadata = default(owner, pod)
        metadata.priority_class = default.priority_class(owner, pod, usual)
        return metadata

    return group


class SkipTopOwner:
    """The owner below the top one decides, with the labels of both."""

    def __init__(self, default: DefaultGrouper, groupers: dict[tuple[str, str], Grouper]) -> None:
        self._default = default
        self._groupers = groupers

    def __call__(self, owner: Object, pod: Object, owners: Sequence[Object]) -> Metadata:
        below = owners[-2] if len(owners) > 1 else pod
        labels = {**labels_of(below), **labels_of(owner)}
        seen = {**below, "metadata": {**below["metadata"], "labels": labels}}
        group = below["apiVersion"].rpartition("/")[0]
        grouper = self._groupers.get((group, below["kind"]), self._default)
        return grouper(seen, pod, owners[:-1])
