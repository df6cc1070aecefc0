r"""Regular expressions as Go has them, for everything that takes one from a user: schemas, stages, CEL.

Kubernetes leaves patterns to Go's regexp, which is RE2: neither look-around nor references back, and in return the
time of a match grows only linearly with the text, whatever the pattern. The same engine in its C++ form does the work
here, so that no pattern can hold up the server. The two differ in little but how they word what they refuse, and
`compile_regex` speaks as Go does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ghostfleet.core.errors import shortened

__all__ = ["GoMatch", "GoRegex", "RegexError", "compile_regex", "quote_meta"]

#: what RE2 says in C++, and what it says in Go
_WORDS = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
}
_ESCAPES = re.compile(r"\\Q.*?(?:\\E|\Z)|\\(.)", re.DOTALL)


class RegexError(ValueError):
    """A pattern that Go does not take."""

    def __init__(self, why: str, what: str) -> None:
        super().__init__(f"error parsing regexp: {why}: `{shortened(what)}`")


class GoMatch:
    """A place where a pattern matches: the whole of it is group 0."""

    __slots__ = ("_before", "_found", "_text")

    def __init__(self, text: bytes, found: Any, before: int) -> None:
        self._text = text
        self._found = found
        #: characters in front of the match
        self._before = before

    def __getitem__(self, group: int) -> str | None:
        start, end = self._found.span(group)
        return None if start < 0 else _decoded(self._text[start:end])

    def span(self, group: int = 0) -> tuple[int, int]:
        """Where it begins and ends, in characters; twice -1 for a group that has no part in the match."""
        start, end = self._found.span(group)
        if start < 0:
            return -1, -1
        first = self._before + len(_decoded(self._text[self._found.start() : start]))
        return first, first + len(_decoded(self._text[start:end]))


class GoRegex:
    """A compiled pattern."""

    __slots__ = ("_pattern", "names", "size")

    def __init__(self, pattern: Any) -> None:
        self._pattern = pattern
        #: instructions of the program that the pattern comes to
        self.size: int = pattern.programsize
        #: name of each group, "" where it has none
        self.names = [""] * pattern.groups
        for name, group in pattern.groupindex.items():
            self.names[group - 1] = _decoded(name)

    def search(self, text: str) -> GoMatch | None:
        return next(self.matches(text, 1), None)

    def matches(self, text: str, most: int = -1) -> Iterator[GoMatch]:
        """All matches that do not overlap; an empty one right after another match is left out.

        A long text has none in a large pattern, which might take the engine seconds to tell.
        """
        encoded = text.encode("utf-8", "surrogatepass")
        if len(encoded) * self.size > _LARGEST:
            return
        place, end = 0, -1
        counted, before = 0, 0
        while most and place <= len(encoded):
            found = self._pattern.search(encoded, place)
            if found is None:
                return
            start = found.start()
            if _is_inside_a_character(encoded, start):
                # The engine counts bytes: between those of one character, \B holds for it.
                place = _next_character(encoded, start)
                continue
            place = found.end()
            if place > start or start != end:
                counted, before = start, before + len(_decoded(encoded[counted:start]))
                yield GoMatch(encoded, found, before)
                most -= 1
            end = place
            if place == start:
                place = _next_character(encoded, place)


#: Characters of a pattern: what the engine needs to compile one can grow with the square of them.
_LONGEST = 4_096
#: Bytes times instructions that a pattern is tried on; a label of any letters, `\pL{0,63}`, is far below.
_LARGEST = 1 << 26
#: Patterns that are kept; each may take some megabytes.
_KEPT = 64


@lru_cache(maxsize=_KEPT)
def compile_regex(pattern: str) -> GoRegex:
    """The pattern, ready to match; RegexError if Go would not take it."""
    if len(pattern) > _LONGEST:
        raise RegexError("expression too large", pattern)
    regex = GoRegex(_compiled(pattern))
    if any(escape[1] == "C" for escape in _ESCAPES.finditer(pattern)):
        raise RegexError("invalid escape sequence", r"\C")
    if strange := [name for name in regex.names if not name.isascii()]:
        raise RegexError("invalid named capture", f"(?P<{strange[0]}>")
    return regex


def quote_meta(text: str) -> str:
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)


def _compiled(pattern: str) -> Any:
    import re2  # not at the start of a cluster: most have no use for it

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern.encode("utf-8", "surrogatepass"), options)
    except re2.error as error:
        raise _in_words_of_go(_decoded(error.args[0]), pattern) from None


def _in_words_of_go(words: str, pattern: str) -> RegexError:
    why, _, what = words.partition(": ")
    if what in ("(?<!", "(?<="):
        begun, closed, _ = pattern[pattern.index(what) :].partition(">")
        return RegexError("invalid named capture", begun + closed)
    if why.startswith("pattern too large"):
        return RegexError("expression too large", pattern)
    return RegexError(_WORDS.get(why, why), what)


def _decoded(encoded: bytes) -> str:
    return encoded.decode("utf-8", "surrogatepass")


def _is_inside_a_character(encoded: bytes, place: int) -> bool:
    return place < len(encoded) and encoded[place] & 0xC0 == 0x80


def _next_character(encoded: bytes, place: int) -> int:
    place += 1
    while _is_inside_a_character(encoded, place):
        place += 1
    return place
