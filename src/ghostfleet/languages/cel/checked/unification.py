"""Which types go together, and what type parameters stand for then.

A `Mapping` holds what is known of type parameters. To ask whether one type is *assignable* to another may teach it
more; if the answer is no, it is as before. The rules are cel-go's: `dyn` goes with everything, null with everything
that is not a primitive or a container, and of two types that go together the *more general* one is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from ghostfleet.languages.cel.checked.types import DYN, Type

__all__ = ["Mapping"]

_NULLABLE = ("opaque", "struct", "any", "duration", "timestamp")
_COMPOSED = ("opaque", "list", "map", "type")


class Mapping:
    """What type parameters stand for."""

    def __init__(self) -> None:
        self._known: dict[str, Type] = {}
        self._count = 0

    def fresh(self) -> Type:
        """A type parameter that nothing is known of."""
        self._count += 1
        return Type("param", f"_var{self._count - 1}")

    def instance(self, types: Sequence[Type]) -> list[Type]:
        """Types of a declaration, with parameters of their own."""
        names: dict[str, Type] = {}
        return [self._renamed(each, names) for each in types]

    def _renamed(self, type_: Type, names: dict[str, Type]) -> Type:
        if type_.kind == "param":
            if type_.name not in names:
                names[type_.name] = self.fresh()
            return names[type_.name]
        if not type_.parameters:
            return type_
        return Type(type_.kind, type_.name, tuple(self._renamed(each, names) for each in type_.parameters))

    def substitute(self, type_: Type, *, closed: bool = False) -> Type:
        """The type with what is known put in; parameters that stay open become dyn if it is to be `closed`."""
        if type_.kind == "param":
            known = self._known.get(type_.name)
            if known is not None:
                return self.substitute(known, closed=closed)
            return DYN if closed else type_
        if not type_.parameters:
            return type_
        parameters = tuple(self.substitute(each, closed=closed) for each in type_.parameters)
        return Type(type_.kind, type_.name, parameters)

    def assign(self, one: Type, other: Type) -> bool:
        return self.assign_all((one,), (other,))

    def assign_all(self, ones: Sequence[Type], others: Sequence[Type]) -> bool:
        """Whether types are assignable, one by one."""
        before = dict(self._known)
        if self._all(ones, others):
            return True
        self._known = before
        return False

    def _all(self, ones: Sequence[Type], others: Sequence[Type]) -> bool:
        return len(ones) == len(others) and all(map(self._fits, ones, others))

    def _fits(self, one: Type, other: Type) -> bool:
        if other.kind == "param":
            fits, bound = self._binds(one, other)
            if fits or bound:
                return fits
        if one.kind == "param":
            return self._binds(other, one)[0]
        if one.is_dyn or other.is_dyn or "error" in (one.kind, other.kind):
            return True
        if "null" in (one.kind, other.kind):
            return one.kind == other.kind or (other if one.kind == "null" else one).kind in _NULLABLE
        if one.kind == "type":
            return other.kind == "type"
        if one.kind in _COMPOSED:
            return one.kind == other.kind and one.name == other.name and self._all(one.parameters, other.parameters)
        return one == other

    def _binds(self, one: Type, parameter: Type) -> tuple[bool, bool]:
        """Whether a parameter can stand for a type, and whether it stands for something already."""
        if one == parameter:
            return True, True
        known = self._known.get(parameter.name)
        if known is not None:
            if one == known:
                return True, True
            if not self._fits(one, known):
                return False, True
            general = more_general(one, known)
            if not self._occurs(parameter, general):
                self._known[parameter.name] = general
            return True, True
        if self._occurs(parameter, one):
            return False, False
        self._known[parameter.name] = one
        return True, False

    def _occurs(self, parameter: Type, within: Type) -> bool:
        if within == parameter:
            return True
        if within.kind == "param":
            known = self._known.get(within.name)
            return known is not None and self._occurs(parameter, known)
        return any(self._occurs(parameter, each) for each in within.parameters)


def more_general(one: Type, other: Type) -> Type:
    """The less specific of two types that go together."""
    return one if _covers(one, other) else other


def _covers(one: Type, other: Type) -> bool:
    if one.is_dyn or one.kind == "param":
        return True
    if other.is_dyn or other.kind == "param" or one.kind != other.kind:
        return False
    if one.kind == "type":
        return True
    if one.kind in _COMPOSED:
        same = one.name == other.name and len(one.parameters) == len(other.parameters)
        return same and all(map(_covers, one.parameters, other.parameters))
    return one == other
