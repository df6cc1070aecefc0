"""Functions on texts: cel-go's extension in its version 2, and Kubernetes' `find` and `findAll`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ghostfleet.core.goregex import GoRegex, RegexError, compile_regex
from ghostfleet.languages.cel.checked.declarations import Function, function, overload
from ghostfleet.languages.cel.checked.library.formatting import format_text
from ghostfleet.languages.cel.checked.library.standard import matching_cost
from ghostfleet.languages.cel.checked.values import size_of
from ghostfleet.languages.cel.values import CelError

__all__ = ["STRINGS"]

#: what Go takes for white space (unicode.IsSpace)
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_LOWER = {code: code + 32 for code in range(65, 91)}
_UPPER = {code: code - 32 for code in range(97, 123)}
_QUOTED = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def _traversal(values: Sequence[Any]) -> int:
    """Going through the first text once, at a tenth of its length."""
    return math.ceil(size_of(values[0]) * 0.1)


def _joining(values: Sequence[Any]) -> int:
    """Making a text of several."""
    separators: int = len(values[1]) * len(values[0]) if len(values) > 1 else 0
    return math.ceil((sum(map(size_of, values[0])) + separators) * 0.1)


def _formatting(values: Sequence[Any]) -> int:
    return math.ceil((len(values[0]) + sum(map(size_of, values[1]))) * 0.1)


def _replacing(values: Sequence[Any]) -> int:
    """Going through a text, and making one of what comes out, which may be much longer."""
    text, old, new = values[:3]
    found: int = text.count(old)
    if len(values) > 3 and values[3] >= 0:
        found = min(found, values[3])
    return math.ceil(max(len(text), len(text) + found * (len(new) - len(old))) * 0.1)


def _in_range(place: int, limit: int) -> None:
    if not 0 <= place <= limit:
        raise CelError(f"index out of range: {place}")


def _char_at(text: str, place: int) -> str:
    _in_range(place, len(text))
    return text[place : place + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise CelError(f"index out of range: {start}")
    return text.find(part, start) if start < len(text) else -1


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part) if part else len(text)
    if not part:
        return start
    if start < 0:
        raise CelError(f"index out of range: {start}")
    return text.rfind(part, 0, start + len(part)) if start < len(text) else -1


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count if count >= 0 else -1)


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if not separator:
        letters = list(text)
        return letters if count < 0 or count >= len(letters) else [*letters[: count - 1], "".join(letters[count - 1 :])]
    return text.split(separator, count - 1 if count > 0 else -1)


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    _in_range(start, len(text))
    if end is not None:
        _in_range(end, len(text))
    return text[start:end]


def _join(texts: list[Any], separator: str = "") -> str:
    for each in texts:
        if type(each) is not str:
            raise CelError(f"join: invalid input: {each}")
    return separator.join(texts)


def _quote(text: str) -> str:
    return '"' + "".join(_QUOTED.get(character, character) for character in text) + '"'


def _regex(pattern: str) -> GoRegex:
    try:
        return compile_regex(pattern)
    except RegexError as error:
        raise CelError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    found = _regex(pattern).search(text)
    return (found[0] or "") if found is not None else ""


def _find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    return [found[0] or "" for found in _regex(pattern).matches(text, count)]


STRINGS: list[Function] = [
    function("charAt", overload("string.(int) -> string", _char_at)),
    function(
        "indexOf",
        overload("string.(string) -> int", _index_of, _traversal),
        overload("string.(string, int) -> int", _index_of, _traversal),
    ),
    function(
        "lastIndexOf",
        overload("string.(string) -> int", _last_index_of, _traversal),
        overload("string.(string, int) -> int", _last_index_of, _traversal),
    ),
    function("lowerAscii", overload("string.() -> string", lambda text: text.translate(_LOWER), _traversal)),
    function(
        "replace",
        overload("string.(string, string) -> string", _replace, _replacing),
        overload("string.(string, string, int) -> string", _replace, _replacing),
    ),
    function(
        "split",
        overload("string.(string) -> list(string)", _split, _traversal),
        overload("string.(string, int) -> list(string)", _split, _traversal),
    ),
    function(
        "substring",
        overload("string.(int) -> string", _substring, _traversal),
        overload("string.(int, int) -> string", _substring, _traversal),
    ),
    function("trim", overload("string.() -> string", lambda text: text.strip(_SPACE), _traversal)),
    function("upperAscii", overload("string.() -> string", lambda text: text.translate(_UPPER), _traversal)),
    function("format", overload("string.(list(dyn)) -> string", format_text, _formatting)),
    function("strings.quote", overload("(string) -> string", _quote, _traversal)),
    function(
        "join",
        overload("list(string).() -> string", _join, _joining),
        overload("list(string).(string) -> string", _join, _joining),
    ),
    function("find", overload("string.(string) -> string", _find, matching_cost)),
    function(
        "findAll",
        overload("string.(string) -> list(string)", _find_all, matching_cost),
        overload("string.(string, int) -> list(string)", _find_all, matching_cost),
    ),
]
