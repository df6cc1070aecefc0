"""Wrappers: AppWrappers as the dispatchers read them.

A *wrapper* holds *items*, each with the object to be created (its *template*), the pods it is said to need
(*custompodresources*) and the conditions by which it counts as complete. Reading is lenient where MCAD is: fields that
nobody reads (`service`, `selector`, `Items`, the replicas of an item) are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.dispatchers.mcad.amounts import Amounts, container_amounts

__all__ = [
    "APPWRAPPERS",
    "APPWRAPPERS_OLD",
    "QUOTA_SUBTREES",
    "QUOTA_SUBTREES_OLD",
    "CustomPods",
    "Item",
    "Key",
    "Requeuing",
    "Wrapper",
    "key_of",
    "read_wrapper",
]

APPWRAPPERS = "appwrappers.workload.codeflare.dev"
APPWRAPPERS_OLD = "appwrappers.mcad.ibm.com"
QUOTA_SUBTREES = "quotasubtrees.quota.codeflare.dev"
QUOTA_SUBTREES_OLD = "quotasubtrees.ibm.com"

#: Namespace and name.
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class CustomPods:
    """Pods that an item is said to need."""

    count: int
    each: Amounts


@dataclass(frozen=True, slots=True)
class Item:
    """One object that a wrapper stands for."""

    template: Object
    custom: tuple[CustomPods, ...]
    #: Texts of condition types, any of which completes the item; empty when it does not matter.
    completion: tuple[str, ...]

    @property
    def kind(self) -> str:
        return str(self.template.get("kind", ""))

    @property
    def name(self) -> str:
        return str((self.template.get("metadata") or {}).get("name", ""))


@dataclass(frozen=True, slots=True)
class Requeuing:
    """How long a wrapper may be short of running pods, and how that time grows; seconds."""

    time: int = 0
    initial: int = 0
    growth: str = ""
    longest: int = 0
    number: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True)
class Wrapper:
    """An AppWrapper's spec, and who it is."""

    key: Key
    uid: str
    object: Object
    labels: dict[str, str]
    priority: int
    slope: float
    items: tuple[Item, ...]
    min_available: int
    requeuing: Requeuing
    #: Seconds that it may run; 0 is no limit.
    limit: int

    @property
    def name(self) -> str:
        return self.key[1]

    @property
    def completes(self) -> bool:
        """Whether any item says when it is complete."""
        return any(item.completion for item in self.items)


def key_of(obj: Object) -> Key:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def read_wrapper(obj: Object) -> Wrapper:
    """An AppWrapper, read; a ValueError that names the field if it cannot be."""
    spec = _mapping(obj.get("spec"), "spec")
    scheduling = _mapping(spec.get("schedulingSpec"), "spec.schedulingSpec")
    resources = _mapping(spec.get("resources"), "spec.resources")
    items = resources.get("GenericItems") or []
    duration = _mapping(scheduling.get("dispatchDuration"), "spec.schedulingSpec.dispatchDuration")
    metadata = obj["metadata"]
    return Wrapper(
        key=key_of(obj),
        uid=metadata.get("uid", ""),
        object=obj,
        labels=metadata.get("labels") or {},
        priority=int(spec.get("priority") or 0),
        slope=float(spec.get("priorityslope") or 0),
        items=tuple(_item(each, f"spec.resources.GenericItems[{index}]") for index, each in enumerate(items)),
        min_available=int(scheduling.get("minAvailable") or 0),
        requeuing=_requeuing(_mapping(scheduling.get("requeuing"), "spec.schedulingSpec.requeuing")),
        limit=int(duration.get("limit") or 0),
    )


def _mapping(given: Any, path: str) -> Object:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise ValueError(f"{path}: expected an object, not {type(given).__name__}")
    return given


def _requeuing(given: Object) -> Requeuing:
    return Requeuing(
        time=int(given.get("timeInSeconds") or 0),
        initial=int(given.get("initialTimeInSeconds") or 0),
        growth=str(given.get("growthType") or ""),
        longest=int(given.get("maxTimeInSeconds") or 0),
        number=int(given.get("numRequeuings") or 0),
        most=int(given.get("maxNumRequeuings") or 0),
    )


def _item(given: Any, path: str) -> Item:
    given = _mapping(given, path)
    completion = given.get("completionstatus") or ""
    return Item(
        template=_mapping(given.get("generictemplate"), f"{path}.generictemplate"),
        custom=tuple(
            _custom(each, f"{path}.custompodresources[{index}]")
            for index, each in enumerate(given.get("custompodresources") or ())
        ),
        completion=tuple(completion.split(",")) if completion else (),
    )


def _custom(given: Any, path: str) -> CustomPods:
    given = _mapping(given, path)
    try:
        return CustomPods(int(given.get("replicas") or 0), container_amounts(given))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None
