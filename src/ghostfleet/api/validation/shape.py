"""The shape of an object: its JSON types, its known fields and the canonical form of its values.

An object that a client sends is *clean* when every value has the type its schema asks for, no field is unknown or null,
and quantities and times are already written the way Kubernetes writes them. `normalise` returns a clean object as it
is. Of any other it makes one that is clean: unknown fields and nulls go, quantities and times are rewritten; a value of
the wrong type is an error, told in the words of Kubernetes' decoder. What becomes of the unknown fields (an error, a
warning, nothing) is the caller's choice, by the request's field validation.

Nearly all objects are clean, so that question has its own, compiled answer: one function a type, made once. Only an
object that fails it is walked slowly, with paths.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NoReturn

import orjson

from ghostfleet.api.validation.gotypes import embedded_step, go_type, struct_name
from ghostfleet.api.validation.times import micro_time, rfc3339_time
from ghostfleet.api.validation.unions import Union, union_of
from ghostfleet.core.errors import ApiError, bad_request
from ghostfleet.core.quantity import canonical
from ghostfleet.core.schema import Type

__all__ = ["normalise", "strict_error", "unknown_field_warnings"]

Object = dict[str, Any]
Clean = Callable[[Any], bool]

_INT_RANGES = {"int32": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1)}
_INT64 = (-(2**63), 2**63 - 1)
_BAD_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
#: Kubernetes stops listing findings here.
_MOST_FINDINGS = 100


def normalise(obj: Object, type_: Type, *, kind: str, version: str) -> tuple[Object, list[str]]:
    """The clean form of an object of a built-in kind, and the paths of the unknown fields that it lost."""
    metadata = obj.get("metadata")
    if type(metadata) is dict and metadata.get("creationTimestamp", "") is None:
        obj = {**obj, "metadata": {key: value for key, value in metadata.items() if key != "creationTimestamp"}}
    if _clean(type_)(obj):
        return obj, []
    walk = _Walk(kind, version)
    return walk.object(obj, type_, "", ""), walk.unknown


def strict_error(kind: str, version: str, unknown: Sequence[str], duplicates: Sequence[str] = ()) -> ApiError:
    """The refusal of an object with unknown or duplicate fields, for field validation Strict."""
    findings = [*unknown_field_warnings(unknown), *(f'duplicate field "{path}"' for path in duplicates)]
    listed = ", ".join(findings[:_MOST_FINDINGS])
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: strict decoding error: {listed}')


def unknown_field_warnings(unknown: Sequence[str]) -> list[str]:
    return [f'unknown field "{path}"' for path in unknown]


# Clean or not: compiled per type.

_COMPILED: dict[Type, Clean] = {}


def _clean(type_: Type) -> Clean:
    compiled = _COMPILED.get(type_)
    if compiled is None:
        compiled = _COMPILED[type_] = _COMPILERS.get(type_.sort, _compile_any)(type_)
    return compiled


def _compile_object(type_: Type) -> Clean:
    plain: dict[str, type] = {}
    checks: dict[str, Clean] = {}
    preserve = type_.preserve
    omitted = _omitted(type_)

    def clean(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for key, item in value.items():
            if not item and key in omitted and type(item) is omitted[key]:
                return False
            if type(item) is plain.get(key):
                continue
            check = checks.get(key)
            if check is None:
                if not preserve or key in plain:
                    return False
            elif not check(item):
                return False
        return True

    # Types may hold themselves: the function must be known before its fields are compiled.
    _COMPILED[type_] = clean
    for name, field in type_.fields.items():
        if field.sort in _PLAIN_TYPES:
            plain[name] = _PLAIN_TYPES[field.sort]
        else:
            checks[name] = _clean(field)
    return clean


@cache
def _omitted(type_: Type) -> dict[str, type]:
    """The fields that Kubernetes leaves out when they are zero, with the Python type of what they hold.

    That is what plain scalars do, and all lists and maps but those that must be there or are among the few exceptions.
    """
    short = type_.name.rpartition(".")[2]
    return {
        name: _NOTHINGS[field.sort]
        for name, field in type_.fields.items()
        if (name in type_.omits and field.sort in _NOTHINGS)
        or (
            field.sort in ("list", "map")
            and type_.name.startswith("io.k8s.")
            and name not in type_.required
            and f"{short}.{name}" not in _SHOWN_EMPTY
        )
    }


def _compile_map(type_: Type) -> Clean:
    if type_.items is None:
        return lambda value: type(value) is dict
    item_clean = _clean(type_.items)

    def clean(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for item in value.values():  # noqa: SIM110 - all() with a generator costs twice the time here
            if not item_clean(item):
                return False
        return True

    return clean


def _compile_list(type_: Type) -> Clean:
    if type_.items is None:
        return lambda value: type(value) is list
    item_clean = _clean(type_.items)

    def clean(value: Any) -> bool:
        if type(value) is not list:
            return False
        for item in value:  # noqa: SIM110 - all() with a generator costs twice the time here
            if not item_clean(item):
                return False
        return True

    return clean


def _compile_integer(type_: Type) -> Clean:
    low, high = _INT_RANGES.get(type_.format, _INT64)
    return lambda value: type(value) is int and low <= value <= high


def _compile_number(_: Type) -> Clean:
    return lambda value: type(value) in (int, float)


def _compile_text(rewrite: Callable[[str], str]) -> Callable[[Type], Clean]:
    def clean(value: Any) -> bool:
        try:
            return type(value) is str and rewrite(value) == value
        except ValueError:
            return False

    return lambda _: clean


def _compile_any(type_: Type) -> Clean:
    union = union_of(type_.name)
    if union is None:
        return lambda _: True
    schema_clean = _clean(union.schema)
    if union.items is None:
        return lambda value: value is None or type(value) is bool or schema_clean(value)
    item_clean = _clean(union.items)
    return lambda value: value is None or (all(map(item_clean, value)) if type(value) is list else schema_clean(value))


def _base64(text: str) -> str:
    """The text as standard base64 without line breaks; ValueError carries Go's words."""
    text = text.replace("\n", "").replace("\r", "")
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError(f"illegal base64 data at input byte {_first_illegal(text)}") from None
    return text


_BASE64_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def _first_illegal(text: str) -> int:
    body = text.rstrip("=")
    for index, character in enumerate(body):
        if character not in _BASE64_ALPHABET:
            return index
    # All letters are fine, so the last group is too short: it is what cannot be read.
    return len(text) if len(body) != len(text) else len(body) // 4 * 4


_PLAIN_TYPES: dict[str, type] = {"string": str, "boolean": bool, "duration": str}
#: Lists that are optional and shown all the same.
_SHOWN_EMPTY = frozenset(
    (
        "AllocatedDeviceStatus.conditions",
        "CSINodeDriver.topologyKeys",
        "ClusterRole.rules",
        "ContainerImage.names",
        "CustomResourceDefinitionStatus.conditions",
        "CustomResourceDefinitionStatus.storedVersions",
        "DeviceClaim.requests",
        "EndpointSlice.endpoints",
        "EndpointSlice.ports",
        "HorizontalPodAutoscalerStatus.currentMetrics",
        # An empty one means something: that the fields shall have no owners.
        "ObjectMeta.managedFields",
        "ProjectedVolumeSource.sources",
        "ResourcePolicyRule.namespaces",
        "Role.rules",
        "TokenRequestSpec.audiences",
    )
)
_NOTHINGS: dict[str, type] = {
    "string": str,
    "bytes": str,
    "boolean": bool,
    "integer": int,
    "list": list,
    "map": dict,
}
_COMPILERS: dict[str, Callable[[Type], Clean]] = {
    "object": _compile_object,
    "map": _compile_map,
    "list": _compile_list,
    "integer": _compile_integer,
    "number": _compile_number,
    "string": lambda _: lambda value: type(value) is str,
    "duration": lambda _: lambda value: type(value) is str,
    "boolean": lambda _: lambda value: type(value) is bool,
    "intorstring": lambda _: lambda value: type(value) is str or (type(value) is int and -(2**31) <= value < 2**31),
    "quantity": _compile_text(canonical),
    "time": _compile_text(rfc3339_time),
    "microtime": _compile_text(micro_time),
    "bytes": _compile_text(_base64),
}

# Everything else: a slow walk with paths.

_ZERO: dict[str, Callable[[], Any]] = {
    "object": dict,
    "string": str,
    "duration": str,
    "integer": int,
    "number": int,
    "boolean": bool,
    "quantity": lambda: "0",
    "bytes": str,
    "intorstring": int,
}
_REWRITES: dict[str, Callable[[str], str]] = {"time": rfc3339_time, "microtime": micro_time, "bytes": _base64}


class _Walk:
    """One object being made clean."""

    def __init__(self, kind: str, version: str) -> None:
        self.kind = kind
        self.version = version
        self.unknown: list[str] = []

    def object(self, value: Object, type_: Type, path: str, go_path: str) -> Object:
        result: Object = {}
        changed = False
        for key, item in value.items():
            field = type_.fields.get(key)
            if field is None and type_.preserve:
                result[key] = item
            elif field is None:
                self.unknown.append(f"{path}{key}")
                changed = True
            elif (item is None and not field.nullable and field.sort not in ("any", "fieldsv1")) or (
                not item and type(item) is _omitted(type_).get(key)
            ):
                changed = True
            elif _clean(field)(item):
                result[key] = item
            else:
                place = _Place(type_, key, f"{path}{key}", f"{go_path}{embedded_step(type_, key)}{key}")
                result[key] = new = self.value(item, field, place)
                changed = changed or new is not item
        return result if changed else value

    def value(self, value: Any, type_: Type, place: _Place) -> Any:
        if _clean(type_)(value):
            return value
        sort = type_.sort
        if sort == "object":
            self._expect(dict, value, type_, place)
            return self.object(value, type_, f"{place.path}.", f"{place.go_path}.")
        if sort == "list":
            self._expect(list, value, type_, place)
            return self._list(value, type_, place)
        if sort == "map":
            self._expect(dict, value, type_, place)
            return self._map(value, type_, place)
        union = union_of(type_.name)
        return self._scalar(value, type_, place) if union is None else self._union(value, union, place)

    def _union(self, value: Any, union: Union, place: _Place) -> Any:
        # What is unknown in here is lost without a word: Kubernetes' own decoder of these types does not look for it.
        walk = _Walk(self.kind, self.version)
        if type(value) is dict:
            return walk.object(value, union.schema, f"{place.path}.", f"{place.go_path}.")
        if union.items is None:
            self._refuse("boolean or JSON schema expected")
        if type(value) is list:
            return [walk._item(item, union.items, place) for item in value]
        return None

    def _list(self, value: list[Any], type_: Type, place: _Place) -> list[Any]:
        if type_.items is None:
            return value
        items = [self._item(item, type_.items, place.inside(f"[{index}]")) for index, item in enumerate(value)]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value

    def _map(self, value: Object, type_: Type, place: _Place) -> Object:
        if type_.items is None:
            return value
        items = {key: self._item(item, type_.items, place.inside(f".{key}")) for key, item in value.items()}
        return items if any(items[key] is not value[key] for key in value) else value

    def _item(self, value: Any, type_: Type, place: _Place) -> Any:
        if value is None and not type_.nullable and type_.sort in _ZERO:
            return _ZERO[type_.sort]()
        return self.value(value, type_, place)

    def _scalar(self, value: Any, type_: Type, place: _Place) -> Any:
        sort = type_.sort
        if sort == "quantity":
            return self._quantity(value)
        if sort in _REWRITES:
            self._expect(str, value, type_, place)
            try:
                new = _REWRITES[sort](value)
            except ValueError as problem:
                self._refuse(str(problem))
            return value if new == value else new
        if not _clean(type_)(value):
            self._mismatch(value, type_, place)
        return value

    def _quantity(self, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            self._refuse(_BAD_QUANTITY)
        try:
            new = canonical(str(value))
        except ValueError as problem:
            self._refuse(str(problem) if str(problem).startswith(("quantities", "unable")) else _BAD_QUANTITY)
        return value if new == value else new

    def _expect(self, wanted: type, value: Any, type_: Type, place: _Place) -> None:
        if type(value) is not wanted:
            self._mismatch(value, type_, place)

    def _mismatch(self, value: Any, type_: Type, place: _Place) -> NoReturn:
        wanted = go_type(type_, place.owner, place.field)
        found = _json_sort(value)
        if found == "number" and type_.sort in ("integer", "intorstring"):
            found = f"number {orjson.dumps(value).decode()}"
        struct = f"{struct_name(place.owner)}.{place.go_path}"
        self._refuse(f"json: cannot unmarshal {found} into Go struct field {struct} of type {wanted}")

    def _refuse(self, why: str) -> NoReturn:
        raise bad_request(f'{self.kind} in version "{self.version}" cannot be handled as a {self.kind}: {why}')


class _Place:
    """Where the walk is: the struct and field it came through, the path for users and the path of Go's decoder."""

    __slots__ = ("field", "go_path", "owner", "path")

    def __init__(self, owner: Type, field: str, path: str, go_path: str) -> None:
        self.owner = owner
        self.field = field
        self.path = path
        self.go_path = go_path

    def inside(self, step: str) -> _Place:
        """An item of the list or map that is here: Go's path does not change."""
        return _Place(self.owner, self.field, f"{self.path}{step}", self.go_path)


def _json_sort(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return "number"
    return "object" if isinstance(value, dict) else "array"
