"""Reads a jq program into its tree of filters.

The grammar is gojq's. Operators bind, from loosest to tightest: `|`, `,`, `//`, the updates, `or`, `and`, comparisons,
sums, products; below them stand *terms*, which may carry *suffixes* such as `.field`, `[0]` or `?`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TypeVar

from ghostfleet.languages.errors import Unsupported
from ghostfleet.languages.jq.lexer import KEYWORDS, Token, tokens
from ghostfleet.languages.jq.syntax import (
    Alternative,
    Array,
    Binary,
    Bind,
    Break,
    Call,
    Comma,
    Condition,
    Definition,
    Filter,
    Foreach,
    Format,
    Identity,
    Index,
    Interpolation,
    Iterate,
    Label,
    Literal,
    Logic,
    Object,
    Pattern,
    Pipe,
    Reduce,
    Slice,
    Try,
    Unary,
    Update,
    Variable,
)
from ghostfleet.languages.jq.values import parse_number

__all__ = ["parse"]

T = TypeVar("T")

_UPDATES = frozenset(("=", "|=", "+=", "-=", "*=", "/=", "%=", "//="))
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
#: operator: how tightly it binds, and whether its left or right side may hold the same again, or neither
_OPERATORS: dict[str, tuple[int, str]] = (
    {"//": (1, "right")}
    | dict.fromkeys(_UPDATES, (2, "none"))
    | {"or": (3, "left"), "and": (4, "left")}
    | dict.fromkeys(_COMPARISONS, (5, "none"))
    | dict.fromkeys("+-", (6, "left"))
    | dict.fromkeys("*/%", (7, "left"))
)
_CONSTANTS = {"null": None, "true": True, "false": False}


def parse(source: str) -> Filter:
    """The tree of a program; whatever is not jq raises Unsupported."""
    return _Parser(tokens(source)).program()


class _Parser:
    def __init__(self, words: Sequence[Token]) -> None:
        self.words = words
        self.place = 0

    @property
    def token(self) -> Token:
        return self.words[self.place]

    def take(self) -> Token:
        token = self.token
        self.place += 1
        return token

    def at(self, *texts: str) -> bool:
        return self.token.sort in ("operator", "word") and self.token.text in texts

    def skip(self, text: str) -> bool:
        if self.at(text):
            self.place += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.skip(text):
            self.fail()

    def fail(self) -> Unsupported:
        token = self.token
        if token.sort == "end":
            raise Unsupported("unexpected EOF")
        raise Unsupported(f"unexpected token {json.dumps(token.text, ensure_ascii=False)}")

    def program(self) -> Filter:
        if self.at("import", "include", "module"):
            raise Unsupported(f"modules are not supported: {self.token.text}")
        found = self.pipe()
        if self.token.sort != "end":
            self.fail()
        return found

    def pipe(self) -> Filter:
        if self.skip("def"):
            return self.definition()
        if self.skip("label"):
            name = self.variable()
            self.expect("|")
            return Label(name, self.pipe())
        left = self.commas()
        return Pipe(left, self.pipe()) if self.skip("|") else left

    def commas(self) -> Filter:
        left = self.binding()
        while self.skip(","):
            left = Comma(left, self.pipe() if self.at("def", "label") else self.binding())
        return left

    def binding(self) -> Filter:
        source = self.expression()
        if not self.skip("as"):
            return source
        patterns = [self.pattern()]
        while self.skip("?//"):
            patterns.append(self.pattern())
        self.expect("|")
        return Bind(source, tuple(patterns), self.pipe())

    def definition(self) -> Filter:
        name = self.word()
        parameters: list[str] = []
        if self.skip("("):
            parameters = self.separated(";", self.parameter)
            self.expect(")")
        self.expect(":")
        body = self.pipe()
        self.expect(";")
        return Definition(name, tuple(parameters), body, self.pipe())

    def parameter(self) -> str:
        return self.take().text if self.token.sort == "variable" else self.word()

    def word(self) -> str:
        if self.token.sort != "word" or self.token.text in KEYWORDS:
            self.fail()
        return self.take().text

    def variable(self) -> str:
        if self.token.sort != "variable":
            self.fail()
        return self.take().text

    def separated(self, separator: str, read: Callable[[], T]) -> list[T]:
        found = [read()]
        while self.skip(separator):
            found.append(read())
        return found

    def expression(self, tightest: int = 1) -> Filter:
        left = self.term()
        while self.token.sort in ("operator", "word") and self.token.text in _OPERATORS:
            operator = self.token.text
            level, side = _OPERATORS[operator]
            if level < tightest:
                break
            self.place += 1
            left = _combined(operator, left, self.expression(level if side == "right" else level + 1))
            if side == "none" and self.token.text in _OPERATORS and _OPERATORS[self.token.text][0] == level:
                self.fail()
        return left

    def term(self) -> Filter:
        if self.at("+", "-"):
            return Unary(self.take().text, self.term())
        found = self.plain_term()
        while True:
            if self.token.sort == "field":
                found = Index(found, Literal(self.take().text))
            elif self.skip("?"):
                found = _optional(found)
            elif self.at("["):
                found = self.bracket(found)
            elif self.at(".") and self.words[self.place + 1].sort == "text":
                self.place += 1
                found = Index(found, self.text())
            elif self.at(".") and self.words[self.place + 1].text == "[":
                self.place += 1
                found = self.bracket(found)
            else:
                return found

    def plain_term(self) -> Filter:
        token = self.token
        readers: dict[str, Callable[[], Filter]] = {
            "number": lambda: Literal(parse_number(self.take().text)),
            "text": self.text,
            "variable": lambda: Variable(self.take().text),
            "field": lambda: Index(Identity(), Literal(self.take().text)),
            "format": self.format,
            "word": self.keyword,
            "operator": self.symbol,
        }
        if token.sort not in readers:
            self.fail()
        return readers[token.sort]()

    def symbol(self) -> Filter:
        if self.skip(".."):
            return Call("recurse")
        if self.skip("."):
            if self.token.sort == "text":
                return Index(Identity(), self.text())
            return self.bracket(Identity()) if self.at("[") else Identity()
        if self.skip("("):
            inner = self.pipe()
            self.expect(")")
            return inner if not isinstance(inner, (Index, Iterate, Slice)) else Pipe(Identity(), inner)
        if self.skip("["):
            if self.skip("]"):
                return Array(None)
            body = self.pipe()
            self.expect("]")
            return Array(body)
        if self.skip("{"):
            return self.object()
        raise self.fail()

    def bracket(self, target: Filter) -> Filter:
        self.expect("[")
        if self.skip("]"):
            return Iterate(target)
        if self.skip(":"):
            end = self.pipe()
            self.expect("]")
            return Slice(target, Literal(None), end)
        start = self.pipe()
        if self.skip(":"):
            end = Literal(None) if self.at("]") else self.pipe()
            self.expect("]")
            return Slice(target, start, end)
        self.expect("]")
        return Index(target, start)

    def text(self, format: str = "@text") -> Filter:
        if self.token.sort != "text":
            self.fail()
        parts = self.take().parts
        if len(parts) == 1 and isinstance(parts[0], str):
            return Literal(parts[0])
        return Interpolation(tuple(p if isinstance(p, str) else _Parser(p).program() for p in parts), format)

    def format(self) -> Filter:
        name = self.take().text
        return self.text(name) if self.token.sort == "text" else Format(name)

    def keyword(self) -> Filter:
        text = self.token.text
        special: dict[str, Callable[[], Filter]] = {
            "if": self.condition,
            "try": self.attempt,
            "reduce": self.reduce,
            "foreach": self.foreach,
            "break": lambda: Break(self.variable()),
        }
        if text in special:
            self.place += 1
            return special[text]()
        if text in _CONSTANTS:
            self.place += 1
            return Literal(_CONSTANTS[text])
        name = self.word()
        if not self.skip("("):
            return Call(name)
        arguments = self.separated(";", self.pipe)
        self.expect(")")
        return Call(name, tuple(arguments))

    def condition(self) -> Filter:
        test = self.pipe()
        self.expect("then")
        then = self.pipe()
        if self.skip("elif"):
            return Condition(test, then, self.condition())
        otherwise = self.pipe() if self.skip("else") else Identity()
        self.expect("end")
        return Condition(test, then, otherwise)

    def attempt(self) -> Filter:
        body = self.term()
        return Try(body, self.term() if self.skip("catch") else None)

    def reduce(self) -> Filter:
        source = self.expression()
        self.expect("as")
        pattern = self.pattern()
        start, update = self.steps(2)
        return Reduce(source, pattern, start, update)

    def foreach(self) -> Filter:
        source = self.expression()
        self.expect("as")
        pattern = self.pattern()
        start, update, *extract = self.steps(3)
        return Foreach(source, pattern, start, update, extract[0] if extract else Identity())

    def steps(self, most: int) -> list[Filter]:
        self.expect("(")
        found = self.separated(";", self.pipe)
        self.expect(")")
        if not 2 <= len(found) <= most:
            raise Unsupported(f"expected 2 to {most} filters between parentheses, found {len(found)}")
        return found

    def pattern(self) -> Pattern:
        if self.skip("["):
            elements = self.separated(",", self.pattern)
            self.expect("]")
            return Pattern(elements=tuple(elements))
        if self.skip("{"):
            entries = self.separated(",", self.pattern_entry)
            self.expect("}")
            return Pattern(entries=tuple(entries))
        return Pattern(self.variable())

    def pattern_entry(self) -> tuple[Filter, str, Pattern | None]:
        if self.token.sort == "variable":
            name = self.take().text
            return Literal(name[1:]), name, self.pattern() if self.skip(":") else None
        key = self.key()
        self.expect(":")
        return key, "", self.pattern()

    def key(self) -> Filter:
        if self.token.sort == "text":
            return self.text()
        if self.skip("("):
            key = self.pipe()
            self.expect(")")
            return key
        if self.token.sort != "word":
            self.fail()
        return Literal(self.take().text)

    def object(self) -> Filter:
        entries: list[tuple[Filter, Filter | None]] = []
        while not self.skip("}"):
            entries.append(self.entry())
            if not self.at("}"):
                self.expect(",")
        return Object(tuple(entries))

    def entry(self) -> tuple[Filter, Filter | None]:
        if self.token.sort == "variable":
            name = self.take().text
            if self.skip(":"):
                return Variable(name), self.entry_value()
            return Literal(name[1:]), Variable(name)
        computed = self.at("(")
        key = self.key()
        if self.skip(":"):
            return key, self.entry_value()
        if computed:
            self.fail()
        return key, None

    def entry_value(self) -> Filter:
        value = self.expression()
        return Pipe(value, self.entry_value()) if self.skip("|") else value


def _combined(operator: str, left: Filter, right: Filter) -> Filter:
    if operator == "//":
        return Alternative(left, right)
    if operator in ("and", "or"):
        return Logic(operator, left, right)
    return Update(operator, left, right) if operator in _UPDATES else Binary(operator, left, right)


def _optional(found: Filter) -> Filter:
    """`?` guards the last suffix only; in gojq a key under it is a filter on the target's output, not on the input."""
    if isinstance(found, Index):
        return Pipe(found.target, Try(Index(Identity(), found.key), None))
    if isinstance(found, Slice):
        return Pipe(found.target, Try(Slice(Identity(), found.start, found.end), None))
    if isinstance(found, Iterate):
        return Pipe(found.target, Try(Iterate(Identity()), None))
    return Try(found, None)
