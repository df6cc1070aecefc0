"""Compiles a CEL expression to a function.

Names are variables, looked up by their *slot* in the scope, or the names of types. The slot 0 holds the time.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.languages.cel.forms import FORMS, Compiled, Scope, overloaded
from ghostfleet.languages.cel.functions import FUNCTIONS, MEMBERS
from ghostfleet.languages.cel.macros import MACROS, macro
from ghostfleet.languages.cel.objects import Resources, Struct
from ghostfleet.languages.cel.parser import Call, Field, Literal, Name, Node
from ghostfleet.languages.cel.values import CelError, Timestamp, TypeName, no_overload, type_name
from ghostfleet.languages.errors import Unsupported

__all__ = ["CLOCK", "Names", "compile_node"]

#: the slot that holds the time
CLOCK = 0
_TYPES = frozenset(("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type"))
_MESSAGES = frozenset(("google.protobuf.Timestamp", "google.protobuf.Duration"))


class Names:
    """The variables that are known at a place, by slot."""

    __slots__ = ("names",)

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def slot(self, name: str) -> int | None:
        for place in range(len(self.names) - 1, CLOCK, -1):
            if self.names[place] == name:
                return place
        return None

    def with_one(self, name: str) -> Names:
        return Names([*self.names, name])


def compile_node(node: Node, names: Names) -> Compiled:
    match node:
        case Literal(value):
            return Compiled(lambda _: value, type(value))
        case Name(name):
            return _name(name, names)
        case Field():
            return _field(node, names)
        case Call(function, arguments, None):
            if function in FORMS:
                return FORMS[function](*(compile_node(argument, names) for argument in arguments))
            return _function(function, arguments, names)
        case Call():
            return _member(node, names)


def _name(name: str, names: Names) -> Compiled:
    slot = names.slot(name)
    if slot is not None:
        return Compiled(lambda scope: scope[slot])
    if name in _TYPES:
        return _type(name)
    raise Unsupported(f"undeclared reference to {name!r}")


def _type(name: str) -> Compiled:
    named = TypeName(name)
    return Compiled(lambda _: named, TypeName)


def _field(node: Field, names: Names) -> Compiled:
    dotted = _dotted(node)
    if dotted in _MESSAGES:
        return _type(dotted)
    inner = compile_node(node.target, names)
    name, value_of = node.name, inner.value
    if inner.kind not in (None, dict):
        raise Unsupported(f"no field {name!r} in a value that is no object")

    def select(scope: Scope) -> Any:
        value = value_of(scope)
        if type(value) is dict:
            if name in value:
                return value[name]
            raise CelError(f"no such key: {name}")
        if type(value) is Struct:
            return value.field(name)
        if type(value) is Resources:
            return value.get(name)
        raise CelError(f"no such overload: a value of type {type_name(value)} has no field {name!r}")

    return Compiled(select)


def _dotted(node: Node) -> str:
    if isinstance(node, Field):
        before = _dotted(node.target)
        return f"{before}.{node.name}" if before else ""
    return node.name if isinstance(node, Name) else ""


def _function(name: str, arguments: tuple[Node, ...], names: Names) -> Compiled:
    if name == "has" and len(arguments) == 1:
        return _has(arguments[0], names)
    parts = [compile_node(argument, names) for argument in arguments]
    if name == "Now" and not parts:
        return Compiled(lambda scope: Timestamp(scope[CLOCK] * 1000), Timestamp)
    if len(parts) == 1 and name in ("type", "dyn", "SinceSecond"):
        return _of_anything(name, parts[0])
    if name not in FUNCTIONS:
        raise Unsupported(f"undeclared reference to {name!r}: no such function")
    return overloaded(name, FUNCTIONS[name], parts)


def _member(node: Call, names: Names) -> Compiled:
    name = node.function
    assert node.target is not None
    target = compile_node(node.target, names)
    if name in MACROS:
        return _macro(node, target, names)
    if name == "SinceSecond" and not node.arguments:
        return _since(target)
    if name not in MEMBERS:
        raise Unsupported(f"undeclared reference to {name!r}: no such method")
    return overloaded(name, MEMBERS[name], [target, *(compile_node(part, names) for part in node.arguments)])


def _macro(node: Call, target: Compiled, names: Names) -> Compiled:
    most = 3 if node.function == "map" else 2
    if not 2 <= len(node.arguments) <= most or not isinstance(node.arguments[0], Name):
        raise Unsupported(f"{node.function}() takes the name of a variable and {most - 1} or less expressions")
    inner = names.with_one(node.arguments[0].name)
    return macro(node.function, target, [compile_node(part, inner) for part in node.arguments[1:]])


def _of_anything(name: str, part: Compiled) -> Compiled:
    value_of = part.value
    if name == "type":
        return Compiled(lambda scope: TypeName(type_name(value_of(scope))), TypeName)
    return Compiled(value_of) if name == "dyn" else _since(part)


def _since(part: Compiled) -> Compiled:
    """KWOK's SinceSecond: the age of a pod or node, in seconds."""
    if part.kind is not None:
        raise Unsupported("SinceSecond takes a pod or a node")

    def age(scope: Scope) -> float:
        value = part.value(scope)
        if type(value) is not Struct:
            raise no_overload("SinceSecond", value)
        created: Timestamp = value.field("metadata").field("creationTimestamp")
        return float(scope[CLOCK] * 1000 - created.since_epoch) / 1e9

    return Compiled(age, float)


def _has(node: Node, names: Names) -> Compiled:
    if not isinstance(node, Field):
        raise Unsupported("has() takes a field")
    value_of, name = compile_node(node.target, names).value, node.name

    def has(scope: Scope) -> bool:
        value = value_of(scope)
        if type(value) is dict or type(value) is Resources:
            return name in value
        if type(value) is Struct:
            return value.has(name)
        if type(value) is list:
            raise no_overload("has", value)
        return False

    return Compiled(has, bool)
