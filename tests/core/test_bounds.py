"""Hostile texts for what reads them outside of the languages: each is refused or answered, and none holds up a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ghostfleet.core.errors import ApiError, FieldError, bad_request, invalid, shortened, shown
from ghostfleet.core.goregex import RegexError, compile_regex
from ghostfleet.core.jsonpath import compile as compile_path
from ghostfleet.core.manifests import ManifestError, load_documents
from support.evaluator import Evaluator


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    made = Evaluator()
    yield made
    made.close()


def nested(depth: int) -> Any:
    value: Any = {"x": 1}
    for _ in range(depth):
        value = {"a": value}
    return value


def folded(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def found(path: str, obj: Any) -> int:
    return len(compile_path(path).find(obj))


def searched(pattern: str, text: str) -> bool:
    return compile_regex(pattern).search(text) is not None


ATTACKS: list[tuple[str, list[Any], str]] = [
    ("core.test_bounds:found", ["..a" * 8, nested(200)], "int"),
    ("core.test_bounds:found", ["[0,0]" * 40, folded(40)], "int"),
    ("core.test_bounds:found", ["." + "a." * 500_000, {}], "ValueError"),
    ("core.test_bounds:searched", ["a?" * 100_000, "a" * 100_000], "RegexError"),
    ("core.test_bounds:searched", ["a?" * 2_000 + "b", "a" * 1_000_000], "bool"),
    ("ghostfleet.languages.gotimes:parse_time", ["2" * 40, "1" * 60 + "x"], "ValueError"),
    ("ghostfleet.languages.gotimes:parse_time", ["2006" * 50_000, "1" * 200_000], "ValueError"),
    ("ghostfleet.core.manifests:load_documents", ["a: " + "[" * 1_000_000], "ManifestError"),
    ("ghostfleet.core.manifests:load_documents", ["a: &a " + "x" * 1_000_000 + "\nb: [" + "*a, " * 5_000 + "]"], "ManifestError"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments", "outcome"), ATTACKS, ids=lambda part: str(part)[:40])
def test_a_hostile_text_is_soon_done_with(evaluator: Evaluator, function: str, arguments: list[Any], outcome: str):
    answer = evaluator.evaluate("call", function, arguments)
    assert outcome in (answer["type"], answer.get("value")), answer
    assert len(answer.get("error", "")) < 5_000


def test_a_path_that_leads_to_too_many_values_finds_none():
    many = {"items": [{"a": [1] * 100} for _ in range(100)]}
    assert compile_path(".items[*].a[0]").find(many) == [1] * 100
    assert compile_path(".items[*].a[*]").find(many) == []
    assert compile_path("..").find({"a": {"b": "c"}}) == [{"a": {"b": "c"}}, {"b": "c"}, "c"]


def test_a_pattern_is_bounded_in_length_and_in_what_it_is_tried_on():
    with pytest.raises(RegexError, match="expression too large"):
        compile_regex("a" * 5_000)
    letters = compile_regex(r"^\pL{0,63}$")
    assert letters.search("å" * 63) is not None
    assert letters.search("å" * 64) is None


def test_aliases_of_long_texts_are_bounded_by_what_they_repeat():
    text = f"a: &a {'x' * 1000}\nb: [{', '.join(['*a'] * 50)}]"
    assert load_documents(text)[0].object["b"] == ["x" * 1000] * 50
    with pytest.raises(ManifestError, match="line 2, column .*: document contains excessive aliasing"):
        load_documents(f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 50)}]")


def test_a_document_holds_no_more_values_than_the_reader_asked_for():
    assert load_documents("a: [1, 2, 3]", most=10)
    with pytest.raises(ManifestError, match="more than 5 values"):
        load_documents("a: [1, 2, 3, 4, 5, 6]", "t.yaml", most=5)
    with pytest.raises(ManifestError, match="more than 5 values"):
        load_documents('{"a": [1, 2, 3, 4, 5, 6]}', "t.json", most=5)


def test_messages_show_the_beginning_of_a_long_text():
    assert shortened("abc") == "abc"
    assert shortened("x" * 5_000) == "x" * 1_024 + "... (5,000 characters)"


def test_messages_show_some_parts_of_a_large_value():
    shared: Any = 1
    for _ in range(100):
        shared = [shared, shared]
    assert len(shown(shared)) < 200
    assert shown({"a": 1}) == "{'a': 1}"
    assert shown("text") == "'text'"


def test_an_api_error_is_no_longer_than_it_needs_to_be():
    assert len(bad_request("x" * 1_000_000).message) < 40_000
    error = invalid("Pod", "", "p", [FieldError.invalid("spec", "v" * 1_000_000, "no")] * 5)
    assert len(error.message) < 40_000
    assert "(1,000,000 characters)" in error.status()["details"]["causes"][0]["message"]
    many = invalid("Pod", "", "p", [FieldError.required(f"spec.a[{number}]") for number in range(5_000)])
    assert len(many.status()["details"]["causes"]) == 1_000


def test_an_error_without_a_reason_states_none():
    assert "reason" not in ApiError(500, "", "etcdserver: request is too large").status()
