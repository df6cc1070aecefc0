"""Scopes: what the names in a jq program mean at a place, known when it is compiled.

Variables and filters given as parameters are *slots* of the environment; a name is found by how many slots lie between.
A function keeps the depth of the environment at its definition, so that a call can go back to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ghostfleet.languages.jq.codes import Code, Environment, identity, one

__all__ = ["CLOCK", "Function", "Scope", "root_scope", "slot_value", "up"]

#: the slot of the environment that holds the time
CLOCK = "$%now"


@dataclass(eq=False, slots=True)
class Function:
    """A definition: its parameters, the depth it was made at, and its code once that is compiled."""

    parameters: tuple[str, ...]
    depth: int
    code: Code = field(default_factory=lambda: identity)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a name means, and where to look if it is not this one."""

    name: str
    sort: str
    depth: int
    outer: Scope | None = None
    function: Function | None = None

    def slot(self, name: str, sort: str) -> Scope:
        return Scope(name, sort, self.depth + 1, self)

    def find(self, name: str, arity: int) -> Scope | None:
        scope: Scope | None = self
        while scope is not None:
            takes = len(scope.function.parameters) if scope.function else 0
            if scope.name == name and takes == arity:
                return scope
            scope = scope.outer
        return None


def root_scope() -> Scope:
    """What is known outside of everything."""
    return Scope(CLOCK, "variable", 1)


def up(levels: int) -> Callable[[Environment], Environment]:
    """Goes that many slots outwards."""

    def outer(environment: Environment) -> Environment:
        for _ in range(levels):
            environment = environment[1]
        return environment

    return outer


def slot_value(levels: int) -> Code:
    """The value of a variable, that many slots outwards."""
    if levels == 0:
        return one(lambda environment, _: environment[0])
    if levels == 1:
        return one(lambda environment, _: environment[1][0])
    outer = up(levels)
    return one(lambda environment, _: outer(environment)[0])
