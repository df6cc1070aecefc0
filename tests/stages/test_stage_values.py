"""Delays and weights that come from objects, as KWOK's own unit tests have them."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.clock import SECOND
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.stages.lifecycle import Lifecycle
from ghostfleet.stages.selectors import Answers
from ghostfleet.stages.stage import parse_stage

NOW = 1_800_000_000 * SECOND


def stage(name="s", warn=lambda _: None, **spec):
    obj = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {"resourceRef": {"kind": "ConfigMap"}, "selector": {}, **spec},
    }
    return parse_stage(obj, warn=warn)


def noted(**annotations):
    return {"metadata": {"name": "x", "annotations": annotations}}


FROM = {"durationFrom": {"expressionFrom": '.metadata.annotations["d"]'}}
JITTER = {"jitterDurationFrom": {"jq": {"expression": '.metadata.annotations["j"]'}}}


@pytest.mark.parametrize(
    ("delay", "obj", "expected"),
    [
        ({}, noted(), (0,)),
        ({"durationMilliseconds": 1500}, noted(), (1_500_000,)),
        ({"durationMilliseconds": 1000, "jitterDurationMilliseconds": 5000}, noted(), (1_000_000, 5_000_000)),
        ({"durationMilliseconds": 5000, "jitterDurationMilliseconds": 1000}, noted(), (1_000_000,)),
        ({"durationMilliseconds": 5000, "jitterDurationMilliseconds": 5000}, noted(), (5_000_000,)),
        ({"durationMilliseconds": 1000, **FROM}, noted(d="1m30s"), (90 * SECOND,)),
        ({"durationMilliseconds": 1000, **FROM}, noted(), (SECOND,)),
        ({"durationMilliseconds": 1000, **FROM}, noted(d=rfc3339(NOW + 7 * SECOND)), (7 * SECOND,)),
        ({"durationMilliseconds": 1000, **FROM}, noted(d=rfc3339(NOW - 7 * SECOND)), (-7 * SECOND,)),
        ({"durationMilliseconds": 1000, **FROM}, noted(d="60"), (SECOND,)),
        ({"durationMilliseconds": 1000, "jitterDurationMilliseconds": 9000, **FROM}, noted(d=""), ()),
        ({"durationMilliseconds": 1000, **FROM, **JITTER}, noted(d="2s"), (2 * SECOND,)),
        ({"durationMilliseconds": 1000, **FROM, **JITTER}, noted(d="2s", j="4s"), (2 * SECOND, 4 * SECOND)),
        ({"durationMilliseconds": 1000, **FROM, **JITTER}, noted(d="2s", j=""), (2 * SECOND,)),
        ({"durationMilliseconds": 1000, **FROM, "jitterDurationMilliseconds": 5000}, noted(d="60s"), (5 * SECOND,)),
        ({"durationFrom": {"cel": {"expression": "duration('3s')"}}}, noted(), (3 * SECOND,)),
        ({"durationFrom": {"cel": {"expression": "'250ms'"}}}, noted(), (250_000,)),
        ({"durationFrom": {"cel": {"expression": "2000000000"}}}, noted(), (2 * SECOND,)),
    ],
)
def test_a_delay_is_what_kwok_would_make_of_it(delay, obj, expected):
    assert stage(delay=delay).delay.between(Answers(obj, NOW)) == expected


def test_a_number_without_a_unit_is_complained_about():
    told = []
    made = stage(delay={"durationMilliseconds": 1000, **FROM}, warn=told.append)
    made.delay.between(Answers(noted(d="60"), NOW))
    (complaint,) = told
    assert "stage 's'" in complaint
    assert "'60'" in complaint


@given(low=st.integers(0, 10_000), more=st.integers(1, 10_000), seed=st.integers())
def test_a_drawn_delay_lies_between_duration_and_jitter(low, more, seed):
    made = stage(delay={"durationMilliseconds": low, "jitterDurationMilliseconds": low + more})
    assert low * 1000 <= made.delay.draw(Answers(noted(), NOW), Random(seed)) < (low + more) * 1000


@pytest.mark.parametrize(
    ("text", "weight"),
    [("7", 7), ("010", 8), ("0x10", 16), ("0b11", 3), ("1_000", 1000), ("", None), ("seven", None), ("1.5", None)],
)
def test_weights_are_read_as_go_reads_integers(text, weight):
    made = stage(weight=5, weightFrom={"expressionFrom": '.metadata.annotations["w"]'})
    assert made.weight.get(Answers(noted(w=text), NOW)) == weight


def test_weights_of_other_types_fall_back_except_for_numbers_of_the_object():
    made = stage(weight=5, weightFrom={"jq": {"expression": ".data"}})
    base = {"metadata": {"name": "x"}}
    assert made.weight.get(Answers({**base, "data": 7}, NOW)) == 7
    assert made.weight.get(Answers({**base, "data": True}, NOW)) == 5
    assert made.weight.get(Answers(base, NOW)) == 5
    counted = stage(weight=5, weightFrom={"jq": {"expression": ".data | length"}})
    assert counted.weight.get(Answers({**base, "data": [1, 2]}, NOW)) == 5


def drawn(stages, obj, count=3000):
    lifecycle = Lifecycle(stages)
    rng = Random(1)
    names = [lifecycle.next(obj, NOW, rng).stage.name for _ in range(count)]
    return {name: names.count(name) / count for name in dict.fromkeys(sorted(names))}


def weighed(name, weight, text=None):
    spec = {"weight": weight}
    if text is not None:
        spec["weightFrom"] = {"cel": {"expression": text}} if text == "0" else {"expressionFrom": f'"{text}"'}
    return stage(name, **spec)


def test_shares_are_as_the_weights_and_those_of_weight_0_have_none():
    shares = drawn([weighed("a", 1), weighed("b", 3), weighed("c", 0)], noted())
    assert shares == {"a": pytest.approx(0.25, abs=0.03), "b": pytest.approx(0.75, abs=0.03)}


def test_with_all_weights_0_all_have_the_same_chance():
    shares = drawn([weighed("a", 0), weighed("b", 0)], noted())
    assert shares == {"a": pytest.approx(0.5, abs=0.03), "b": pytest.approx(0.5, abs=0.03)}


def test_unknown_weights_count_only_where_all_are_unknown():
    assert set(drawn([weighed("a", 0, "x"), weighed("b", 0)], noted())) == {"b"}
    assert set(drawn([weighed("a", 0, "x"), weighed("b", 5)], noted())) == {"b"}
    assert set(drawn([weighed("a", 0, "x"), weighed("b", 0, "y")], noted())) == {"a", "b"}


def test_a_single_match_is_taken_whatever_it_weighs():
    assert drawn([weighed("a", 0)], noted()) == {"a": 1}
