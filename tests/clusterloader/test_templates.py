"""Templates: ClusterLoader2's functions, with their traps, and errors that name their place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.clusterloader.mapping import base_mapping, template_value
from ghostfleet.clusterloader.problems import ConfigError
from ghostfleet.clusterloader.templates import ObjectKind, TemplateProvider

_NUMBERS = st.integers(min_value=-(10**6), max_value=10**6)


@pytest.fixture
def render(tmp_path: Path) -> Callable[..., Any]:
    """Renders a text and reads it as YAML."""

    def rendered(text: str, **mapping: Any) -> Any:
        (tmp_path / "t.yaml").write_text(text)
        values = base_mapping([], 100, "registry", {}) | template_value(mapping)
        return TemplateProvider(tmp_path, Random(1)).document("t.yaml", values).value

    return rendered


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{AddInt 1 2.9}}", 3),
        ("{{AddFloat 1 2.5}}", 3.5),
        ("{{SubtractInt 1 3}}", -2),
        ("{{SubtractFloat 1 0.5}}", 0.5),
        ('{{MultiplyInt "3" 4}}', 12),
        ("{{MultiplyFloat 0.5 3}}", 1.5),
        ("{{DivideInt 7 2}}", 3),
        ("{{DivideInt -7 2}}", -3),
        ("{{DivideFloat 7 2}}", 3.5),
        ("{{MaxInt 3 9 4}}", 9),
        ("{{MinInt .Nodes 30}}", 30),
        ("{{MaxFloat 1.5 1}}", 1.5),
        ("{{MinFloat 1.5 1}}", 1),
        ("{{Ceil 1.2}}", 2),
        ("{{Mod 7 4}}", 3),
        ("{{Mod -7 4}}", -3),
        ("{{DefaultParam .Missing 5}}", 5),
        ("{{DefaultParam .Zero 5}}", 0),
        ('{{DefaultParam .Empty "x" | printf "%q"}}', ""),
        ("{{DefaultParam .No true}}", False),
        ("{{.Zero | DefaultParam 30000}}", 30000),
        ("{{IfThenElse true 1 2}}", 1),
        ("[{{range $i := Loop 3}}{{$i}},{{end}}]", [0, 1, 2]),
        ("[{{range Seq 3}}{{.}},{{end}}]", [0, 0, 0]),
        ("[{{range SliceOfZeros 2}}{{.}},{{end}}]", [0, 0]),
        ('{{Concat "a" "b"}}', "ab"),
        ('{{Lowercase "ABC"}}', "abc"),
        ('[{{range StringSplit "a,,b"}}{{.}},{{end}}]', ["a", "b"]),
        ("{{RandIntRange 5 5}}", 5),
        ("{{RandIntRange 9 5}}", 9),
        ("{{.Missing}}", "<no value>"),
        ("{{if .Missing}}1{{else}}2{{end}}", 2),
        ('{{if eq .Missing "x"}}1{{else}}2{{end}}', 2),
        ("{{MultiplyFloat 1000 1000}}", 1_000_000),
        ("a: {{.Big}}", {"a": 2_000_000}),
        ("a: 1:30", {"a": "1:30"}),
        ("{{StructuralData .Zero}}", 0),
    ],
)
def test_functions_give_what_those_of_clusterloader2_do(render: Callable[..., Any], text: str, value: Any) -> None:
    assert render(text, Zero=0, Empty="", No=False, Big=2_000_000) == value


def test_a_text_of_many_lines_is_quoted_so_that_it_stays_one_value(render: Callable[..., Any]) -> None:
    text = "a: {{YamlQuote .Text 1}}\nb: 1"
    assert render(text, Text="x: y\n- 'z'\n# no comment") == {"a": "x: y\n- 'z'\n# no comment", "b": 1}


def test_random_values_lie_in_their_range_and_are_the_same_each_time(render: Callable[..., Any]) -> None:
    text = "[{{range Loop 50}}{{RandInt 3}},{{RandIntRange 5 7}},{{end}}]"
    values = render(text)
    assert values == render(text)
    assert set(values[::2]) == {0, 1, 2, 3}
    assert set(values[1::2]) == {5, 6, 7}


def test_random_data_is_as_long_as_asked_and_follows_from_its_seed(render: Callable[..., Any]) -> None:
    first, second, other = render(
        'a: ["{{RandDataWithSeed 33 "x"}}", "{{RandDataWithSeed 33 "x"}}", "{{RandDataWithSeed 33 "y"}}"]'
    )["a"]
    assert first == second != other
    assert len(first) == len(render('"{{RandData 33}}"')) == 33


@given(first=_NUMBERS, second=_NUMBERS)
def test_whole_numbers_are_divided_towards_zero(
    tmp_path_factory: pytest.TempPathFactory, first: int, second: int
) -> None:
    from ghostfleet.clusterloader.functions import template_functions

    functions = template_functions(Path(), Random(0))
    assert functions["AddInt"](first, second) == first + second
    if second:
        divided = functions["DivideInt"](first, second)
        assert abs(divided) == abs(first) // abs(second)
        assert functions["Mod"](first, second) == first - divided * second


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n\na: {{DivideInt 1 0}}", "line 3: error calling DivideInt: division by zero in {{DivideInt 1 0}}"),
        (
            "a: 1\nb: {{AddInt 1 .Nothing}}",
            "line 2: error calling AddInt: expected a number, found nothing: the value is not set in {{AddInt 1 .Nothing}}",
        ),
        (
            "a: {{IfThenElse 1 2 3}}",
            "line 1: error calling IfThenElse: expected a bool, found '1' (int) in {{IfThenElse 1 2 3}}",
        ),
        ("a\n{{end}}", "line 2: unexpected {{end}}"),
        ("a: {{Foo 1}}", "line 1: function 'Foo' not defined"),
        ("a: [\n{{if true}}]]{{end}}\n", "line 2: not YAML: "),
        (
            "{{range Loop 99999999}}x{{end}}",
            "line 1: error calling Loop: expected at most 1,000,000 rounds, found 99,999,999 in {{range Loop 99999999}}",
        ),
        (
            "\n{{range Loop 9999}}{{range Loop 9999}}x{{end}}{{end}}",
            "line 2: template: more than 1,000,000 steps in {{range Loop 9999}}",
        ),
        ('{{define "a"}}{{template "a"}}{{end}}{{template "a"}}', "template: more than 100 calls within each other"),
    ],
)
def test_errors_name_the_file_the_line_and_the_expression(
    render: Callable[..., Any], tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        render(text)
    assert str(caught.value).startswith(f"{tmp_path / 't.yaml'}: {message}")


def test_a_field_is_found_in_the_line_of_the_template_that_made_it(tmp_path: Path) -> None:
    lines = [
        "{{$n := 2}}",
        "list:",
        "{{range Loop $n}}",
        "{{if true}}",
        "- a: 1",
        "  b: 2",
        "{{end}}",
        "{{end}}",
        "c: 3",
    ]
    (tmp_path / "t.yaml").write_text("\n" + "\n".join(lines))
    document = TemplateProvider(tmp_path, Random(0)).document("t.yaml", {})
    assert document.line_of(("list", 1, "b")) == 7
    assert document.line_of(("c",)) == 10
    assert document.line_of(("list", 0, "nothing")) == 6


def test_objects_that_differ_by_their_names_are_read_once_and_right(tmp_path: Path) -> None:
    text = "kind: A\nmetadata: {name: {{.Name}}, labels: { {{.Name}}: x-{{.Name}}-y }}\nindex: {{.Index}}\nshared: {a: [1]}"
    (tmp_path / "o.yaml").write_text(text)
    templates = TemplateProvider(tmp_path, Random(0))
    made = [templates.objects("o.yaml", {"Name": f"n-{number}", "Index": 7})[0] for number in range(12)]
    assert [each["metadata"]["name"] for each in made] == [f"n-{number}" for number in range(12)]
    assert made[11]["metadata"]["labels"] == {"n-11": "x-n-11-y"}
    assert made[0]["shared"] is made[11]["shared"]


def test_the_kind_of_an_object_is_known_without_rendering_it(tmp_path: Path) -> None:
    text = "{{$x := .Y}}\napiVersion: apps/v1\nkind: Deployment\n---\napiVersion: v1\nkind: Service\nspec: {{.Broken\n"
    (tmp_path / "o.yaml").write_text(text)
    kinds = TemplateProvider(tmp_path, Random(0)).kinds("o.yaml")
    assert kinds == [ObjectKind("apps/v1", "Deployment"), ObjectKind("v1", "Service")]


def test_values_come_from_overrides_nodes_and_environment_each_with_gos_type(tmp_path: Path) -> None:
    first, second = tmp_path / "1.yaml", tmp_path / "2.yaml"
    first.write_text("A: 1\nB: text")
    second.write_text("A: 2.5")
    environment = {"CL2_I": "7", "CL2_F": "1.5", "CL2_B": "true", "CL2_T": "30s", "OTHER": "1"}
    mapping = base_mapping([first, second], 3, "r", environment)
    assert mapping == {
        "A": 2.5,
        "B": "text",
        "Nodes": 3,
        "ImageRegistry": "r",
        "CL2_I": 7,
        "CL2_F": 1.5,
        "CL2_B": True,
        "CL2_T": "30s",
    }
    assert [type(mapping[key]).__name__ for key in ("A", "Nodes", "CL2_I", "CL2_F")] == [
        "Float",
        "Int",
        "Int64",
        "Float",
    ]
