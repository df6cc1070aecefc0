"""Hostile texts: each ends at its budget, within little memory, and says which text it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ghostfleet.api.deviceselectors import DeviceSelector, DeviceView
from ghostfleet.languages.budget import BUDGET, LONGEST_EXPRESSION, LONGEST_TEMPLATE, STEPS, BudgetExceeded
from ghostfleet.languages.cel import compile_cel
from ghostfleet.languages.errors import EvaluationError, Unsupported
from ghostfleet.languages.gotemplate import compile_template, render_yaml
from ghostfleet.languages.jq import compile_jq
from support.evaluator import Evaluator

BIG = "ab" * 100_000
OBJECT = {
    "metadata": {"name": "a", "annotations": {"big": BIG, "lines": "a\n" * 50_000}},
    "spec": {"items": [{"a": number, "b": [1, 2, 3]} for number in range(50)], "numbers": list(range(1000))},
}
TWICE = "reduce range(60) as $i (0; [., .])"
JQ = [
    "[range(1e12)]",
    "last(repeat(1))",
    "until(false; .)",
    "repeat(empty)",
    "reduce range(1e9) as $i (0; . + $i)",
    "foreach range(1e9) as $i (0; . + 1; empty)",
    "[limit(1e9; repeat(1))] | length",
    "first(range(1e9) | select(. > 1e8))",
    "0 | [recurse(. + 1; . < 1e9)]",
    "any(range(1e9); false)",
    "isempty(range(1e9) | select(false))",
    "[.. | .. | .. | .. | .. | .. | ..]",
    "(1, 2) | " * 60 + ".",
    '"' + r"\(1, 2)" * 60 + '"',
    " + ".join(["(1, 2)"] * 60),
    "{" + ", ".join(f"a{number}: (1, 2)" for number in range(60)) + "}",
    '"x" * 1e9 | length',
    'reduce range(60) as $i ("x"; . + .)',
    'reduce range(60) as $i (["x"]; . + .)',
    f"{TWICE} | tojson",
    f"{TWICE} | . == {TWICE}",
    f"{TWICE} | flatten",
    f"{TWICE} | walk(.)",
    f"{TWICE} | [..] | length",
    f"{TWICE} | tostring | length",
    "reduce range(100000) as $i (0; [.])",
    "null | .[500000000] = 1",
    "reduce range(30000) as $i ([]; .[$i] = $i)",
    "reduce range(30000) as $i ({}; .[$i | tostring] = $i)",
    '[range(300) | tostring] | join("x" * 1e5)',
    '"x" * 1e6 | split("") | length',
    '.metadata.annotations.big as $s | [range(30000) | $s + "a"] | length',
    '.metadata.annotations.big as $s | [range(30000) | $s == ($s + "")] | length',
    '.metadata.annotations.big as $s | [range(30000) | $s | test("x+y")] | length',
    '.metadata.annotations.big | [match("(?:a.*z)|a"; "g")] | length',
    '.metadata.annotations.big | gsub("a"; "bbbbbbbb" * 1000)',
    ".metadata.annotations.big as $s | $s | indices($s[0:100000])",
    ".metadata.annotations.big | " + "@json | " * 60 + "length",
    '[range(50000) | "a"] as $p | [range(40000) | getpath($p)] | length',
    '0 | strftime("%1000000000d")',
    "[range(20000)] - [range(20000)]",
    "[range(2000)] | [combinations(2)]",
    "def f: 1, f; [f]",
    "def f: . + 1 | f; 0 | f",
    "label $x | range(1e9) | if . > 1e8 then break $x else empty end",
    "try last(repeat(1)) catch .",
    "(last(repeat(1)))? // 1",
]
DOUBLED = '{{ $s := "x" }}{{ range until 60 }}{{ $s = %s }}{{ end }}'
SHARED = "{{ $l := list 1 }}{{ range until 60 }}{{ $l = list $l $l }}{{ end }}"
OFTEN = "{{ range until 40000 }}{{ $x := %s }}{{ end }}"
TEMPLATES = [
    "{{ range seq 1 1000000000 }}x{{ end }}",
    "{{ range until 1000000000 }}{{ end }}",
    "{{ range 1000000000 }}{{ end }}",
    "{{ range untilStep 0 1000000000 1 }}x{{ end }}",
    "{{ range until 10 }}" * 30 + "x" + "{{ end }}" * 30,
    "{{ seq 1 1000000000 }}",
    '{{ range until 40000 }}{{ printf "%999999d" 1 }}{{ end }}',
    '{{ repeat 1000000000 "x" }}',
    '{{ indent 1000000000 "x" }}',
    "{{ nindent 10000 .metadata.annotations.lines }}",
    "{{ YAML . 1000000000 }}",
    DOUBLED % "print $s $s",
    DOUBLED % 'printf "%s%s" $s $s',
    DOUBLED % "cat $s $s",
    DOUBLED % 'replace "x" "xx" $s',
    DOUBLED % "join $s (list $s $s $s)",
    DOUBLED % "quote $s",
    DOUBLED % "toJson $s",
    DOUBLED % "html $s $s",
    DOUBLED % "js $s $s",
    SHARED + "{{ $l }}",
    SHARED + "{{ toJson $l }}",
    SHARED + "{{ toPrettyJson $l }}",
    SHARED + "{{ YAML $l }}",
    SHARED + '{{ printf "%#v" $l }}',
    SHARED + '{{ printf "%d" $l }}',
    SHARED + "{{ deepEqual $l $l }}",
    "{{ $l := list 1 }}{{ range until 60 }}{{ $l = concat $l $l }}{{ end }}",
    '{{ $d := dict }}{{ $_ := set $d "a" $d }}{{ toJson $d }}',
    '{{ $d := dict }}{{ $_ := set $d "a" $d }}{{ merge $d $d }}',
    '{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}',
    "".join(
        f'{{{{ define "t{n}" }}}}{{{{ template "t{n + 1}" }}}}{{{{ template "t{n + 1}" }}}}{{{{ end }}}}'
        for n in range(40)
    )
    + '{{ define "t40" }}x{{ end }}{{ template "t0" }}',
    "{{ range until 40000 }}{{ $.metadata.annotations.big }}{{ end }}",
    OFTEN % "upper $.metadata.annotations.big",
    OFTEN % "len $.metadata.annotations.big",
    OFTEN % "eq $.metadata.annotations.big $.metadata.annotations.big",
    OFTEN % 'regexMatch "x+y" $.metadata.annotations.big',
    OFTEN % 'splitList "" $.metadata.annotations.big',
    '{{ regexFindAll "(?:a.*z)|a" .metadata.annotations.big -1 }}',
    '{{ regexReplaceAll "(.*)" .metadata.annotations.big "' + "$1" * 60 + '" }}',
    '{{ regexMatch (repeat 2000 "a?") (repeat 100000 "a") }}',
    '[{{ repeat 900000 "a," }}]',
]
TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"


def within(macro: str, body: str, depth: int) -> str:
    for number in range(depth):
        body = f"{TEN}.{macro}(x{number}, {body})"
    return body


PAIRS = "[[1]]" + "".join(f".map(a{number}, [a{number}, a{number}])" for number in range(60))
CEL = [
    within("all", "true", 20),
    within("exists", "false", 20),
    within("exists_one", "true", 20),
    within("filter", f"{TEN}.filter(y, true).size() > 0 || true", 1).replace("true", within("all", "true", 12)),
    within("map", "1", 9),
    "self.spec.numbers.all(a, self.spec.numbers.all(b, self.spec.numbers.all(c, true)))",
    '["x"]' + ".map(s, s + s)" * 60,
    "[[1]]" + ".map(s, s + s)" * 60,
    f"{PAIRS} == {PAIRS}",
    " + ".join(["self.metadata.annotations.big"] * 200) + ' == ""',
    " || ".join(['self.metadata.annotations.big.matches("x+y")'] * 300),
    'self.spec.numbers.all(x, !self.metadata.annotations.big.contains("zz"))',
    "self.spec.numbers.all(x, self.spec.numbers == self.spec.numbers)",
    "self.spec.numbers.all(x, !(2000 in self.spec.numbers))",
    '"' + "a" * 8000 + '".matches("' + "a?" * 1500 + '")',
    f"{within('all', 'true', 15)} || true",
    f"[1].exists(x, {within('all', 'true', 15)})",
]


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    made = Evaluator()
    yield made
    made.close()


LANGUAGES = {"jq": JQ, "template": TEMPLATES, "cel": CEL}


@pytest.mark.parametrize(
    ("language", "text"),
    [
        pytest.param(language, text, id=f"{language} {text[:60]}")
        for language in LANGUAGES
        for text in LANGUAGES[language]
    ],
)
def test_a_hostile_text_ends_at_its_budget(evaluator: Evaluator, language: str, text: str):
    outcome = evaluator.evaluate(language, text, OBJECT)
    assert outcome["type"] == "BudgetExceeded", outcome
    assert outcome["error"].startswith((f"{language} '", f'{language} "'))
    assert len(outcome["error"]) < 2_000
    assert outcome["steps"] <= 3 * STEPS


HUGE = [
    ("jq", ".a" * LONGEST_EXPRESSION),
    ("cel", "true" + " || true" * LONGEST_EXPRESSION),
    ("template", "x" * (LONGEST_TEMPLATE + 1)),
    ("jq", "(" * 3000 + "1" + ")" * 3000),
    ("cel", "(" * 3000 + "1" + ")" * 3000),
    ("template", "{{ print " + "(" * 3000 + "1" + ")" * 3000 + "}}"),
    ("jq", ". as [$a] ?// $a | " * 60 + "."),
]


@pytest.mark.parametrize(("language", "text"), HUGE, ids=lambda part: part[:20])
def test_a_text_that_is_plainly_too_large_is_not_compiled(evaluator: Evaluator, language: str, text: str):
    outcome = evaluator.evaluate(language, text, OBJECT)
    assert outcome["type"] == "Unsupported", outcome
    assert len(outcome["error"]) < 5_000


FINE = [
    ("jq", "limit(3; repeat(1))"),
    ("jq", "[range(20000)] | length"),
    ("jq", "[.. | numbers] | add"),
    ("jq", '"1" * 3000 | tonumber'),
    ("template", "{{ range 1000000000 }}{{ break }}{{ end }}ok"),
    ("template", 'a: x{{ printf "%1000000000d" 1 }}'),
    ("template", "{{ toPrettyJson .spec.items | len }}"),
    ("cel", "self.spec.numbers.all(x, x < 1000) && self.metadata.annotations.big.size() == 200000"),
    ("cel", f"true || {within('all', 'true', 15)}"),
]


@pytest.mark.parametrize(("language", "text"), FINE, ids=lambda part: part[:40])
def test_what_only_looks_hostile_is_evaluated(evaluator: Evaluator, language: str, text: str):
    outcome = evaluator.evaluate(language, text, OBJECT)
    assert outcome["type"] == "value", outcome


def test_the_same_text_takes_the_same_steps_every_time():
    query = compile_jq("[.spec.items[] | .b[] | . + 1] | add")
    taken = set()
    for _ in range(3):
        before = BUDGET.steps
        query.run(OBJECT)
        taken.add(BUDGET.steps - before)
    assert len(taken) == 1


def test_an_error_names_the_place_of_the_text():
    query = compile_jq("last(repeat(1))", "spec.selector.matchExpressions[0].key")
    with pytest.raises(BudgetExceeded) as caught:
        query.run({})
    assert str(caught.value) == "spec.selector.matchExpressions[0].key: jq 'last(repeat(1))': more than 50,000 steps"
    template = compile_template("{{ range until 1000000000 }}{{ end }}", place="spec.next.statusTemplate")
    with pytest.raises(BudgetExceeded) as caught:
        template.render({})
    assert str(caught.value) == "spec.next.statusTemplate: template: more than 50,000 steps"


def test_a_long_expression_has_fewer_steps():
    padding = " " * 10_000
    with pytest.raises(BudgetExceeded, match="more than 499 steps"):
        compile_jq("last(repeat(1))" + padding).run({})


def test_a_text_that_goes_over_its_budget_again_and_again_is_not_evaluated_any_more():
    queries = [
        lambda: compile_jq("last(repeat(1))").run,
        lambda: compile_template("{{ range until 1000000000 }}{{ end }}").render,
        lambda: (lambda program: lambda obj: program.evaluate(0, self=obj))(compile_cel(within("all", "true", 20))),
    ]
    for make in queries:
        evaluate = make()
        for _ in range(10):
            with pytest.raises(BudgetExceeded, match="more than"):
                evaluate({})
        before = BUDGET.steps
        for _ in range(2):
            with pytest.raises(BudgetExceeded, match="10 times and is not evaluated any more"):
                evaluate({})
        assert BUDGET.steps - before < 100


def test_nothing_is_left_over_from_an_evaluation_that_failed():
    deep = compile_template('{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}')
    for _ in range(3):
        with pytest.raises(BudgetExceeded, match="100 calls"):
            deep.render({})
    calls = '{{ define "a" }}{{ if . }}{{ template "a" (slice . 1) }}{{ end }}{{ end }}{{ template "a" (until 90) }}ok'
    assert compile_template(calls).render({}) == "ok"
    with pytest.raises(BudgetExceeded):
        compile_jq("[range(1e9)]").run({})
    assert compile_jq("[range(5)] | length").run({}) == [5]


def test_aliases_that_stand_for_gigabytes_are_not_followed():
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n"
    for one, other in zip("abcde", "bcdef", strict=True):
        bomb += f"{other}: &{other} [{','.join([f'*{one}'] * 9)}]\n"
    with pytest.raises(EvaluationError, match="excessive aliasing"):
        render_yaml(compile_template(bomb), {})
    long = 'a: &a {{ repeat 90000 "x" }}\nb: [{{ range until 500 }}*a, {{ end }}]'
    with pytest.raises(EvaluationError, match="excessive aliasing"):
        render_yaml(compile_template(long), {})


def test_outside_of_evaluations_there_is_no_limit():
    """Device selectors count in a way of their own, with the same functions."""
    compile_cel("1 == 1").evaluate(0, self={})
    compile_template("x").render({})
    compile_jq("[.[]?]").run({})
    selector = DeviceSelector('device.attributes["d"].model.matches("^A.*")')
    device = DeviceView("d", {"name": "x", "attributes": {"model": {"string": "A100"}}})
    before = BUDGET.steps
    while BUDGET.steps - before <= 2 * STEPS:
        assert selector.matches(device)


def test_yaml_of_too_many_values_is_not_read():
    template = compile_template("[{{ range until 20000 }}1, 2, 3, {{ end }}]", place="spec.next.statusTemplate")
    with pytest.raises(
        BudgetExceeded, match="spec.next.statusTemplate: template: gives YAML with more than 50,000 values"
    ):
        render_yaml(template, {})


def test_messages_quote_only_the_beginning_of_a_text():
    with pytest.raises(Unsupported) as caught:
        compile_jq("nosuch" * 2000)
    assert "(12,000 characters)" in str(caught.value)
    assert len(str(caught.value)) < 5_000
