"""KAI's webhooks: what it refuses at the door, in its words.

A queue must say something about resources, the sub groups of a pod group must be a tree, and a pod's request for a part
of a GPU must make sense. Pods of other schedulers are none of its business.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ghostfleet.api.admission import Admission, denied
from ghostfleet.controllers.kai.constants import (
    GPU,
    GPU_FRACTION,
    GPU_FRACTIONS_NUM_DEVICES,
    GPU_MEMORY,
    POD_GROUPS,
    QUEUES,
    KaiConfig,
)
from ghostfleet.core.changes import Object

__all__ = ["gpu_request_problem", "register_webhooks"]

_QUEUE_WEBHOOK = "queue-validation.kai.scheduler"
_POD_GROUP_WEBHOOK = "podgroup-validation.kai.scheduler"
_POD_WEBHOOK = "admission.kai-scheduler.svc"
_WHOLE = re.compile(r"[0-9]{1,20}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def register_webhooks(admission: Admission, config: KaiConfig) -> None:
    """Have queues, pod groups and pods looked at from now on."""

    def pod(_old: Object | None, new: Object) -> Sequence[str]:
        if new["spec"].get("schedulerName") == config.scheduler_name and "annotations" in new["metadata"]:
            _check(_POD_WEBHOOK, gpu_request_problem(new))
        return ()

    admission.add_validator(QUEUES, _queue)
    admission.add_validator(POD_GROUPS, _pod_group)
    admission.add_validator("pods", pod)


def _check(webhook: str, problem: str) -> None:
    if problem:
        raise denied(webhook, problem)


def _queue(_old: Object | None, new: Object) -> Sequence[str]:
    if (new.get("spec") or {}).get("resources") is None:
        raise denied(_QUEUE_WEBHOOK, "resources must be specified")
    return ()


def _pod_group(_old: Object | None, new: Object) -> Sequence[str]:
    _check(_POD_GROUP_WEBHOOK, _sub_group_problem((new.get("spec") or {}).get("subGroups") or ()))
    return ()


def _sub_group_problem(sub_groups: Sequence[Object]) -> str:
    parents: dict[str, str] = {}
    for each in sub_groups:
        if each["name"] in parents:
            return f"duplicate subgroup name {each['name']}"
        parents[each["name"]] = each.get("parent") or ""
    for name, parent in parents.items():
        if parent and parent not in parents:
            return f"parent {parent} of {name} was not found"
    for name in parents:
        passed = set()
        while name:
            if name in passed:
                return "cycle detected in subgroups"
            passed.add(name)
            name = parents[name]
    return ""


def gpu_request_problem(pod: Object) -> str:
    """What is wrong with a pod's request for a part of a GPU; "" when nothing is."""
    annotations = pod["metadata"].get("annotations") or {}
    fraction, memory = annotations.get(GPU_FRACTION), annotations.get(GPU_MEMORY)
    devices = annotations.get(GPU_FRACTIONS_NUM_DEVICES)
    shares = fraction is not None or memory is not None
    whole = any(
        GPU in ((container.get("resources") or {}).get("limits") or ())
        for field in ("containers", "initContainers")
        for container in pod["spec"].get(field) or ()
    )
    if not shares and annotations.get("mps") == "true":
        return "MPS is only supported with GPU fraction request"
    if fraction is not None and whole:
        return "cannot have both GPU fraction request and whole GPU resource request/limit"
    if memory is not None and (fraction is not None or whole):
        return "cannot request both GPU and GPU memory"
    if devices is not None and not shares:
        return "cannot request multiple fractional devices without specifying fraction portion or gpu-memory"
    if memory is not None and not _is_positive(memory):
        return "gpu-memory annotation value must be a positive integer greater than 0"
    if fraction is not None and not (_DECIMAL.fullmatch(fraction) and 0 < float(fraction) < 1):
        return "gpu-fraction annotation value must be a positive number smaller than 1.0"
    if devices is not None and not _is_positive(devices):
        return "fraction count annotation value must be a positive integer greater than 0"
    return ""


def _is_positive(text: str) -> bool:
    return bool(_WHOLE.fullmatch(text)) and 0 < int(text) < 1 << 64
