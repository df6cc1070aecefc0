"""Types of workload: what is submitted, what the cluster makes from it, and how that says that it has ended.

A *type* is data (`data/types.yaml`): its template, the kinds of the objects that belong to a workload, and its number
of pods. The sampler finds these objects by their names and by the *join labels* of pods, which say to which workload a
pod belongs. Kinds say differently that they have come to their end: Jobs and PyTorchJobs by a condition, pods and
Run:ai's kinds by a phase. All of them are understood, and so is how many pods they ask for; so a type needs no code.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ghostfleet.core.changes import Object
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.templates import ManifestTemplate, load_template

__all__ = [
    "JOIN_LABELS",
    "KindName",
    "WorkloadType",
    "chosen_type",
    "ended_at",
    "outcome",
    "pods_at_once",
    "type_names",
    "why",
    "workload_type",
]

_DATA = Path(__file__).parent / "data"
#: Labels of a pod that say to which workload it belongs; the first that is there counts.
JOIN_LABELS = ("release", "job-name", "training.kubeflow.org/job-name")
_GOOD = frozenset({"Complete", "Completed", "Succeeded"})
_BAD = frozenset({"Failed", "Error"})


class KindName(NamedTuple):
    """A kind as manifests name it."""

    api_version: str
    kind: str


@dataclass(frozen=True, slots=True)
class WorkloadType:
    """One type of workload, as the data file describes it."""

    name: str
    about: str
    template: ManifestTemplate
    job: KindName | None = None
    pod_group: KindName | None = None
    pods_always: int = 0
    pods_per_worker: int = 0
    ends: bool = True
    #: Paths of its pods' specs, or `runai`: in Run:ai's words; empty where nothing is known.
    pod_specs: str | tuple[str, ...] = ()
    #: Whether its pods have claims of devices.
    claims_devices: bool = False

    @property
    def workload(self) -> KindName:
        """The kind that is submitted."""
        return KindName(self.template.api_version, self.template.kind)

    def pods(self, workers: int) -> int:
        """How many pods a workload has."""
        return self.pods_always + self.pods_per_worker * workers

    def kinds(self) -> list[KindName]:
        """All kinds that the cluster must serve, but for those that every cluster has."""
        return [kind for kind in (self.workload, self.job, self.pod_group) if kind is not None]


def type_names() -> list[str]:
    """The types that exist, in the order in which they are told."""
    return list(_types())


@lru_cache(maxsize=32)
def workload_type(name: str) -> WorkloadType:
    """The type of this name."""
    data = _types().get(name)
    if data is None:
        raise LabError(f"unknown workload type {name!r}; known are {', '.join(_types())}, or give a --template")
    return _made(name, data, load_template(_DATA / "templates" / data["template"], f"template of {name}"))


def chosen_type(name: str, template: str) -> WorkloadType:
    """The type that a name (or "") and a template file (or "") mean.

    A template of the user's own is of the type whose kind it has; one of a kind that no type has is a type by itself.
    """
    if not template:
        return workload_type(name or "training")
    own = load_template(Path(template))
    for known in [name] if name else type_names():
        found = workload_type(known)
        if found.workload == (own.api_version, own.kind):
            return _made(known, _types()[known], own)
        if name:
            raise LabError(f"{template} holds a {own.kind} ({own.api_version}), but type {name} is {found.about}")
    about = f"{own.kind} of {template}"
    return WorkloadType(own.kind.lower(), about, own, pods_always=1, claims_devices=_claims_devices(own))


@lru_cache(maxsize=1)
def _types() -> dict[str, dict[str, Any]]:
    read: dict[str, dict[str, Any]] = yaml.safe_load((_DATA / "types.yaml").read_text(encoding="utf-8"))
    return read


def _made(name: str, data: dict[str, Any], template: ManifestTemplate) -> WorkloadType:
    pod_specs = data["podSpecs"]
    return WorkloadType(
        name,
        data["about"],
        template,
        job=_kind(data.get("job")),
        pod_group=_kind(data.get("podGroup")),
        pods_always=data["pods"].get("always", 0),
        pods_per_worker=data["pods"].get("perWorker", 0),
        ends=data["ends"],
        pod_specs=pod_specs if isinstance(pod_specs, str) else tuple(pod_specs),
        claims_devices=_claims_devices(template),
    )


def _claims_devices(template: ManifestTemplate) -> bool:
    return not template.placeholders.isdisjoint(("claim", "claimTemplate"))


def _kind(data: dict[str, str] | None) -> KindName | None:
    return KindName(data["apiVersion"], data["kind"]) if data else None


def outcome(obj: Object) -> str:
    """`Succeeded` or `Failed`; "" while it has not ended."""
    status = obj.get("status")
    if not status:
        return ""
    phase = status.get("phase")
    if phase in _GOOD:
        return "Succeeded"
    if phase in _BAD:
        return "Failed"
    condition = _final(status)
    if condition is None:
        return ""
    return "Succeeded" if condition["type"] in _GOOD else "Failed"


def ended_at(obj: Object) -> str | None:
    """When it ended, as the cluster wrote it."""
    status = obj.get("status") or {}
    if status.get("completionTime"):
        return str(status["completionTime"])
    condition = _final(status)
    return (
        str(condition["lastTransitionTime"]) if condition is not None and condition.get("lastTransitionTime") else None
    )


def why(obj: Object) -> str:
    """Why it failed, in one line; "" when it did not."""
    if outcome(obj) != "Failed":
        return ""
    status = obj["status"]
    final = _final(status) or status
    words = [str(final.get(key)) for key in ("reason", "message") if final.get(key)]
    return ": ".join(words).replace("\n", " ") or "Failed"


def pods_at_once(obj: Object) -> int:
    """How many pods it wants at the same time; 0 when it does not say."""
    spec = obj.get("spec") or {}
    replicas = spec.get("pytorchReplicaSpecs")
    if replicas:
        return sum(int(each.get("replicas", 1)) for each in replicas.values())
    if "parallelism" in spec or "completions" in spec:
        parallel = int(spec.get("parallelism", 1))
        return min(parallel, int(spec.get("completions") or parallel))
    return int(spec.get("replicas", 0)) if isinstance(spec.get("replicas", 0), int) else 0


def _final(status: Object) -> Object | None:
    for condition in status.get("conditions") or ():
        if condition.get("status") == "True" and condition.get("type") in _GOOD | _BAD:
            found: Object = condition
            return found
    return None
