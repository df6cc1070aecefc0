"""Which devices the selectors of a class and a request match.

Selectors are CEL, evaluated in order until one does not match: first those of the class, then those of the request.
What came out is kept with the device. An error in a selector, at compile time or for a device, stops the allocation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ghostfleet.api.deviceselectors import DeviceSelector, DeviceView, SelectorError, device_selector
from ghostfleet.schedulers.dra.devices import Device
from ghostfleet.schedulers.dra.errors import AllocationError
from ghostfleet.schedulers.dra.features import Features
from ghostfleet.schedulers.dra.requests import Request

__all__ = ["Matcher", "Matchers"]

Object = Mapping[str, Any]
#: keys under which answers are kept with a device
_MOST_MATCHERS = 4096


class Matcher:
    """The selectors of a class and a request together."""

    __slots__ = ("_class_name", "_features", "_in_class", "_selectors")

    def __init__(self, class_name: str, in_class: int, selectors: Sequence[DeviceSelector], features: Features) -> None:
        self._features = features
        self._class_name = class_name
        #: how many of the selectors are the class's
        self._in_class = in_class
        self._selectors = selectors

    def matches(self, device: Device, claim: str) -> bool:
        """Whether all selectors match; `claim` is who asks, for the error if there is one."""
        answer = device.matches.get(self)
        if answer is None:
            if len(device.matches) > _MOST_MATCHERS:
                device.matches.clear()
            answer = device.matches[self] = self._ask(device)
        if answer is True or answer is False:
            return bool(answer)
        place, problem = answer
        if place < self._in_class:
            raise AllocationError(f"class {self._class_name}: selector #{place}: {problem}")
        raise AllocationError(f"claim {claim}: selector #{place - self._in_class}: {problem}")

    def _ask(self, device: Device) -> bool | tuple[int, str]:
        lists, shares = self._features.list_attributes, not self._features.stable
        view = DeviceView(device.id.driver, device.object, lists=lists, shares=shares)
        for place, selector in enumerate(self._selectors):
            try:
                if not selector.matches(view):
                    return False
            except SelectorError as error:
                return place, str(error)
        return True


class Matchers:
    """A matcher for each combination of selectors."""

    __slots__ = ("_by_request", "_features", "_known")

    def __init__(self, features: Features) -> None:
        self._features = features
        self._known: dict[tuple[Any, ...], Matcher] = {}
        #: the latest class and matcher of a request
        self._by_request: dict[Request, tuple[Object, Matcher]] = {}

    def get(self, device_class: Object, request: Request) -> Matcher:
        found = self._by_request.get(request)
        if found is None or found[0] is not device_class:
            if len(self._by_request) > _MOST_MATCHERS:
                self._by_request.clear()
            found = self._by_request[request] = device_class, self._made(device_class, request.selectors)
        return found[1]

    def _made(self, device_class: Object, selectors: Sequence[Object]) -> Matcher:
        name = device_class["metadata"]["name"]
        in_class = _expressions(device_class.get("spec", {}).get("selectors") or ())
        in_request = _expressions(selectors)
        key = (name, in_class, in_request)
        matcher = self._known.get(key)
        if matcher is None:
            if len(self._known) > _MOST_MATCHERS:
                self._known.clear()
            compiled = [
                device_selector(expression, self._features.list_attributes) for expression in (*in_class, *in_request)
            ]
            matcher = self._known[key] = Matcher(name, len(in_class), compiled, self._features)
        return matcher


def _expressions(selectors: Sequence[Object]) -> tuple[str, ...]:
    return tuple(selector["cel"].get("expression") or "" for selector in selectors)
