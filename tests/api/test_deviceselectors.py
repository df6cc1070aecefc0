"""Device selectors. The file of facts holds what k8s.io/dynamic-resource-allocation says of each expression."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.api.deviceselectors import (
    DeviceSelector,
    DeviceView,
    SelectorError,
    compile_selector,
    is_too_complex,
    selector_cost,
)
from ghostfleet.core.errors import ApiError
from ghostfleet.languages.cel.checked import CompileError

_LINES = (Path(__file__).parent / "deviceselectors.jsonl").read_text().splitlines()
_HEAD, *_FACTS = (json.loads(line) for line in _LINES)
_DEVICE, _WITH_LIST = _HEAD["device"], _HEAD["listed"]


def _judged(expression, device, lists=False):
    try:
        cost = selector_cost(compile_selector(expression, lists=lists))
    except CompileError as error:
        return {"compile": str(error)}
    try:
        matches = DeviceSelector(expression, lists=lists).matches(DeviceView(_HEAD["driver"], device, lists=lists))
        return {"matches": matches, "cost": cost}
    except SelectorError as error:
        return {"runtime": str(error).removeprefix("CEL runtime error: "), "cost": cost}


@pytest.mark.parametrize("fact", _FACTS, ids=lambda fact: fact["expression"][:60])
def test_a_selector_says_what_it_says_in_kubernetes(fact):
    lists = fact.get("lists", False)
    expected = {key: value for key, value in fact.items() if key not in ("expression", "lists")}
    device = _WITH_LIST if lists else _DEVICE
    assert _judged(fact["expression"], device, lists) == expected


def test_an_attribute_of_no_known_type_is_an_error_for_every_selector():
    device = {"name": "d", "attributes": {"odd": {"float": 1.5}}}
    with pytest.raises(SelectorError, match="attribute odd: unsupported attribute value"):
        DeviceSelector("true").matches(DeviceView("driver-a", device))
    device = {"name": "d", "attributes": {"odd": {"version": "1.2"}}}
    with pytest.raises(
        SelectorError, match="attribute odd: parse semantic version: No Major.Minor.Patch elements found"
    ):
        DeviceSelector("true").matches(DeviceView("driver-a", device))


def test_a_selector_that_may_cost_too_much_is_refused_before_it_is_used():
    nested = "device.attributes.all(d, device.attributes.all(e, device.attributes.all(f, {})))"
    assert not is_too_complex(nested.format("d == e || e == f"))
    assert is_too_complex(nested.format("device.attributes.all(g, true)"))


def test_lists_are_unsupported_while_their_gate_is_off():
    with pytest.raises(SelectorError, match="attribute list: unsupported attribute value"):
        DeviceSelector("true").matches(DeviceView("driver-a", _WITH_LIST))


def test_a_selector_that_does_too_much_is_stopped():
    selector = DeviceSelector("lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))")
    with pytest.raises(SelectorError, match="CEL runtime error: operation cancelled: actual cost limit exceeded"):
        selector.matches(DeviceView("driver-a", _DEVICE))
    # The limit holds whatever else would decide.
    whole = "true || lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))"
    assert DeviceSelector(whole).matches(DeviceView("driver-a", _DEVICE))
    other = "lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0)) || true"
    with pytest.raises(SelectorError, match="cost limit exceeded"):
        DeviceSelector(other).matches(DeviceView("driver-a", _DEVICE))


_WORDS = st.sampled_from(
    ["device", ".", "attributes", "[", "]", "'a'", "(", ")", "&&", "||", "!", "==", "<", "1", "-", "+", "?", ":", ",", "{",
     "}", "true", "has", "all", "x", "in", "quantity", "size", "cel.bind", ".?", "[?", "//", "\n", "é", '"', "@", "optional"]
)  # fmt: skip


@given(st.lists(_WORDS, max_size=14))
def test_any_text_is_judged_and_none_breaks_the_judge(words):
    for text in ("".join(words), " ".join(words)):
        _judged(text, _DEVICE)


def test_the_api_refuses_a_selector_that_does_not_compile(lab):
    spec = {"selectors": [{"cel": {"expression": "device.nope"}}]}
    body = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": spec}
    with pytest.raises(ApiError) as caught:
        lab.create("deviceclasses.resource.k8s.io", body)
    assert str(caught.value) == (
        'DeviceClass.resource.k8s.io "gpu" is invalid: spec.selectors[0].cel.expression: Invalid value: "device.nope": '
        "compilation failed: ERROR: <input>:1:7: undefined field 'nope'\n | device.nope\n | ......^"
    )
    body["spec"] = {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]}
    lab.create("deviceclasses.resource.k8s.io", body)
