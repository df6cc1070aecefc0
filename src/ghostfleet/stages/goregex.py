"""Go's regular expressions (RE2), run by Python's.

A pattern is read with RE2's grammar and written anew in Python's, so that what RE2 refuses (look-around, references
back, possessive repetition) is refused here, and what both spell alike but mean differently means what it means in Go:
`$` is the very end, `\\d` is ASCII, `(?U)` makes repetition lazy. Groups are numbered; their names are kept aside.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache

__all__ = ["GoRegex", "RegexError", "compile_regex", "quote_meta"]

_DIGITS, _WORDS, _SPACES = "0-9", "0-9A-Za-z_", "\\t\\n\\f\\r "
_PERL = {"d": _DIGITS, "w": _WORDS, "s": _SPACES}
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7f",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": _DIGITS,
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": _WORDS,
    "xdigit": "0-9A-Fa-f",
}
_CHARACTERS = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_BOUNDARY = f"(?:(?<![{_WORDS}])(?=[{_WORDS}])|(?<=[{_WORDS}])(?![{_WORDS}]))"
_INSIDE = f"(?:(?<![{_WORDS}])(?![{_WORDS}])|(?<=[{_WORDS}])(?=[{_WORDS}]))"
_REPEAT = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
_GROUP = re.compile(r"\(\?P?<([A-Za-z0-9_]+)>")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_CHARACTER = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]+)\}|([1-7][0-7]{1,2}|0[0-7]{0,2})|(.))", re.DOTALL)
_MOST = 1000


class RegexError(ValueError):
    """A pattern that is not RE2."""


class GoRegex:
    """A compiled pattern."""

    __slots__ = ("_pattern", "names")

    def __init__(self, pattern: re.Pattern[str], names: list[str]) -> None:
        self._pattern = pattern
        #: name of each group, "" where it has none
        self.names = names

    def search(self, text: str) -> re.Match[str] | None:
        return self._pattern.search(text)

    def matches(self, text: str, most: int = -1) -> Iterator[re.Match[str]]:
        """All matches that do not overlap; unlike in Python an empty one right after another match is left out."""
        place, end = 0, -1
        while most and place <= len(text):
            match = self._pattern.search(text, place)
            if match is None:
                return
            if match.end() > match.start() or match.start() != end:
                yield match
                most -= 1
            end = match.end()
            place = end if match.end() > match.start() else end + 1


@lru_cache(maxsize=1024)
def compile_regex(pattern: str) -> GoRegex:
    """The pattern, ready to match; RegexError if Go would not take it."""
    translation = _Translation(pattern)
    try:
        return GoRegex(re.compile(translation.whole()), translation.names)
    except (re.error, OverflowError, RecursionError) as error:
        raise RegexError(f"error parsing regexp: {error}: `{pattern}`") from None


def quote_meta(text: str) -> str:
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)


class _Translation:
    def __init__(self, source: str) -> None:
        self.source = source
        self.place = 0
        self.names: list[str] = []

    def whole(self) -> str:
        text = self.alternatives(frozenset())
        if self.place < len(self.source):
            self.fail("unexpected )")
        return text

    def fail(self, why: str, piece: str = "") -> None:
        raise RegexError(f"error parsing regexp: {why}: `{piece or self.source}`")

    def alternatives(self, flags: frozenset[str]) -> str:
        made: list[str] = []
        branch: list[str] = []
        while self.place < len(self.source) and self.source[self.place] != ")":
            if self.source[self.place] == "|":
                self.place += 1
                made.append("".join(branch))
                branch = []
                continue
            opening = _FLAGS.match(self.source, self.place)
            if opening is not None and opening[3] == ")":
                self.place = opening.end()
                flags = _changed(flags, opening)
                if branch:
                    # To RE2 a change of flags is nothing: repetition behind it is that of what came before.
                    branch.append(self.repeated(branch.pop(), flags))
                continue
            if self.source.startswith("\\Q", self.place):
                branch += [self.cased(re.escape(one), flags) for one in self.quoted()]
                if branch:
                    branch.append(self.repeated(branch.pop(), flags))
                continue
            branch.append(self.repeated(self.atom(flags), flags))
        made.append("".join(branch))
        return "|".join(made)

    def atom(self, flags: frozenset[str]) -> str:
        one = self.source[self.place]
        if one == "(":
            return self.group(flags)
        if one == "[":
            return self.cased(self.bracket(), flags)
        if one == "\\":
            return self.escape(flags)
        if self.repetition(peek=True):
            self.fail("missing argument to repetition operator")
        self.place += 1
        if one == ".":
            return "(?s:.)" if "s" in flags else "[^\\n]"
        if one == "^":
            return "(?m:^)" if "m" in flags else "\\A"
        if one == "$":
            return "(?m:$)" if "m" in flags else "\\Z"
        return self.cased(re.escape(one), flags)

    def cased(self, text: str, flags: frozenset[str]) -> str:
        return f"(?i:{text})" if "i" in flags else text

    def group(self, flags: frozenset[str]) -> str:
        named = _GROUP.match(self.source, self.place)
        scoped = _FLAGS.match(self.source, self.place)
        if named is not None:
            if named[1] in self.names:
                self.fail("duplicate capture group name")
            self.place = named.end()
            self.names.append(named[1])
            opening = "("
        elif scoped is not None:
            self.place = scoped.end()
            flags = _changed(flags, scoped)
            opening = "(?:"
        elif self.source.startswith("(?", self.place):
            size = 4 if self.source.startswith("(?<", self.place) else 3
            self.fail("invalid or unsupported Perl syntax", self.source[self.place : self.place + size])
        else:
            self.place += 1
            self.names.append("")
            opening = "("
        inner = self.alternatives(flags)
        if self.place >= len(self.source):
            self.fail("missing closing )")
        self.place += 1
        return f"{opening}{inner})"

    def repeated(self, atom: str, flags: frozenset[str]) -> str:
        operator = self.repetition()
        if not operator:
            return atom
        lazy = self.source.startswith("?", self.place)
        self.place += lazy
        if self.repetition(peek=True):
            self.fail("invalid nested repetition operator")
        return f"(?:{atom}){operator}{'?' if lazy != ('U' in flags) else ''}"

    def repetition(self, peek: bool = False) -> str:
        one = self.source[self.place : self.place + 1]
        if one and one in "*+?":
            self.place += not peek
            return one
        match = _REPEAT.match(self.source, self.place)
        if match is None:
            return ""
        if not peek:
            self.place = match.end()
        least, most = int(match[1]), int(match[3] or match[1])
        if most > _MOST or least > most:
            self.fail("invalid repeat count")
        return match[0]

    def quoted(self) -> str:
        """The literal text between \\Q and \\E."""
        literal, end, _ = self.source[self.place + 2 :].partition("\\E")
        self.place += 2 + len(literal) + len(end)
        return literal

    def escape(self, flags: frozenset[str]) -> str:
        rest = self.source[self.place + 1 :]
        anchors = {"A": "\\A", "z": "\\Z", "b": _BOUNDARY, "B": _INSIDE}
        if rest[:1] in anchors:
            self.place += 2
            return anchors[rest[0]]
        inner = self.class_escape()
        return self.cased(f"[{inner}]" if inner else self.character(), flags)

    def class_escape(self) -> str:
        """The inside of a class such as \\d or \\pL, or "" if there is none here."""
        one = self.source[self.place + 1 : self.place + 2]
        if one.lower() in _PERL:
            self.place += 2
            return _PERL[one] if one.islower() else _inverted(_PERL[one.lower()])
        if one not in ("p", "P"):
            return ""
        match = re.compile(r"\\[pP](?:\{(\^?)([A-Za-z_]+)\}|([A-Z]))").match(self.source, self.place)
        if match is None or not (ranges := _category(match[2] or match[3], (one == "P") != bool(match[1]))):
            self.fail("invalid or unsupported character class range")
            return ""
        self.place = match.end()
        return ranges

    def character(self) -> str:
        """One character that is written with a backslash, for Python."""
        match = re.compile(
            r"\\(?:x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]+)\}|([1-7][0-7]{1,2}|0[0-7]{0,2})|(.))", re.S
        ).match(self.source, self.place)
        if match is None:
            self.fail("trailing backslash at end of expression")
            return ""
        self.place = match.end()
        if match[1] or match[2]:
            code = int(match[1] or match[2], 16)
            if code > sys.maxunicode:
                self.fail("invalid escape sequence")
            return re.escape(chr(code))
        if match[3]:
            return re.escape(chr(int(match[3], 8)))
        one = match[4]
        if one in _CHARACTERS:
            return re.escape(_CHARACTERS[one])
        if one.isalnum() or ord(one) >= 0x80:
            self.fail("invalid escape sequence")
        return re.escape(one)

    def bracket(self) -> str:
        """A class in brackets."""
        start = self.place
        self.place += 1
        negated = self.source.startswith("^", self.place)
        self.place += negated
        parts: list[str] = []
        first = True
        while first or not self.source.startswith("]", self.place):
            if self.place >= len(self.source):
                self.place = start
                self.fail("missing closing ]")
            first = False
            parts.append(self.bracket_part())
        self.place += 1
        return f"[{'^' if negated else ''}{''.join(parts)}]"

    def bracket_part(self) -> str:
        posix = re.compile(r"\[:(\^?)([a-z]+):\]").match(self.source, self.place)
        if posix is not None:
            if posix[2] not in _POSIX:
                self.fail("invalid character class range")
            self.place = posix.end()
            return _inverted(_POSIX[posix[2]]) if posix[1] else _POSIX[posix[2]]
        if self.source.startswith("\\", self.place) and (inner := self.class_escape()):
            return inner
        low = self.bracket_character()
        rest = self.source[self.place : self.place + 2]
        if rest[:1] != "-" or rest in ("-]", "-"):
            return low
        self.place += 1
        high = self.bracket_character()
        if _code(low) > _code(high):
            self.fail("invalid character class range")
        return f"{low}-{high}"

    def bracket_character(self) -> str:
        if self.place >= len(self.source):
            self.fail("missing closing ]")
        one = self.source[self.place]
        if one == "\\":
            return self.character()
        self.place += 1
        return re.escape(one) if not one.isalnum() else one


def _code(escaped: str) -> int:
    return ord(escaped[-1])


def _changed(flags: frozenset[str], opening: re.Match[str]) -> frozenset[str]:
    return (flags | set(opening[1])) - set(opening[2] or "")


@lru_cache(maxsize=256)
def _inverted(inner: str) -> str:
    """The inside of the class of all characters but some ASCII ones."""
    pattern = re.compile(f"[{inner}]")
    return _ranges(lambda code: pattern.match(chr(code)) is None, 0x80) + f"\\x80-\\U{sys.maxunicode:08x}"


@lru_cache(maxsize=64)
def _category(name: str, negated: bool) -> str:
    """The inside of a class for a general category of Unicode, such as L or Nd; "" for anything else."""
    if not re.fullmatch(r"[CLMNPSZ][a-z]?", name):
        return ""
    return _ranges(lambda code: unicodedata.category(chr(code)).startswith(name) != negated, sys.maxunicode + 1)


def _ranges(belongs: Callable[[int], bool], end: int) -> str:
    made: list[str] = []
    start = -1
    for code in range(end + 1):
        inside = code < end and belongs(code)
        if inside and start < 0:
            start = code
        elif not inside and start >= 0:
            made.append(f"\\U{start:08x}-\\U{code - 1:08x}")
            start = -1
    return "".join(made)
