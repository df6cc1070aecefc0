"""Functions that templates call: how arguments are checked, and the ones that every template has.

A *signature* is a text with one letter for each parameter: `s` string, `i` int, `f` float64, `b` bool, `m` map, `t`
time, `a` anything, `v` anything with its absence noted. A star behind the last says that it may come any number of
times. Go refuses an argument of another type, even where a person would see a number: an int64 is no int, and a
json.Number is no string.

The built-in functions are those of Go and those that KWOK adds for all templates. `and` and `or` are not among them:
they look at no more arguments than they need, and are compiled.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote_plus

from ghostfleet.core.errors import shortened
from ghostfleet.core.yamltext import emit
from ghostfleet.languages.budget import BUDGET, CHUNK
from ghostfleet.languages.gotemplate.fmt import printed, sprint, sprintf, sprintln
from ghostfleet.languages.gotemplate.literals import Number
from ghostfleet.languages.gotemplate.values import (
    MISSING,
    Float,
    Int,
    Quoted,
    TemplateError,
    is_data_number,
    is_true,
    kind_of,
    number_text,
    type_name,
    unsized,
)
from ghostfleet.languages.gotimes import Time
from ghostfleet.languages.govalues import json_text, quote

__all__ = ["BUILTINS", "Function", "charged", "checked", "constant", "from_python", "items", "made"]

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
_HTML = str.maketrans({'"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;", "\0": "\ufffd"})
_SCRIPT = {"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D"}
#: YAML takes a quoted text of up to 1024 characters for a key, if need be; longer ones are left as plain text.
_MOST_QUOTED = 900
#: these work on no more than they name
_LIGHT = frozenset(("index", "len", "not", "eq", "ne", "lt", "le", "gt", "ge", "Quote", "NodeConditions"))


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


def _as_function(name: str, signature: str, call: Callable[..., Any]) -> Function:
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


def _place(index: Any, size: int) -> int:
    if kind_of(index) != "int":
        kind = "nil" if kind_of(index) == "invalid" else f"type {type_name(index)}"
        raise TemplateError(f"cannot index slice/array with {kind}")
    if not 0 <= index <= size:
        raise TemplateError(f"index out of range: {index}")
    return int(index)


def _index_of(item: Any, *indexes: Any) -> Any:
    """`index x 1 "a"`: x[1]["a"]."""
    if item is None or item is MISSING:
        raise TemplateError("index of untyped nil")
    for index in indexes:
        kind = type(item)
        if kind is dict:
            if not isinstance(index, str) or is_data_number(index):
                raise TemplateError(f"value has type {type_name(index)}; should be string")
            item = item.get(index)
        elif kind is list or isinstance(item, str):
            if kind is not list:
                BUDGET.handle(len(item))
            whole = item if kind is list else number_text(item).encode()
            place = _place(index, len(whole))
            if place == len(whole):
                raise TemplateError("reflect: slice index out of range")
            item = whole[place] if kind is list else Int(whole[place])
        elif item is None:
            raise TemplateError("index of nil pointer")
        else:
            raise TemplateError(f"can't index item of type {type_name(item)}")
    return item


def items(value: Any, variables: int) -> tuple[int, Iterable[tuple[Any, Any]]]:
    """What a range goes through: how many pairs of index or key and element, and these one by one."""
    if type(value) is list:
        BUDGET.step(len(value) // 8)
        return len(value), [(Int(place), element) for place, element in enumerate(value)]
    if type(value) is dict:
        BUDGET.step(len(value))
        return len(value), [(key, value[key]) for key in sorted(value)]
    if isinstance(value, Int):
        if variables > 1:
            raise TemplateError(f"can't use {value} to iterate over more than one variable")
        return max(0, value), ((MISSING, type(value)(number)) for number in range(value))
    if value is MISSING or value is None:
        return 0, ()
    raise TemplateError(f"range can't iterate over {shortened(printed(value))}")


def length_of(item: Any) -> Int:
    kind = kind_of(item)
    if kind in ("slice", "map"):
        return Int(len(item))
    if kind == "string":
        text = number_text(item)
        BUDGET.handle(len(text))
        return Int(len(text.encode()))
    raise TemplateError(f"len of type {type_name(item)}")


def equal(first: Any, *others: Any) -> bool:
    """Whether the first is equal to any of the others; values of different kinds cannot be compared."""
    if not others:
        raise TemplateError("missing argument for comparison")
    return any(_equal(first, other) for other in others)


def _equal(first: Any, other: Any) -> bool:
    if type(first) is str:
        BUDGET.handle(len(first))
    kind, other_kind = kind_of(first), kind_of(other)
    if kind == "invalid" or other_kind == "invalid":
        return kind == other_kind
    if kind in ("slice", "map", "struct"):
        if kind != other_kind or kind != "struct":
            raise TemplateError(f"incompatible types for comparison: {type_name(first)} and {type_name(other)}")
        return bool(first == other)
    if kind != other_kind:
        raise TemplateError(f"incompatible types for comparison: {type_name(first)} and {type_name(other)}")
    return number_text(first) == number_text(other) if kind == "string" else bool(first == other)


def less(first: Any, other: Any) -> bool:
    kind, other_kind = kind_of(first), kind_of(other)
    if kind not in ("int", "float", "string") or other_kind not in ("int", "float", "string", "bool"):
        raise TemplateError("invalid type for comparison")
    if kind != other_kind:
        raise TemplateError(f"incompatible types for comparison: {type_name(first)} and {type_name(other)}")
    if kind == "string":
        text = number_text(first)
        BUDGET.handle(len(text))
        return text.encode() < number_text(other).encode()
    return bool(first < other)


def less_or_equal(first: Any, other: Any) -> bool:
    return less(first, other) or equal(first, other)


def _plain(values: tuple[Any, ...]) -> str:
    """Arguments as the escaping functions print them."""
    if len(values) == 1 and type(values[0]) is str:
        return values[0]
    return sprint(["<no value>" if value is None else value for value in values])


def _script(text: str) -> str:
    BUDGET.step(len(text) // 8)
    return "".join(_SCRIPT.get(one) or (one if one.isprintable() else f"\\u{ord(one):04X}") for one in text)


@lru_cache(maxsize=4096)
def _quoted_text(value: str) -> str:
    text = json_text(value)
    if not (value.isascii() and value.isprintable()):
        return text
    made = Quoted(text)
    made.value = value
    return made


def _quoted(value: Any) -> str:
    """KWOK's Quote: a JSON text, in quotes whatever the value is."""
    if type(value) is str:
        if len(value) < CHUNK:
            return _quoted_text(value)
        BUDGET.handle(len(value))
        return _quoted_text(value) if len(value) <= _MOST_QUOTED else json_text(value)
    text = json_text(unsized(value) if not is_data_number(value) else value)
    return text if text[0] == '"' else quote(text)


def as_yaml(value: Any, *indent: Any) -> str:
    """KWOK's YAML: the value as YAML, and with an indent on lines of its own, so many levels in."""
    before = BUDGET.steps
    plain = unsized(value)
    # Writing YAML takes ten times as long as going through the value.
    BUDGET.step(10 * (BUDGET.steps - before))
    text = emit(plain)
    BUDGET.handle(len(text))
    if len(indent) == 1 and indent[0] > 0:
        BUDGET.handle((text.count("\n") + 1) * indent[0] * 2)
        return f"\n{text}".replace("\n", "\n" + " " * (indent[0] * 2))
    return text


def node_conditions() -> list[dict[str, Any]]:
    """The conditions of a healthy node."""
    rows = (
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
    )
    return [
        {
            "type": sort,
            "status": status,
            "lastHeartbeatTime": None,
            "lastTransitionTime": None,
            "reason": reason,
            "message": message,
        }
        for sort, status, reason, message in rows
    ]


BUILTINS: dict[str, Function] = {
    name: (_as_function if name in _LIGHT else charged)(name, signature, call)
    for name, signature, call in (
        ("html", "a*", lambda *values: _plain(values).translate(_HTML)),
        ("js", "a*", lambda *values: _script(_plain(values))),
        ("urlquery", "a*", lambda *values: quote_plus(_plain(values), safe="-_.~")),
        ("index", "vv*", _index_of),
        ("len", "v", length_of),
        ("not", "v", lambda value: not is_true(value)),
        ("print", "a*", lambda *values: sprint(list(values))),
        ("printf", "sa*", lambda format, *values: sprintf(format, list(values))),
        ("println", "a*", lambda *values: sprintln(list(values))),
        ("eq", "vv*", equal),
        ("ne", "vv", lambda first, other: not equal(first, other)),
        ("lt", "vv", less),
        ("le", "vv", less_or_equal),
        ("gt", "vv", lambda first, other: not less_or_equal(first, other)),
        ("ge", "vv", lambda first, other: not less(first, other)),
        ("Quote", "a", _quoted),
        ("YAML", "ai*", as_yaml),
        ("NodeConditions", "", node_conditions),
    )
}
