"""Which devices are tainted with NoExecute: by the slices of the newest generation of their pool, and by rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ghostfleet.api.devicetaints import NO_EXECUTE, rule_matches
from ghostfleet.api.podclaims import SLICES
from ghostfleet.core.changes import Object
from ghostfleet.core.store import Reader

__all__ = ["DeviceTaints", "Tainting"]

#: Driver and name.
Pool = tuple[str, str]


class Tainting(NamedTuple):
    """A taint, and the uid of the rule that it comes from; "" if it comes from a slice."""

    taint: Object
    rule: str = ""


class DeviceTaints:
    """All NoExecute taints of devices in one store."""

    def __init__(self, store: Reader) -> None:
        self._store = store
        #: Taints of slices that count, by pool and device; pools in whose slices there are any.
        self._pools: dict[Pool, dict[str, list[Object]]] = {}
        #: Rules that taint with NoExecute, by name.
        self.rules: dict[str, Object] = {}

    def __bool__(self) -> bool:
        return bool(self.rules) or any(self._pools.values())

    def with_rule(self, rule: Object) -> DeviceTaints:
        """What it would be if this rule had the effect NoExecute, and were the only one."""
        made = DeviceTaints(self._store)
        made._pools = self._pools
        made.rules = {rule["metadata"]["name"]: rule}
        return made

    def of(self, driver: str, pool: str, device: str) -> Iterator[Tainting]:
        """The taints of a device."""
        for taint in self._pools.get((driver, pool), {}).get(device, ()):
            yield Tainting(taint)
        for _, rule in sorted(self.rules.items()):
            if rule_matches(rule, driver, pool, device):
                yield Tainting(rule["spec"]["taint"], rule["metadata"]["uid"])

    def change_rule(self, name: str, rule: Object | None) -> bool:
        """A rule came, changed or went; whether pods are concerned."""
        before = self.rules.pop(name, None)
        if rule is not None and rule["spec"]["taint"].get("effect") == NO_EXECUTE:
            self.rules[name] = rule
        after = self.rules.get(name)
        return before is not after and (before or {}).get("spec") != (after or {}).get("spec")

    def change_slice(self, old: Object | None, new: Object | None) -> bool:
        """A slice came, changed or went; whether taints of its pool changed."""
        slices = [each for each in (old, new) if each is not None]
        pool = _pool(slices[0])
        if pool not in self._pools and not any(_taints(each) for each in slices):
            return False
        before = self._pools.pop(pool, {})
        slices = [each for each in self._store.list(SLICES) if _pool(each) == pool]
        newest = max((_generation(each) for each in slices), default=0)
        found: dict[str, list[Object]] = {}
        for each in slices:
            if (taints := _taints(each)) and _generation(each) == newest:
                found.update(taints)
            if taints:
                self._pools[pool] = found
        return found != before


def _pool(resource_slice: Object) -> Pool:
    spec = resource_slice["spec"]
    return spec["driver"], spec["pool"]["name"]


def _generation(resource_slice: Object) -> int:
    found: int = resource_slice["spec"]["pool"].get("generation", 0)
    return found


def _taints(resource_slice: Object) -> dict[str, list[Object]]:
    """The NoExecute taints of a slice's devices, by device."""
    return {
        device["name"]: taints
        for device in resource_slice["spec"].get("devices") or ()
        if "taints" in device and (taints := [each for each in device["taints"] if each.get("effect") == NO_EXECUTE])
    }
