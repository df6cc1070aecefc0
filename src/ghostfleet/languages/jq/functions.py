"""The functions of jq that take values and give one value.

Every function gets its input and the values of its arguments; those that take a filter are compiled elsewhere. The
*table* names each by name and number of arguments, as in `has/1`.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ghostfleet.core.errors import shortened
from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.govalues import JsonNumber
from ghostfleet.languages.jq.dates import broken_down, mktime, strftime, strptime
from ghostfleet.languages.jq.formats import FORMATS, to_string
from ghostfleet.languages.jq.lexer import NUMBER
from ghostfleet.languages.jq.math import MATH
from ghostfleet.languages.jq.operators import add, split
from ghostfleet.languages.jq.ordering import extreme, sorted_by, unique_by
from ghostfleet.languages.jq.paths import delpaths, setpath
from ghostfleet.languages.jq.regex import captures, match
from ghostfleet.languages.jq.values import (
    Halt,
    JqError,
    compare,
    encode,
    is_number,
    number,
    parse_number,
    positions,
    preview,
    to_float,
    to_int,
    type_of,
    wrong_type,
)

__all__ = ["FUNCTIONS"]

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)
_SPACE = " \t\n\v\f\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def _text(name: str, value: Any) -> str:
    if type(value) is not str:
        raise wrong_type(name, value)
    return value


def _texts(name: str, value: Any, argument: Any) -> tuple[str, str]:
    if type(value) is not str or type(argument) is not str:
        raise wrong_type(name, value, argument)
    return value, argument


def _array(name: str, value: Any, *arguments: Any) -> list[Any]:
    if type(value) is not list:
        raise wrong_type(name, value, *arguments)
    return value


def values_of(value: Any, error: Callable[[], JqError]) -> list[Any]:
    """The elements of an array, or the values of an object in the order of its keys."""
    if type(value) is list:
        return value
    if type(value) is dict:
        return [value[key] for key in sorted(value)]
    raise error()


def length(value: Any) -> Any:
    kind = type(value)
    if kind in (str, list, dict):
        return len(value)
    if value is None:
        return 0
    return absolute(value, "length")


def absolute(value: Any, name: str = "abs") -> Any:
    if type(value) is JsonNumber:
        return JsonNumber(value.removeprefix("-"))
    if not is_number(value):
        raise wrong_type(name, value)
    return abs(value)


def keys(value: Any) -> list[Any]:
    if type(value) is list:
        return list(range(len(value)))
    if type(value) is dict:
        return sorted(value)
    raise wrong_type("keys", value)


def has(value: Any, key: Any) -> bool:
    if type(value) is list and (place := to_int(key)) is not None:
        return 0 <= place < len(value)
    if type(value) is dict and type(key) is str:
        return key in value
    if value is None:
        return False
    raise wrong_type("has", value, key)


def total(value: Any) -> Any:
    return _sum(values_of(value, lambda: wrong_type("add", value)))


def _sum(values: Iterable[Any]) -> Any:
    found: Any = None
    pieces: list[str] = []
    owned = False
    for value in values:
        kind = type(value)
        BUDGET.step()
        if kind is str or kind is list or kind is dict:
            BUDGET.handle(len(value))
        if kind is str and (pieces or found is None or type(found) is str):
            pieces += [value] if found is None or pieces else [found, value]
            found = ""
        elif owned and kind is type(found):
            found.extend(value) if kind is list else found.update(value)
        else:
            whole = "".join(pieces) if pieces else found
            pieces = []
            owned = kind in (list, dict) and kind is type(whole)
            found = add(whole, value)
    return "".join(pieces) if pieces else found


def to_boolean(value: Any) -> bool:
    if type(value) is bool:
        return value
    if type(value) is not str:
        raise wrong_type("toboolean", value)
    if value not in ("true", "false"):
        raise JqError(f"toboolean cannot be applied to {preview(value)}: invalid boolean")
    return value == "true"


def to_number(value: Any) -> Any:
    if is_number(value):
        return value
    if type(value) is not str:
        raise wrong_type("tonumber", value)
    if not re.fullmatch(f"[+-]?{NUMBER.pattern}", value):
        raise JqError(f"tonumber cannot be applied to {preview(value)}: invalid number")
    return parse_number(value)


def contains(value: Any, part: Any) -> bool:
    kind, other = type(value), type(part)
    if kind is str and other is str:
        return part in value
    if kind is list and other is list:
        BUDGET.step(len(value) * len(part))
        return all(any(_contains_quietly(one, wanted) for one in value) for wanted in part)
    if kind is dict and other is dict:
        BUDGET.step(len(part))
        return all(key in value and _contains_quietly(value[key], part[key]) for key in part)
    if is_number(value) and is_number(part):
        return compare(value, part) == 0 and number(value) == number(part)
    if kind is other and value == part:
        return True
    raise wrong_type("contains", value, part)


def _contains_quietly(value: Any, part: Any) -> bool:
    try:
        return contains(value, part)
    except JqError:
        return False


def _places(name: str, value: Any, wanted: Any) -> list[int] | None:
    if value is None:
        return None
    if type(value) is list:
        return positions(value, wanted if type(wanted) is list else [wanted])
    if type(value) is str and type(wanted) is str:
        return list(_occurrences(value, wanted)) if wanted else []
    raise wrong_type(name, value, wanted)


def _occurrences(text: str, part: str) -> Iterator[int]:
    """Where in a text another one stands; these places may overlap."""
    place = text.find(part)
    while place >= 0:
        BUDGET.step(1 + len(part) // 64)
        yield place
        place = text.find(part, place + 1)


def _first_place(value: Any, wanted: Any) -> int | None:
    found = _places("index", value, wanted)
    return found[0] if found else None


def _last_place(value: Any, wanted: Any) -> int | None:
    found = _places("rindex", value, wanted)
    return found[-1] if found else None


def _starts(value: Any, part: Any) -> bool:
    text, part = _texts("startswith", value, part)
    return text.startswith(part)


def _ends(value: Any, part: Any) -> bool:
    text, part = _texts("endswith", value, part)
    return text.endswith(part)


def _without_start(value: Any, part: Any, name: str = "ltrimstr") -> str:
    text, part = _texts(name, value, part)
    return text.removeprefix(part)


def _without_end(value: Any, part: Any, name: str = "rtrimstr") -> str:
    text, part = _texts(name, value, part)
    return text.removesuffix(part)


def _trimmed(value: Any, part: Any) -> str:
    return _without_end(_without_start(value, part, "trimstr"), part, "trimstr")


def _exploded(value: Any) -> list[int]:
    BUDGET.step(len(_text("explode", value)) // 8)
    return [ord(one) for one in value]


def implode(value: Any) -> str:
    made = ""
    BUDGET.step(len(_array("implode", value)) // 4)
    for code in value:
        point = to_int(code)
        if point is None:
            raise wrong_type("implode", value)
        made += chr(point) if 0 <= point <= 0x10FFFF and not 0xD800 <= point < 0xE000 else "\ufffd"
    return made


def _split(value: Any, separator: Any) -> list[str]:
    return split(_text("split", value), _text("split", separator))


def join(value: Any, separator: Any) -> Any:
    parts = values_of(value, lambda: wrong_type("join", value, separator))
    if not parts:
        return ""
    written = [encode(part) if type(part) is bool or is_number(part) else part for part in parts]
    return _sum(piece for place, part in enumerate(written) for piece in (separator if place else "", part))


def _lower(value: Any) -> str:
    return _text("ascii_downcase", value).translate(_LOWER)


def _upper(value: Any) -> str:
    return _text("ascii_upcase", value).translate(_UPPER)


def from_json(value: Any) -> Any:
    text = _text("fromjson", value)

    def refuse(name: str) -> Any:
        raise ValueError(f"invalid character '{name[0]}' looking for beginning of value")

    BUDGET.step(len(text) // 8)
    try:
        return json.loads(text, parse_int=JsonNumber, parse_float=JsonNumber, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise JqError(f"fromjson cannot be applied to {preview(value)}: {error}") from None


def flatten(value: Any, depth: Any = None) -> list[Any]:
    parts = values_of(value, lambda: wrong_type("flatten", value))
    levels = -1.0 if depth is None else to_float(depth)
    if levels is None:
        raise wrong_type("flatten", depth)
    if depth is not None and not levels >= 0:
        raise JqError(f"flatten depth should not be negative: {preview(levels)}")
    return _flat(parts, levels)


def _flat(parts: list[Any], levels: float) -> list[Any]:
    BUDGET.step(1 + len(parts) // 2)
    made: list[Any] = []
    for part in parts:
        made += _flat(part, levels - 1) if type(part) is list and levels != 0 else [part]
    return made


def transpose(value: Any) -> list[Any]:
    rows = _array("transpose", value)
    if any(type(row) is not list for row in rows):
        raise wrong_type("transpose", value)
    width = max(map(len, rows), default=0)
    BUDGET.step(width * len(rows) // 4)
    return [[row[place] if place < len(row) else None for row in rows] for place in range(width)]


def bsearch(value: Any, wanted: Any) -> int:
    array = _array("bsearch", value, wanted)
    low, high = 0, len(array)
    while low < high:
        middle = (low + high) // 2
        if compare(array[middle], wanted) >= 0:
            high = middle
        else:
            low = middle + 1
    return low if low < len(array) and compare(array[low], wanted) == 0 else -low - 1


def gmtime(value: Any, name: str = "gmtime") -> list[Any]:
    seconds = to_float(value)
    if seconds is None:
        raise wrong_type(name, value)
    return broken_down(seconds)


def to_entries(value: Any) -> list[Any]:
    if type(value) is list:
        BUDGET.step(len(value) // 4)
        return [{"key": place, "value": one} for place, one in enumerate(value)]
    return [{"key": key, "value": value[key]} for key in keys(value)]


def error(value: Any) -> Any:
    message = value if type(value) is str else encode(value)
    raise JqError(f"error: {shortened(message)}", value, raised=True)


def halt_error(value: Any, code: Any = 5) -> Any:
    if not is_number(code):
        raise wrong_type("halt_error", code)
    raise Halt(f"halt error: {shortened(value if type(value) is str else encode(value))}")


def halt(_: Any) -> Any:
    raise Halt("halt error: null")


def format_as(value: Any, name: Any) -> str:
    if type(name) is not str:
        raise wrong_type("format", name)
    if f"@{name}" not in FORMATS:
        raise JqError(f"format not defined: @{shortened(name)}")
    return FORMATS[f"@{name}"](value)


FUNCTIONS: dict[str, Callable[..., Any]] = MATH | {
    "length/0": length,
    "abs/0": absolute,
    "utf8bytelength/0": lambda value: len(_text("utf8bytelength", value).encode()),
    "keys/0": keys,
    "has/1": has,
    "add/0": total,
    "not/0": lambda value: value is None or value is False,
    "toboolean/0": to_boolean,
    "tonumber/0": to_number,
    "tostring/0": to_string,
    "type/0": type_of,
    "reverse/0": lambda value: _array("reverse", value)[::-1],
    "contains/1": contains,
    "inside/1": lambda value, whole: contains(whole, value),
    "indices/1": lambda value, wanted: _places("indices", value, wanted),
    "index/1": _first_place,
    "rindex/1": _last_place,
    "startswith/1": _starts,
    "endswith/1": _ends,
    "ltrimstr/1": _without_start,
    "rtrimstr/1": _without_end,
    "trimstr/1": _trimmed,
    "ltrim/0": lambda value: _text("ltrim", value).lstrip(_SPACE),
    "rtrim/0": lambda value: _text("rtrim", value).rstrip(_SPACE),
    "trim/0": lambda value: _text("trim", value).strip(_SPACE),
    "explode/0": _exploded,
    "implode/0": implode,
    "split/1": _split,
    "join/1": join,
    "ascii_downcase/0": _lower,
    "ascii_upcase/0": _upper,
    "tojson/0": encode,
    "fromjson/0": from_json,
    "format/1": format_as,
    "flatten/0": flatten,
    "flatten/1": flatten,
    "min/0": lambda value: extreme("min", value, value, True),
    "max/0": lambda value: extreme("max", value, value, False),
    "sort/0": lambda value: sorted_by("sort", value, _array("sort", value)),
    "unique/0": lambda value: unique_by("unique", value, _array("unique", value)),
    "transpose/0": transpose,
    "bsearch/1": bsearch,
    "gmtime/0": gmtime,
    "localtime/0": lambda value: gmtime(value, "localtime"),
    "mktime/0": mktime,
    "strftime/1": strftime,
    "strflocaltime/1": lambda value, format: strftime(value, format, "strflocaltime"),
    "strptime/1": strptime,
    "setpath/2": setpath,
    "delpaths/1": delpaths,
    "to_entries/0": to_entries,
    "error/0": error,
    "error/1": lambda _, value: error(value),
    "halt/0": halt,
    "halt_error/0": halt_error,
    "halt_error/1": halt_error,
    "_match/3": match,
    "_captures/0": captures,
}
