"""The formats of jq: `@json`, `@base64`, `@csv` and their like, which turn a value into text."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.jq.values import JqError, described, encode, preview, wrong_type

__all__ = ["FORMATS", "to_string"]

_HTML = str.maketrans({"<": "&lt;", ">": "&gt;", "&": "&amp;", "'": "&apos;", '"': "&quot;"})
_TABS = str.maketrans({"\t": "\\t", "\r": "\\r", "\n": "\\n", "\\": "\\\\", "\0": "\\0"})


def to_string(value: Any) -> str:
    return value if type(value) is str else encode(value)


def _handled(value: Any) -> str:
    """The text of a value that is gone through, to be written in another way."""
    text = to_string(value)
    BUDGET.step(len(text) // 8)
    return text


def _uri(value: Any) -> str:
    return quote(_handled(value), safe="-_.~")


def _from_uri(value: Any) -> str:
    text = _handled(value)
    wrong = re.search("%(?![0-9A-Fa-f]{2}).{0,2}", text)
    if wrong is not None:
        raise JqError(f'@urid cannot be applied to {preview(value)}: invalid URL escape "{wrong[0]}"')
    raw = re.sub(b"%([0-9A-Fa-f]{2})", lambda pair: bytes([int(pair[1], 16)]), text.encode())
    return raw.decode(errors="replace")


def _row(name: str, value: Any, separator: str, escape: Callable[[str], str]) -> str:
    if type(value) is not list:
        raise wrong_type(f"@{name}", value)
    cells = []
    for cell in value:
        BUDGET.step()
        if type(cell) in (list, dict):
            raise JqError(f"@{name} cannot format an array including: {described(cell)}")
        if type(cell) is str:
            cells.append(escape(_handled(cell)))
        else:
            cells.append("" if encode(cell) == "null" and name != "sh" else encode(cell))
    return separator.join(cells)


def _csv(value: Any) -> str:
    return _row("csv", value, ",", lambda cell: '"' + cell.replace('"', '""').replace("\0", "\\0") + '"')


def _shell(value: Any) -> str:
    cells = value if type(value) is list else [value]
    return _row("sh", cells, " ", lambda cell: "'" + cell.replace("'", "'\\''").replace("\0", "\\0") + "'")


def _from_base64(value: Any) -> str:
    text = _handled(value).partition("=")[0]
    wrong = re.search(r"[^A-Za-z0-9+/\r\n]", text)
    place = wrong.start() if wrong else len(text)
    text = text.replace("\r", "").replace("\n", "")
    if wrong or len(text) % 4 == 1:
        message = f"illegal base64 data at input byte {place}"
        raise JqError(f"@base64d cannot be applied to {preview(value)}: {message}")
    return base64.b64decode(text + "=" * (-len(text) % 4)).decode(errors="replace")


#: what each format makes of a value
FORMATS: dict[str, Callable[[Any], str]] = {
    "@text": to_string,
    "@json": encode,
    "@html": lambda value: _handled(value).translate(_HTML),
    "@uri": _uri,
    "@urid": _from_uri,
    "@csv": _csv,
    "@tsv": lambda value: _row("tsv", value, "\t", lambda cell: cell.translate(_TABS)),
    "@sh": _shell,
    "@base64": lambda value: base64.b64encode(_handled(value).encode()).decode(),
    "@base64d": _from_base64,
}
