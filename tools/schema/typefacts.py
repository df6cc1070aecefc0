"""The types that the served kinds are made of: facts of OpenAPI joined with the numbers of protobuf.

JSON shows some Go structs *inline*: their fields stand in the struct around them. Protobuf sends such a struct as a
message of its own, so a type names its inlines by field number, and each inline is a type too, though OpenAPI may not
know it. Whatever does not fit together is an error: wrong facts would be worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from documents import Fact, function_name, type_fact
from extras import EXTRA_SCHEMAS, UNION_FIELDS
from protos import Message, ProtoField

__all__ = ["Types"]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
#: JSON sorts that a protobuf scalar may stand for.
_WIRE = {
    "string": {"string"},
    "bool": {"boolean"},
    "bytes": {"bytes"},
    "int32": {"integer/int32"},
    "int64": {"integer/int64"},
    "double": {"number/double"},
}


class Types:
    """Collects the facts of all types that the added kinds need."""

    def __init__(
        self,
        schemas: dict[str, Any],
        messages: dict[str, Message],
        enums: dict[str, dict[str, tuple[bool, list[str]]]],
    ) -> None:
        self.facts: dict[str, Fact] = {}
        self._schemas = schemas | EXTRA_SCHEMAS
        self._messages = messages
        self._enums = enums
        self._by_kind = {
            (kind["group"], kind["version"], kind["kind"]): name
            for name, schema in self._schemas.items()
            for kind in schema.get("x-kubernetes-group-version-kind", ())
        }

    def add_kinds_of(self, resource: dict[str, Any]) -> None:
        """The kind of a resource in all its versions, its list, and what its subresources take."""
        for version in resource["versions"]:
            self._add(self._by_kind[resource["group"], version, resource["kind"]])
            if "list" in resource["verbs"]:
                self._add(self._by_kind[resource["group"], version, resource["kind"] + "List"])
        for group, version, kind, _ in resource.get("subresources", {}).values():
            self._add(self._by_kind[group, version, kind])

    def add_meta_kinds(self, kinds: Iterable[str]) -> None:
        for kind in kinds:
            self._add(_META + kind)
        for name in EXTRA_SCHEMAS:
            self._add(name)

    def close(self) -> None:
        """Join with protobuf, once all kinds are there."""
        for name in list(self.facts):
            self._join(name)

    def mark_omissions(self, omissions: dict[str, set[str]]) -> None:
        """Say of scalar fields, and of required lists and maps, whether they are left out when they are zero."""
        for name, fact in self.facts.items():
            required = fact.get("required", ())
            for field in self._omitted(name, omissions) & fact.get("fields", {}).keys():
                about = fact["fields"][field]
                if "sort" in about or (field in required and about.keys() & {"list", "map"}):
                    about["omitempty"] = True

    def _omitted(self, name: str, omissions: dict[str, set[str]]) -> set[str]:
        inlines = self.facts[name].get("inlines", {}).values()
        return omissions.get(name, set()).union(*(self._omitted(inline, omissions) for inline in inlines))

    def _add(self, name: str) -> None:
        if name in self.facts:
            return
        fact = self.facts[name] = type_fact(name, self._schemas[name])
        if name in UNION_FIELDS:
            fact["fields"] = UNION_FIELDS[name]
        for field, (of_items, words) in self._enums.get(function_name(name), {}).items():
            target = fact["fields"][field]
            if of_items:
                target = target["list"] if "list" in target else target["map"]
            target["enum"] = words
        for child in fact.get("fields", {}).values():
            self._follow(child)

    def _follow(self, fact: Fact) -> None:
        if "ref" in fact:
            self._add(fact["ref"])
        for nested in ("list", "map"):
            if nested in fact:
                self._follow(fact[nested])

    def _join(self, name: str) -> None:
        """Put a type's fields in declared order, with their numbers and its inlines."""
        fact = self.facts[name]
        message = self._messages.get(_message_name(name))
        if "fields" not in fact:
            return
        if message is None:
            raise SystemExit(f"{name}: no protobuf message")
        known = fact["fields"]
        head = {field: known[field] for field in ("kind", "apiVersion") if field in known and not _has(message, field)}
        fact["fields"] = head | self._arranged(name, message, known, fact)
        if missing := known.keys() - fact["fields"].keys():
            raise SystemExit(f"{name}: not in protobuf: {sorted(missing)}")

    def _arranged(self, name: str, message: Message, known: dict[str, Fact], owner: Fact) -> dict[str, Fact]:
        arranged: dict[str, Fact] = {}
        for proto in message.fields:
            field = _json_name(proto.name, known)
            if field is not None:
                arranged[field] = {"number": proto.number} | self._checked(f"{name}.{field}", proto, known[field])
            else:
                inline = self._inline(name, proto, known)
                owner.setdefault("inlines", {})[str(proto.number)] = inline
                arranged |= {field: known[field] for field in self.facts[inline]["fields"]}
        return arranged

    def _inline(self, owner: str, proto: ProtoField, known: dict[str, Fact]) -> str:
        """The type of a message whose fields stand in the object around it."""
        message = self._messages.get(proto.type)
        if message is None:
            raise SystemExit(f"{owner}: what is protobuf's {proto.name}?")
        name = _type_name(proto.type)
        if name not in self.facts:
            # Fields are copied: a number belongs to the message, not to the object that shows it.
            fact: Fact = {"inline": True}
            self.facts[name] = fact
            fact["fields"] = self._arranged(name, message, {key: dict(value) for key, value in known.items()}, fact)
        elif "number" not in next(iter(self.facts[name]["fields"].values())):
            self._join(name)
        return name

    def _checked(self, where: str, proto: ProtoField, fact: Fact) -> Fact:
        """The fact of a field, once protobuf agrees with it on what the field holds."""
        inner = fact
        if proto.label != "optional":
            nested = {"repeated": "list", "map": "map"}[proto.label]
            if nested not in fact:
                raise SystemExit(f"{where}: protobuf says {proto.label}, OpenAPI {fact}")
            inner = fact[nested]
        message = self._messages.get(proto.type)
        if message is None:
            if _wire_sort(inner) not in _WIRE[proto.type]:
                raise SystemExit(f"{where}: protobuf says {proto.type}, OpenAPI {inner}")
        elif "list" in inner and [field.name for field in message.fields] == ["items"]:
            inner["wrapped"] = True
        elif inner.get("ref") != _type_name(proto.type):
            raise SystemExit(f"{where}: protobuf says {proto.type}, OpenAPI {inner}")
        return fact


def _wire_sort(fact: Fact) -> str:
    sort = fact.get("sort", "")
    return f"{sort}/{fact.get('format', '')}" if sort in ("integer", "number") else str(sort)


def _has(message: Message, name: str) -> bool:
    return any(field.name == name for field in message.fields)


def _message_name(name: str) -> str:
    return "k8s.io." + name.removeprefix("io.k8s.").replace("-", "_")


def _type_name(message: str) -> str:
    return "io.k8s." + message.removeprefix("k8s.io.").replace("apiextensions_apiserver", "apiextensions-apiserver")


def _json_name(name: str, known: dict[str, Fact]) -> str | None:
    """JSON's name of a protobuf field, if JSON shows it."""
    dashed = re.sub(r"([A-Z])", lambda match: "-" + match[1].lower(), name)
    alike = (field for field in known if field.lower() == name.lower())
    return next((candidate for candidate in (name, dashed, f"${name}", *alike) if candidate in known), None)
