"""Arguments of functions in templates: signatures, and how arguments are checked against them.

A *signature* is a text with one letter for each parameter: `s` string, `i` int, `f` float64, `b` bool, `m` map, `t`
time, `a` anything, `v` anything with its absence noted. A star behind the last says that it may come any number of
times. Go refuses an argument of another type, even where a person would see a number: an int64 is no int, and a
json.Number is no string.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.gotemplate.literals import Number
from ghostfleet.languages.gotemplate.values import MISSING, Float, Int, Quoted, TemplateError, type_name
from ghostfleet.languages.gotimes import Time

__all__ = ["Function", "as_function", "charged", "checked", "constant", "from_python", "made"]

_GO_NAMES = {"s": "string", "i": "int", "f": "float64", "b": "bool", "m": "map[string]interface {}", "t": "time.Time"}
_TYPES: dict[str, tuple[type, ...]] = {
    "s": (str, Quoted),
    "i": (Int,),
    "f": (Float,),
    "b": (bool,),
    "m": (dict,),
    "t": (Time,),
}
_ANNOTATIONS = {"str": "s", "int": "i", "float": "f", "bool": "b"}


@dataclass(frozen=True, slots=True)
class Function:
    """A function that templates can call."""

    name: str
    signature: str
    call: Callable[..., Any]

    @property
    def variadic(self) -> bool:
        return self.signature.endswith("*")

    @property
    def letters(self) -> str:
        return self.signature.removesuffix("*")

    def letter(self, place: int) -> str:
        """The type of a parameter; of one too many it does not matter."""
        return self.letters[min(place, len(self.letters) - 1)] if self.letters else "a"

    def misfit(self, count: int) -> str:
        """What is wrong with a number of arguments, or nothing."""
        least = len(self.letters) - self.variadic
        if count == least or (self.variadic and count > least):
            return ""
        wanted = f"at least {least}" if self.variadic else str(least)
        return f"wrong number of args for {self.name}: want {wanted} got {count}"


def as_function(name: str, signature: str, call: Callable[..., Any]) -> Function:
    return Function(name, signature, call)


def charged(name: str, signature: str, call: Callable[..., Any]) -> Function:
    """A function that is charged for the texts and lists that it is given, and for what it makes of them."""

    def run(*values: Any) -> Any:
        for value in values:
            if isinstance(value, str | list | dict):
                BUDGET.handle(len(value))
        made = call(*values)
        if isinstance(made, str | list | dict):
            BUDGET.handle(len(made))
        return made

    return Function(name, signature, run)


def from_python(name: str, call: Callable[..., Any]) -> Function:
    """A function that the caller gives, with the types that its annotations name."""
    try:
        parameters = list(inspect.signature(call).parameters.values())
    except (TypeError, ValueError):
        return Function(name, "a*", call)
    letters = ""
    for parameter in parameters:
        annotation = parameter.annotation
        named = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        letters += _ANNOTATIONS.get(named, "a")
        if parameter.kind is parameter.VAR_POSITIONAL:
            return Function(name, letters + "*", call)
    return Function(name, letters, call)


def checked(value: Any, letter: str) -> Any:
    """An argument as a parameter takes it."""
    if letter == "v":
        return value
    if value is None or value is MISSING:
        if letter == "a":
            return None
        if letter == "m":
            return {}
        raise TemplateError(f"invalid value; expected {_GO_NAMES[letter]}")
    if letter != "a" and type(value) not in _TYPES[letter]:
        raise TemplateError(f"wrong type for value; expected {_GO_NAMES[letter]}; got {type_name(value)}")
    return value


def constant(literal: Any, letter: str) -> Any:
    """A literal as a parameter takes it: a number takes the type that is asked for."""
    if isinstance(literal, Number):
        if letter == "i" and literal.integer is not None:
            return Int(literal.integer)
        if letter == "f":
            return Float(literal.float)
        if letter in "av":
            return literal.ideal
    elif letter in "av" or (letter == "s" and type(literal) is str) or (letter == "b" and type(literal) is bool):
        return literal
    raise TemplateError(f"expected {_GO_NAMES.get(letter, 'something else')}; found a literal")


def made(result: Any) -> Any:
    """What a function of the caller gave, as a value of templates."""
    kind = type(result)
    if kind is int:
        return Int(result)
    if kind is float:
        return Float(result)
    if kind is tuple:
        return list(result)
    return result
