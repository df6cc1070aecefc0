"""The functions for texts that templates get from the library sprig: case, trimming, encoding, regular expressions."""

from __future__ import annotations

import base64
import binascii
import hashlib
import posixpath
import re
import zlib
from collections.abc import Callable
from typing import Any

from ghostfleet.core.errors import shortened
from ghostfleet.core.goregex import GoMatch, GoRegex, RegexError, quote_meta
from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.gotemplate.fmt import printed
from ghostfleet.languages.gotemplate.functions import Function, charged
from ghostfleet.languages.gotemplate.values import Int, TemplateError, type_name
from ghostfleet.languages.govalues import quote
from ghostfleet.languages.regexes import compiled, found_in

__all__ = ["TEXTS", "texts_of"]

_GO_SPACE = " \t\n\v\f\r\x85\xa0"


def texts_of(value: Any) -> list[str]:
    """A list as texts; what is null is left out."""
    if value is None:
        return []
    if type(value) is list:
        BUDGET.step(len(value) // 2)
    return [printed(one) for one in (value if type(value) is list else [value]) if one is not None]


def _cut(text: str, start: int, end: int | None = None) -> str:
    """A part of a text, counted in bytes as Go does."""
    return text.encode()[start:end].decode(errors="replace")


def _truncated(count: int, text: str) -> str:
    size = len(text.encode())
    if count < 0 and size + count > 0:
        return _cut(text, size + count)
    return _cut(text, 0, count) if 0 <= count < size else text


def _substring(start: int, end: int, text: str) -> str:
    size = len(text.encode())
    if start < 0:
        start = 0
        if end < 0 or end > size:
            raise TemplateError(f"slice bounds out of range [:{end}]")
    if end < 0 or end > size:
        end = size
    if start > end:
        raise TemplateError(f"slice bounds out of range [{start}:{end}]")
    return _cut(text, start, end)


def _repeated(count: int, text: str) -> str:
    if count < 0:
        raise TemplateError("strings: negative Repeat count")
    BUDGET.handle(count * len(text))
    return text * count


def _titled(text: str) -> str:
    BUDGET.step(len(text) // 8)
    return re.sub(r"(^|[^\w'])(\w)", lambda match: match[1] + match[2].upper(), text)


def _parts(separator: str, text: str, most: int = -1) -> list[str]:
    if most == 0:
        return []
    BUDGET.step((text.count(separator) if separator else len(text)) // 4)
    if not separator:
        letters = list(text)
        return letters if most < 0 or len(letters) <= most else [*letters[: most - 1], "".join(letters[most - 1 :])]
    return text.split(separator, most - 1 if most > 0 else -1)


def _numbered(parts: list[str]) -> dict[str, str]:
    return {f"_{place}": part for place, part in enumerate(parts)}


def _indented(count: int, text: str) -> str:
    BUDGET.handle(count * (text.count("\n") + 1))
    pad = " " * count
    return pad + text.replace("\n", "\n" + pad)


def _decoded(decode: Callable[[str], bytes], noun: str) -> Callable[[str], str]:
    def run(text: str) -> str:
        try:
            return decode(text).decode(errors="replace")
        except (binascii.Error, ValueError):
            return f"illegal {noun} data at input byte 0"

    return run


def _regex(pattern: str) -> GoRegex:
    try:
        return compiled(pattern)
    except RegexError as error:
        raise TemplateError(str(error)) from None


def _matches(pattern: str, text: str) -> bool:
    try:
        return _search(compiled(pattern), text) is not None
    except RegexError:
        return False


def _search(regex: GoRegex, text: str) -> GoMatch | None:
    return next(found_in(regex, text, 1), None)


def _found(pattern: str, text: str) -> str:
    match = _search(_regex(pattern), text)
    return (match and match[0]) or ""


def _all_found(pattern: str, text: str, most: int) -> list[str]:
    return [match[0] or "" for match in found_in(_regex(pattern), text, most)]


def _replaced(pattern: str, text: str, new: str, literal: bool = False) -> str:
    regex = _regex(pattern)
    made, place = [], 0
    for match in found_in(regex, text):
        start, end = match.span()
        made.append(text[place:start])
        made.append(new if literal else _expanded(new, match, regex.names))
        place = end
    return "".join([*made, text[place:]])


def _expanded(new: str, match: GoMatch, names: list[str]) -> str:
    """The new text with `$1` and `${name}` filled in."""
    BUDGET.step(len(new) // 4)

    def fill(reference: re.Match[str]) -> str:
        if reference[0] == "$$":
            return "$"
        name = reference[1] or reference[2]
        if name.isdigit():
            return part(int(name)) if len(name) < 9 and int(name) <= len(names) else ""
        return part(names.index(name) + 1) if name in names else ""

    def part(group: int) -> str:
        found = match[group] or ""
        BUDGET.handle(len(found))
        return found

    return re.sub(r"\$\$|\$\{(\w+)\}|\$(\w+)", fill, new)


def _split(pattern: str, text: str, most: int) -> list[str]:
    if most == 0:
        return []
    made: list[str] = []
    place = 0
    for match in found_in(_regex(pattern), text):
        if most > 0 and len(made) == most - 1:
            break
        start, end = match.span()
        if end == 0 or start == end == len(text):
            continue
        made.append(text[place:start])
        place = end
    return [*made, text[place:]]


def _joined(separator: str, value: Any) -> str:
    parts = texts_of(value)
    BUDGET.handle(len(separator) * len(parts) + sum(map(len, parts)))
    return separator.join(parts)


def _substituted(old: str, new: str, text: str) -> str:
    BUDGET.handle(text.count(old) * len(new))
    return text.replace(old, new)


def _untitled(text: str) -> str:
    BUDGET.step(len(text) // 8)
    return re.sub(r"(^|\s)(\w)", lambda match: match[1] + match[2].lower(), text)


def _plural(one: str, many: str, count: int) -> str:
    return one if count == 1 else many


def _sha(name: str) -> Callable[[str], str]:
    return lambda text: hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()


def _directory(path: str) -> str:
    return _clean(path[: path.rfind("/") + 1])


def _clean(path: str) -> str:
    cleaned = posixpath.normpath(path) if path else "."
    return cleaned[1:] if cleaned.startswith("//") else cleaned


def _base(path: str) -> str:
    if not path:
        return "."
    return path.rstrip("/").rpartition("/")[2] or "/"


def _extension(path: str) -> str:
    last = path.rpartition("/")[2]
    return last[last.rfind(".") :] if "." in last else ""


def _fail(message: str) -> str:
    raise TemplateError(shortened(message))


_PATHS: dict[str, Callable[[str], Any]] = {
    "base": _base,
    "dir": _directory,
    "clean": _clean,
    "ext": _extension,
    "isAbs": lambda path: path.startswith("/"),
}
_TABLE: dict[str, tuple[str, Callable[..., Any]]] = {
    "trim": ("s", lambda text: text.strip(_GO_SPACE)),
    "upper": ("s", str.upper),
    "lower": ("s", str.lower),
    "title": ("s", _titled),
    "untitle": ("s", _untitled),
    "swapcase": ("s", str.swapcase),
    "substr": ("iis", _substring),
    "trunc": ("is", _truncated),
    "repeat": ("is", _repeated),
    "trimall": ("ss", lambda cut, text: text.strip(cut) if cut else text),
    "trimAll": ("ss", lambda cut, text: text.strip(cut) if cut else text),
    "trimSuffix": ("ss", lambda suffix, text: text.removesuffix(suffix)),
    "trimPrefix": ("ss", lambda prefix, text: text.removeprefix(prefix)),
    "nospace": ("s", lambda text: re.sub(r"\s", "", text)),
    "contains": ("ss", lambda part, text: part in text),
    "hasPrefix": ("ss", lambda part, text: text.startswith(part)),
    "hasSuffix": ("ss", lambda part, text: text.endswith(part)),
    "quote": ("a*", lambda *values: " ".join(quote(printed(value)) for value in values if value is not None)),
    "squote": ("a*", lambda *values: " ".join(f"'{printed(value)}'" for value in values if value is not None)),
    "cat": ("a*", lambda *values: " ".join(printed(value) for value in values if value is not None)),
    "indent": ("is", _indented),
    "nindent": ("is", lambda count, text: "\n" + _indented(count, text)),
    "replace": ("sss", _substituted),
    "plural": ("ssi", _plural),
    "sha1sum": ("s", _sha("sha1")),
    "sha256sum": ("s", _sha("sha256")),
    "sha512sum": ("s", _sha("sha512")),
    "adler32sum": ("s", lambda text: str(zlib.adler32(text.encode()))),
    "toString": ("a", lambda value: "<nil>" if value is None else printed(value)),
    "split": ("ss", lambda separator, text: _numbered(_parts(separator, text))),
    "splitn": ("sis", lambda separator, most, text: _numbered(_parts(separator, text, most))),
    "splitList": ("ss", _parts),
    "toStrings": ("a", texts_of),
    "join": ("sa", _joined),
    "sortAlpha": ("a", lambda value: sorted(texts_of(value)) if type(value) is list else [printed(value)]),
    "atoi": ("s", lambda text: Int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else Int(0)),
    "b64enc": ("s", lambda text: base64.b64encode(text.encode()).decode()),
    "b64dec": ("s", _decoded(lambda text: base64.b64decode(text, validate=True), "base64")),
    "b32enc": ("s", lambda text: base64.b32encode(text.encode()).decode()),
    "b32dec": ("s", _decoded(base64.b32decode, "base32")),
    "hello": ("", lambda: "Hello!"),
    "fail": ("s", _fail),
    "typeOf": ("a", type_name),
    "typeIs": ("sa", lambda name, value: name == type_name(value)),
    "typeIsLike": ("sa", lambda name, value: type_name(value) in (name, f"*{name}")),
    "regexMatch": ("ss", _matches),
    "mustRegexMatch": ("ss", lambda pattern, text: _search(_regex(pattern), text) is not None),
    "regexFind": ("ss", _found),
    "regexFindAll": ("ssi", _all_found),
    "regexReplaceAll": ("sss", _replaced),
    "regexReplaceAllLiteral": ("sss", lambda pattern, text, new: _replaced(pattern, text, new, True)),
    "regexSplit": ("ssi", _split),
    "regexQuoteMeta": ("s", quote_meta),
}
for _name in ("Find", "FindAll", "ReplaceAll", "ReplaceAllLiteral", "Split"):
    _TABLE[f"mustRegex{_name}"] = _TABLE[f"regex{_name}"]
for _name, _path in _PATHS.items():
    _TABLE[_name] = _TABLE[f"os{_name[0].upper()}{_name[1:]}"] = ("s", _path)

TEXTS: dict[str, Function] = {name: charged(name, *entry) for name, entry in _TABLE.items()}
