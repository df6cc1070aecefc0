"""Runs of a mix, in virtual time: what is submitted, recorded, sampled and told."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from ghostfleet.core.clock import SECOND
from ghostfleet.drive.interface import ConnectionFailed
from ghostfleet.lab.directory import RunDirectory
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.plan import CLASS_LABEL, Plan
from ghostfleet.lab.progress import Silent
from ghostfleet.lab.sample import sample
from ghostfleet.lab.scaletest import follow, patience_of
from ghostfleet.lab.submit import Submitter, prepare, resume
from ghostfleet.report import write_report

pytestmark = pytest.mark.fleet

EXAMPLES = Path(__file__).parents[2] / "examples" / "04-scale-test"
MANY = """
arrivals: poisson:1/s
classes:
- {name: train, type: training, gpus: 2, duration: "uniform(1m, 3m)", labels: {tier: gold}}
- {name: spread, type: distributed, workers: {1: 1, 3: 1}, duration: 2m, namespaces: [runai-b, team-c]}
- {name: notebook, type: interactive, duration: 4m}
- {name: stay, type: interactive}
- {name: batch, type: job, workers: [1, 2], gpus: [1, 4], queues: {p: 1, q: 2}, priorityClassName: system-node-critical}
- {name: bare, type: pod, duration: [30s, 40s], queues: p, annotations: {note: "1"}}
- {name: torch, type: pytorchjob, workers: 2, duration: 1m}
- {name: web, type: deployment, workers: 2, gpus: 0}
"""


@pytest.fixture
def mix(tmp_path):
    def write(text=MANY):
        path = tmp_path / "mix.yaml"
        path.write_text(text)
        return str(path)

    return write


def drawn_of(directory):
    return {each.name: each.drawn for each in directory.submissions()}


def test_every_type_of_a_mix_is_submitted_recorded_and_sampled_as_it_was_drawn(make_fleet, directory, mix):
    fleet = make_fleet(nodes=40)
    tested = fleet.test(directory, Plan(count=60, mix=mix()))
    assert (tested.gave_up, tested.failed, tested.sampled.complete) == (False, 0, 60)
    drawn = drawn_of(directory)
    assert set(Counter(each.workload_class for each in drawn.values())) == {
        "train", "spread", "notebook", "stay", "batch", "bare", "torch", "web"
    }  # fmt: skip
    extra = {"spread": 1, "torch": 1}
    for each in directory.samples():
        was = drawn[each["jobName"]]
        pods = was.workers + extra.get(was.workload_class, 0)
        if was.workload_class in ("train", "notebook", "stay", "bare"):
            pods = 1
        assert (each["pods"], each["gpus"]) == (pods, pods * was.gpus), was
        stays = was.workload_class in ("stay", "web")
        assert each["phase"] == ("Running" if stays else "Succeeded")
        assert (was.duration is None) is stays


def test_a_workload_runs_for_exactly_as_long_as_was_drawn_for_it(make_fleet, directory, mix):
    make_fleet(nodes=40).test(directory, Plan(count=60, mix=mix()))
    drawn = drawn_of(directory)
    for each in directory.samples():
        duration, marks = drawn[each["jobName"]].duration, each["marks"]
        if duration is not None:
            assert marks["ended"] - marks["running"] == duration, drawn[each["jobName"]]


def test_a_template_of_ones_own_without_a_duration_gets_that_of_its_class(make_fleet, directory, mix, template):
    path = template(
        "apiVersion: batch/v1\nkind: Job\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n"
        "      containers: [{name: m, image: x, resources: {limits: {nvidia.com/gpu: '{{gpus}}'}}}]\n"
    )
    text = f"classes: [{{name: own, template: {path}, gpus: [1, 2], duration: ['50s', '70s']}}]"
    make_fleet().test(directory, Plan(count=10, mix=mix(text)))
    lasted = {each["marks"]["ended"] - each["marks"]["running"] for each in directory.samples()}
    assert lasted == {50 * SECOND, 70 * SECOND}


def test_labels_queues_annotations_and_priorities_reach_workloads_and_pods(make_fleet, directory, mix):
    fleet = make_fleet(nodes=40)
    fleet.submit(directory, Plan(count=60, mix=mix()))
    fleet.clock.settle()
    classes = {}
    for pod in fleet.store.list("pods"):
        metadata = pod["metadata"]
        labels = metadata["labels"]
        name = labels[CLASS_LABEL]
        classes[name] = classes.get(name, 0) + 1
        assert labels.get("tier") == ("gold" if name == "train" else None)
        assert (labels.get("kai.scheduler/queue") in ("p", "q")) is (name in ("batch", "bare"))
        assert (pod["spec"].get("priorityClassName") == "system-node-critical") is (name == "batch")
        assert ((metadata.get("annotations") or {}).get("note") == "1") is (name == "bare")
    assert len(classes) == 8
    queues = {
        each["metadata"]["name"]: each["metadata"]["labels"]["kai.scheduler/queue"]
        for each in fleet.store.list("jobs.batch")
    }
    assert queues == {name: each.queue for name, each in drawn_of(directory).items() if each.workload_class == "batch"}


def test_namespaces_are_made_for_all_classes(make_fleet, directory, mix):
    fleet = make_fleet(nodes=40)
    fleet.submit(directory, Plan(count=60, mix=mix(), project="mine"))
    assert {"runai-mine", "runai-b", "team-c"} <= set(fleet.names("namespaces"))
    assert {each.project for each in directory.submissions()} == {"mine", "b", "team-c"}


def test_the_submissions_say_what_each_workload_is(fleet, directory, mix):
    text = "classes: [{name: a, type: job, gpus: 2, workers: 3, duration: 1m30s, queues: q}]"
    fleet.submit(directory, Plan(count=1, mix=mix(text)))
    [told] = json.loads((directory.path / "submitted.json").read_bytes())
    assert {key: told[key] for key in ("class", "gpusPerPod", "workers", "durationSeconds", "queue")} == {
        "class": "a", "gpusPerPod": 2, "workers": 3, "durationSeconds": 90.0, "queue": "q"
    }  # fmt: skip


def test_the_submissions_of_a_run_without_a_mix_are_as_before(fleet, directory):
    fleet.submit(directory, Plan(count=1, type="job"))
    [told] = json.loads((directory.path / "submitted.json").read_bytes())
    assert set(told) == {"jobName", "projectName", "jobNamespace", "submitTimestamp"}


def test_workloads_of_a_mix_arrive_when_it_says(fleet, directory, mix):
    text = "arrivals: [0s, 7s, 7s, 20s]\nclasses: [{name: a, type: job}]"
    fleet.submit(directory, Plan(count=4, mix=mix(text)))
    times = [each.time for each in directory.submissions()]
    assert [time - times[0] for time in times] == [0, 7 * SECOND, 7 * SECOND, 20 * SECOND]


def test_a_mix_without_arrivals_goes_in_iterations(fleet, directory, mix):
    fleet.submit(directory, Plan(count=5, mix=mix("classes: [{name: a, type: job}]"), processes=2, delay=10.0))
    times = [each.time for each in directory.submissions()]
    assert [(time - times[0]) // SECOND for time in times] == [0, 0, 10, 10, 20]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"type": "job"}, "leave out --workload-type and --template"),
        ({"rate": "1/s"}, "says when workloads arrive: leave out --rate and --delay"),
        ({"delay": 1.0}, "says when workloads arrive: leave out --rate and --delay"),
        ({"count": 5_000_000}, "a run has at most 2,097,152 workloads"),
    ],
)
def test_options_that_a_mix_contradicts_are_refused(mix, more, words):
    with pytest.raises(LabError, match=words):
        Plan(**{"count": 1, "mix": mix(), **more}).check()


def test_a_run_that_was_killed_goes_on_with_the_same_draws(make_fleet, directory, mix):
    plan = Plan(count=30, mix=mix(MANY.replace("arrivals: poisson:1/s", "")), processes=5)
    fleet = make_fleet(nodes=40)
    create, calls = fleet.cluster.create, 0

    async def dying(kind, obj):
        nonlocal calls
        calls += 1
        if calls > 17:
            raise ConnectionFailed("gone")
        return await create(kind, obj)

    fleet.cluster.create = dying
    with pytest.raises(ConnectionFailed):
        fleet.submit(directory, plan)
    fleet.cluster.create = create
    assert 0 < len(directory.submissions()) < 30
    fleet.resume(directory)
    whole = RunDirectory(directory.path / "whole")
    other = make_fleet(nodes=40)
    other.submit(whole, plan)
    assert drawn_of(directory) == drawn_of(whole)


def test_a_mix_that_has_changed_is_not_gone_on_with(fleet, directory, mix):
    plan = Plan(count=2, mix=mix("classes: [{name: a, type: job}]"))
    fleet.submit(directory, plan)
    mix("classes: [{name: a, type: job, gpus: 2}]")
    with pytest.raises(LabError, match=r"mix.yaml has changed since run \w+ began"):
        resume(directory)


def test_patience_lasts_as_long_as_the_longest_workload_that_was_drawn(mix):
    plan = Plan(count=500, mix=mix("classes: [{name: a, type: job, duration: 'pareto(1m, 0.5)'}]"))
    longest = max(each.duration for each in plan.workloads())
    assert patience_of(plan) == 600 * SECOND + longest


def test_the_run_of_a_mix_can_be_followed_by_another_process(make_fleet, directory, mix):
    fleet = make_fleet(nodes=40)
    plan = Plan(count=40, mix=mix())

    async def work():
        run = await prepare(fleet.cluster, directory, plan)
        submitter = Submitter(fleet.cluster, directory, run)

        async def later():
            await fleet.cluster.sleep(SECOND // 100)
            again = directory.run()
            return await follow(fleet.cluster, directory, again, Silent(), patience_of(again))

        done = await fleet.cluster.together([submitter.submit(), later()])
        await sample(fleet.cluster, directory, plan.kinds())
        return done[1]

    assert fleet.cluster.run(work()) is True
    assert sum("running" in each["marks"] for each in directory.samples()) >= 38


# -- what a mix is for -----------------------------------------------------------------------------------------------


@pytest.fixture
def report(make_fleet, tmp_path):
    """The report and the times of a plan, tested on a cluster of 20 nodes with 8 GPUs each."""

    def reported(name, plan, config=None):
        directory = RunDirectory(tmp_path / name)
        assert not make_fleet(nodes=20, scheduler_config=config).test(directory, plan).gave_up
        return write_report(directory, plots=()), (tmp_path / name / "times.csv").read_bytes()

    return reported


def test_the_example_tells_two_scheduler_configurations_apart(report):
    plan = Plan(count=300, mix=str(EXAMPLES / "mix.yaml"))
    spread, times = report("spread", plan)
    packed, other_times = report("packed", plan, EXAMPLES / "most-allocated.yaml")
    _, again = report("again", plan)
    assert times == again, "the same seed gives the same bytes"
    assert times != other_times
    waiting = [
        {each.name: each.waiting.mean for each in summary.classes if each.waiting is not None}
        for summary in (spread, packed)
    ]
    assert waiting[1]["training"] < 0.8 * waiting[0]["training"], "whole nodes are found sooner where pods are packed"


def test_with_one_size_of_pods_the_two_configurations_give_the_same_bytes(report):
    plan = Plan(count=300, type="job", gpus=2, rate="poisson:2/m", runtime="10m")
    _, times = report("spread", plan)
    _, other_times = report("packed", plan, EXAMPLES / "most-allocated.yaml")
    assert times == other_times


def test_the_report_breaks_figures_down_by_class(report, tmp_path):
    summary, times = report("out", Plan(count=120, mix=str(EXAMPLES / "mix.yaml")))
    submitted = json.loads((tmp_path / "out" / "submitted.json").read_bytes())
    counts = Counter(each["class"] for each in submitted)
    assert {each.name: each.workloads for each in summary.classes} == counts
    rows = list(csv.DictReader(times.decode().splitlines()))
    assert list(rows[0])[-1] == "Class"
    assert {row["Job Name"]: row["Class"] for row in rows} == {each["jobName"]: each["class"] for each in submitted}
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Waiting time by class" in page
    assert "120 workloads of mix.yaml" in page
    told = summary.as_json()["classes"]
    assert [each["class"] for each in told] == ["large", "notebook", "training", "tuning"]
    for each in told:
        phases = {phase["key"]: phase["count"] for phase in each["phases"]}
        assert phases["totalBound"] == counts[each["class"]]
