"""Templates and the types of workload that are made from them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ghostfleet.lab.errors import LabError
from ghostfleet.lab.plan import RUN_LABEL, Plan
from ghostfleet.lab.templates import PLACEHOLDERS, compiled, load_template
from ghostfleet.lab.types import chosen_type, type_names, workload_type

HEAD = "apiVersion: v1\nkind: ConfigMap\n"


def made(path, **values):
    return compiled(load_template(Path(path)).tree)(values)


def rendered(plan, run="r", name="a"):
    return plan.renderers(run)[""](plan.workloads()[0], name, 0)


def test_a_placeholder_alone_has_the_type_of_its_value_and_in_quotes_it_is_text(template):
    text = (
        HEAD
        + 'data:\n  number: {{workers}}\n  quoted: "{{workers}}"\n  within: n-{{ workers }}-x\n  flow: {a: {{workers}}}\n'
    )
    assert made(template(text), workers=3)["data"] == {
        "number": 3,
        "quoted": "3",
        "within": "n-3-x",
        "flow": {"a": 3},
    }


def test_a_key_with_nothing_is_left_out_and_so_is_what_it_empties(template):
    text = (
        HEAD
        + "metadata:\n  annotations: {a: {{runtime}}}\ndata:\n  kept: x\n  gone: {{runtime}}\n  within: <{{runtime}}>\n"
    )
    assert made(template(text), runtime=None) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "data": {"kept": "x", "within": "<>"},
    }


def test_placeholders_may_stand_in_keys_and_lists(template):
    text = HEAD + "data:\n  '{{name}}.txt': [a, {{name}}]\n"
    assert made(template(text), name="j-1")["data"] == {"j-1.txt": ["a", "j-1"]}


def test_what_has_no_placeholder_is_shared_by_all_objects(template):
    render = compiled(load_template(Path(template(HEAD + "metadata: {name: {{name}}}\ndata: {a: {b: c}}\n"))).tree)
    one, other = render({"name": "a"}), render({"name": "b"})
    assert one["data"] is other["data"]
    assert one["metadata"] != other["metadata"]


def test_an_unknown_placeholder_is_told_with_file_line_and_the_known_ones(template):
    path = template(HEAD + "data:\n  a: {{nmae}}\n")
    with pytest.raises(LabError) as caught:
        load_template(Path(path))
    assert str(caught.value) == f"{path}: line 4: unknown placeholder {{{{nmae}}}}; known are {', '.join(PLACEHOLDERS)}"


def test_comments_and_go_templates_are_left_alone(template):
    text = HEAD + "# {{nmae}}\ndata:\n  a: '{{ .Values.x }}'\n"
    assert made(template(text))["data"] == {"a": "{{ .Values.x }}"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: ]", "line 1"),
        ("kind: Pod\n", "apiVersion and kind"),
        (HEAD + "---\n" + HEAD, "expected one object, found 2"),
        ("", "expected one object, found 0"),
        ("- a\n", "expected an object"),
        (HEAD + "metadata: x\n", "metadata: expected an object"),
    ],
)
def test_a_template_that_cannot_be_used_is_told_in_one_line(template, text, words):
    with pytest.raises(LabError, match=re.escape(words)) as caught:
        load_template(Path(template(text)))
    assert "\n" not in str(caught.value)


def test_a_template_that_is_not_there_is_told(tmp_path):
    with pytest.raises(LabError, match="cannot read template .*No such file"):
        load_template(tmp_path / "missing.yaml")


@pytest.mark.parametrize("name", type_names())
@pytest.mark.parametrize("pvc", [False, True])
def test_every_type_makes_an_object_of_its_kind_with_name_namespace_and_run(name, pvc):
    plan = Plan(count=1, type=name, project="p", gpus=2, workers=3, pvc=pvc)
    obj = rendered(plan, "0a0b0c0d", "j-000001")
    kind = workload_type(name)
    assert (obj["apiVersion"], obj["kind"]) == kind.workload
    assert obj["metadata"]["name"] == "j-000001"
    assert obj["metadata"]["namespace"] == "runai-p"
    assert obj["metadata"]["labels"][RUN_LABEL] == "0a0b0c0d"
    assert ("scratch" in str(obj)) is pvc
    assert not re.search("[\ue000-\ue002]|{{", str(obj))


def test_pods_that_stay_have_no_duration_unless_one_is_asked_for():
    assert "ghostfleet.dev/duration" not in str(rendered(Plan(1, "interactive")))
    assert "60s" in str(rendered(Plan(1, "training")))
    assert "sleep 300" in str(rendered(Plan(1, "training", runtime="5m")))


def test_a_template_of_ones_own_is_of_the_type_whose_kind_it_has(template):
    job = "apiVersion: batch/v1\nkind: Job\nspec: {template: {spec: {priorityClassName: high}}}\n"
    assert chosen_type("", template(job)).name == "job"
    with pytest.raises(LabError, match="holds a Job .*type training is TrainingWorkload"):
        chosen_type("training", template(job))
    other = chosen_type("", template("apiVersion: example.com/v1\nkind: Rocket\n"))
    assert (other.name, other.workload.kind, other.pods(5)) == ("rocket", "Rocket", 1)


def test_a_claim_for_a_kind_that_is_not_known_is_refused(template):
    plan = Plan(1, template=template("apiVersion: example.com/v1\nkind: Rocket\n"), pvc=True)
    with pytest.raises(LabError, match="not known where a Rocket has its pods"):
        plan.check()


def test_an_unknown_type_is_told_with_the_known_ones():
    with pytest.raises(LabError, match="unknown workload type 'trainig'; known are training, distributed, interactive"):
        Plan(1, "trainig").check()


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan(1, project="Bad_Name"), "--project 'Bad_Name'"),
        (Plan(1, rate="10/s", delay=1.0), "give one of them"),
        (Plan(1, rate="fast"), "--rate 'fast'"),
        (Plan(1, runtime="soon"), "--runtime: distribution 'soon'"),
    ],
)
def test_options_that_cannot_work_are_refused_before_anything_is_done(plan, words):
    with pytest.raises(LabError, match=re.escape(words)):
        plan.check()
