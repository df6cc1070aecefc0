"""Mix files: what they say, and what is told of one that cannot be used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.clock import SECOND
from ghostfleet.core.yamltext import emit
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.mixfile import CLASS_FIELDS, ClassDefaults, read_mix

GIVEN = ClassDefaults(gpus=3, workers=2, runtime="90s", namespace="runai-p")


@pytest.fixture
def read(tmp_path):
    def reading(text):
        path = tmp_path / "mix.yaml"
        path.write_text(text)
        return read_mix(path, GIVEN)

    return reading


@pytest.fixture
def problems(read, tmp_path):
    """What is told about a file, without the file's name at the start of each line."""

    def told(text):
        with pytest.raises(LabError) as caught:
            read(text)
        lines = str(caught.value).splitlines()
        assert all(line.startswith(f"{tmp_path}/mix.yaml: ") for line in lines)
        return [line.removeprefix(f"{tmp_path}/mix.yaml: ") for line in lines]

    return told


def test_a_class_that_says_nothing_is_as_the_options_of_the_run_say(read):
    [workload] = read("classes: [{name: a, type: job}]\n").workloads(1, 0)
    assert workload[1:] == (3, 2, "runai-p", 90 * SECOND, "", None)


def test_every_field_of_a_class_is_read(read):
    mix = read("""
classes:
- name: large
  type: pytorchjob
  weight: 0.5
  gpus: {8: 1}
  workers: [3]
  duration: 1h30m
  namespaces: team-a
  queues: {research: 1}
  queueLabel: kueue.x-k8s.io/queue-name
  priorityClassName: high
  labels: {tier: gold}
  annotations: {ghostfleet.dev/startup: 10s}
""")
    [of] = mix.classes
    [workload] = mix.workloads(1, 0)
    assert workload[1:] == (8, 3, "team-a", 5400 * SECOND, "research", None)
    assert (of.weight, of.queue_label, of.priority_class) == (0.5, "kueue.x-k8s.io/queue-name", "high")
    assert (of.labels, of.annotations) == ({"tier": "gold"}, {"ghostfleet.dev/startup": "10s"})
    assert (workload.pods, of.ends) == (4, True)


def test_a_template_is_found_beside_the_file_whatever_the_current_directory_is(read, tmp_path):
    (tmp_path / "own.yaml").write_text(
        "apiVersion: example.com/v1\nkind: Rocket\nspec: {n: {{gpus}}, t: {{runtime}}}\n"
    )
    [of] = read("classes: [{name: a, template: own.yaml, gpus: 4, duration: 1m}]").classes
    assert of.kind.workload.kind == "Rocket"


def test_times_may_stand_in_any_order(read):
    mix = read("arrivals: [10s, 0s, 5s]\nclasses: [{name: a, type: pod}]")
    assert [each.time for each in mix.workloads(3, 0)] == [0, 5 * SECOND, 10 * SECOND]


def test_pods_that_stay_end_only_when_a_duration_is_given(read):
    stay, end = read("classes:\n- {name: a, type: interactive}\n- {name: b, type: interactive, duration: 1h}").classes
    assert (stay.ends, end.ends) == (False, True)


def test_all_that_is_wrong_is_told_together_with_line_and_field(problems):
    assert problems("""\
arrivals: often
colour: red
classes:
- name: Small
  type: jobb
  weight: -1
  gpus: 1.5
  workers: [1, two]
- name: a
  type: job
  duration: lognormal(5m)
  gpus: uniform(8, 1)
  namespaces: [ok, Not_ok]
  labels: {a: 1}
- name: a
  type: deployment
  duration: 5m
  workers: 0
- just a text
- {name: b, type: training, workers: 2, priorityClassName: high}
- {gpus: {1: 0}}
""") == [
        "line 1: arrivals: 'often': expected a number above 0 a second, minute or hour: 10/s or poisson:10/s",
        "line 2: colour: unknown field; known are arrivals, classes",
        "line 4: classes[0].name: 'Small': a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name', or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        "line 5: classes[0].type: unknown workload type 'jobb'; known are training, distributed, interactive, job, dra, deployment, pod, pytorchjob, appwrapper, or give a --template",
        "line 6: classes[0].weight: expected a number above 0, up to 1,000,000,000, found -1",
        "line 7: classes[0].gpus: expected a whole number from 0 to 1,000, found 1.5",
        "line 8: classes[0].workers: expected a whole number from 0 to 100,000, found 'two'",
        "line 11: classes[1].duration: distribution 'lognormal(5m)': lognormal takes 2 values, found 1",
        "line 12: classes[1].gpus: expected the smaller number first, found 'uniform(8, 1)'",
        "line 13: classes[1].namespaces: 'Not_ok': a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name', or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        "line 14: classes[1].labels: a: expected a text, found 1",
        "line 15: classes[2].name: 'a' is the name of another class",
        "line 17: classes[2].duration: has no effect: the template of deployment has no {{runtime}}",
        "line 18: classes[2].workers: expected a whole number from 1 to 100,000, found 0",
        "line 19: classes[3]: expected an object with name and type, found a text",
        "line 20: classes[4].workers: has no effect: the template of training has no {{workers}}",
        "line 20: classes[4].priorityClassName: it is not known where a TrainingWorkload has it; say it in a template or by a label",
        "line 21: classes[5]: expected a type, as -t takes it, or a template, the path of a file",
        "line 21: classes[5].gpus: expected a number above 0, up to 1,000,000,000, found 0",
        "line 21: classes[5]: expected a name",
    ]


def test_arrivals_are_the_mixs_or_those_of_every_class(problems):
    own = "classes:\n- {name: a, type: job, arrivals: 1/s, weight: 2}\n- {name: b, type: job}\n"
    assert problems(own) == [
        "line 2: classes[0].weight: expected none: the arrivals of a class say how many workloads it has",
        "line 3: classes[1]: expected arrivals: other classes have their own, so each must",
    ]
    assert problems(f"arrivals: 1/s\n{own}") == [
        "line 3: classes[0].arrivals: expected none: the mix says when all workloads arrive"
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected one document, found 0"),
        ("a: ]", "line 1, column 4: "),
        ("- a", "line 1: expected an object with classes, found a list"),
        ("classes: []", "line 1: classes: expected a list of 1 to 100 classes, found 0"),
        ("arrivals: 1/s", "line 1: classes: expected a list of 1 to 100 classes, found nothing"),
        ("classes: [{name: a, type: job}]\n---\nclasses: []", "expected one document, found 2"),
        (
            "arrivals: 0.0000001/h\nclasses: [{name: a, type: job}]",
            "line 1: arrivals: '0.0000001/h': expected at least",
        ),
        ("classes: [{name: a, template: no.yaml}]", "line 1: classes[0].template: cannot read template"),
        ("classes: [{name: a, type: job, template: 3}]", "line 1: classes[0].template: expected a text, found 3"),
        (
            "classes: [{name: a, type: job, duration: 90}]",
            "classes[0].duration: expected a duration from 0s to ten years",
        ),
        ("classes: [{name: a, type: job, duration: 900000h}]", "such as 90s or 2h, found '900000h'"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_in_one_line(problems, text, words):
    [told] = problems(text)
    assert words in told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"classes: [{', '.join(['{name: a, type: job}'] * 101)}]", "expected a list of 1 to 100 classes, found 101"),
        (f"classes: [{{name: a, type: job, gpus: {[1] * 10_001}}}]", "expected 1 to 10,000 values, found 10,001"),
        ("classes: [{name: a, type: job, gpus: 1001}]", "expected a whole number from 0 to 1,000, found 1001"),
        ("classes: [{name: a, type: job, gpus: 'uniform(1, 99999)'}]", "from 0 to 1,000, found 99999"),
        ("classes: [{name: a, type: job, workers: 100001}]", "expected a whole number from 1 to 100,000, found 100001"),
        ("x" * (4 << 20) + "y", "expected at most 4,194,304 bytes"),
        ("a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n" * 1, "unknown field"),
        ("classes: " + "[" * 300, "objects or lists within each other"),
        (f"{'k' * 1000}: 1\nclasses: [{{name: a, type: job}}]", "kkkk"),
    ],
)
def test_sizes_are_bounded_and_so_are_messages(problems, text, words):
    told = problems(text)
    assert words in told[0]
    assert all(len(line) < 500 for line in told)


def test_of_very_many_problems_the_first_are_told(problems):
    told = problems("classes:\n" + "- {}\n" * 90)
    assert (len(told), told[-1]) == (51, "and 130 more")


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(LabError, match="cannot read mix .*No such file"):
        read_mix(tmp_path / "none.yaml", GIVEN)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=8,
)
FIELDS = st.sampled_from(CLASS_FIELDS)
LIKELY = st.sampled_from(
    [
        "a",
        "job",
        "pod",
        "1/s",
        1,
        [1, 2],
        {"1": 2},
        "5m",
        ["5m"],
        "uniform(1, 2)",
        "uniform(1s, 2s)",
        "lognormal(1s, 9e9)",
    ]
)


@given(st.lists(st.dictionaries(FIELDS, LIKELY | JSON, max_size=8), max_size=3), st.none() | LIKELY | JSON)
def test_any_file_is_a_mix_or_told_with_its_lines(tmp_path_factory, classes, arrivals):
    path = tmp_path_factory.mktemp("mix") / "mix.yaml"
    path.write_text(emit({"classes": classes, **({} if arrivals is None else {"arrivals": arrivals})}))
    try:
        mix = read_mix(path, GIVEN)
        for each in mix.workloads(1, 0):
            assert each.pods >= 1
    except LabError as error:
        for line in str(error).splitlines():
            assert line.startswith((f"{path}: ", "the "))
            assert len(line) < 600
