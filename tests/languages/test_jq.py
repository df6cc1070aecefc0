"""jq as gojq has it. The file of facts holds what gojq answers; the rest says how queries behave in stages."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.languages.budget import BudgetExceeded
from ghostfleet.languages.jq import JqError, JsonNumber, Unsupported, compile_jq

_LINES = [json.loads(line) for line in (Path(__file__).parent / "facts" / "jq.jsonl").read_text().splitlines()]
_INPUTS, _FACTS = _LINES[0]["inputs"], _LINES[1:]


def plain(value: Any) -> Any:
    """A value as the facts write it: with its type of number in it."""
    if type(value) is JsonNumber:
        return {"$number": str(value)}
    if type(value) is float and not math.isfinite(value):
        return {"$float": "NaN" if value != value else f"{value:+}".title()}
    if type(value) is list:
        return [plain(part) for part in value]
    if type(value) is dict:
        return {key: plain(part) for key, part in value.items()}
    return value


def close(left: Any, right: Any) -> bool:
    """Equal and of the same types; the last digit of a float may differ, as mathematical libraries do."""
    if type(left) is not type(right):
        return False
    if type(left) is float:
        return math.isclose(left, right, rel_tol=1e-14)
    if type(left) is list:
        return len(left) == len(right) and all(map(close, left, right))
    if type(left) is dict:
        return left.keys() == right.keys() and all(close(left[key], right[key]) for key in left)
    return bool(left == right)


@pytest.mark.parametrize("fact", _FACTS, ids=lambda fact: fact["text"][:60])
def test_a_query_answers_what_gojq_answers(fact):
    obj = _INPUTS[fact.get("input", 0)]
    if "refused" in fact:
        with pytest.raises(Unsupported):
            compile_jq(fact["text"])
        return
    try:
        query = compile_jq(fact["text"])
    except Unsupported:
        # Formats that gojq knows nothing about only fail when they are used; here they are refused at once.
        assert "not defined" in fact.get("error", "")
        return
    if "error" in fact:
        with pytest.raises(JqError) as caught:
            query.run(obj)
        assert str(caught.value) == fact["error"] or "fromjson" in fact["text"]
    else:
        assert close(plain(query.run(obj)), fact["outputs"])


def test_numbers_of_an_object_are_floats_and_those_that_jq_makes_are_ints():
    obj = {"spec": {"replicas": 3, "list": [1, {"deep": 2}]}}
    assert [type(value) for value in compile_jq(".spec.replicas, (.spec.list | length), 3").run(obj)] == [
        float,
        int,
        int,
    ]
    assert type(compile_jq(".spec.replicas").run(obj)[0]) is float
    assert compile_jq(".spec.list").run(obj) == [[1.0, {"deep": 2.0}]]
    assert type(compile_jq(".spec.list[1]").run(obj)[0]["deep"]) is float


def test_an_object_is_never_changed_by_a_query():
    obj = {"a": [1, 2], "m": {"x": 1}}
    for text in (
        ".a[0] = 9",
        ".a[] |= . + 1",
        "del(.m.x)",
        ".m.y = 2",
        "to_entries",
        ".a |= map(. * 2)",
        ".m |= empty",
    ):
        compile_jq(text).run(obj)
    assert obj == {"a": [1, 2], "m": {"x": 1}}


def test_now_is_the_time_that_the_run_is_given():
    assert compile_jq("now").run({}, now=1_500_000) == [1.5]
    assert compile_jq("now | todate").run({}, now=1_767_225_600_000_000) == ["2026-01-01T00:00:00Z"]
    assert compile_jq("def f: now; [1] | map(f)").run({}, now=2_000_000) == [[2.0]]


def test_an_unsupported_function_is_named_when_the_query_is_compiled():
    with pytest.raises(Unsupported, match="function not defined: nosuch/1"):
        compile_jq(".a | nosuch(.b)")
    with pytest.raises(Unsupported, match="input/0 is not allowed"):
        compile_jq("input")
    with pytest.raises(Unsupported, match="modules"):
        compile_jq('import "x" as x; .')


def test_a_function_that_calls_itself_without_end_is_an_error():
    with pytest.raises(BudgetExceeded, match="more than 100 calls within each other"):
        compile_jq("def f: 1 + f; f").run({})


def test_loops_of_the_library_go_deeper_than_the_stack():
    assert compile_jq("[range(20000)] | length").run(None) == [20000]
    assert compile_jq("0 | until(. >= 20000; . + 1)").run(None) == [20000]
    assert compile_jq("last(0 | recurse(if . < 20000 then . + 1 else empty end))").run(None) == [20000]


def test_only_as_many_outputs_are_computed_as_are_asked_for():
    assert compile_jq('first(1, error("x"))').run(None) == [1]
    assert compile_jq('[limit(2; 1, 2, error("x"))]').run(None) == [[1, 2]]
    assert compile_jq('any(true, error("x"); .)').run(None) == [True]
    assert compile_jq('isempty(1, error("x"))').run(None) == [False]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


def floats(value: Any) -> Any:
    if type(value) is int:
        return float(value)
    if type(value) is list:
        return [floats(part) for part in value]
    return {key: floats(part) for key, part in value.items()} if type(value) is dict else value


@given(_JSON)
def test_the_identity_gives_the_input_with_floats(value):
    assert compile_jq(".").run(value) == [floats(value)]


@given(_JSON)
def test_every_path_leads_somewhere_and_a_stream_makes_the_value_again(value):
    query = "[path(..)] as $paths | [..] as $parts | [$paths[] as $p | getpath($p)] == $parts"
    assert compile_jq(query).run(value) == [True]
    assert compile_jq("fromstream(tostream)").run(value) == [floats(value)]


@given(st.lists(_JSON, max_size=6))
def test_sorting_agrees_with_the_order_and_groups_keep_everything(values):
    (once,) = compile_jq("sort").run(values)
    assert compile_jq("sort").run(once) == [once]
    assert compile_jq(". as $v | all(range(length - 1); $v[.] <= $v[. + 1])").run(once) == [True]
    assert compile_jq("(group_by(.) | add // []) == sort").run(values) == [True]


@given(_JSON)
def test_text_and_back_gives_the_same_value(value):
    assert compile_jq("(tojson | fromjson) == .").run(value) == [True]


@given(st.text(alphabet=".abk[]{}()|,:;\"\\'$?=+-*/<>1209 @#", max_size=20))
def test_any_text_either_compiles_or_is_refused(text):
    try:
        query = compile_jq(text)
    except Unsupported:
        return
    with suppress(JqError):
        query.run({"a": [{"k": 1}], "b": "x"})
