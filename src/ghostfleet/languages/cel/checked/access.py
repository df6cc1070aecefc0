"""Reading parts of values: fields, keys and indexes, and what is said if there is no such part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ghostfleet.languages.cel.checked.values import NONE, Optional, equal, type_name
from ghostfleet.languages.cel.operators import is_key
from ghostfleet.languages.cel.values import CelError, Uint

__all__ = ["compared", "elements", "has", "index", "no_overload", "optional", "optional_index", "select"]

_NUMBERS = (int, Uint, float)
#: the types that know an operator at all, or any function: what these say of an operand that is wrong is less
_ORDERED = frozenset(("bool", "int", "uint", "double", "string", "bytes", "google.protobuf.Timestamp",
                      "google.protobuf.Duration"))  # fmt: skip
_RECEIVERS = frozenset(("string", "google.protobuf.Timestamp", "google.protobuf.Duration"))
_NUMERIC = frozenset(("int", "uint", "double"))
_OPERATORS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ORDERED),
    "_+_": (_ORDERED - {"bool"}) | {"list"},
    "_-_": _NUMERIC | _RECEIVERS,
    **dict.fromkeys(("_*_", "_/_"), _NUMERIC | _RECEIVERS),
    "_%_": frozenset(("int", "uint")) | _RECEIVERS,
    "-_": _NUMERIC | _RECEIVERS | {"bool"},
    "size": _RECEIVERS,
}
#: what Go calls values that cannot be gone through
_GO_NAMES = {
    "bool": "types.Bool",
    "int": "types.Int",
    "uint": "types.Uint",
    "double": "types.Double",
    "string": "types.String",
    "bytes": "types.Bytes",
    "null_type": "types.Null",
    "kubernetes.Semver": "cel.Semver",
    "kubernetes.Quantity": "cel.Quantity",
}
_ALWAYS_SHORT = ("!_", "@in", "contains", "startsWith", "endsWith", "matches")


def compared(left: Any, right: Any, wanted: bool) -> bool:
    """`left == right`; whether a value of a type of Kubernetes' own is equal to another cannot be said, only that it
    differs."""
    if wanted and type(left) is not type(right) and right is not None and type_name(left).startswith("kubernetes."):
        raise CelError("no such overload")
    return equal(left, right) is wanted


def no_overload(name: str, values: Sequence[Any]) -> CelError:
    """The error of a call that takes no such values, which is more or less detailed in cel-go."""
    if name in _ALWAYS_SHORT:
        return CelError("no such overload")
    if name in _OPERATORS:
        return CelError("no such overload" + ("" if type_name(values[0]) in _OPERATORS[name] else f": {name}"))
    return CelError(f"no such overload: {name}({', '.join(map(type_name, values))})")


def optional(value: Any) -> Optional:
    if type(value) is not Optional:
        raise CelError("no such overload")
    return value


def select(value: Any, field: str) -> Any:
    """`value.field`."""
    if isinstance(value, dict):
        try:
            return value[field]
        except KeyError:
            raise CelError(f"no such key: {field}") from None
    if type(value) is Optional:
        return optional_index(value, field)
    raise CelError(f"no such key: {field}")


def has(value: Any, field: str) -> bool:
    if isinstance(value, dict):
        return field in value or hasattr(value, "__missing__")
    if type(value) is Optional:
        return value.present and has(value.value, field)
    return False


def index(value: Any, key: Any) -> Any:
    """`value[key]`."""
    if type(value) is Optional:
        return optional_index(value, key)
    if isinstance(value, dict):
        if type(key) is str or is_key(key, value):
            try:
                return value[key]
            except KeyError:
                pass
        raise CelError(f"no such key: {_key(key)}")
    if type(value) is list:
        if type(key) not in _NUMBERS or (type(key) is float and not key.is_integer()):
            raise CelError(f"unsupported index type '{type_name(key)}' in list")
        if not 0 <= key < len(value):
            raise CelError(f"index out of bounds: {int(key)}")
        return value[int(key)]
    raise CelError(f"no such key: {_key(key)}")


def _key(key: Any) -> str:
    return str(key).lower() if type(key) is bool else str(key)


def optional_index(value: Any, key: Any) -> Optional:
    """`value[?key]` and `value.?key`."""
    if type(value) is Optional:
        return optional_index(value.value, key) if value.present else NONE
    if isinstance(value, dict):
        if hasattr(value, "__missing__") or is_key(key, value):
            return Optional(value[key])
        return NONE
    if type(value) is list:
        if type(key) not in _NUMBERS:
            raise CelError(f"unsupported index type '{type_name(key)}' in list")
        return Optional(value[int(key)]) if 0 <= key < len(value) else NONE
    return NONE


def elements(whole: Any, count: int) -> list[tuple[Any, ...]]:
    if type(whole) is list:
        return [(each,) for each in whole] if count == 1 else list(enumerate(whole))
    if isinstance(whole, dict):
        keys = sorted(whole, key=str)
        return [(key,) for key in keys] if count == 1 else [(key, whole[key]) for key in keys]
    raise CelError(f"got '{_GO_NAMES.get(type_name(whole), type_name(whole))}', expected iterable type")
