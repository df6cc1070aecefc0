"""Named formats of texts: `format.dns1123Label().validate("...")` lists what is wrong, if anything is."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass

from ghostfleet.core import names
from ghostfleet.languages.cel.checked.declarations import Function, function, overload
from ghostfleet.languages.cel.checked.library.networks import url_problem
from ghostfleet.languages.cel.checked.values import NONE, Optional, name_type
from ghostfleet.languages.gotimes import parse_time

__all__ = ["FORMATS"]

_F = "kubernetes.NamedFormat"
_UUID = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Format:
    name: str
    problems: Callable[[str], list[str]]


name_type(Format, _F)


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """A check of what a name may begin with: a dash at the end may have something after it."""
    return lambda text: check(text[:-1] + "a" if text.endswith("-") and len(text) > 1 else text)


def _unless(fits: Callable[[str], object], words: str) -> Callable[[str], list[str]]:
    return lambda text: [] if fits(text) else [words]


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _is_time(layout: str) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        try:
            parse_time(layout, text)
        except ValueError:
            return False
        return True

    return fits


_FORMATS = [
    Format("dns1123Label", names.is_dns1123_label),
    Format("dns1123Subdomain", names.is_dns1123_subdomain),
    Format("dns1035Label", names.is_dns1035_label),
    Format("qualifiedName", names.is_qualified_name),
    Format("dns1123LabelPrefix", _prefix(names.is_dns1123_label)),
    Format("dns1123SubdomainPrefix", _prefix(names.is_dns1123_subdomain)),
    Format("dns1035LabelPrefix", _prefix(names.is_dns1035_label)),
    Format("labelValue", names.is_label_value),
    Format("uri", lambda text: [problem] if (problem := url_problem(text)) else []),
    Format("uuid", _unless(_UUID.fullmatch, "does not match the UUID format")),
    Format("byte", _unless(_is_base64, "invalid base64")),
    Format("date", _unless(_is_time("2006-01-02"), "invalid date")),
    Format("datetime", _unless(_is_time("2006-01-02T15:04:05Z07:00"), "invalid datetime")),
]
_BY_NAME = {each.name: each for each in _FORMATS}


def _constant(found: Format) -> Callable[[], Format]:
    return lambda: found


def _named(name: str) -> Optional:
    return Optional(_BY_NAME[name]) if name in _BY_NAME else NONE


def _validate(format_: Format, text: str) -> Optional:
    problems = format_.problems(text)
    return Optional(problems) if problems else NONE


FORMATS: list[Function] = [
    *(function(f"format.{each.name}", overload(f"() -> {_F}", _constant(each))) for each in _FORMATS),
    function("format.named", overload(f"(string) -> optional_type({_F})", _named)),
    function("validate", overload(f"{_F}.(string) -> optional_type(list(string))", _validate)),
]
