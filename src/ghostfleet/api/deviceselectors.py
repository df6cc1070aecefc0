"""Device selectors: CEL expressions that see a device and say whether it is wanted.

What they see is `device`: its driver, its attributes and capacity by domain and name, and whether several claims may
share it. Names without a domain are in that of the driver. A domain that a device has nothing of is an empty map, a
name that it does not have is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from ghostfleet.core import quantity
from ghostfleet.languages.cel import CelError, Quantity
from ghostfleet.languages.cel.checked import (
    Checked,
    CompileError,
    DefaultMap,
    Environment,
    function,
    kubernetes_environment,
    overload,
)
from ghostfleet.languages.cel.checked.library.semvers import parse_semver
from ghostfleet.languages.cel.checked.values import equal, type_name
from ghostfleet.languages.errors import Unsupported

__all__ = [
    "DeviceSelector",
    "DeviceView",
    "SelectorError",
    "compile_selector",
    "device_selector",
    "is_too_complex",
    "selector_cost",
    "selector_problem",
]

Object = Mapping[str, Any]
#: what evaluating a selector may cost (resource.k8s.io, CELSelectorExpressionMaxCost)
_COST_LIMIT = 1_000_000
#: most values of list attributes of a device (resource.k8s.io, ResourceSliceMaxAttributeValuesPerDevice)
_MOST_VALUES = 48


class SelectorError(Exception):
    """A selector that does not compile, or has no value for a device."""


class DeviceView:
    """A device as selectors see it, worked out when the first one looks."""

    __slots__ = ("_device", "_driver", "_lists", "_shares", "_value")

    def __init__(self, driver: str, device: Object, *, lists: bool = False, shares: bool = True) -> None:
        self._driver = driver
        self._device = device
        #: whether attributes may be lists (DRAListTypeAttributes)
        self._lists = lists
        #: whether it shows that several claims may share the device
        self._shares = shares
        self._value: dict[str, Any] | None = None

    def value(self) -> dict[str, Any]:
        """The value of `device`; CelError if some attribute has none."""
        if self._value is None:
            self._value = self._shown()
        return self._value

    def _shown(self) -> dict[str, Any]:
        driver, device, lists = self._driver, self._device, self._lists
        attributes = _by_domain(driver, device.get("attributes"), lambda name, value: _attribute(name, value, lists))
        return {
            "driver": driver,
            "allowMultipleAllocations": self._shares and bool(device.get("allowMultipleAllocations")),
            "attributes": attributes,
            "capacity": _by_domain(driver, device.get("capacity"), _capacity),
        }


class DeviceSelector:
    """One selector."""

    __slots__ = ("_error", "_program")

    def __init__(self, expression: str, *, lists: bool = False) -> None:
        self._error = ""
        self._program: Checked | None = None
        try:
            self._program = compile_selector(expression, lists=lists)
        except CompileError as error:
            self._error = str(error)

    def matches(self, device: DeviceView) -> bool:
        """Whether a device is wanted."""
        if self._program is None:
            raise SelectorError(f"CEL compile error: {self._error}")
        try:
            value = self._program.evaluate({"device": device.value()})
        except CelError as error:
            raise SelectorError(f"CEL runtime error: {error}") from None
        if type(value) is not bool:
            raise SelectorError(f"CEL runtime error: {_no_bool(value)}")
        return value


def _no_bool(value: Any) -> str:
    name = type_name(value)
    reason = _CONVERSIONS.get(name, f"type conversion error from '{name}' to 'bool'")
    return f"CEL result of type {name} could not be converted to bool: {reason}"


#: why a value of a type is no bool, where that is said in words of its own
_CONVERSIONS = {
    "string": "unsupported native conversion from string to 'bool'",
    "int": "unsupported type conversion from 'int' to bool",
    "uint": "unsupported type conversion from 'uint' to bool",
    "double": "type conversion error from Double to 'bool'",
    "bytes": "type conversion error from Bytes to 'bool'",
    "list": "type conversion error from list to 'bool'",
    "map": "type conversion error from map to 'bool'",
    "kubernetes.Semver": "type conversion error from 'Semver' to 'bool'",
    "google.protobuf.Timestamp": "type conversion error from 'Timestamp' to 'bool'",
    "google.protobuf.Duration": "type conversion error from 'Duration' to 'bool'",
}


@lru_cache(maxsize=1024)
def device_selector(expression: str, lists: bool = False) -> DeviceSelector:
    return DeviceSelector(expression, lists=lists)


def compile_selector(expression: str, *, lists: bool = False) -> Checked:
    """The program of a selector; a CompileError in Kubernetes' words if it is not one."""
    program = _environment(lists).compile(expression)
    output = program.output
    if output.kind == "bool" or output.kind == "any" or (lists and output.kind == "dyn"):
        return program
    raise CompileError(f"must evaluate to bool or the unknown type, not {output.declared}")


def selector_cost(program: Checked) -> int:
    """The most that a selector may cost for any device."""
    return program.estimated_cost(_size_at)


#: How large what selectors see may be, by path (resource.k8s.io: DriverNameMaxLength, DeviceMaxDomainLength,
#: ResourceSliceMaxAttributesAndCapacitiesPerDevice, DeviceMaxIDLength, DeviceAttributeMaxValueLength).
_DRIVER, _DOMAIN, _ENTRIES, _IDENTIFIER, _VALUE = 63, 63, 32, 32, 64


def _size_at(path: tuple[str, ...]) -> int | None:
    match path:
        case ("device",):
            return 0
        case ("device", "driver"):
            return _DRIVER
        case ("device", "allowMultipleAllocations"):
            return 1
        case ("device", "attributes" | "capacity") | ("device", "attributes" | "capacity", "@values"):
            return _ENTRIES
        case ("device", "attributes" | "capacity", "@keys"):
            return _DOMAIN
        case ("device", "attributes" | "capacity", "@values", "@keys"):
            return _IDENTIFIER
        case ("device", "capacity", "@values", "@values"):
            return 0
        case ("device", "attributes", "@values", _):
            return _VALUE
    return None


@lru_cache(maxsize=1024)
def selector_problem(expression: str) -> str:
    """Why a selector does not compile; "" if it does. The same few come with every claim."""
    try:
        compile_selector(expression)
    except Unsupported as error:
        return str(error)
    return ""


@lru_cache(maxsize=1024)
def is_too_complex(expression: str) -> bool:
    """Whether a selector, which compiles, may cost more than it is allowed to, and is refused for that."""
    return selector_cost(compile_selector(expression)) > _COST_LIMIT


@cache
def _environment(lists: bool) -> Environment:
    # Selectors in claims and classes were accepted when they were written, so all that ever was allowed is, whatever
    # gates are on.
    attribute = "dyn" if lists else "any"
    fields = {
        "driver": "string",
        "allowMultipleAllocations": "bool",
        "attributes": f"map(string, map(string, {attribute}))",
        "capacity": "map(string, map(string, kubernetes.Quantity))",
    }
    return kubernetes_environment().extended(
        variables={"device": "kubernetes.DRADevice"},
        structs={"kubernetes.DRADevice": fields},
        functions=[function("includes", overload("dyn.(dyn) -> bool", _includes))],
        cost_limit=_COST_LIMIT,
    )


def _includes(target: Any, wanted: Any) -> bool:
    if type(target) is not list:
        return equal(target, wanted)
    for place, each in enumerate(target):
        if place >= _MOST_VALUES:
            raise CelError(f"'includes' function cannot be applied to lists longer than {_MOST_VALUES} values")
        if equal(each, wanted):
            return True
    return False


def _by_domain(driver: str, named: Object | None, read: Callable[[str, Any], Any]) -> DefaultMap:
    found = DefaultMap()
    for name, value in (named or {}).items():
        domain, slash, rest = name.partition("/")
        if not slash:
            domain, rest = driver, name
        found.setdefault(domain, {})[rest] = read(name, value)
    return found


def _capacity(_: str, capacity: Object) -> Quantity:
    return Quantity(quantity.parse(capacity["value"]))


def _attribute(name: str, attribute: Object, lists: bool) -> Any:
    try:
        if lists:
            for sort in ("ints", "bools", "strings"):
                if attribute.get(sort) is not None:
                    return list(attribute[sort])
            if attribute.get("versions") is not None:
                return [parse_semver(each) for each in attribute["versions"]]
        for sort in ("int", "bool", "string"):
            if attribute.get(sort) is not None:
                return attribute[sort]
        if attribute.get("version") is not None:
            return parse_semver(attribute["version"])
    except ValueError as error:
        raise CelError(f"attribute {name}: parse semantic version: {error}") from None
    raise CelError(f"attribute {name}: unsupported attribute value")
