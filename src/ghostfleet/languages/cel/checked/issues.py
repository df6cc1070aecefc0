"""What is wrong with an expression, in cel-go's words: message, place, and the line with a mark below it."""

from __future__ import annotations

import re

from ghostfleet.languages.cel.parser import SyntaxProblem
from ghostfleet.languages.errors import Unsupported

__all__ = ["CompileError", "Issues", "syntax_message"]

#: more than this many are only counted (cel-go's default)
_MOST = 100
_EXPRESSION = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_INDEX = _EXPRESSION.replace("'!',", "'!', '?',")
_ARGUMENT = _EXPRESSION.replace("'(',", "'(', ')',")
_RESERVED = frozenset(
    ("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
     "package", "namespace", "null", "return", "true", "var", "void", "while")
)  # fmt: skip


_WRONG_LITERAL = re.compile(r"(invalid u?int literal).*")


class CompileError(Unsupported):
    """An expression that does not compile; the text names all that is wrong."""


class Issues:
    """All that is wrong with one text."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._found: list[tuple[int, str]] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def report(self, at: int, message: str) -> None:
        self._found.append((at, message))

    def __str__(self) -> str:
        ordered = sorted(self._found, key=lambda each: each[0])
        shown = [self._show(at, message) for at, message in ordered[:_MOST]]
        if len(ordered) > _MOST:
            shown.append(f"{len(ordered) - _MOST} more errors were truncated")
        return "\n".join(shown)

    def _show(self, at: int, message: str) -> str:
        if not self._source:
            return f"ERROR: <input>:1:0: {message}"
        before = self._source[:at]
        line = before.count("\n") + 1
        column = at - (before.rfind("\n") + 1)
        snippet = self._source.split("\n")[line - 1].replace("\t", " ")
        dots = "".join("." if character.isascii() else "\uff0e" for character in snippet[:column])
        mark = "^" if snippet[column : column + 1].isascii() else "\uff3e"
        return f"ERROR: <input>:{line}:{column + 1}: {message}\n | {snippet}\n | {dots}{mark}"


def syntax_message(problem: SyntaxProblem) -> str:
    """What cel-go says of a text that cannot be read, which is what its parser generator says.

    That one goes on reading after a mistake and may find more; here the first is told."""
    text = problem.text or "<EOF>"
    match problem.expected:
        case "token":
            return f"Syntax error: token recognition error at: '{problem.text}'"
        case "expression" if text in _RESERVED:
            return f"reserved identifier: {text}"
        case "expression":
            return f"Syntax error: mismatched input '{text}' expecting {_EXPRESSION}"
        case "index":
            return f"Syntax error: mismatched input '{text}' expecting {_INDEX}"
        case "argument":
            return f"Syntax error: mismatched input '{text}' expecting {_ARGUMENT}"
        case "end":
            return f"Syntax error: extraneous input '{text}' expecting <EOF>"
        case "IDENTIFIER":
            return f"Syntax error: no viable alternative at input '.{problem.text}'"
        case "],":
            return f"Syntax error: mismatched input '{text}' expecting {{']', ','}}"
        case "),":
            return f"Syntax error: mismatched input '{text}' expecting {{')', ','}}"
        case "":
            return _WRONG_LITERAL.sub(r"\1", str(problem))
    if not problem.text:
        return f"Syntax error: mismatched input '<EOF>' expecting '{problem.expected}'"
    return f"Syntax error: missing '{problem.expected}' at '{text}'"
