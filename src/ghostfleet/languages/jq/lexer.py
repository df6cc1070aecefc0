"""The words of a jq program.

A *token* is a word, a number, an operator, or a text; a text with filters in it holds their source, to be read by the
parser in turn. Comments and white space are left out.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from ghostfleet.languages.errors import Unsupported

__all__ = ["KEYWORDS", "NUMBER", "Token", "tokens"]

_KEYWORDS = "or and module import include def as label break null true false if then elif else end try catch"
KEYWORDS = frozenset((*_KEYWORDS.split(), "reduce", "foreach"))
NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPACE = re.compile(r"(?:[ \t\r\n]+|#(?:[^\\\r\n]|\\(?:\\|\r\n|[\n\r])?)*)*")
_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_TOKEN = re.compile(
    rf"(?P<field>\.{_WORD})"
    rf"|(?P<number>{NUMBER.pattern})"
    rf"|(?P<variable>\${_WORD}(?:::{_WORD})?)"
    rf"|(?P<word>{_WORD}(?:::{_WORD})?)"
    r"|(?P<format>@[A-Za-z0-9_]+)"
    r"|(?P<operator>\?//|//=|\.\.|//|[|+\-*/%=!<>]=|[.|,:;()\[\]{}+\-*/%=<>?])"
)
_IDENTIFIER = re.compile(r"[A-Za-z_]")
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[\"/\\bfnrt])")


@dataclass(frozen=True, slots=True)
class Token:
    """One word: its sort (word, field, variable, number, format, operator, text or end), its text and its place."""

    sort: str
    text: str
    place: int
    #: of a text: plain pieces, and the tokens of the filters in it
    parts: tuple[str | tuple[Token, ...], ...] = ()


def tokens(source: str) -> list[Token]:
    """All tokens of a program, with an end after the last."""
    found, place = _scan(source, 0, nested=False)
    return [*found, Token("end", "", place)]


def _scan(source: str, place: int, nested: bool) -> tuple[list[Token], int]:
    """Tokens up to the end, or in a text up to the parenthesis that closes the filter."""
    found: list[Token] = []
    depth = 0
    while True:
        place = _after_space(source, place)
        if place >= len(source):
            if nested:
                raise Unsupported("unterminated string literal")
            return found, place
        if source[place] == '"':
            token, place = _text(source, place)
            found.append(token)
            continue
        match = _TOKEN.match(source, place)
        if match is None:
            raise Unsupported(f"unexpected token {json.dumps(source[place], ensure_ascii=False)}")
        token = _token(match, source)
        if nested and token.sort == "operator":
            depth += (token.text == "(") - (token.text == ")")
            if depth < 0:
                return found, match.end()
        found.append(token)
        place = match.end()


def _after_space(source: str, place: int) -> int:
    match = _SPACE.match(source, place)
    return match.end() if match else place


def _token(match: re.Match[str], source: str) -> Token:
    sort, text = str(match.lastgroup), match[0]
    following = source[match.end() : match.end() + 1]
    if sort == "number" and (_IDENTIFIER.match(following) or following == "."):
        raise Unsupported(f"invalid token {json.dumps(text + following)}")
    return Token(sort, text[1:] if sort == "field" else text, match.start())


def _text(source: str, start: int) -> tuple[Token, int]:
    parts: list[str | tuple[Token, ...]] = []
    plain = ""
    place = start + 1
    while place < len(source):
        one = source[place]
        if one == '"':
            parts += [plain] if plain or not parts else []
            return Token("text", source[start : place + 1], start, tuple(parts)), place + 1
        if one != "\\":
            plain += one
            place += 1
        elif source[place + 1 : place + 2] == "(":
            inner, place = _scan(source, place + 2, nested=True)
            parts += [plain] if plain else []
            parts.append((*inner, Token("end", "", place)))
            plain = ""
        else:
            escaped, place = _escape(source, place)
            plain += escaped
    raise Unsupported("unterminated string literal")


def _escape(source: str, place: int) -> tuple[str, int]:
    match = _ESCAPE.match(source, place)
    if match is None:
        raise Unsupported(f'invalid escape sequence "{source[place : place + 2]}" in string literal')
    text, place = match[0], match.end()
    second = _ESCAPE.match(source, place)
    if re.match(r"\\u[dD][89abAB]", text) and second is not None and re.match(r"\\u[dD][c-fC-F]", second[0]):
        return json.loads(f'"{text}{second[0]}"'), second.end()
    decoded: str = json.loads(f'"{text}"')
    return ("\ufffd" if "\ud800" <= decoded <= "\udfff" else decoded), place
