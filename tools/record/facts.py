"""The languages of stages in Go: gojq, text/template with sprig, cel-go and sigs.k8s.io/yaml, as KWOK uses them.

The *facts* (`tests/languages/facts/<language>.jsonl`) hold a question a line, and its answer. The first line says what
the questions are about and which versions answered. Recording asks the same questions again; a question is added by a
line with nothing but its `text`. The engines are built from `engines/`, which needs a Go toolchain.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from goprograms import ask_program

__all__ = ["record"]

FACTS = Path(__file__).parents[2] / "tests" / "languages" / "facts"
#: What answers in each language.
ANSWERING = {
    "cel": ("cel-go", "kwok"),
    "jq": ("gojq",),
    "templates": ("text/template", "sprig", "kwok"),
    "yaml": ("sigs.k8s.io/yaml",),
}

#: The parts of an answer, in their order.
_ANSWER = ("type", "value", "outputs", "error", "gives", "json", "fails", "refused")

Line = dict[str, Any]


def record() -> None:
    """Ask everything again."""
    files = {language: _lines(FACTS / f"{language}.jsonl") for language in ANSWERING}
    questions = [_question(language, head, fact) for language, (head, *facts) in files.items() for fact in facts]
    versions, answers = ask_program("engines", map(_encoded, questions))
    for language, (head, *facts) in files.items():
        answered = {name: versions[name] for name in ANSWERING[language]}
        told = [{**head, "recorded": answered}]
        for fact in facts:
            answer = answers.pop(0)
            told.append({**_asked(fact), **{name: answer[name] for name in _ANSWER if name in answer}})
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in told)
        (FACTS / f"{language}.jsonl").write_text(text)


def _lines(path: Path) -> list[Line]:
    # Not splitlines(): a text may hold separators that are none in JSON.
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def _asked(fact: Line) -> Line:
    return {name: fact[name] for name in ("text", "input") if name in fact}


def _question(language: str, head: Line, fact: Line) -> Line:
    data: Any = None
    if language == "jq":
        data = head["inputs"][fact.get("input", 0)]
    elif language == "cel":
        data = head["self"]
    elif language == "templates":
        # Its numbers are kept as they are written.
        return {"language": language, "text": fact["text"], "data": _Raw(head["data"])}
    return {"language": language, "text": fact["text"], "data": data}


class _Raw(str):
    """A text that is JSON already."""


def _encoded(question: Line) -> str:
    if isinstance(question["data"], _Raw):
        rest = json.dumps({name: question[name] for name in ("language", "text")})
        return f'{rest[:-1]}, "data": {question["data"]}}}'
    return json.dumps(question)
