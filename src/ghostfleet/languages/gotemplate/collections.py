"""The functions that templates get from the library sprig for lists, dictionaries, defaults and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.gotemplate.fmt import printed
from ghostfleet.languages.gotemplate.functions import Function, charged
from ghostfleet.languages.gotemplate.numbers import to_int
from ghostfleet.languages.gotemplate.values import (
    Float,
    TemplateError,
    is_data_number,
    is_true,
    kind_of,
    number_text,
    unsized,
)
from ghostfleet.languages.govalues import json_text

__all__ = ["COLLECTIONS", "MUTATING"]

#: functions that change a dictionary they are given
MUTATING = frozenset(("set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite"))


def _list(value: Any, verb: str) -> list[Any]:
    if type(value) is not list:
        raise TemplateError(f"Cannot {verb} on type {kind_of(value)}")
    return value


def _default(default: Any, *given: Any) -> Any:
    return given[0] if given and is_true(given[0]) else default


def _same(left: Any, right: Any) -> bool:
    """`reflect.DeepEqual`: equal, and of the same type all the way down."""
    if is_data_number(left) and is_data_number(right):
        return number_text(left) == number_text(right)
    if type(left) is not type(right) and not (isinstance(left, str) and isinstance(right, str)):
        return False
    if type(left) is list or type(left) is dict:
        BUDGET.step(1 + len(left))
    if type(left) is list:
        return len(left) == len(right) and all(map(_same, left, right))
    if type(left) is dict:
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    return not is_data_number(left) and not is_data_number(right) and bool(left == right)


def _among(value: Any, others: list[Any]) -> bool:
    BUDGET.step(len(others))
    return any(_same(value, other) for other in others)


def _unique(value: Any) -> list[Any]:
    made: list[Any] = []
    for one in _list(value, "find uniq"):
        if not _among(one, made):
            made.append(one)
    return made


def _dictionary(*values: Any) -> dict[str, Any]:
    pairs = zip(values[::2], [*values[1::2], ""], strict=False)
    return {printed(key): value for key, value in pairs}


def _set(target: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    target[key] = value
    return target


def _unset(target: dict[str, Any], key: str) -> dict[str, Any]:
    target.pop(key, None)
    return target


def _merged(overwrite: bool) -> Callable[..., dict[str, Any]]:
    def merge(target: dict[str, Any], *sources: dict[str, Any]) -> dict[str, Any]:
        for source in sources:
            BUDGET.step(1 + len(source))
            for key, value in source.items():
                old = target.get(key)
                if type(old) is dict and type(value) is dict:
                    merge(old, value)
                elif (overwrite and is_true(value)) or not is_true(old):
                    target[key] = value
        return target

    return merge


def _dug(*values: Any) -> Any:
    if len(values) < 3:
        raise TemplateError("dig needs at least three arguments")
    *keys, default, found = values
    for key in keys:
        if type(found) is not dict:
            raise TemplateError("interface conversion: not a map")
        if key not in found:
            return default
        found = found[key]
    return found


def _sliced(value: Any, *places: Any) -> Any:
    """The builtin function for texts, sprig's for lists."""
    if type(value) is not list:
        return _text_slice(value, *places)
    if not value:
        return None
    start = to_int(places[0]) if places else 0
    end = to_int(places[1]) if len(places) > 1 else len(value)
    if not 0 <= start <= end <= len(value):
        raise TemplateError("reflect.Value.Slice: slice index out of bounds")
    return value[start:end]


def _text_slice(value: Any, *places: Any) -> str:
    if kind_of(value) != "string" or len(places) > 2:
        raise TemplateError(f"can't slice item of type {kind_of(value)}")
    raw = number_text(value).encode()
    for place in places:
        if kind_of(place) != "int" or not 0 <= place <= len(raw):
            raise TemplateError(f"index out of range: {printed(place)}")
    start = places[0] if places else 0
    end = places[1] if len(places) > 1 else len(raw)
    if start > end:
        raise TemplateError(f"invalid slice index: {start} > {end}")
    return raw[start:end].decode(errors="replace")


def _concatenated(*lists: Any) -> list[Any]:
    for part in lists:
        BUDGET.handle(len(_list(part, "concat")))
    return [one for part in lists for one in part]


def _chunks(size: int, value: Any) -> list[list[Any]]:
    parts = _list(value, "chunk")
    if size <= 0:
        raise TemplateError("runtime error: integer divide by zero")
    return [parts[place : place + size] for place in range(0, len(parts), size)]


def _has(wanted: Any, value: Any) -> bool:
    return value is not None and _among(wanted, _list(value, "find has"))


def _from_json(text: str, strict: bool = False) -> Any:
    BUDGET.step(len(text) // 8)
    try:
        return json.loads(text, parse_int=Float, parse_float=Float)
    except ValueError as error:
        if strict:
            raise TemplateError(str(error)) from None
        return None


def _json(**options: Any) -> Callable[[Any], str]:
    return lambda value: json_text(value if is_data_number(value) else unsized(value), **options)


_KINDS = {"invalid": "invalid", "float": "float64", "int": "int"}


def _kind(value: Any) -> str:
    kind = kind_of(value)
    return "int64" if type(value).__name__ == "Int64" else _KINDS.get(kind, kind)


_TABLE: dict[str, tuple[str, Callable[..., Any]]] = {
    "default": ("aa*", _default),
    "empty": ("a", lambda value: not is_true(value)),
    "coalesce": ("a*", lambda *values: next((value for value in values if is_true(value)), None)),
    "all": ("a*", lambda *values: all(map(is_true, values))),
    "any": ("a*", lambda *values: any(map(is_true, values))),
    "ternary": ("aab", lambda yes, no, test: yes if test else no),
    "deepCopy": ("a", lambda value: value),
    "deepEqual": ("aa", _same),
    "kindOf": ("a", _kind),
    "kindIs": ("sa", lambda name, value: name == _kind(value)),
    "fromJson": ("s", _from_json),
    "mustFromJson": ("s", lambda text: _from_json(text, True)),
    "toJson": ("a", _json()),
    "mustToJson": ("a", _json()),
    "toPrettyJson": ("a", _json(indent="  ")),
    "mustToPrettyJson": ("a", _json(indent="  ")),
    "toRawJson": ("a", _json(html=False)),
    "mustToRawJson": ("a", _json(html=False)),
    "list": ("a*", lambda *values: list(values)),
    "tuple": ("a*", lambda *values: list(values)),
    "dict": ("a*", _dictionary),
    "get": ("ms", lambda target, key: target.get(key, "")),
    "set": ("msa", _set),
    "unset": ("ms", _unset),
    "hasKey": ("ms", lambda target, key: key in target),
    "pluck": ("sm*", lambda key, *targets: [target[key] for target in targets if key in target]),
    "keys": ("m*", lambda *targets: [key for target in targets for key in sorted(target)]),
    "values": ("m", lambda target: [target[key] for key in sorted(target)]),
    "pick": ("ms*", lambda target, *keys: {key: target[key] for key in keys if key in target}),
    "omit": ("ms*", lambda target, *keys: {key: value for key, value in target.items() if key not in keys}),
    "merge": ("mm*", _merged(overwrite=False)),
    "mustMerge": ("mm*", _merged(overwrite=False)),
    "mergeOverwrite": ("mm*", _merged(overwrite=True)),
    "mustMergeOverwrite": ("mm*", _merged(overwrite=True)),
    "append": ("aa", lambda value, one: [*_list(value, "push"), one]),
    "prepend": ("aa", lambda value, one: [one, *_list(value, "prepend")]),
    "first": ("a", lambda value: next(iter(_list(value, "find first")), None)),
    "last": ("a", lambda value: next(reversed(_list(value, "find last")), None)),
    "rest": ("a", lambda value: _list(value, "find rest")[1:]),
    "initial": ("a", lambda value: _list(value, "find initial")[:-1]),
    "reverse": ("a", lambda value: _list(value, "find reverse")[::-1]),
    "uniq": ("a", _unique),
    "compact": ("a", lambda value: [one for one in _list(value, "compact") if is_true(one)]),
    "without": ("aa*", lambda value, *others: [one for one in _list(value, "w") if not _among(one, list(others))]),
    "has": ("aa", _has),
    "slice": ("va*", _sliced),
    "concat": ("a*", _concatenated),
    "chunk": ("ia", _chunks),
    "dig": ("a*", _dug),
}
_TABLE["push"] = _TABLE["append"]
#: functions that have a twin whose name begins with must
_MUST = "append push prepend first last rest initial reverse uniq compact without has slice chunk deepCopy"
for _name in _MUST.split():
    _TABLE[f"must{_name[0].upper()}{_name[1:]}"] = _TABLE[_name]

COLLECTIONS: dict[str, Function] = {name: charged(name, *entry) for name, entry in _TABLE.items()}
