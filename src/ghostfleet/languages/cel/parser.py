"""Reads a CEL expression into a tree.

The tree is made of four sorts of nodes: a *literal*, a *name*, a *field* of something, and a *call* of a function or an
operator, with or without a target in front of the dot. Operators have names such as `_+_`. The macros (`has`, `all`,
`exists`, `exists_one`, `map`, `filter`) are calls like any other at first. A node says where in the text it is, *at*
its operator, dot or bracket, if it has one.

Optional values (`a.?b`, `a[?b]`, `[?a]`, `{?a: b}`) are read where they are asked for, as calls of `_?._`, `_[?_]` and
`?_`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ghostfleet.languages.cel.values import Uint
from ghostfleet.languages.errors import Unsupported

__all__ = ["Call", "Field", "Literal", "Name", "Node", "SyntaxProblem", "parse"]


class SyntaxProblem(Unsupported):
    """What is wrong with a text, and where."""

    def __init__(self, message: str, at: int, expected: str = "", text: str = "") -> None:
        super().__init__(message)
        self.at = at
        #: what should have been there, if another token is: "expression", "end", or a token
        self.expected = expected
        self.text = text


@dataclass(frozen=True, slots=True)
class Literal:
    value: Any
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Name:
    name: str
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Field:
    target: Node
    name: str
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple[Node, ...]
    target: Node | None = None
    at: int = field(default=0, compare=False)


Node = Literal | Name | Field | Call

_TOKEN = re.compile(
    r"(?P<space>(?:[ \t\n\f\r]+|//[^\n]*)+)"
    r"|(?P<text>(?:[rR][bB]?|[bB][rR]?)?(?:\"\"\"(?s:.)*?(?<!\\)\"\"\"|'''(?s:.)*?(?<!\\)'''"
    r"|\"(?:[^\"\\\n\r]|\\.)*\"|'(?:[^'\\\n\r]|\\.)*'))"
    r"|(?P<raw>[rR][bB]?(?:\"[^\"\n\r]*\"|'[^'\n\r]*'))"
    r"|(?P<number>0[xX][0-9a-fA-F]+[uU]?|(?:[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+"
    r"|\.[0-9]+(?:[eE][+-]?[0-9]+)?)|[0-9]+[uU]?)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<symbol>&&|\|\||==|!=|<=|>=|\[\?|\.\?|[-+*/%<>=!?:.,()\[\]{}`])"
)
_RESERVED_WORDS = "as break const continue else for function if import let loop package namespace return var void while"
_RESERVED = frozenset(_RESERVED_WORDS.split())
_CONSTANTS = {"true": True, "false": False, "null": None}
_RELATIONS = ("==", "!=", "<", "<=", ">", ">=", "in")
_LEVELS: tuple[tuple[str, ...], ...] = (_RELATIONS, ("+", "-"), ("*", "/", "%"))


def parse(source: str, *, optionals: bool = False, strange: list[SyntaxProblem] | None = None) -> Node:
    """The tree of an expression; whatever is not CEL raises Unsupported.

    Characters that can be no part of an expression are left out if there is a list to note them in, as `strange`.
    """
    parser = _Parser(_tokens(source, strange), optionals)
    found = parser.expression()
    if parser.words[parser.place][0] != "end":
        parser.fail("end")
    return found


#: how far a text goes that is not one: to the end of its line, or an escape that there is not
_UNFINISHED = re.compile(
    r"(?:\"(?:[^\"\\\n\r]|\\[abfnrtv?\"'`\\xXuU0-3])*|'(?:[^'\\\n\r]|\\[abfnrtv?\"'`\\xXuU0-3])*)(?:\\.)?|[&|=].?|.",
    re.DOTALL,
)


def _tokens(source: str, strange: list[SyntaxProblem] | None = None) -> list[tuple[str, str, int]]:
    found: list[tuple[str, str, int]] = []
    place = 0
    while place < len(source):
        match = _raw(source, place) or _TOKEN.match(source, place)
        if match is None or (strange is not None and match[0] in ("=", "`")):
            skipped = _UNFINISHED.match(source, place)
            text = skipped[0] if skipped else source[place]
            problem = SyntaxProblem(f"token recognition error at {source[place : place + 10]!r}", place, "token", text)
            if strange is None:
                raise problem
            strange.append(problem)
            place += len(text)
            continue
        if match.lastgroup != "space":
            found.append((str(match.lastgroup), match[0], place))
        place = match.end()
    return [*found, ("end", "", len(source))]


_RAW = re.compile(r"(?P<raw>(?:[rR][bB]?|[bB][rR])(?:\"\"\"(?s:.)*?\"\"\"|'''(?s:.)*?'''|\"[^\"\n\r]*\"|'[^'\n\r]*'))")


def _raw(source: str, place: int) -> re.Match[str] | None:
    """A raw text, in which a backslash is just a backslash."""
    return _RAW.match(source, place)


class _Parser:
    def __init__(self, words: list[tuple[str, str, int]], optionals: bool) -> None:
        self.words = words
        self.optionals = optionals
        self.place = 0

    @property
    def here(self) -> int:
        """Where in the text the next token is."""
        return self.words[self.place][2]

    def at(self, *texts: str) -> bool:
        sort, text, _ = self.words[self.place]
        return sort in ("symbol", "word") and text in texts

    def skip(self, text: str) -> bool:
        if self.at(text):
            self.place += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.skip(text):
            self.fail(text)

    def fail(self, expected: str = "expression") -> SyntaxProblem:
        sort, text, here = self.words[self.place]
        raise SyntaxProblem("unexpected end" if sort == "end" else f"unexpected {text!r}", here, expected, text)

    def refuse_optionals(self) -> None:
        if not self.optionals:
            raise SyntaxProblem("optional values are not supported", self.here)

    def expression(self) -> Node:
        test = self.either()
        here = self.here
        if not self.skip("?"):
            return test
        then = self.either()
        self.expect(":")
        return Call("_?_:_", (test, then, self.expression()), at=here)

    def either(self) -> Node:
        return self.logic("||", self.both)

    def both(self) -> Node:
        return self.logic("&&", lambda: self.binary(0))

    def logic(self, operator: str, below: Callable[[], Node]) -> Node:
        terms, places = [below()], []
        while self.at(operator):
            places.append(self.here)
            self.place += 1
            terms.append(below())
        return _balanced(f"_{operator}_", terms, places)

    def binary(self, level: int) -> Node:
        below: Callable[[], Node] = self.unary if level == len(_LEVELS) - 1 else lambda: self.binary(level + 1)
        left = below()
        while self.at(*_LEVELS[level]):
            _, operator, here = self.words[self.place]
            self.place += 1
            left = Call(f"_{operator}_", (left, below()), at=here)
        return left

    def unary(self) -> Node:
        start = self.here
        for operator in ("!", "-"):
            count = 0
            while self.skip(operator):
                count += 1
            if not count:
                continue
            # The smallest int has no positive counterpart: a single sign belongs to the number.
            signed = (operator == "-" and count == 1) or (
                operator == "!" and self.at("-") and self.words[self.place + 1][0] == "number"
            )
            if signed and operator == "!":
                self.place += 1
            sort, text, here = self.words[self.place]
            if signed and sort == "number":
                self.place += 1
                value = _number(text, here, negative=True)
                operand = self.member(Literal(value, here - 1))
                count -= operator == "-"
            else:
                operand = self.member(self.primary())
            return operand if count % 2 == 0 else Call(f"{operator}_", (operand,), at=start)
        return self.member(self.primary())

    def member(self, target: Node) -> Node:
        while True:
            here = self.here
            if self.at("[?", ".?"):
                self.refuse_optionals()
            if self.skip("[") or self.skip("[?"):
                operator = "_[_]" if self.words[self.place - 1][1] == "[" else "_[?_]"
                if operator == "_[_]" and self.words[self.place][0] == "end":
                    self.fail("index")
                target = Call(operator, (target, self.expression()), at=here)
                self.expect("]")
            elif self.skip(".?"):
                field_at = self.here
                target = Call("_?._", (target, Literal(self.identifier(selected=True), field_at)), at=here)
            elif self.skip("."):
                name = self.identifier(selected=True)
                opened = self.here
                if self.skip("("):
                    target = Call(name, self.arguments(")"), target, opened)
                else:
                    target = Field(target, name, here)
            elif self.at("{") and isinstance(target, (Name, Field)):
                raise SyntaxProblem("messages are not supported", here)
            else:
                return target

    def identifier(self, selected: bool = False) -> str:
        sort, text, _ = self.words[self.place]
        if sort != "word" or (text in _CONSTANTS or text == "in") or (text in _RESERVED and not selected):
            self.fail("IDENTIFIER" if selected else "expression")
        self.place += 1
        return text

    def primary(self) -> Node:
        sort, text, here = self.words[self.place]
        if sort in ("number", "text", "raw") or text in _CONSTANTS:
            self.place += 1
            if sort == "number":
                return Literal(_number(text, here), here)
            return Literal(_text(text, here) if sort in ("text", "raw") else _CONSTANTS[text], here)
        if self.skip("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self.skip("["):
            return Call("[]", self.arguments("]"), at=here)
        if self.at("[?"):
            # These are two tokens at the start of a list: the bracket, and the mark of its first element.
            self.words[self.place : self.place + 1] = [("symbol", "[", here), ("symbol", "?", here + 1)]
            return self.primary()
        if self.skip("{"):
            return Call("{}", self.entries(), at=here)
        self.skip(".")
        name = self.identifier()
        opened = self.here
        return Call(name, self.arguments(")"), at=opened) if self.skip("(") else Name(name, here)

    def arguments(self, closing: str) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self.skip(closing):
            if closing == ")" and not found and self.words[self.place][0] == "end":
                self.fail("argument")
            found.append(self.perhaps_optional() if closing == "]" else self.expression())
            if not self.at(closing):
                if not self.skip(","):
                    self.fail(f"{closing},")
                if closing == ")" and self.at(closing):
                    self.fail()
        return tuple(found)

    def perhaps_optional(self) -> Node:
        here = self.here
        if not self.at("?"):
            return self.expression()
        self.refuse_optionals()
        self.place += 1
        return Call("?_", (self.expression(),), at=here)

    def entries(self) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self.skip("}"):
            found.append(self.perhaps_optional())
            self.expect(":")
            found.append(self.expression())
            if not self.at("}"):
                self.expect(",")
        return tuple(found)


def _balanced(function: str, terms: list[Node], places: list[int]) -> Node:
    """A chain of `&&` or `||` as a tree that is no deeper than it has to be: people write long ones."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    left = _balanced(function, terms[:half], places[: half - 1])
    return Call(function, (left, _balanced(function, terms[half:], places[half:])), at=places[half - 1])


def _number(text: str, at: int, negative: bool = False) -> Any:
    if re.fullmatch(r"0[xX][0-9a-fA-F]+[uU]?|[0-9]+[uU]?", text):
        unsigned = text[-1] in "uU"
        value = int(text.rstrip("uU"), 16 if text[:2] in ("0x", "0X") else 10)
        value = -value if negative else value
        low, high = (0, 1 << 64) if unsigned else (-(1 << 63), 1 << 63)
        if not low <= value < high or (unsigned and negative):
            raise SyntaxProblem(f"invalid {'uint' if unsigned else 'int'} literal {text!r}", at - negative)
        return Uint(value) if unsigned else value
    return -float(text) if negative else float(text)


_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.|$))",
    re.DOTALL,
)
_CHARACTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _text(text: str, at: int) -> str | bytes:
    try:
        return _unquoted(text)
    except Unsupported as error:
        raise SyntaxProblem(str(error), at) from None


def _unquoted(text: str) -> str | bytes:
    prefix = re.match(r"[rRbB]*", text)
    letters = (prefix[0] if prefix else "").lower()
    body = text[len(letters) :]
    size = 3 if body[:3] in ('"""', "'''") and len(body) >= 6 else 1
    inner = body[size:-size]
    if "b" not in letters:
        return inner if "r" in letters else _ESCAPE.sub(_character, inner)
    if "r" in letters:
        return inner.encode()
    raw, place = b"", 0
    for match in _ESCAPE.finditer(inner):
        raw += inner[place : match.start()].encode()
        place = match.end()
        code = (match[2] and int(match[2], 16)) or (match[5] and int(match[5], 8))
        raw += bytes([code or 0]) if match[2] or match[5] else _character(match).encode()
    return raw + inner[place:].encode()


def _character(match: re.Match[str]) -> str:
    simple, pair, four, eight, octal, other = match.groups()
    if simple:
        return _CHARACTERS.get(simple, simple)
    if other is not None:
        raise Unsupported(f"unable to unescape {match[0]!r}")
    code = int(octal, 8) if octal else int(pair or four or eight, 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise Unsupported(f"invalid unicode code point in {match[0]!r}")
    return chr(code)
