"""What an allocation has to satisfy, read from the objects anew, and a search that simply tries everything.

Nothing of the allocator is used but the evaluation of single CEL selectors. A *pick* is a device for a request of a
claim. Picks are checked as a whole: who else holds a device, taints, constraints, what is left of counters and capacity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

from ghostfleet.api.deviceselectors import DeviceSelector, DeviceView
from ghostfleet.core import quantity
from ghostfleet.schedulers.dra import Features

__all__ = ["Judge", "Pick"]


class Pick(NamedTuple):
    claim: int
    request: str
    spec: dict[str, Any]
    device: str


def _pool(device: str) -> str:
    return device.rpartition("/")[0]


def _amount(text: Any) -> Fraction:
    return Fraction(quantity.parse(text).nano, 10**9)


class Judge:
    """Knows a scenario, as seen from one node."""

    def __init__(self, scenario: dict[str, Any], node: dict[str, Any], *, strict: bool = False) -> None:
        #: whether to ask for as much as the real allocator does where it asks for more than is needed, and for more than
        #: it does where it asks for less: of the devices of one request, `distinctAttribute` minds the latest only
        self.strict = strict
        self.scenario = scenario
        self.node = node
        self.features = Features.of(scenario["features"])
        self.devices: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self.everywhere: dict[str, dict[str, Any]] = {}
        self.counters: dict[str, dict[tuple[str, str], Fraction]] = {}
        self._read()

    def _read(self) -> None:
        pools: dict[str, list[dict[str, Any]]] = {}
        for each in self.scenario["slices"]:
            pools.setdefault(f"{each['spec']['driver']}/{each['spec']['pool']['name']}", []).append(each["spec"])
        for pool, specs in pools.items():
            newest = max(spec["pool"]["generation"] for spec in specs)
            current = [spec for spec in specs if spec["pool"]["generation"] == newest]
            if any(spec["pool"]["resourceSliceCount"] != len(current) for spec in current):
                continue
            self.counters[pool] = {
                (group["name"], name): _amount(counter["value"])
                for spec in current
                for group in spec.get("sharedCounters", ())
                for name, counter in group["counters"].items()
            }
            for spec in current:
                if not self.features.partitionable_devices and spec.get("perDeviceNodeSelection") is not None:
                    continue
                for device in spec.get("devices", ()):
                    name = f"{pool}/{device['name']}"
                    self.everywhere[name] = device
                    if self._is_for_node(device if spec.get("perDeviceNodeSelection") else spec):
                        self.devices[name] = device, spec

    def _is_for_node(self, where: dict[str, Any]) -> bool:
        if where.get("nodeName"):
            return bool(where["nodeName"] == self.node["metadata"]["name"])
        if where.get("allNodes"):
            return True
        labels = self.node["metadata"]["labels"]
        terms = where["nodeSelector"]["nodeSelectorTerms"]
        return any(
            all(labels.get(each["key"]) in each["values"] for each in term["matchExpressions"]) for term in terms
        )

    def selects(self, spec: dict[str, Any], name: str) -> bool:
        """Whether class and request want a device, whoever holds it."""
        device, _ = self.devices[name]
        if device.get("bindingConditions") and not self.features.binding_conditions:
            return False
        classes = {each["metadata"]["name"]: each["spec"] for each in self.scenario["classes"]}
        selectors = [*classes[spec["deviceClassName"]].get("selectors", ()), *spec.get("selectors", ())]
        driver = name.split("/")[0]
        view = DeviceView(driver, device, lists=self.features.list_attributes, shares=not self.features.stable)
        return all(
            DeviceSelector(each["cel"]["expression"], lists=self.features.list_attributes).matches(view)
            for each in selectors
        )

    def problems(self, picks: list[Pick]) -> Iterator[str]:
        """All that is wrong with picks together."""
        for pick in picks:
            if pick.device not in self.devices:
                yield f"{pick.device} is not for the node"
                return
            if not self.selects(pick.spec, pick.device):
                yield f"{pick.device} is not selected by {pick.request}"
            if self.devices[pick.device][0].get("consumesCounters") and not self.features.partitionable_devices:
                yield f"{pick.device} is a partition"
            if self.features.device_taints and not self._tolerated(pick):
                yield f"{pick.device} is tainted"
        yield from self._holding(picks)
        yield from self._counting(picks)
        yield from self._consuming(picks)
        for claim in {pick.claim for pick in picks}:
            yield from self._constraining(claim, [pick for pick in picks if pick.claim == claim])

    def _tolerated(self, pick: Pick) -> bool:
        for taint in self.devices[pick.device][0].get("taints", ()):
            if taint["effect"] != "None" and not any(
                each["operator"] == "Exists" or (each["key"], each["value"]) == (taint["key"], taint["value"])
                for each in pick.spec.get("tolerations", ())
            ):
                return False
        return True

    def is_shared(self, name: str) -> bool:
        return self.features.consumable_capacity and bool(self.devices[name][0].get("allowMultipleAllocations"))

    def _holding(self, picks: list[Pick]) -> Iterator[str]:
        whole = [pick for pick in picks if not self.is_shared(pick.device)]
        owned = Counter(pick.device for pick in whole if not pick.spec.get("adminAccess"))
        for name, count in owned.items():
            if count > 1 or name in self.scenario["allocatedDevices"]:
                yield f"{name} is held twice"
        for (claim, name), count in Counter((pick.claim, pick.device) for pick in whole).items():
            if count > 1:
                yield f"{name} is in claim {claim} twice"

    def _counting(self, picks: list[Pick]) -> Iterator[str]:
        users = self._users(picks)
        for pool in {_pool(pick.device) for pick in picks if self.devices[pick.device][0].get("consumesCounters")}:
            left = dict(self.counters[pool])
            for name in users:
                for group in self.everywhere[name].get("consumesCounters", ()) if _pool(name) == pool else ():
                    for counter, amount in group["counters"].items():
                        left[group["counterSet"], counter] -= _amount(amount["value"])
            if any(amount < 0 for amount in left.values()):
                yield f"the counters of {pool} are exceeded"

    def _users(self, picks: list[Pick]) -> list[str]:
        """The devices that use counters: those that are held, and the picks.

        Admin access uses none, though the real allocator counts it, and a device that is shared uses them once, though
        the real one does not see that unless capacity is consumed too."""
        held = set(self.scenario["allocatedDevices"])
        if not self.features.stable:
            held |= {each.rpartition("/")[0] for each in self.scenario["allocatedSharedDeviceIDs"]}
        held &= set(self.everywhere)
        if not self.strict:
            return sorted(held | {pick.device for pick in picks if not pick.spec.get("adminAccess")})
        whole = [pick.device for pick in picks if not self.is_shared(pick.device)]
        shared = {pick.device for pick in picks if self.is_shared(pick.device)} - set(
            self.scenario["allocatedCapacity"]
        )
        return [*held, *whole, *shared]

    def consumed(self, pick: Pick) -> dict[str, Fraction] | None:
        """What a pick takes of each capacity, by the policy; None if that cannot be."""
        asked = pick.spec.get("capacity", {}).get("requests", {})
        known = self.devices[pick.device][0].get("capacity", {})
        if set(asked) - set(known):
            return None
        found = {}
        for name, capacity in known.items():
            policy = capacity.get("requestPolicy", {})
            amount = _amount(asked.get(name, policy.get("default", capacity["value"])))
            if name in asked and "validRange" in policy:
                valid = {key: _amount(value) for key, value in policy["validRange"].items()}
                amount = max(amount, valid["min"])
                if "step" in valid:
                    amount = valid["min"] + -(-(amount - valid["min"]) // valid["step"]) * valid["step"]
                if "max" in valid and amount > valid["max"]:
                    return None
            if name in asked and "validValues" in policy:
                fitting = [each for each in map(_amount, policy["validValues"]) if each >= amount]
                if not fitting:
                    return None
                amount = min(fitting)
            found[name] = amount
        return found

    def _consuming(self, picks: list[Pick]) -> Iterator[str]:
        if not self.features.consumable_capacity:
            return
        used: dict[tuple[str, str], Fraction] = {}
        for name, amounts in self.scenario["allocatedCapacity"].items():
            for capacity, amount in amounts.items():
                used[name, capacity] = _amount(amount)
        for pick in picks:
            consumed = self.consumed(pick)
            if consumed is None:
                yield f"{pick.device} has not the capacity that {pick.request} asks for"
                continue
            capacities = self.devices[pick.device][0].get("capacity", {})
            for name, amount in consumed.items():
                before = used.get((pick.device, name), Fraction(0))
                if before + amount > _amount(capacities[name]["value"]):
                    yield f"the {name} of {pick.device} is exceeded"
                if self.is_shared(pick.device):
                    used[pick.device, name] = before + amount

    def _constraining(self, claim: int, picks: list[Pick]) -> Iterator[str]:
        for constraint in self.scenario["claims"][claim]["spec"]["devices"].get("constraints", ()):
            named = constraint.get("requests") or ()
            about = [pick for pick in picks if not named or {pick.request, pick.request.split("/")[0]} & set(named)]
            attribute = constraint.get("matchAttribute") or constraint.get("distinctAttribute")
            values = [self._values(pick.device, attribute) for pick in about]
            if not all(values):
                yield f"a device has no {attribute}"
            elif "matchAttribute" in constraint:
                if values and not frozenset.intersection(*values):
                    yield f"devices differ in {attribute}"
            else:
                alone = Counter(pick.request for pick in about)
                single = [v for pick, v in zip(about, values, strict=True) if self.strict or alone[pick.request] == 1]
                if any(one & other for one, other in combinations(single, 2)):
                    yield f"devices share a {attribute}"

    def _values(self, name: str, attribute: str) -> frozenset[Any]:
        attributes = self.devices[name][0].get("attributes", {})
        domain, _, rest = attribute.partition("/")
        found = attributes.get(attribute) or (attributes.get(rest) if name.startswith(f"{domain}/") else None) or {}
        for sort, value in found.items():
            if isinstance(value, list):
                return frozenset((sort[:-1], each) for each in value) if self.features.list_attributes else frozenset()
            return frozenset({(sort, value)})
        return frozenset()

    def picks(self, results: list[dict[str, Any]]) -> list[Pick]:
        """The picks of AllocationResults."""
        found = []
        for place, result in enumerate(results):
            specs = dict(self._alternatives(place))
            for each in result["devices"]["results"]:
                device = f"{each['driver']}/{each['pool']}/{each['device']}"
                found.append(Pick(place, each["request"], specs[each["request"]], device))
        return found

    def _alternatives(self, claim: int) -> Iterator[tuple[str, dict[str, Any]]]:
        for alternatives in self.requests(claim):
            yield from alternatives

    def requests(self, claim: int) -> list[list[tuple[str, dict[str, Any]]]]:
        """The requests of a claim, each with its alternatives by name."""
        return [
            [(f"{each['name']}/{sub['name']}", sub) for sub in each["firstAvailable"]]
            if "firstAvailable" in each
            else [(each["name"], each["exactly"])]
            for each in self.scenario["claims"][claim]["spec"]["devices"]["requests"]
        ]

    def has_right_numbers(self, picks: list[Pick]) -> bool:
        """Whether each request, or one alternative of it, got as many devices as it asks for."""
        counts = Counter((pick.claim, pick.request) for pick in picks)
        for claim in range(len(self.scenario["claims"])):
            for alternatives in self.requests(claim):
                taken = [(name, spec) for name, spec in alternatives if counts[claim, name]]
                if len(taken) != 1 or counts[claim, taken[0][0]] != self.wanted(claim, *taken[0]):
                    return False
        return True

    def wanted(self, claim: int, name: str, spec: dict[str, Any]) -> int:
        return len(self._all(claim, name, spec)) if spec["allocationMode"] == "All" else int(spec["count"])

    def _all(self, claim: int, name: str, spec: dict[str, Any]) -> list[Pick]:
        picks = [Pick(claim, name, spec, device) for device in self.devices if self.selects(spec, device)]
        if not self.features.consumable_capacity:
            return picks
        return [
            pick
            for pick in picks
            if not any("capacity" in each or "exceeded" in each for each in self._consuming([pick]))
        ]

    def solution(self) -> list[Pick] | None:
        """Any picks that satisfy everything, found by trying all."""
        return self._solve(
            [(claim, each) for claim in range(len(self.scenario["claims"])) for each in self.requests(claim)], []
        )

    def _solve(self, left: list[Any], picks: list[Pick]) -> list[Pick] | None:
        if not left:
            return picks
        claim, alternatives = left[0]
        for name, spec in alternatives:
            if spec["allocationMode"] == "All":
                everything = self._all(claim, name, spec)
                choices: Iterator[tuple[Pick, ...]] = iter([tuple(everything)] if everything else [])
            else:
                candidates = [Pick(claim, name, spec, device) for device in self.devices if self.selects(spec, device)]
                choices = combinations(candidates, spec["count"])
            for choice in choices:
                if any(self.problems([*picks, *choice])):
                    continue
                found = self._solve(left[1:], [*picks, *choice])
                if found is not None:
                    return found
        return None
