"""The shape of an object: its JSON types, its known fields and the canonical form of its values.

`normalise` returns an object that is *clean* (see `cleanness`) as it is. Of any other it makes one that is: unknown
fields and nulls go, quantities and times are rewritten; a value of the wrong type is an error, told in the words of
Kubernetes' decoder. What becomes of the unknown fields (an error, a warning, nothing) is the caller's choice, by the
request's field validation. Only an object that is not clean is walked, slowly and with paths.

The decoder complains of `json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool`. The
*struct* is the one that declares the field, the path is dotted and has no list indices, and a struct *embedded* in
another shows up in the path by its own name although JSON has no such level. Schemas do not keep Go's names of string
and map types, so the ones that users meet are listed here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import orjson

from ghostfleet.api.validation.cleanness import (
    Union,
    base64_text,
    cleanness,
    micro_time,
    omitted,
    rfc3339_time,
    union_of,
)
from ghostfleet.core.errors import ApiError, bad_request
from ghostfleet.core.quantity import canonical
from ghostfleet.core.schema import Type

__all__ = ["PERSISTENT_VOLUME_FIELDS", "normalise", "strict_error", "unknown_field_warnings"]

Object = dict[str, Any]

_BAD_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
#: Kubernetes stops listing findings here.
_MOST_FINDINGS = 100
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
_REWRITES: dict[str, Callable[[str], str]] = {"time": rfc3339_time, "microtime": micro_time, "bytes": base64_text}
_VOLUME_SOURCE_STRUCTS = {"Volume": "VolumeSource", "PersistentVolumeSpec": "PersistentVolumeSource"}
#: Fields of a persistent volume that are not those of its source.
PERSISTENT_VOLUME_FIELDS = {
    "capacity",
    "accessModes",
    "claimRef",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "mountOptions",
    "volumeMode",
    "nodeAffinity",
    "volumeAttributesClassName",
}
_OWN_FIELDS = {
    "Volume": {"name"},
    "PersistentVolumeSpec": PERSISTENT_VOLUME_FIELDS,
    "EphemeralContainer": {"targetContainerName"},
}
_EMBEDDED_BY_FIELD = {
    **{("Probe", handler): "ProbeHandler" for handler in ("exec", "httpGet", "tcpSocket", "grpc")},
    **{
        (struct, "name"): "LocalObjectReference"
        for struct in (
            "ConfigMapEnvSource",
            "ConfigMapKeySelector",
            "ConfigMapProjection",
            "ConfigMapVolumeSource",
            "SecretEnvSource",
            "SecretKeySelector",
            "SecretProjection",
        )
    },
    ("IngressRule", "http"): "IngressRuleValue",
}
_NAMED_STRINGS = {
    ("Container", "imagePullPolicy"): "v1.PullPolicy",
    ("Container", "restartPolicy"): "v1.ContainerRestartPolicy",
    ("Container", "terminationMessagePolicy"): "v1.TerminationMessagePolicy",
    ("ContainerPort", "protocol"): "v1.Protocol",
    ("CronJobSpec", "concurrencyPolicy"): "v1.ConcurrencyPolicy",
    ("DeploymentStrategy", "type"): "v1.DeploymentStrategyType",
    ("HTTPGetAction", "scheme"): "v1.URIScheme",
    ("JobSpec", "completionMode"): "v1.CompletionMode",
    ("LabelSelectorRequirement", "operator"): "v1.LabelSelectorOperator",
    ("NodeSelectorRequirement", "operator"): "v1.NodeSelectorOperator",
    ("ObjectMeta", "uid"): "types.UID",
    ("OwnerReference", "uid"): "types.UID",
    ("PersistentVolumeClaimSpec", "volumeMode"): "v1.PersistentVolumeMode",
    ("PodSpec", "dnsPolicy"): "v1.DNSPolicy",
    ("PodSpec", "preemptionPolicy"): "v1.PreemptionPolicy",
    ("PodSpec", "restartPolicy"): "v1.RestartPolicy",
    ("PodStatus", "phase"): "v1.PodPhase",
    ("PriorityClass", "preemptionPolicy"): "v1.PreemptionPolicy",
    ("Secret", "type"): "v1.SecretType",
    ("ServicePort", "protocol"): "v1.Protocol",
    ("ServiceSpec", "type"): "v1.ServiceType",
    ("ServiceSpec", "sessionAffinity"): "v1.ServiceAffinity",
    ("Taint", "effect"): "v1.TaintEffect",
    ("Toleration", "effect"): "v1.TaintEffect",
    ("Toleration", "operator"): "v1.TolerationOperator",
    ("TopologySpreadConstraint", "whenUnsatisfiable"): "v1.UnsatisfiableConstraintAction",
}
_SCALARS = {
    "string": "string",
    "boolean": "bool",
    "number": "float64",
    "bytes": "[]uint8",
    "time": "string",
    "microtime": "string",
    "duration": "string",
    "intorstring": "int32",
}


def normalise(obj: Object, type_: Type, *, kind: str, version: str) -> tuple[Object, list[str]]:
    """The clean form of an object of a built-in kind, and the paths of the unknown fields that it lost."""
    metadata = obj.get("metadata")
    if type(metadata) is dict and metadata.get("creationTimestamp", "") is None:
        obj = {**obj, "metadata": {key: value for key, value in metadata.items() if key != "creationTimestamp"}}
    if cleanness(type_)(obj):
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
                not item and type(item) is omitted(type_).get(key)
            ):
                changed = True
            elif cleanness(field)(item):
                result[key] = item
            else:
                place = _Place(type_, key, f"{path}{key}", f"{go_path}{_embedded_step(type_, key)}{key}")
                result[key] = new = self.value(item, field, place)
                changed = changed or new is not item
        return result if changed else value

    def value(self, value: Any, type_: Type, place: _Place) -> Any:
        if cleanness(type_)(value):
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
        if not cleanness(type_)(value):
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
        wanted = _go_type(type_, place.owner, place.field)
        found = _json_sort(value)
        if found == "number" and type_.sort in ("integer", "intorstring"):
            found = f"number {orjson.dumps(value).decode()}"
        struct = f"{_struct_name(place.owner)}.{place.go_path}"
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


def _struct_name(type_: Type) -> str:
    """`PodSpec` of `io.k8s.api.core.v1.PodSpec`."""
    return type_.name.rpartition(".")[2]


def _embedded_step(type_: Type, field: str) -> str:
    """Name of the embedded struct that holds this field of the type, with a dot after it; empty if there is none."""
    struct = _struct_name(type_)
    embedded = _EMBEDDED_BY_FIELD.get((struct, field), "")
    if not embedded and struct in _OWN_FIELDS and field not in _OWN_FIELDS[struct]:
        embedded = _VOLUME_SOURCE_STRUCTS.get(struct, "EphemeralContainerCommon")
    return f"{embedded}." if embedded else ""


def _go_type(type_: Type, owner: Type | None = None, field: str = "") -> str:
    """Go's name of the type of a field (of the struct `owner`)."""
    if type_.sort == "object":
        package, _, struct = type_.name.rpartition(".")
        return f"{package.rpartition('.')[2]}.{struct}"
    if type_.sort == "list" and type_.items is not None:
        return f"[]{_go_type(type_.items)}"
    if type_.sort == "map" and type_.items is not None:
        return "v1.ResourceList" if type_.items.sort == "quantity" else f"map[string]{_go_type(type_.items)}"
    if type_.sort == "integer":
        return type_.format or "int64"
    if type_.sort == "string" and owner is not None:
        return _NAMED_STRINGS.get((_struct_name(owner), field), "string")
    return _SCALARS.get(type_.sort, "interface {}")
