"""Go templates as KWOK configures them. The file of facts holds what text/template with sprig and KWOK answers."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.yamltext import YamlError, compose
from ghostfleet.languages.budget import BudgetExceeded
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.languages.gotemplate import TemplateError, Unsupported, compile_template, read_yaml, render_yaml
from ghostfleet.languages.govalues import JsonNumber

_FACTS_FOLDER = Path(__file__).parent / "facts"
_LINES = [json.loads(line) for line in (_FACTS_FOLDER / "templates.jsonl").read_text().split("\n") if line]
_DATA = json.loads(_LINES[0]["data"], parse_int=JsonNumber, parse_float=JsonNumber)
_YAML = [json.loads(line) for line in (_FACTS_FOLDER / "yaml.jsonl").read_text().split("\n") if line][1:]
_FUNCTIONS = {"Now": lambda: "2026-01-02T03:04:05.123456Z", "NodeIP": lambda: "10.0.0.1", "NodePort": lambda: 10250}


@pytest.mark.parametrize("fact", _LINES[1:], ids=lambda fact: fact["text"][:60])
def test_a_template_gives_what_go_gives(fact):
    if "refused" in fact:
        with pytest.raises(Unsupported):
            compile_template(fact["text"], _FUNCTIONS)
        return
    if "fails" in fact:
        with pytest.raises((TemplateError, Unsupported)):
            compile_template(fact["text"], _FUNCTIONS).render(_DATA)
        return
    assert compile_template(fact["text"], _FUNCTIONS).render(_DATA) == fact["gives"]


def number(digits: str) -> int | float:
    """A number of JSON; what does not fit into 64 bits was a float before it was written."""
    return int(digits) if -(1 << 63) <= int(digits) < 1 << 64 else float(digits)


@pytest.mark.parametrize("fact", _YAML, ids=lambda fact: repr(fact["text"])[:60])
def test_yaml_is_read_as_kubernetes_reads_it(fact):
    if "fails" in fact:
        with pytest.raises(EvaluationError):
            read_yaml(fact["text"])
    else:
        assert read_yaml(fact["text"]) == json.loads(fact["json"], parse_int=number)


def test_numbers_of_an_object_behave_as_json_numbers():
    plain = {"n": 3, "z": 0, "f": 1.5, "l": [1, 2]}
    texts = (
        '{{ .n }} {{ .f }} {{ if .z }}T{{ end }} {{ eq .n "3" }} {{ printf "%d|%s" .n .n }} {{ typeOf .n }} {{ .n.Int64 }} '
        "{{ add .n 1 }} {{ .l }} {{ toJson .l }} {{ .n | Quote }} {{ YAML .l 1 }} {{ index .l 1 }} {{ len .l }}"
    )
    kept = {"n": JsonNumber("3"), "z": JsonNumber("0"), "f": JsonNumber("1.5"), "l": [JsonNumber("1"), JsonNumber("2")]}
    assert compile_template(texts).render(plain) == compile_template(texts).render(kept)
    for wrong in ("{{ eq .n 3 }}", "{{ index .l .z }}", "{{ upper .n }}", "{{ until .n }}"):
        with pytest.raises(TemplateError):
            compile_template(wrong).render(plain)


def test_functions_of_the_surroundings_are_looked_up_when_the_template_is_rendered():
    template = compile_template("{{ Now }} {{ add NodePort 1 }}", _FUNCTIONS)
    assert template.render({}) == "2026-01-02T03:04:05.123456Z 10251"
    assert template.render({}, {"Now": lambda: "later", "NodePort": lambda: 1}) == "later 2"


def test_arguments_are_checked_against_the_annotations_of_a_function():
    def of_pod(node: str, host: bool) -> list[str]:
        return [node, str(host)]

    functions = {"PodIPsWith": of_pod}
    assert compile_template("{{ PodIPsWith .s (or .h false) }}", functions).render({"s": "n"}) == "[n False]"
    for wrong in ("{{ PodIPsWith .s }}", "{{ PodIPsWith .missing false }}", "{{ PodIPsWith .n false }}"):
        with pytest.raises(TemplateError):
            compile_template(wrong, functions).render({"s": "n", "n": 5})


def test_an_unknown_function_is_named_when_the_template_is_compiled():
    with pytest.raises(Unsupported, match="function 'NoSuch' not defined"):
        compile_template("a\n{{ if false }}{{ NoSuch }}{{ end }}")
    with pytest.raises(Unsupported, match="'env'"):
        compile_template('{{ env "HOME" }}')
    with pytest.raises(Unsupported, match="undefined variable"):
        compile_template("{{ $x }}")


def test_dates_take_the_time_from_the_function_now():
    template = compile_template('{{ now | date "2006-01-02 15:04" }} {{ now.Unix }} {{ ago (now) }}', _FUNCTIONS)
    assert template.render({}) == "2026-01-02 03:04 1767323045 0s"


def test_a_template_that_sets_keys_does_not_change_the_object():
    obj = {"metadata": {"labels": {"a": "b"}}}
    template = compile_template('{{ $_ := set .metadata.labels "c" "d" }}{{ .metadata.labels }}')
    assert template.render(obj) == "map[a:b c:d]"
    assert obj == {"metadata": {"labels": {"a": "b"}}}


def test_a_template_that_calls_itself_without_end_is_an_error():
    with pytest.raises(BudgetExceeded, match="more than 100 calls within each other"):
        compile_template('{{ define "x" }}{{ template "x" }}{{ end }}{{ template "x" }}').render({})


POD_READY = """
{{ $now := Now }}
conditions:
{{ range .gates }}
- type: {{ .conditionType | Quote }}
  lastTransitionTime: {{ $now | Quote }}
{{ end }}
containerStatuses:
{{ range .containers }}
- image: {{ .image | Quote }}
  name: {{ .name | Quote }}
  plain: x{{ .name }}
{{ end }}
podIP: {{ NodeIP | Quote }}
phase: Running
"""


def test_rendered_yaml_is_the_object_that_the_text_stands_for():
    template = compile_template(POD_READY, _FUNCTIONS)
    data = {
        "gates": [{"conditionType": "g"}],
        "containers": [{"image": "a:1", "name": "b"}, {"image": "", "name": "n"}],
    }
    expected = {
        "conditions": [{"type": "g", "lastTransitionTime": "2026-01-02T03:04:05.123456Z"}],
        "containerStatuses": [
            {"image": "a:1", "name": "b", "plain": "xb"},
            {"image": "", "name": "n", "plain": "xn"},
        ],
        "podIP": "10.0.0.1",
        "phase": "Running",
    }
    assert render_yaml(template, data) == expected
    assert render_yaml(template, data | {"gates": []}) == expected | {"conditions": None}


def test_parts_without_texts_of_their_own_are_shared_between_objects():
    template = compile_template("a: {{ .x | Quote }}\nb: {c: [1, 2]}")
    one, other = render_yaml(template, {"x": "1"}), render_yaml(template, {"x": "2"})
    assert (one, other) == ({"a": "1", "b": {"c": [1, 2]}}, {"a": "2", "b": {"c": [1, 2]}})
    assert one["b"] is other["b"]


_PLACES = (
    "k: {{ .a | Quote }}",
    "- {{ .a | Quote }}",
    "{{ .a | Quote }}: {{ .b | Quote }}",
    "k: [{{ .a | Quote }}, {x: {{ .b | Quote }}}]",
    "k: pre{{ .a | Quote }}",
    "k: {{ .a | Quote }} {{ .b | Quote }}",
    "k: {{ .a }}",
    "k: |\n  {{ .a | Quote }}\n",
    "k: {{ .a | Quote }} # {{ .b | Quote }}",
    "a: {{ .a | Quote }}\na: {{ .b | Quote }}",
    "k: !!int {{ .a | Quote }}",
    "k: !!binary {{ .a | Quote }}",
    "k: &x {{ .a | Quote }}\nl: *x",
    "<<: {p: {{ .a | Quote }}}\nq: {{ .b | Quote }}",
    'k: {{ printf "%s-%s" .a .b | Quote }}',
    "k: '{{ .a | Quote }}'",
    "k: {{ .a | quote }}",
    "{{ .a | Quote }}",
    "k: {{ list .a .b | YAML }}",
    "k:{{ YAML .a 1 }}\nl: {{ .b | Quote }}",
    "? {{ .a | Quote }}\n: {{ .b | Quote }}",
)
_TEXTS = st.text(max_size=8) | st.sampled_from(
    ["", "5", "yes", "null", "a: b", "'", '"', "#x", "\\", "é", "aGk=", "*x"]
)


def outcome(read: Any) -> Any:
    try:
        return read()
    except (EvaluationError, YamlError):
        return EvaluationError


@given(st.lists(st.sampled_from(_PLACES), min_size=1, max_size=3), _TEXTS, _TEXTS, _TEXTS)
def test_skeletons_never_give_another_object_than_the_text(lines, first, second, third):
    template = compile_template("\n".join(lines))
    for data in ({"a": first, "b": second}, {"a": second, "b": third}, {"a": third, "b": first}):
        text = template.render(data)
        expected = outcome(lambda text=text: next((value for value, _, _ in compose(text, lenient=True)), None))
        assert outcome(lambda data=data: render_yaml(template, data)) == expected


@given(st.text(alphabet="{}-.$abxif end|\"'()1,=:/*`\n", max_size=30))
def test_any_text_either_compiles_or_is_refused(text):
    try:
        template = compile_template(text)
    except Unsupported:
        return
    with suppress(TemplateError):
        template.render({"a": {"b": 1}, "x": [1, "s", None]})


@given(st.text(max_size=30).filter(lambda text: "{{" not in text))
def test_text_without_actions_stays_as_it_is(text):
    assert compile_template(text).render({}) == text.strip()
