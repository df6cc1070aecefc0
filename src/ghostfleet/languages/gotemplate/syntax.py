"""The parts that a Go template is made of.

A template is *text* with *actions* in it. An action is a *pipeline*: commands, each of which gets the value of the one
before it as its last argument. A *branch* encloses other parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Action", "Branch", "Command", "Invocation", "Leave", "Operand", "Part", "Pipeline", "Text"]


@dataclass(frozen=True, slots=True)
class Operand:
    """One word of a command: its sort, what it names or holds, and fields behind it."""

    sort: str
    value: Any = None
    fields: tuple[str, ...] = ()


Command = tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    commands: tuple[Command, ...]
    variables: tuple[str, ...] = ()
    assigns: bool = False
    #: where it stands, for messages: the line, and the whole action
    line: int = field(default=0, compare=False)
    action: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Action:
    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class Branch:
    """`if`, `with` or `range`."""

    sort: str
    pipeline: Pipeline
    body: tuple[Part, ...]
    otherwise: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Invocation:
    """`template`, which carries out another template."""

    name: str
    pipeline: Pipeline | None


@dataclass(frozen=True, slots=True)
class Leave:
    """`break` or `continue`."""

    sort: str


Part = Text | Action | Branch | Invocation | Leave
