"""The grouper for JobSets: a gang for each replicated job where these start in order, else one for all."""

from __future__ import annotations

from collections.abc import Sequence

from ghostfleet.controllers.kai.grouping.default import DefaultGrouper
from ghostfleet.controllers.kai.grouping.metadata import GroupingError, Metadata, integer, items, labels_of, text
from ghostfleet.core.changes import Object

__all__ = ["JobSetGrouper"]

_REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"


class JobSetGrouper:
    """Groups so that jobs which wait for others do not keep these from running."""

    def __init__(self, default: DefaultGrouper) -> None:
        self._default = default

    def __call__(self, owner: Object, pod: Object, _owners: Sequence[Object]) -> Metadata:
        metadata = self._default(owner, pod)
        name = labels_of(pod).get(_REPLICATED_JOB)
        if not name:
            own = pod["metadata"]
            raise GroupingError(f'pod {own["namespace"]}/{own["name"]} missing required label "{_REPLICATED_JOB}"')
        jobs = items(owner, "spec", "replicatedJobs")
        if (text(owner, "spec", "startupPolicy", "startupPolicyOrder") or "InOrder") == "InOrder":
            metadata.name = f"{metadata.name}-{name}"
            jobs = [each for each in jobs if each.get("name") == name]
        metadata.min_available = sum(map(_pods, jobs)) or 1
        return metadata


def _pods(job: Object) -> int:
    """How many pods of a replicated job run at a time."""
    replicas = max(1, integer(job, "replicas") or 1)
    parallelism = max(1, integer(job, "template", "spec", "parallelism") or 1)
    completions = integer(job, "template", "spec", "completions") or 0
    return replicas * (min(parallelism, completions) if completions > 0 else parallelism)
