"""The template cache of Run:ai's workload controller: from the spec of a workload to the pods that it stands for.

What a workload asks for is worked out once for all workloads that differ in their name only: its *template* is the
pods' spec and what goes with it. A GPU value below 1 is a share of one GPU; the scheduler finds it in an annotation,
and no whole GPU is asked for. A claim that is to be made for a workload carries the workload's name, so that pods with
claims have a spec of their own.
"""

from __future__ import annotations

import shlex
from typing import Any, NamedTuple

from ghostfleet.api.templatecache import PodTemplates
from ghostfleet.controllers.runai.values import FieldProblem, flag, items, number, text, value
from ghostfleet.core import quantity
from ghostfleet.core.changes import Object
from ghostfleet.core.durations import parse_duration

__all__ = ["ClaimTemplate", "TemplateCache", "WorkloadTemplate"]

_GPU = "nvidia.com/gpu"
_MEBIBYTE = 1 << 20
_SCHEDULER = "default-scheduler"
_MODES = {"readWriteOnce": "ReadWriteOnce", "readWriteMany": "ReadWriteMany", "readOnlyMany": "ReadOnlyMany"}
_PULL_POLICIES = {"always": "Always", "ifnotpresent": "IfNotPresent", "never": "Never"}


class ClaimTemplate(NamedTuple):
    """A claim that a workload asks for."""

    volume: str
    name: str
    #: It is there, or somebody else makes it.
    existing: bool
    #: It goes when the workload goes.
    ephemeral: bool
    spec: Object

    def claim_name(self, workload: str) -> str:
        return self.name or f"{workload}-{self.volume}"


class WorkloadTemplate(NamedTuple):
    """What workloads of one make stand for."""

    spec: Object
    labels: dict[str, str]
    annotations: dict[str, str]
    claims: tuple[ClaimTemplate, ...]
    workers: int
    backoff_limit: int
    completions: int
    parallelism: int
    #: Microseconds for which a finished workload is kept; None: for ever.
    time_to_live: int | None

    def pod_spec(self, workload: str) -> Object:
        """The spec of a workload's pods."""
        if not self.claims:
            return self.spec
        volumes = [
            {"name": each.volume, "persistentVolumeClaim": {"claimName": each.claim_name(workload)}}
            for each in self.claims
        ]
        return {**self.spec, "volumes": [*(self.spec.get("volumes") or ()), *volumes]}


class TemplateCache:
    """Makes templates of the workloads of one kind, whose pods have one container of this name.

    Workloads that name no scheduler get this one."""

    def __init__(self, container: str, templates: PodTemplates, scheduler: str = _SCHEDULER) -> None:
        self._container = container
        self._scheduler = scheduler
        self._templates = templates
        self._last: tuple[Object, WorkloadTemplate] | None = None

    def template_of(self, spec: Object) -> WorkloadTemplate:
        """The template of a workload's spec; FieldProblem or the API's error if no pod can be made of it."""
        bare = {field: wrapped for field, wrapped in spec.items() if field != "name"}
        if self._last is not None and self._last[0] == bare:
            return self._last[1]
        workload_template = self._made(bare)
        template = {
            "metadata": {"labels": workload_template.labels, "annotations": workload_template.annotations},
            "spec": workload_template.pod_spec("w"),
        }
        self._templates.read(template)
        self._last = (bare, workload_template)
        return workload_template

    def _made(self, spec: Object) -> WorkloadTemplate:
        claims = tuple(_claim_template(name, given) for name, given in items(spec, "pvcs").items())
        gpus, notes = _gpus(spec)
        notes |= {name: _plain(each) for name, each in items(spec, "annotations").items()}
        container = _container(spec, self._container, gpus)
        mounts = [_mount(name, given) for name, given in items(spec, "pvcs").items()]
        volumes = []
        if flag(spec, "largeShm"):
            volumes.append({"name": "dshm", "emptyDir": {"medium": "Memory"}})
            mounts.append({"name": "dshm", "mountPath": "/dev/shm"})
        if mounts:
            container["volumeMounts"] = mounts
        pod: Object = {"containers": [container], "restartPolicy": "Never"}
        pod["schedulerName"] = text(spec, "schedulerName") or self._scheduler
        if volumes:
            pod["volumes"] = volumes
        pod |= _placement(spec)
        return WorkloadTemplate(
            spec=pod,
            labels={name: _plain(each) for name, each in items(spec, "labels").items()},
            annotations=notes,
            claims=claims,
            workers=number(spec, "workers", 1),
            backoff_limit=number(spec, "backoffLimit", 6),
            completions=number(spec, "completions", 1),
            parallelism=number(spec, "parallelism", 1),
            time_to_live=_time_to_live(spec),
        )


def _plain(found: Any) -> str:
    return "" if found is None else str(found).lower() if isinstance(found, bool) else str(found)


def _container(spec: Object, name: str, gpus: dict[str, str]) -> Object:
    container: Object = {"name": name, "image": text(spec, "image")}
    policy = text(spec, "imagePullPolicy")
    if policy:
        container["imagePullPolicy"] = _PULL_POLICIES.get(policy.lower(), policy)
    for field, target in (("command", "command"), ("arguments", "args")):
        words = _words(spec, field)
        if words:
            container[target] = words
    if text(spec, "workingDir"):
        container["workingDir"] = text(spec, "workingDir")
    variables = [{"name": key, "value": _plain(each)} for key, each in items(spec, "environment").items()]
    if variables:
        container["env"] = variables
    more = {key: _plain(each) for key, each in items(spec, "extendedResources").items()}
    requests = {**_amounts(spec, cpu="cpu", memory="memory"), **gpus, **more}
    limits = {**_amounts(spec, cpuLimit="cpu", memoryLimit="memory"), **gpus, **more}
    resources = {key: each for key, each in (("requests", requests), ("limits", limits)) if each}
    if resources:
        container["resources"] = resources
    for field in ("stdin", "tty"):
        if flag(spec, field):
            container[field] = True
    return container


def _words(spec: Object, field: str) -> list[str]:
    """A command line as its words; lists are taken as they are."""
    found = value(spec, field)
    if isinstance(found, list):
        return [_plain(each) for each in found]
    try:
        return shlex.split(text(spec, field))
    except ValueError as error:
        raise FieldProblem(f"{field}.value", found, f"words as in a shell ({error})") from None


def _amounts(spec: Object, **fields: str) -> dict[str, str]:
    return {resource: text(spec, field) for field, resource in fields.items() if text(spec, field)}


def _gpus(spec: Object) -> tuple[dict[str, str], dict[str, str]]:
    """Whole GPUs as resources, or a share or memory of one as annotations."""
    notes: dict[str, str] = {}
    memory = text(spec, "gpuMemory")
    if memory:
        if not quantity.is_valid(memory):
            raise FieldProblem("gpuMemory.value", memory, "an amount of memory")
        notes["gpu-memory"] = str(quantity.value(memory) // _MEBIBYTE)
    field = "gpuDevices" if text(spec, "gpuDevices") else "gpu"
    asked = text(spec, field)
    if not asked:
        return {}, notes
    try:
        count = float(asked)
    except ValueError:
        count = -1.0
    if 0 < count < 1:
        return {}, {**notes, "gpu-fraction": f"{count:g}"}
    if count < 0 or not count.is_integer():
        raise FieldProblem(f"{field}.value", asked, "a whole number of GPUs, or a share of one between 0 and 1")
    return ({_GPU: str(int(count))} if count else {}), notes


def _placement(spec: Object) -> Object:
    """Where the pods may run, and as whom."""
    placed: Object = {}
    if text(spec, "nodeType"):
        placed["nodeSelector"] = {"run.ai/type": text(spec, "nodeType")}
    tolerations = [each for each in items(spec, "tolerations").values() if each]
    if tolerations:
        placed["tolerations"] = tolerations
    for field, target in (("hostIpc", "hostIPC"), ("hostNetwork", "hostNetwork")):
        if flag(spec, field):
            placed[target] = True
    if flag(spec, "runAsUser") and text(spec, "runAsUid"):
        placed["securityContext"] = {"runAsUser": number(spec, "runAsUid", 0)}
        if text(spec, "runAsGid"):
            placed["securityContext"]["runAsGroup"] = number(spec, "runAsGid", 0)
    return placed


def _time_to_live(spec: Object) -> int | None:
    given = text(spec, "ttlAfterFinish")
    if not given:
        return None
    try:
        return parse_duration(f"{given}s" if given.isascii() and given.isdigit() else given)
    except ValueError:
        raise FieldProblem("ttlAfterFinish.value", given, "a time such as 30s or 2h") from None


def _claim_fields(name: str, given: Any) -> Object:
    if not isinstance(given, dict):
        raise FieldProblem(f"pvcs.items.{name}.value", given, "an object with path and size")
    return given


def _mount(name: str, given: Any) -> Object:
    fields = _claim_fields(name, given)
    path = fields.get("path")
    if not isinstance(path, str) or not path:
        raise FieldProblem(f"pvcs.items.{name}.value.path", path, "the directory where it is to appear")
    return {"name": name, "mountPath": path, **({"readOnly": True} if fields.get("readOnly") else {})}


def _claim_template(name: str, given: Any) -> ClaimTemplate:
    fields = _claim_fields(name, given)
    existing, claim = bool(fields.get("existingPvc")), str(fields.get("claimName") or "")
    if existing and not claim:
        raise FieldProblem(f"pvcs.items.{name}.value.claimName", claim, "the name of the claim that is there")
    size = str(fields.get("size") or "1Mi")
    if not quantity.is_valid(size):
        raise FieldProblem(f"pvcs.items.{name}.value.size", size, "an amount of storage")
    wanted = fields.get("accessModes") if isinstance(fields.get("accessModes"), dict) else fields
    assert wanted is not None
    modes = [mode for field, mode in _MODES.items() if wanted.get(field)] or ["ReadWriteOnce"]
    spec: Object = {"accessModes": modes, "resources": {"requests": {"storage": size}}}
    if fields.get("storageClass"):
        spec["storageClassName"] = str(fields["storageClass"])
    if fields.get("volumeMode"):
        spec["volumeMode"] = str(fields["volumeMode"])
    return ClaimTemplate(name, claim, existing, bool(fields.get("ephemeral")), spec)
