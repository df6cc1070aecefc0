"""Reads a Go template into its parts.

A template is *text* with *actions* between `{{` and `}}`. An action is a *pipeline*: commands, each of which gets the
value of the one before it as its last argument; or it is a *control* that encloses a list of parts up to its `end`. A
trim marker (`{{-`, `-}}`) takes away the white space next to it. Variables must be declared before they are used, and
functions must be known, which is checked here as Go does.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from ghostfleet.languages.errors import Unsupported
from ghostfleet.languages.gotemplate.literals import number, unquoted
from ghostfleet.languages.gotemplate.syntax import (
    Action,
    Branch,
    Command,
    Invocation,
    Leave,
    Operand,
    Part,
    Pipeline,
    Text,
)

__all__ = ["parse"]


_SPACE = " \t\r\n"
_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r'|(?P<string>"(?:[^"\\\n]|\\[^\n])*")'
    r"|(?P<raw>`[^`]*`)"
    r"|(?P<character>'(?:[^'\\\n]|\\[^\n])+')"
    r"|(?P<declare>:=)"
    r"|(?P<number>[+-]?(?:0[xX][0-9a-fA-F_]*\.?[0-9a-fA-F_]*(?:[pP][+-]?[0-9_]*)?"
    r"|[0-9][0-9_]*[oObB]?[0-9_]*\.?[0-9_]*(?:[eE][+-]?[0-9_]*)?|\.[0-9][0-9_]*(?:[eE][+-]?[0-9_]*)?)i?)"
    r"|(?P<variable>\$\w*)"
    r"|(?P<field>\.\w+)"
    r"|(?P<dot>\.)"
    r"|(?P<word>\w+)"
    r"|(?P<symbol>[=|(),])"
)
_SPACES = re.compile(r"[ \t\r\n]*")
_KEYWORDS = frozenset(["block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"])
_CLOSES = re.compile(r"[ \t\r\n]-\}\}|\}\}")
_AFTER_WORD = re.compile(r"[ \t\r\n.,|:)(]|\}\}|$")


@dataclass(slots=True)
class _Token:
    sort: str
    text: str


def parse(text: str, functions: Collection[str]) -> dict[str, tuple[Part, ...]]:
    """All templates of a text by name; the text itself is the one without a name."""
    return _Parser(text, functions).templates()


@dataclass(slots=True)
class _Parser:
    source: str
    functions: Collection[str]
    place: int = 0
    #: tokens of the action that is being read, and how many are used up
    words: list[_Token] = field(default_factory=list)
    used: int = 0
    #: where it begins and ends
    begin: int = 0
    end: int = 0
    variables: list[str] = field(default_factory=lambda: ["$"])
    loops: int = 0
    named: dict[str, tuple[Part, ...]] = field(default_factory=dict)

    def fail(self, why: str) -> Unsupported:
        line = self.source.count("\n", 0, self.place) + 1
        raise Unsupported(f"line {line}: {why}")

    def templates(self) -> dict[str, tuple[Part, ...]]:
        parts, end = self.parts(top=True)
        if end:
            self.fail(f"unexpected {{{{{end}}}}}")
        return {**self.named, "": parts}

    # Parts

    def parts(self, top: bool = False) -> tuple[tuple[Part, ...], str]:
        """Parts up to an `end` or `else`, which is named too, or up to the end of the text."""
        found: list[Part] = []
        while (text := self.text()) is not None:
            if text:
                found.append(Text(text))
            if self.used >= len(self.words):
                return tuple(found), ""
            keyword = self.keyword()
            if keyword in ("end", "else"):
                return tuple(found), keyword
            if keyword == "define":
                if not top:
                    self.fail("unexpected {{define}}")
                self.definition()
            else:
                found.append(self.part(keyword))
        return tuple(found), ""

    def text(self) -> str | None:
        """The text before the next action, whose words are then read; None at the end."""
        self.words, self.used = [], 0
        pieces: list[str] = []
        while self.place < len(self.source):
            start = self.source.find("{{", self.place)
            if start < 0:
                pieces.append(self.source[self.place :])
                self.place = len(self.source)
                return "".join(pieces)
            piece = self.source[self.place : start]
            self.begin = start
            self.place = start + 2
            if self.source[self.place : self.place + 1] == "-" and self.source[self.place + 1 : self.place + 2] in (
                *_SPACE,
            ):
                piece = piece.rstrip(_SPACE)
                self.place += 2
            pieces.append(piece)
            if not self.source.startswith("/*", self.place):
                self.action_words()
                return "".join(pieces)
            self.comment()
        return "".join(pieces) or None

    def comment(self) -> None:
        end = self.source.find("*/", self.place + 2)
        if end < 0:
            self.fail("unclosed comment")
        self.place = end + 2
        close = _CLOSES.match(self.source, self.place)
        if close is None:
            self.fail("comment ends before closing delimiter")
            return
        self.close(close)

    def close(self, match: re.Match[str]) -> None:
        self.place = match.end()
        if match[0] != "}}":
            space = _SPACES.match(self.source, self.place)
            self.place = space.end() if space else self.place

    def action_words(self) -> None:
        depth = 0
        while (close := _CLOSES.match(self.source, self.place)) is None:
            match = _TOKEN.match(self.source, self.place)
            if match is None:
                self.fail(
                    "unclosed action"
                    if self.place >= len(self.source)
                    else f"unexpected {self.source[self.place : self.place + 10]!r} in an action"
                )
                return
            sort = str(match.lastgroup)
            self.place = match.end()
            if sort == "space":
                # The space of ` -}}` belongs to the delimiter.
                if _CLOSES.match(self.source, self.place - 1) and self.source[self.place - 1] in _SPACE:
                    self.place -= 1
            elif sort in ("word", "variable", "field", "number") and not _AFTER_WORD.match(self.source, self.place):
                self.fail(f"bad character {self.source[self.place]!r} after {match[0]!r}")
            depth += (match[0] == "(") - (match[0] == ")")
            if depth < 0:
                self.fail("unexpected right paren")
            self.words.append(_Token(sort, match[0]))
        if depth:
            self.fail("unclosed left paren")
        self.end = close.end()
        self.close(close)
        self.words.append(_Token("close", "}}"))

    # Words of an action

    def peek(self, spaces: bool = False) -> _Token:
        while not spaces and self.words[self.used].sort == "space":
            self.used += 1
        return self.words[self.used]

    def take(self, spaces: bool = False) -> _Token:
        token = self.peek(spaces)
        self.used += 1
        return token

    def expect_close(self, context: str) -> None:
        if (token := self.take()).sort != "close":
            self.fail(f"unexpected {token.text!r} in {context}")

    def keyword(self) -> str:
        token = self.peek()
        if token.sort != "word" or token.text not in _KEYWORDS:
            return ""
        self.used += 1
        if token.text == "end":
            self.expect_close("end")
        elif token.text == "else" and self.peek().text not in ("if", "with"):
            self.expect_close("else")
        return token.text

    def part(self, keyword: str) -> Part:
        if keyword in ("if", "with", "range"):
            return self.branch(keyword)
        if keyword in ("break", "continue"):
            self.expect_close(keyword)
            if not self.loops:
                self.fail(f"{{{{{keyword}}}}} outside {{{{range}}}}")
            return Leave(keyword)
        if keyword == "template":
            name = self.template_name()
            if self.peek().sort == "close":
                return Invocation(name, None)
            return Invocation(name, self.pipeline("template clause"))
        if keyword == "block":
            name = self.template_name()
            pipeline = self.pipeline("block clause")
            self.enclosed(name, "block clause")
            return Invocation(name, pipeline)
        return Action(self.pipeline("command"))

    def branch(self, keyword: str) -> Branch:
        known = len(self.variables)
        pipeline = self.pipeline(keyword)
        self.loops += keyword == "range"
        body, end = self.parts()
        self.loops -= keyword == "range"
        otherwise: tuple[Part, ...] = ()
        if end == "else":
            nested = self.words[self.used].text if self.used < len(self.words) else ""
            if nested == keyword and keyword != "range":
                self.used += 1
                otherwise = (self.branch(keyword),)
            else:
                if self.used < len(self.words):
                    self.fail(f"unexpected {nested!r} in else")
                otherwise, end = self.parts()
                if end != "end":
                    self.fail("expected end")
        elif end != "end":
            self.fail("unexpected EOF")
        del self.variables[known:]
        return Branch(keyword, pipeline, body, otherwise)

    def definition(self) -> None:
        name = self.template_name()
        self.expect_close("define clause")
        self.enclosed(name, "define clause")

    def template_name(self) -> str:
        token = self.take()
        if token.sort not in ("string", "raw"):
            self.fail(f"unexpected {token.text!r}, expected the name of a template")
        return unquoted(token.text)

    def enclosed(self, name: str, context: str) -> None:
        """The body of a template within the text, which knows no variables from around it."""
        outer, self.variables = self.variables, ["$"]
        loops, self.loops = self.loops, 0
        body, end = self.parts()
        if end != "end":
            self.fail(f"unexpected {end or 'EOF'} in {context}")
        self.variables, self.loops = outer, loops
        empty = all(isinstance(part, Text) and not part.text.strip() for part in body)
        if name in self.named and not empty and self.named[name]:
            self.fail(f"multiple definition of template {name!r}")
        if name not in self.named or not empty:
            self.named[name] = body

    # Pipelines

    def pipeline(self, context: str, closing: str = "close") -> Pipeline:
        variables, assigns = self.declaration(context)
        commands: list[Command] = []
        while True:
            token = self.peek()
            if token.sort == closing or (closing == ")" and token.text == ")"):
                self.used += 1
                break
            if token.sort in ("close", "symbol") and token.text != "(":
                self.fail(f"unexpected {token.text!r} in {context}")
            commands.append(self.command())
        if not commands:
            self.fail(f"missing value for {context}")
        for stage, command in enumerate(commands[1:], 2):
            if command[0].sort in ("bool", "dot", "nil", "number", "string"):
                self.fail(f"non executable command in pipeline stage {stage}")
        self.variables += variables if not assigns else ()
        if closing != "close":
            return Pipeline(tuple(commands), variables, assigns)
        line = self.source.count("\n", 0, self.begin) + 1
        return Pipeline(tuple(commands), variables, assigns, line, self.source[self.begin : self.end])

    def declaration(self, context: str) -> tuple[tuple[str, ...], bool]:
        start = self.used
        names: list[str] = []
        while self.peek().sort == "variable":
            names.append(self.take().text)
            token = self.take()
            if token.sort == "declare" or token.text == "=":
                if token.text == "=":
                    for name in names:
                        self.known(name)
                return tuple(names), token.text == "="
            if token.text != ",":
                break
            if context != "range" or len(names) > 1:
                self.fail(f"too many declarations in {context}")
        else:
            if names:
                self.fail("range can only initialize variables")
        self.used = start
        return (), False

    def known(self, name: str) -> None:
        if name not in self.variables:
            self.fail(f"undefined variable {name!r}")

    def command(self) -> Command:
        operands: list[Operand] = []
        while True:
            self.peek()
            operand = self.operand()
            if operand is None:
                token = self.peek(spaces=True)
                if token.sort == "close" or token.text == ")":
                    break
                if token.text == "|":
                    self.used += 1
                    break
                self.fail(f"unexpected {token.text!r} in operand")
                break
            operands.append(operand)
            token = self.peek(spaces=True)
            if token.sort == "space":
                continue
            if token.sort == "close" or token.text in (")", "|"):
                self.used += token.text == "|"
                break
            self.fail(f"unexpected {token.text!r} in operand")
        if not operands:
            self.fail("empty command")
        return tuple(operands)

    def operand(self) -> Operand | None:
        operand = self.term()
        if operand is None:
            return None
        fields: list[str] = []
        while self.peek(spaces=True).sort == "field":
            fields.append(self.take().text[1:])
        if not fields:
            return operand
        if operand.sort in ("bool", "string", "number", "nil", "dot"):
            self.fail("unexpected . after a literal")
        return Operand(operand.sort, operand.value, (*operand.fields, *fields))

    def term(self) -> Operand | None:
        token = self.peek()
        sort, text = token.sort, token.text
        if sort in ("close", "space", "declare") or (sort == "symbol" and text != "("):
            return None
        self.used += 1
        if text == "(":
            return Operand("pipeline", self.pipeline("parenthesized pipeline", ")"))
        if sort == "field":
            return Operand("field", None, (text[1:],))
        if sort == "variable":
            self.known(text)
            return Operand("variable", text)
        if sort in ("string", "raw"):
            return Operand("string", unquoted(text))
        if sort in ("number", "character"):
            return Operand("number", number(text))
        return self.word(text) if sort == "word" else Operand("dot")

    def word(self, text: str) -> Operand:
        if text in ("true", "false"):
            return Operand("bool", text == "true")
        if text == "nil":
            return Operand("nil")
        if text in _KEYWORDS:
            self.fail(f"unexpected {text!r}")
        if text not in self.functions:
            self.fail(f"function {text!r} not defined")
        return Operand("function", text)
