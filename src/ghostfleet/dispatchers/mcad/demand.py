"""Demand: what a wrapper is taken to need, and what its pods will really ask for.

MCAD's *demand* of an item is what its custompodresources say, if it has any, and nothing else then. Otherwise it is
`spec.replicas` (1 without it) times the containers of the template. The parallelism of a Job is never looked at, nor
are init containers. Where that differs from the pods that will come to be, wrappers are dispatched that cannot run, or
kept waiting that could; `disagreements` says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.dispatchers.mcad.amounts import NOTHING, Amounts, container_amounts, total
from ghostfleet.dispatchers.mcad.wrapper import Item, Wrapper

__all__ = ["Demand", "DemandPart", "PodGroup", "demand_of", "disagreements", "item_demand", "pod_groups"]


@dataclass(frozen=True, slots=True)
class DemandPart:
    """A part of a demand: so many times so much, and where that was read."""

    source: str
    count: int
    each: Amounts

    @property
    def amounts(self) -> Amounts:
        return self.each.times(self.count)


@dataclass(frozen=True, slots=True)
class Demand:
    """What a wrapper is taken to need in all."""

    total: Amounts
    parts: tuple[DemandPart, ...]


@dataclass(frozen=True, slots=True)
class PodGroup:
    """Pods of one shape that a wrapper will have, and the spec that says where they may run."""

    count: int
    each: Amounts
    spec: Object


def demand_of(wrapper: Wrapper) -> Demand:
    """MCAD's demand of a wrapper; a ValueError if a container asks for what is no quantity."""
    parts = tuple(part for index, item in enumerate(wrapper.items) for part in item_demand(item, index))
    return Demand(total(part.amounts for part in parts), parts)


def item_demand(item: Item, index: int = 0) -> tuple[DemandPart, ...]:
    """The parts of an item's demand."""
    path = f"GenericItems[{index}]"
    if item.custom:
        return tuple(
            DemandPart(f"{path}.custompodresources[{number}]", each.count, each.each)
            for number, each in enumerate(item.custom)
        )
    spec = _object(item.template.get("spec"))
    pod = _pod_spec(item)
    if pod is None:
        return ()
    field = "spec.template.spec.containers" if "template" in spec else "spec.containers"
    return (DemandPart(f"{path}.generictemplate.{field}", _count(spec.get("replicas")), _containers(pod)),)


def _object(given: Any) -> Object:
    """What is expected to be an object; templates are not checked before their object is created."""
    return given if isinstance(given, dict) else {}


def _count(given: Any) -> int:
    """What is expected to be a number of pods; one where nothing, or nothing sensible, is said."""
    return given if isinstance(given, int) and given >= 0 else 1


def _pod_spec(item: Item) -> Object | None:
    """The spec of the item's pods, where it has one."""
    spec = _object(item.template.get("spec"))
    pod = _object(_object(spec["template"]).get("spec")) if "template" in spec else spec
    return pod if isinstance(pod.get("containers"), list) else None


def _containers(pod: Object) -> Amounts:
    return total(_container(_object(_object(each).get("resources"))) for each in pod["containers"])


def _container(resources: Object) -> Amounts:
    return container_amounts(
        {"requests": _object(resources.get("requests")), "limits": _object(resources.get("limits"))}
    )


def _pod_count(item: Item) -> int:
    """How many pods the item's controller runs at a time."""
    spec = _object(item.template.get("spec"))
    if item.kind != "Job":
        return _count(spec.get("replicas"))
    parallelism, completions = _count(spec.get("parallelism")), spec.get("completions")
    return min(parallelism, completions) if isinstance(completions, int) and completions >= 0 else parallelism


def pod_groups(item: Item) -> tuple[PodGroup, ...]:
    """The pods to find room for: those of the template, each as large as the custompodresources say if that is more.

    Where the template has no pods that can be read (a custom resource of any kind), the custompodresources are all
    there is to go by.
    """
    pod = _pod_spec(item)
    if pod is None:
        return tuple(PodGroup(each.count, each.each, {}) for each in item.custom)
    count, asked = _pod_count(item), _containers(pod)
    if not item.custom:
        return (PodGroup(count, asked, pod),)
    if len(item.custom) == 1:
        (said,) = item.custom
        return (PodGroup(max(count, said.count), asked.at_least(said.each), pod),)
    return tuple(PodGroup(each.count, each.each, pod) for each in item.custom)


def disagreements(wrapper: Wrapper) -> list[str]:
    """Where what a wrapper says of its pods differs from what they will ask for."""
    found = []
    for index, item in enumerate(wrapper.items):
        pod = _pod_spec(item)
        if pod is None or not item.custom:
            continue
        said = total(each.each.times(each.count) for each in item.custom)
        asked = _containers(pod).times(_pod_count(item))
        if said != asked:
            found.append(
                f"GenericItems[{index}]: custompodresources ask for {_text(said)}, "
                f"but the pods of {item.kind} {item.name} for {_text(asked)}"
            )
    return found


def _text(amounts: Amounts) -> str:
    if amounts == NOTHING:
        return "nothing"
    return ", ".join(f"{amount} {name}" for name, amount in amounts.shown().items() if amount != "0")
