r"""Patterns: regular expressions as Go reads them, for schemas that state one.

Go's syntax (RE2) is close to Python's, but `$` means the very end, classes such as `\d` are ASCII only, flags may be
set in the middle, there are POSIX and Unicode classes, and neither look-around nor back-references. `compile_pattern`
translates a pattern; one that Go would refuse is a ValueError with Go's words. Only whether a text matches counts
here, so greediness does not matter.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache

__all__ = ["compile_pattern"]

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t\ ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"!-\~",
    "lower": "a-z",
    "print": r"\ -\~",
    "punct": r"!-/:-@\[-`\{-\~",
    "space": r"\t\n\v\f\r\ ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_CONTROL = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r\ "}
_OTHERS = {_CLASSES[letter]: f"\\{letter.upper()}" for letter in _CLASSES}
_REPEAT = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
_GROUP = re.compile(r"\(\?(?:P?<([A-Za-z0-9_]+)>|([imsU]*(?:-[imsU]+)?)([:)]))")
_MAX_REPEAT = 1000


@lru_cache(maxsize=2048)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern, ready to search with."""
    try:
        return re.compile(_Translation(pattern).text(), re.ASCII)
    except _Refusal as refusal:
        raise ValueError(f"error parsing regexp: {refusal}") from None
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"error parsing regexp: {error}: `{pattern}`") from None


class _Refusal(Exception):
    """What Go says about a pattern it does not take."""

    def __init__(self, why: str, what: str) -> None:
        super().__init__(f"{why}: `{what}`")


class _Translation:
    """One pattern on its way from Go to Python."""

    def __init__(self, pattern: str) -> None:
        self.source = pattern
        self.position = 0
        self.out: list[str] = []
        #: of every group around this place: whether `$` and `^` mean lines, and the flags set in its middle
        self.groups: list[tuple[bool, list[str]]] = []
        self.multiline = False
        self.flags: list[str] = []
        #: where the last thing that can be repeated began, or None
        self.repeated: bool | None = None
        self.last_repeat = ""

    def text(self) -> str:
        while self.position < len(self.source):
            self._step(self.source[self.position])
        if self.groups:
            raise _Refusal("missing closing )", self.source)
        return "".join(self.out) + ")" * len(self.flags)

    def _step(self, character: str) -> None:
        if character == "(":
            self._open()
        elif character == ")":
            self._close()
        elif character == "[":
            self._emit(self._class())
        elif character == "\\":
            self._emit(self._escape())
        elif character in "*+?":
            self._repeat(character)
        elif character == "{" and (match := _REPEAT.match(self.source, self.position)):
            self._check_count(match)
            self._repeat(match[0])
        elif character == "|":
            # Flags hold for all alternatives that follow.
            self.position += 1
            self.out.append(")" * len(self.flags) + "|" + "".join(self.flags))
            self.repeated, self.last_repeat = None, ""
        else:
            self.position += 1
            self._emit(self._plain(character))

    def _plain(self, character: str) -> str:
        if character == "$":
            return "$" if self.multiline else r"\Z"
        return character if character in "^." else _literal(character)

    def _emit(self, text: str) -> None:
        self.out.append(text)
        self.repeated, self.last_repeat = True, ""

    def _open(self) -> None:
        match = _GROUP.match(self.source, self.position)
        if match is None:
            self._refuse_group()
            self.position += 1
            self._push("(?:")
            return
        self.position = match.end()
        if match[1] is not None:
            self._push("(?:")
            return
        on, _, off = match[2].replace("U", "").partition("-")
        multiline = (self.multiline or "m" in on) and "m" not in off
        flags = f"(?{on}{'-' + off if off else ''}:"
        if match[3] == ":":
            self._push(flags)
        else:
            # Flags in the middle hold until the group ends.
            self.out.append(flags)
            self.flags.append(flags)
        self.multiline = multiline
        self.repeated = None

    def _refuse_group(self) -> None:
        """A question mark after a parenthesis that starts neither a name nor flags."""
        rest = self.source[self.position :]
        if rest.startswith(("(?P<", "(?<")):
            raise _Refusal("invalid named capture", rest[: rest.find(">") + 1] or rest)
        if rest.startswith("(?"):
            raise _Refusal("invalid or unsupported Perl syntax", rest[:3])

    def _push(self, text: str) -> None:
        self.out.append(text)
        self.groups.append((self.multiline, self.flags))
        self.flags = []
        self.repeated, self.last_repeat = None, ""

    def _close(self) -> None:
        if not self.groups:
            raise _Refusal("unexpected )", self.source)
        self.out.append(")" * (len(self.flags) + 1))
        self.multiline, self.flags = self.groups.pop()
        self.position += 1
        self.repeated, self.last_repeat = True, ""

    def _repeat(self, operator: str) -> None:
        if self.repeated is None:
            raise _Refusal("missing argument to repetition operator", operator)
        if self.last_repeat:
            raise _Refusal("invalid nested repetition operator", self.last_repeat + operator)
        self.position += len(operator)
        self.out.append(operator)
        self.last_repeat = operator
        if self.source.startswith("?", self.position):
            self.position += 1
            self.last_repeat += "?"

    def _check_count(self, match: re.Match[str]) -> None:
        low, high = int(match[1]), int(match[3]) if match[3] else None
        if max(low, high or 0) > _MAX_REPEAT or (high is not None and high < low):
            raise _Refusal("invalid repeat count", match[0])

    def _escape(self) -> str:
        """What a backslash stands for outside of a class."""
        character = self.source[self.position + 1 : self.position + 2]
        if not character:
            raise _Refusal("trailing backslash at end of expression", "")
        if character in "AbB":
            self.position += 2
            return f"\\{character}"
        if character == "z":
            self.position += 2
            return r"\Z"
        if character == "Q":
            end = self.source.find("\\E", self.position)
            quoted = self.source[self.position + 2 : end if end >= 0 else None]
            self.position = end + 2 if end >= 0 else len(self.source)
            return "".join(map(_literal, quoted))
        members = self._class_escape()
        if members is None:
            return _literal(self._character())
        inside, negated = members
        return f"[{'^' if negated else ''}{inside}]"

    def _class_escape(self) -> tuple[str, bool] | None:
        r"""The members of `\d`, `\pL` and their like, and whether all others are meant."""
        character = self.source[self.position + 1 : self.position + 2]
        if character and character in "dswDSW":
            self.position += 2
            return _CLASSES[character.lower()], character.isupper()
        if character and character in "pP":
            match = re.compile(r"\\[pP](?:\{(\^?)([A-Za-z_]+)\}|([A-Z]))").match(self.source, self.position)
            members = _unicode(match[2] or match[3]) if match is not None else ""
            if match is None or not members:
                raise _Refusal("invalid character class range", match[0] if match else f"\\{character}")
            self.position = match.end()
            return members, (character == "P") != bool(match[1])
        return None

    def _character(self) -> str:
        """One character, escaped or not."""
        character = self.source[self.position]
        if character != "\\":
            self.position += 1
            return character
        escaped = self.source[self.position + 1 : self.position + 2]
        if escaped in _CONTROL:
            self.position += 2
            return _CONTROL[escaped]
        if match := re.compile(r"\\(?:(0[0-7]{0,2}|[1-7][0-7]{1,2})|x\{([0-9A-Fa-f]+)\}|x([0-9A-Fa-f]{2}))").match(
            self.source, self.position
        ):
            self.position = match.end()
            return chr(int(match[1], 8) if match[1] else int(match[2] or match[3], 16))
        if not escaped or escaped.isalnum():
            raise _Refusal("invalid escape sequence", f"\\{escaped}")
        self.position += 2
        return escaped

    def _class(self) -> str:
        start = self.position
        self.position += 1
        negated = self.source.startswith("^", self.position)
        self.position += negated
        members: list[str] = []
        first = True
        while first or not self.source.startswith("]", self.position):
            if self.position >= len(self.source):
                raise _Refusal("missing closing ]", self.source[start:])
            members.append(self._member(start))
            first = False
        self.position += 1
        return f"[{'^' if negated else ''}{''.join(members)}]"

    def _member(self, start: int) -> str:
        if match := re.compile(r"\[:(\^?)([a-z]+):\]").match(self.source, self.position):
            if match[2] not in _POSIX:
                raise _Refusal("invalid character class range", match[0])
            self.position = match.end()
            return _complement(_POSIX[match[2]]) if match[1] else _POSIX[match[2]]
        if self.source.startswith("\\", self.position) and (members := self._class_escape()) is not None:
            return _complement(members[0]) if members[1] else members[0]
        begin = self.position
        low = self._character()
        if not self.source.startswith("-", self.position) or self.source.startswith("-]", self.position):
            return _inside(low)
        self.position += 1
        if self.position >= len(self.source):
            raise _Refusal("missing closing ]", self.source[start:])
        high = self._character()
        if high < low:
            raise _Refusal("invalid character class range", self.source[begin : self.position])
        return f"{_inside(low)}-{_inside(high)}"


def _literal(character: str) -> str:
    return character if character.isalnum() else re.escape(character)


def _inside(character: str) -> str:
    return character if character.isalnum() else re.escape(character) if character.isprintable() else _code(character)


def _code(character: str) -> str:
    return f"\\U{ord(character):08x}"


def _ranges(wanted: list[bool]) -> str:
    found: list[str] = []
    start: int | None = None
    for point, is_in in enumerate([*wanted, False]):
        if is_in and start is None:
            start = point
        elif not is_in and start is not None:
            found.append(f"{_code(chr(start))}-{_code(chr(point - 1))}")
            start = None
    return "".join(found)


@lru_cache(maxsize=64)
def _complement(members: str) -> str:
    if members in _OTHERS:
        return _OTHERS[members]
    fits = re.compile(f"[{members}]").match
    return _ranges([fits(chr(point)) is None for point in range(sys.maxunicode + 1)])


@lru_cache(maxsize=64)
def _unicode(name: str) -> str:
    """The characters of a general category (`L`, `Nd`) or, by the start of their names, of a script (`Greek`)."""
    if len(name) <= 2:
        return _ranges([unicodedata.category(chr(point)).startswith(name) for point in range(sys.maxunicode + 1)])
    start = f"{name.upper()} "
    return _ranges([unicodedata.name(chr(point), "").startswith(start) for point in range(sys.maxunicode + 1)])
