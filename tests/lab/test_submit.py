"""Submitting, in virtual time."""

from __future__ import annotations

import re

import pytest

from ghostfleet.core.clock import SECOND
from ghostfleet.drive.interface import ConnectionFailed, Refused
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.plan import RUN_LABEL, Plan, namer
from ghostfleet.lab.records import Run
from ghostfleet.lab.submit import Submitter, prepare, resume

NAMESPACE = "runai-project-0"


def test_exactly_as_many_workloads_are_submitted_as_asked_for(fleet, directory):
    done = fleet.submit(directory, Plan(count=11, type="job", processes=4))
    assert done.submitted == 11
    assert len(fleet.names("jobs.batch", NAMESPACE)) == 11
    assert sorted(each.name for each in directory.submissions()) == sorted(fleet.names("jobs.batch", NAMESPACE))


def test_iterations_submit_so_many_at_once_and_let_the_delay_pass_in_between(fleet, directory):
    fleet.submit(directory, Plan(count=7, type="job", processes=3, delay=10.0))
    times = [each.time for each in directory.submissions()]
    assert [(time - times[0]) // SECOND for time in times] == [0, 0, 0, 10, 10, 10, 20]


def test_a_rate_gives_each_workload_its_own_time(fleet, directory):
    fleet.submit(directory, Plan(count=6, type="job", processes=2, rate="4/s"))
    times = [each.time for each in directory.submissions()]
    assert [time - times[0] for time in times] == [number * 250_000 for number in range(6)]


def test_random_arrivals_follow_from_the_seed(make_fleet, tmp_path, directory):
    times = []
    for seed in (1, 1, 2):
        fleet = make_fleet()
        fleet.submit(directory, Plan(count=20, type="job", rate="poisson:1/s", seed=seed), force=True)
        times.append([each.time for each in directory.submissions()])
    assert times[0] == times[1] != times[2]


def test_everything_carries_the_label_of_the_run(fleet, directory):
    run = fleet.submit(directory, Plan(count=2, type="training", project="fresh")).run.run
    objects = [*fleet.store.list("trainingworkloads.run.ai"), fleet.store.find("namespaces", "", "runai-fresh")]
    assert len(objects) == 3
    assert {each["metadata"]["labels"][RUN_LABEL] for each in objects} == {run}


def test_the_record_says_what_was_asked_for_and_of_which_cluster(fleet, directory):
    fleet.submit(directory, Plan(count=3, type="job", gpus=2, seed=5))
    run = directory.run()
    assert (run.count, run.gpus, run.seed, run.state, run.type) == (3, 2, 5, "submitted", "job")
    assert run.cluster["nodes"] == 4
    assert run.cluster["gpuProducts"] == {"NVIDIA-H100-80GB-HBM3": 32}
    assert Run.read(run.written()) == run
    assert not (directory.path / "submitted.journal").exists()


def test_a_killed_run_goes_on_with_exactly_what_it_owes(fleet, directory):
    plan = Plan(count=20, type="job", processes=4)
    calls = 0
    create = fleet.cluster.create

    async def dying(kind, obj):
        nonlocal calls
        calls += 1
        if calls > 10:
            raise ConnectionFailed("gone")
        return await create(kind, obj)

    fleet.cluster.create = dying

    async def work():
        run = await prepare(fleet.cluster, directory, plan)
        submitter = Submitter(fleet.cluster, directory, run)
        submitter._save = lambda _wall: None  # a process that is killed saves nothing
        await submitter.submit()

    with pytest.raises(ConnectionFailed):
        fleet.cluster.run(work())
    journal = directory.path / "submitted.journal"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-2]) + lines[-2][:30])
    fleet.cluster.create = create
    # Two of the third iteration are in the cluster, but not in the journal.
    assert len(fleet.names("jobs.batch", NAMESPACE)) == 10
    assert len(directory.submissions()) == 8
    assert directory.run().state == "submitting"
    done = fleet.resume(directory)
    assert (done.submitted, done.failed) == (20, 0)
    assert len(fleet.names("jobs.batch", NAMESPACE)) == 20
    names = [each.name for each in directory.submissions()]
    assert sorted(names) == sorted(fleet.names("jobs.batch", NAMESPACE))
    assert directory.run().state == "submitted"


def test_a_run_that_is_whole_has_nothing_to_go_on_with(fleet, directory):
    fleet.submit(directory, Plan(count=5, type="job"))
    before = directory.submissions()
    assert fleet.resume(directory).submitted == 5
    assert directory.submissions() == before


def test_a_name_that_somebody_else_has_is_passed_over(fleet, directory):
    plan = Plan(count=3, type="pod")
    run = fleet.cluster.run(prepare(fleet.cluster, directory, plan))
    taken = namer(run.run, 3)(1, 0)
    submitter = Submitter(fleet.cluster, directory, run)
    fleet.cluster.run(submitter._make_ready())
    other = plan.renderers("ffffffff")[""](plan.workloads()[0], taken, 0)
    fleet.cluster.run(fleet.cluster.create(submitter._kinds[""], other))
    fleet.cluster.run(submitter.submit())
    names = [each.name for each in directory.submissions()]
    assert len(set(names)) == 3
    assert taken not in names
    assert len(fleet.names("pods", NAMESPACE)) == 4


def test_what_the_cluster_refuses_is_written_down_and_tried_again(fleet, directory):
    create = fleet.cluster.create

    async def picky(kind, obj):
        if kind.plural == "jobs" and obj["metadata"]["name"].endswith(tuple("02468ace")):
            raise Refused(403, "Forbidden", "not today")
        return await create(kind, obj)

    fleet.cluster.create = picky
    done = fleet.submit(directory, Plan(count=20, type="job", processes=20))
    assert 0 < done.failed < 20
    assert {each.error for each in directory.submissions()} == {"", "not today"}
    fleet.cluster.create = create
    done = fleet.resume(directory)
    assert (done.submitted, done.failed) == (20, 0)
    assert {each.error for each in directory.submissions()} == {""}


def test_when_the_first_are_all_refused_nothing_is_left_behind(fleet, directory, template):
    own = "apiVersion: batch/v1\nkind: Job\nspec: {template: {spec: {containers: []}}}\n"
    with pytest.raises(LabError, match="the cluster refused the first workloads: .*containers"):
        fleet.submit(directory, Plan(count=100, template=template(own)))
    assert list(directory.path.iterdir()) == []


def test_a_kind_that_is_not_served_is_told(make_fleet, directory):
    fleet = make_fleet(without=frozenset({"runai"}))
    with pytest.raises(LabError, match=re.escape("does not serve TrainingWorkload (run.ai/v2alpha1)")):
        fleet.submit(directory, Plan(count=1))
    assert directory.run() is None


def test_a_project_that_does_not_exist_is_made_on_our_own_clusters_only(fleet, directory, monkeypatch):
    from dataclasses import replace

    info = replace(fleet.cluster.info, ghostfleet=False)
    monkeypatch.setattr(fleet.cluster, "info", info)
    with pytest.raises(LabError, match="project nowhere does not exist: the cluster has no namespace runai-nowhere"):
        fleet.submit(directory, Plan(count=1, type="job", project="nowhere"))
    run = fleet.cluster.run(prepare(fleet.cluster, directory, Plan(count=1, type="job")))
    submitter = Submitter(fleet.cluster, directory, run, create_project=True)
    fleet.cluster.run(submitter.submit())
    assert submitter.submitted == 1


def test_a_directory_with_a_run_is_not_overwritten_unless_asked(fleet, directory):
    fleet.submit(directory, Plan(count=1, type="job"))
    with pytest.raises(LabError, match="holds run .*--force"):
        fleet.submit(directory, Plan(count=1, type="job"))
    assert fleet.submit(directory, Plan(count=1, type="job", seed=1), force=True).submitted == 1


def test_there_must_be_a_run_to_go_on_with(directory):
    with pytest.raises(LabError, match="holds no run to go on with"):
        resume(directory)


def test_a_template_of_ones_own_keeps_what_was_added_to_it(fleet, directory, template):
    own = """
apiVersion: v1
kind: Pod
metadata: {labels: {team: "{{project}}", release: "{{name}}"}}
spec:
  priorityClassName: system-node-critical
  containers: [{name: main, image: x, env: [{name: NUMBER, value: "{{index}}"}]}]
"""
    fleet.submit(directory, Plan(count=2, template=template(own)))
    pods = fleet.store.list("pods", NAMESPACE)
    assert sorted(pod["spec"]["containers"][0]["env"][0]["value"] for pod in pods) == ["0", "1"]
    assert {pod["spec"]["priorityClassName"] for pod in pods} == {"system-node-critical"}
    assert {pod["metadata"]["labels"]["team"] for pod in pods} == {"project-0"}
