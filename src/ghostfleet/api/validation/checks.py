"""Small checks that the rules of all kinds are made of.

A *check* looks at one value, found at one path, and appends what is wrong with it to a list of findings; it returns
nothing, so that rules read as a list of checks. Paths are those of Kubernetes' messages (`spec.ports[0].name`). An
absent value is Go's zero value: checks of text take "" for it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

__all__ = [
    "Errors",
    "Object",
    "WithoutValue",
    "cidr",
    "dns_label",
    "dns_subdomain",
    "endpoint_ip",
    "env_name",
    "file_mode",
    "immutable",
    "in_range",
    "int_or_percent",
    "invalid",
    "ip_address",
    "ip_version",
    "is_more_than_all",
    "label_selector",
    "label_value",
    "labels",
    "local_path",
    "no_backsteps",
    "non_negative",
    "one_of",
    "percent_or_int",
    "port_name",
    "port_number",
    "port_number_or_name",
    "positive",
    "qualified_name",
    "required",
]

Object = dict[str, Any]
Errors = list[FieldError]

NEGATIVE = "must be greater than or equal to 0"
_PORT_RANGE = "must be between 1 and 65535, inclusive"


class WithoutValue(FieldError):
    """A bad value that the message does not show."""

    __slots__ = ()

    @property
    def body(self) -> str:
        return f"{self.sort}: {self.detail}"


def invalid(errors: Errors, path: str, value: Any, messages: Iterable[str]) -> None:
    """One finding for each thing that is wrong with the value."""
    for message in messages:
        errors.append(FieldError.invalid(path, value, message))


def required(errors: Errors, path: str, value: Any, detail: str = "") -> bool:
    """Whether there is a value at all; a finding if not."""
    if value:
        return True
    errors.append(FieldError.required(path, detail))
    return False


def one_of(errors: Errors, path: str, value: Any, supported: Sequence[str], *, needed: bool = True) -> None:
    """One of these words; an empty one is missing, unless it is not needed."""
    if value in supported:
        return
    if value:
        errors.append(FieldError.unsupported(path, value, supported))
    elif needed:
        errors.append(FieldError.required(path))


def non_negative(errors: Errors, path: str, value: int | None) -> None:
    if value is not None and value < 0:
        errors.append(FieldError.invalid(path, value, NEGATIVE))


def positive(errors: Errors, path: str, value: int) -> None:
    if value <= 0:
        errors.append(FieldError.invalid(path, value, "must be greater than zero"))


def in_range(errors: Errors, path: str, value: int | None, low: int, high: int) -> None:
    if value is not None and not low <= value <= high:
        errors.append(FieldError.invalid(path, value, f"must be between {low} and {high}, inclusive"))


def immutable(errors: Errors, path: str, new: Any, old: Any) -> None:
    if new != old:
        errors.append(FieldError.invalid(path, new, "field is immutable"))


# Names. The same few come with every object of a workload, so what is known of them is kept.

_label_problems = lru_cache(maxsize=8192)(names.is_dns1123_label)
_subdomain_problems = lru_cache(maxsize=8192)(names.is_dns1123_subdomain)
_qualified_problems = lru_cache(maxsize=8192)(names.is_qualified_name)
_value_problems = lru_cache(maxsize=8192)(names.is_label_value)
_env_problems = lru_cache(maxsize=8192)(names.is_relaxed_env_var_name)
_port_problems = lru_cache(maxsize=8192)(names.is_port_name)


def dns_label(errors: Errors, path: str, value: str) -> None:
    if messages := _label_problems(value):
        invalid(errors, path, value, messages)


def dns_subdomain(errors: Errors, path: str, value: str) -> None:
    if messages := _subdomain_problems(value):
        invalid(errors, path, value, messages)


def qualified_name(errors: Errors, path: str, value: str) -> None:
    if messages := _qualified_problems(value):
        invalid(errors, path, value, messages)


def label_value(errors: Errors, path: str, value: str) -> None:
    if messages := _value_problems(value):
        invalid(errors, path, value, messages)


def env_name(errors: Errors, path: str, value: str) -> None:
    if messages := _env_problems(value):
        invalid(errors, path, value, messages)


def labels(errors: Errors, path: str, found: Object | None) -> None:
    if not found:
        return
    for key, value in found.items():
        if messages := _qualified_problems(key):
            invalid(errors, path, key, messages)
        if messages := _value_problems(value):
            invalid(errors, path, value, messages)


# Ports


def port_number(errors: Errors, path: str, value: int) -> None:
    if not 1 <= value <= 65535:
        errors.append(FieldError.invalid(path, value, _PORT_RANGE))


def port_name(errors: Errors, path: str, value: str) -> None:
    if messages := _port_problems(value):
        invalid(errors, path, value, messages)


def port_number_or_name(errors: Errors, path: str, value: int | str) -> None:
    if isinstance(value, int):
        port_number(errors, path, value)
    else:
        port_name(errors, path, value)


# Counts that may be percentages


def int_or_percent(errors: Errors, path: str, value: int | str) -> None:
    if isinstance(value, int):
        non_negative(errors, path, value)
    else:
        invalid(errors, path, value, names.is_percent(value))


def percent_or_int(value: int | str | None) -> int:
    """The number of a count or of a percentage; 0 for what is neither."""
    if isinstance(value, int):
        return value
    digits = (value or "").removesuffix("%")
    return int(digits) if digits.isdecimal() else 0


def is_more_than_all(errors: Errors, path: str, value: int | str | None) -> None:
    if isinstance(value, str) and not names.is_percent(value) and percent_or_int(value) > 100:
        errors.append(FieldError.invalid(path, value, "must not be greater than 100%"))


# Label selectors


def label_selector(errors: Errors, path: str, selector: Object | None) -> None:
    if not selector:
        return
    labels(errors, f"{path}.matchLabels", selector.get("matchLabels"))
    for index, term in enumerate(selector.get("matchExpressions") or ()):
        _selector_term(errors, f"{path}.matchExpressions[{index}]", term)


def _selector_term(errors: Errors, path: str, term: Object) -> None:
    operator, values = term.get("operator", ""), term.get("values") or []
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(FieldError.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(FieldError.forbidden(f"{path}.values", why))
    else:
        errors.append(FieldError.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    qualified_name(errors, f"{path}.key", term.get("key", ""))
    for index, value in enumerate(values):
        label_value(errors, f"{path}.values[{index}]", value)


# Paths in file systems


def no_backsteps(errors: Errors, path: str, value: str) -> None:
    if ".." in value.split("/"):
        errors.append(FieldError.invalid(path, value, "must not contain '..'"))


def local_path(errors: Errors, path: str, value: str, *, reserved: bool = False) -> None:
    """A relative path that stays below where it starts; names that begin with `..` may be reserved."""
    if value.startswith("/"):
        errors.append(FieldError.invalid(path, value, "must be a relative path"))
    no_backsteps(errors, path, value)
    if reserved and value.startswith("..") and not value.startswith("../"):
        errors.append(FieldError.invalid(path, value, "must not start with '..'"))


def file_mode(errors: Errors, path: str, value: int | None) -> None:
    if value is not None and not 0 <= value <= 0o777:
        why = "must be a number between 0 and 0777 (octal), both inclusive"
        errors.append(FieldError.invalid(path, value, why))


# Addresses

_BAD_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_BAD_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def ip_address(errors: Errors, path: str, value: str) -> bool:
    """Whether the text is an IP address; a finding if not."""
    try:
        address = _address(value)
    except ValueError:
        sloppy = _without_leading_zeros(value)
        errors.append(FieldError.invalid(path, value, "must not have leading 0s" if sloppy else _BAD_IP))
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        errors.append(FieldError.invalid(path, value, "must not be an IPv4-mapped IPv6 address"))
        return False
    return True


def ip_version(value: str) -> int:
    """4 or 6; 0 for what is not an IP address."""
    try:
        return _address(value).version
    except ValueError:
        return 0


@lru_cache(maxsize=4096)
def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(text)


def cidr(errors: Errors, path: str, value: str) -> None:
    try:
        interface = ipaddress.ip_interface(value)
    except ValueError:
        address = value.partition("/")[0]
        sloppy = "/" in value and _without_leading_zeros(address)
        why = "must not have leading 0s in IP or prefix length" if sloppy else _BAD_CIDR
        errors.append(FieldError.invalid(path, value, why))
        return
    if "/" not in value:
        errors.append(FieldError.invalid(path, value, _BAD_CIDR))
    elif interface.ip != interface.network.network_address:
        errors.append(FieldError.invalid(path, value, "must not have bits set beyond the prefix length"))


def _without_leading_zeros(value: str) -> bool:
    parts = value.split(".")
    return len(parts) == 4 and all(part.isdecimal() and int(part) <= 255 for part in parts)


def endpoint_ip(errors: Errors, path: str, value: str) -> None:
    """An address that traffic can be sent to."""
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        errors.append(FieldError.invalid(path, value, "must be a valid IP address"))
        return
    if address.is_unspecified:
        errors.append(FieldError.invalid(path, value, f"may not be unspecified ({value})"))
    if address.is_loopback:
        errors.append(FieldError.invalid(path, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if address.is_link_local:
        errors.append(FieldError.invalid(path, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if address in _LINK_LOCAL_MULTICAST[address.version]:
        why = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        errors.append(FieldError.invalid(path, value, why))


_LINK_LOCAL_MULTICAST: dict[int, ipaddress.IPv4Network | ipaddress.IPv6Network] = {
    4: ipaddress.ip_network("224.0.0.0/24"),
    6: ipaddress.ip_network("ff02::/16"),
}
