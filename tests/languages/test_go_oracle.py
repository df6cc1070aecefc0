"""The languages of stages against recorded answers of the real engines, and KWOK's own stage files, where they are found.

They lie beside the checkout, not in it. Every line must either agree or be refused when it is compiled.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ghostfleet.core.manifests import load_documents
from ghostfleet.languages.cel import compile_cel
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.languages.gotemplate import TemplateError, Unsupported, compile_template, read_yaml
from ghostfleet.languages.gotemplate.fmt import printed
from ghostfleet.languages.gotemplate.values import Float, Int
from ghostfleet.languages.govalues import JsonNumber
from ghostfleet.languages.jq import JqError, compile_jq

_FIXTURES = Path(__file__).resolve().parents[2].parent / "shared" / "fixtures"
_ORACLE, _STAGES = _FIXTURES / "go-oracle.txt", _FIXTURES / "kwok-stages"
_JQ_LINE = re.compile(r"jq (?P<text>.{42}|.*?) (?P<answer>.*)")
_INPUT = re.compile(r"# jq lines run on (\{.*\})")
_TEXT = r'"(?:[^"\\]|\\.)*"'
_TEMPLATE_LINE = re.compile(rf"tpl ({_TEXT})\s+doc=(.*?)\s*-> ({_TEXT}) err=(.*)")
_YAML_LINE = re.compile(rf"yaml ({_TEXT})\s*-> (.*?) err=(.*)")
_FUNCTIONS: dict[str, Any] = {
    "Now": lambda: "2026-01-02T03:04:05Z",
    "StartTime": lambda: "2026-01-01T00:00:00Z",
    "Version": lambda: "v0.8.0",
    "NodeIP": lambda: "10.0.0.1",
    "NodeName": lambda: "n",
    "NodePort": lambda: 10250,
    "PodIP": lambda: "10.1.0.1",
    "NodeIPWith": lambda node: "10.0.0.1",
    "NodeIPsWith": lambda node: ["10.0.0.1"],
    "PodIPWith": lambda *pod: "10.1.0.1",
    "PodIPsWith": lambda *pod: ["10.1.0.1"],
}


def oracle_lines(sort: str) -> list[str]:
    if not _ORACLE.exists():
        pytest.skip("no recorded answers of the Go engines beside the checkout")
    return [line for line in _ORACLE.read_text().splitlines() if line.startswith(f"{sort} ")]


def as_go(value: Any) -> Any:
    """A value for `%v`: numbers of jq as those of Go."""
    if type(value) is list:
        return [as_go(part) for part in value]
    if type(value) is dict:
        return {key: as_go(part) for key, part in value.items()}
    return Float(value) if type(value) is float else Int(value) if type(value) is int else value


def shown(value: Any) -> str:
    """An output as the recording shows it: `type(value)`."""
    names = {bool: "bool", float: "float64", str: "string", JsonNumber: "json.Number", type(None): "<nil>"}
    names |= {list: "[]interface {}", dict: "map[string]interface {}"}
    if type(value) is int:
        name = "int" if abs(value) < 1 << 63 else "*big.Int"
    else:
        name = names[type(value)]
    return f"{name}({printed(as_go(value))})"


def number(digits: str) -> int | float:
    """A number of JSON; what does not fit into 64 bits was a float before it was written."""
    return int(digits) if -(1 << 63) <= int(digits) < 1 << 64 else float(digits)


def judged(counts: Counter[str], line: str, refused: bool, agrees: bool, fails: bool) -> None:
    """Counts a line; one that Go refuses or fails on must not go through here."""
    assert refused or agrees, line
    counts["refused" if refused and not fails else "agree"] += 1


def test_jq_agrees_with_gojq():
    text = _ORACLE.read_text() if _ORACLE.exists() else ""
    found = _INPUT.search(text)
    obj = json.loads(found[1]) if found else {}
    counts: Counter[str] = Counter()
    for line in oracle_lines("jq"):
        match = _JQ_LINE.fullmatch(line)
        assert match is not None, line
        answer = (match["answer"] or "").strip()
        fails = bool(re.match(r"(COMPILE-)?ERR", answer))
        try:
            outputs = ", ".join(map(shown, compile_jq(match["text"].strip()).run(obj)))
            judged(counts, line, False, not fails and outputs == answer, fails)
        except Unsupported:
            judged(counts, line, True, False, fails)
        except JqError:
            judged(counts, line, False, fails, fails)
    print(f"\njq: {dict(counts)}")


def test_templates_agree_with_text_template():
    counts: Counter[str] = Counter()
    for line in oracle_lines("tpl"):
        match = _TEMPLATE_LINE.fullmatch(line)
        assert match is not None, line
        data = json.loads(match[2], parse_int=JsonNumber, parse_float=JsonNumber)
        fails = match[4] != "<nil>"
        try:
            made = compile_template(json.loads(match[1]), _FUNCTIONS).render(data)
            judged(counts, line, False, not fails and made == json.loads(match[3]), fails)
        except Unsupported:
            judged(counts, line, True, False, fails)
        except TemplateError:
            judged(counts, line, False, fails, fails)
    print(f"\ntemplates: {dict(counts)}")


def test_yaml_agrees_with_kubernetes():
    counts: Counter[str] = Counter()
    for line in oracle_lines("yaml"):
        match = _YAML_LINE.fullmatch(line)
        assert match is not None, line
        fails = match[3] != "<nil>"
        try:
            value = read_yaml(json.loads(match[1]))
            judged(counts, line, False, not fails and value == json.loads(match[2], parse_int=number), fails)
        except EvaluationError:
            judged(counts, line, False, fails, fails)
    print(f"\nyaml: {dict(counts)}")


def test_all_expressions_and_templates_of_kwok_stages_compile():
    if not _STAGES.exists():
        pytest.skip("no stage files of KWOK beside the checkout")
    compiled = Counter[str]()
    for path in sorted(_STAGES.rglob("*.yaml")):
        for document in load_documents(path.read_text(), str(path)):
            if document.object.get("kind") == "Stage":
                compile_all(document.object["spec"], compiled)
    print(f"\ncompiled: {dict(compiled)}")
    assert min(compiled[sort] for sort in ("jq", "cel", "template")) > 0


def compile_all(value: Any, compiled: Counter[str], key: str = "", inside: str = "") -> None:
    """Compiles whatever a stage holds under the keys of expressions and templates."""
    if isinstance(value, list):
        for part in value:
            compile_all(part, compiled, key, inside)
    elif isinstance(value, dict):
        for name, part in value.items():
            compile_all(part, compiled, name, key)
    elif key in ("expressionFrom", "key") or (key == "expression" and inside == "jq"):
        compile_jq(value)
        compiled["jq"] += 1
    elif key == "expression":
        compile_cel(value)
        compiled["cel"] += 1
    elif key in ("template", "statusTemplate"):
        compile_template(value, _FUNCTIONS)
        compiled["template"] += 1
