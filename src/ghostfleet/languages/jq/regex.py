"""Regular expressions in jq, which are Go's: what `match`, `test`, `capture` and their like rest on."""

from __future__ import annotations

from typing import Any

from ghostfleet.core.errors import shortened
from ghostfleet.core.goregex import GoMatch, RegexError
from ghostfleet.languages.govalues import quote
from ghostfleet.languages.jq.values import JqError, described, wrong_type
from ghostfleet.languages.regexes import compiled, found_in

__all__ = ["captures", "match"]


def match(value: Any, pattern: Any, flags: Any, testing: Any) -> Any:
    """Whether a text matches, or an array of its matches: one, or with the flag g all of them."""
    name = "test" if testing else "match"
    if type(value) is not str or type(pattern) is not str or not (flags is None or type(flags) is str):
        raise wrong_type(name, value, pattern, flags)
    flags = flags or ""
    if set(flags) - set("gim"):
        raise JqError(f"unsupported regular expression flag: {quote(flags)}")
    full = ("(?s)" if "m" in flags else "") + ("(?i)" if "i" in flags else "") + pattern
    try:
        regex = compiled(full)
    except RegexError as error:
        raise JqError(f"invalid regular expression {quote(shortened(full))}: {error}") from None
    if testing:
        return any(True for _ in found_in(regex, value, 1))
    return [_described(one, regex.names) for one in found_in(regex, value, -1 if "g" in flags else 1)]


def _described(found: GoMatch, names: list[str]) -> dict[str, Any]:
    return _part(found, 0) | {
        "captures": [_part(found, group + 1) | {"name": name or None} for group, name in enumerate(names)]
    }


def _part(found: GoMatch, group: int) -> dict[str, Any]:
    start, end = found.span(group)
    return {"offset": start, "length": end - start, "string": found[group]}


def captures(value: Any) -> dict[str, Any]:
    """The captures of a match, by name."""
    if type(value) is not list:
        raise JqError(f"expected an array but got: {described(value)}")
    named = (one for one in value if type(one) is dict and type(one.get("name")) is str)
    return {one["name"]: one.get("string") for one in named}
