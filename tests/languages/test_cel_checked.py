"""CEL with types that are checked: environments of one's own."""

from __future__ import annotations

import pytest

from ghostfleet.languages.cel import CelError
from ghostfleet.languages.cel.checked import (
    CompileError,
    CostExceeded,
    Optional,
    function,
    kubernetes_environment,
    overload,
    read_type,
)


def _environment(**more):
    return kubernetes_environment().extended(**more)


def _value(text, values=None, **more):
    return _environment(**more).compile(text).evaluate(values or {})


def test_variables_have_the_types_they_are_declared_with():
    environment = _environment(variables={"self": "map(string, int)", "names": "list(string)"})
    program = environment.compile("self['a'] + size(names)")
    assert str(program.output) == "int"
    assert program.evaluate({"self": {"a": 1}, "names": ["x", "y"]}) == 3
    with pytest.raises(CompileError, match=r"found no matching overload for '_\+_' applied to '\(int, string\)'"):
        environment.compile("self['a'] + names[0]")


def test_structs_have_the_fields_they_are_declared_with():
    structs = {"Pod": {"spec": "PodSpec"}, "PodSpec": {"replicas": "int"}}
    environment = _environment(variables={"self": "Pod"}, structs=structs)
    assert environment.compile("self.spec.replicas > 1").evaluate({"self": {"spec": {"replicas": 2}}}) is True
    assert environment.compile("has(self.spec.replicas)").evaluate({"self": {"spec": {}}}) is False
    with pytest.raises(CompileError, match="undefined field 'nope'"):
        environment.compile("self.spec.nope")


def test_an_environment_can_have_functions_of_its_own():
    twice = function("twice", overload("(int) -> int", lambda value: 2 * value))
    assert _value("twice(twice(3))", functions=[twice]) == 12
    with pytest.raises(CompileError, match=r"undeclared reference to 'twice' \(in container ''\)"):
        _environment().compile("twice(3)")


def test_extending_an_environment_leaves_it_as_it_was():
    _environment(variables={"self": "int"})
    with pytest.raises(CompileError, match="undeclared reference to 'self'"):
        _environment().compile("self")


def test_every_mistake_is_told_with_its_place():
    with pytest.raises(CompileError) as caught:
        _environment().compile("a +\n b")
    assert str(caught.value) == (
        "compilation failed: ERROR: <input>:1:1: undeclared reference to 'a' (in container '')\n | a +\n | ^\n"
        "ERROR: <input>:2:2: undeclared reference to 'b' (in container '')\n |  b\n | .^"
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("cel.bind(x, 2, x * x)", 4),
        ("[1, 2, 3].filter(x, x > 1).map(x, x * 10)", [20, 30]),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, k + string(v))", {"b": "b2"}),
        ("[5, 6].transformList(i, v, i * v)", [0, 6]),
        ("{'a': 1}[?'b'].orValue(7)", 7),
        ("optional.of(1).optMap(x, x + 1)", Optional(2)),
        ("[3, 1, 2].sortBy(x, -x)", [3, 2, 1]),
        ("type(quantity('1')) == type(quantity('2'))", True),
        ("[1, 2].exists(x, x / (x - 1) > 1)", True),
        ("string(ip('1.2.3.4'))", "1.2.3.4"),
    ],
)
def test_macros_and_libraries(text, value):
    assert _value(text) == value


def test_an_error_counts_in_a_search_only_if_nothing_decides():
    assert _value("[0, 1].exists(x, 1 / x == 1)") is True
    with pytest.raises(CelError, match="division by zero"):
        _value("[0, 2].exists(x, 1 / x == 1)")


def test_the_cost_of_loops_is_limited():
    text = "lists.range(100).all(x, x >= 0)"
    assert _value(text, cost_limit=10_000) is True
    with pytest.raises(CostExceeded):
        _value(text, cost_limit=100)


@pytest.mark.parametrize(
    "text", ["int", "list(A)", "map(string, list(kubernetes.Quantity))", "optional_type(dyn)", "any"]
)
def test_types_are_read_as_they_are_written(text):
    assert str(read_type(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "'a'" + ".replace('a', 'aaaaaaaaaa')" * 200 + " == ''",
        "cel.bind(a, 'x'," * 1 + "".join(f"cel.bind({chr(98 + n)}, {chr(97 + n)} + {chr(97 + n)}, " for n in range(24))
        + "y" + ")" * 25 + " == ''",
        "lists.range(900000).distinct().size() == 0",
        "lists.range(1000000000).size() == 0",
        "lists.range(200000).map(x, [x, x, x]).size() == 0",
        "lists.range(100000).map(x, string(x)).join('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa') == ''",
        "'%.999999999f'.format([1.0]) == ''",
        "lists.range(3000).all(x, lists.range(3000).all(y, x + y >= 0))",
    ],
)  # fmt: skip
def test_hostile_expressions_end_soon(text):
    with pytest.raises(CelError):
        _value(text)


def test_what_one_expression_did_is_not_charged_to_the_next():
    program = _environment(variables={"self": "dyn"}).compile("self == {'a': [1, 2, 3]} && 1 in self.a")
    for _ in range(30_000):
        assert program.evaluate({"self": {"a": [1, 2, 3]}}) is True


def test_long_chains_of_conditions_are_no_deep_nesting():
    assert _value(" && ".join(["1 < 2"] * 1000)) is True
    with pytest.raises(CompileError, match="recursion limit exceeded"):
        _environment().compile("(" * 2000 + "1" + ")" * 2000)
