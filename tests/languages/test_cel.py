"""CEL as KWOK has it. The file of facts holds what cel-go answers in the environment that KWOK sets up."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.languages.cel import CelError, Duration, Timestamp, Unsupported, compile_cel
from ghostfleet.languages.cel.values import type_name
from ghostfleet.stages.celobjects import compile_stage_cel

_LINES = [json.loads(line) for line in (Path(__file__).parent / "facts" / "cel.jsonl").read_text().splitlines()]
_SELF = _LINES[0]["self"]
_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"a": "b"}},
    "spec": {
        "nodeName": "n",
        "containers": [{"name": "c", "resources": {"limits": {"cpu": "2", "nvidia.com/gpu": "8"}}}],
    },
    "status": {"phase": "Pending"},
}


@pytest.mark.parametrize("fact", _LINES[1:], ids=lambda fact: fact["text"][:60])
def test_an_expression_has_the_value_that_it_has_in_go(fact):
    if "refused" in fact:
        with pytest.raises(Unsupported):
            compile_cel(fact["text"])
        return
    if "fails" in fact:
        # What can never work is found earlier than in Go here and there.
        with pytest.raises((CelError, Unsupported)):
            compile_cel(fact["text"]).evaluate(0, self=_SELF)
        return
    value = compile_cel(fact["text"]).evaluate(1_767_322_800_000_000, self=_SELF)
    assert type_name(value) == fact["type"]
    if "value" in fact:
        expected = fact["value"]
        if isinstance(value, Duration):
            assert value.nanoseconds == expected
        elif fact["type"] == "double" and isinstance(expected, str):
            assert str(value).lower().lstrip("+") == expected.lower().lstrip("+")
        else:
            assert (value if isinstance(value, (int, float, str)) else str(value)) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("self.status.phase", "Pending"),
        ("self.status.podIP == ''", True),
        ("has(self.status.podIP)", False),
        ("has(self.metadata.deletionTimestamp)", False),
        ("self.spec.hostNetwork", False),
        ("self.spec.priority == null", True),
        ("self.spec.terminationGracePeriodSeconds == null", True),
        ("self.spec.securityContext == null", True),
        ("size(self.status.conditions)", 0),
        ("self.metadata.creationTimestamp", Timestamp(1_767_225_600 * 10**9)),
        ("self.metadata.labels.a", "b"),
        ("'zz' in self.metadata.labels", False),
        ("self.spec.containers[0].resources.limits['cpu'] > Quantity('1500m')", True),
        ("self.spec.containers[0].resources.limits['zz'] == Quantity('0')", True),
        ("size(self.spec.containers[0].resources.limits)", 2),
        ("self.SinceSecond()", 60.0),
        ("SinceSecond(self) >= 60.0", True),
        ("Now() - self.metadata.creationTimestamp == duration('1m')", True),
        ("Now().UnixSecond()", 1_767_225_660.0),
        ("self.spec.containers.exists(c, c.name == 'c' && c.image == '')", True),
    ],
)
def test_pods_and_nodes_are_structs_whose_fields_are_always_there(text, value):
    assert compile_stage_cel(text).evaluate(1_767_225_660_000_000, self=_POD) == value


@pytest.mark.parametrize("text", ["self.nosuch", "self.kind", "self.spec.nosuch == 1", "has(self.nosuch)"])
def test_a_field_that_the_type_does_not_have_is_an_error(text):
    with pytest.raises(CelError, match="undefined field"):
        compile_stage_cel(text).evaluate(0, self=_POD)


def test_a_key_that_other_objects_do_not_have_is_an_error():
    program = compile_cel("self.status.phase == 'Bound'")
    assert program.evaluate(0, self={"status": {"phase": "Bound"}}) is True
    with pytest.raises(CelError, match="no such key: status"):
        program.evaluate(0, self={"kind": "PersistentVolumeClaim"})


def test_unknown_names_are_found_when_the_expression_is_compiled():
    with pytest.raises(Unsupported, match="'other'"):
        compile_cel("other.spec == 1")
    with pytest.raises(Unsupported, match="'lowerAscii'"):
        compile_cel("self.a.lowerAscii()")
    with pytest.raises(Unsupported, match="'Rand'"):
        compile_cel("Rand() < 0.5")


@given(st.text(alphabet="self.abc[](){}'\"!=<>&|?:+-*/%,1290u ", max_size=20))
def test_any_text_either_compiles_or_is_refused(text):
    try:
        program = compile_cel(text)
    except Unsupported:
        return
    with suppress(CelError):
        program.evaluate(0, self=_SELF)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_ints_are_exact_or_overflow(left, right):
    for operator, exact in (("+", left + right), ("-", left - right), ("*", left * right)):
        program = compile_cel(f"self.l {operator} self.r")
        if -(2**63) <= exact < 2**63:
            assert program.evaluate(0, self={"l": left, "r": right}) == exact
        else:
            with pytest.raises(CelError, match="overflow"):
                program.evaluate(0, self={"l": left, "r": right})
