"""Recording, sampling and the whole test, in virtual time."""

from __future__ import annotations

import json

import pytest

from ghostfleet import __version__
from ghostfleet.core.clock import EPOCH, SECOND
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.plan import Plan
from ghostfleet.lab.progress import Silent
from ghostfleet.lab.records import MARKS, Submission
from ghostfleet.lab.sample import sample
from ghostfleet.lab.scaletest import follow, patience_of
from ghostfleet.lab.types import workload_type

pytestmark = pytest.mark.fleet


@pytest.mark.parametrize(
    ("kind", "pods", "phase"),
    [
        ("training", 1, "Succeeded"),
        ("distributed", 3, "Succeeded"),
        ("interactive", 1, "Running"),
        ("job", 2, "Succeeded"),
        ("deployment", 2, "Running"),
        ("pod", 1, "Succeeded"),
        ("pytorchjob", 3, "Succeeded"),
    ],
)
@pytest.mark.parametrize("pvc", [False, True])
def test_every_type_is_measured_from_submission_to_its_end(make_fleet, directory, kind, pods, phase, pvc):
    fleet = make_fleet(nodes=8, profile="kubernetes")
    tested = fleet.test(directory, Plan(count=6, type=kind, workers=2, pvc=pvc, processes=2, delay=1.0))
    assert not tested.gave_up
    assert tested.sampled.phases == {phase: 6}
    for each in directory.samples():
        assert (each["pods"], each["gpus"], each["failure"]) == (pods, pods, "")
        assert each["node"].startswith("kwok-node-")
        assert (each["podGroupCreatedTimestamp"] is not None) is (kind in ("training", "distributed", "interactive"))
        assert (each["firstPVCBindTimestamp"] is not None) is pvc
        marks = each["marks"]
        order = [marks[mark] for mark in MARKS[:10] if mark in marks and mark not in ("podGroup", "lastPod")]
        assert order == sorted(order)
        assert ("finished" in marks) is (phase == "Succeeded")
        assert ("claimBound" in marks) is pvc


def test_marks_and_timestamps_tell_the_same_story(make_fleet, directory):
    make_fleet(profile="kubernetes").test(directory, Plan(count=40, processes=5, delay=1.0))
    pairs = {
        "workload": "workloadCreatedTimestamp",
        "job": "jobCreatedTimestamp",
        "firstPod": "firstPodCreatedTimestamp",
        "podGroup": "podGroupCreatedTimestamp",
        "decided": "podSchedulingDecisionTimestamp",
        "bound": "lastPodScheduledTimestamp",
        "running": "lastPodRunningTimestamp",
        "finished": "finishedTimestamp",
    }
    for each in directory.samples():
        for mark, field in pairs.items():
            assert 0 <= each["marks"][mark] - parse_rfc3339(each[field]) < SECOND, mark


def test_the_same_test_gives_the_same_bytes(make_fleet, directory):
    plan, texts = Plan(count=30, rate="poisson:5/s", runtime="exponential(30s)"), []
    for _ in range(2):
        directory.clear()
        make_fleet().test(directory, plan)
        texts.append(
            [(directory.path / name).read_bytes() for name in ("sampled.json", "gpus.jsonl", "timeline.jsonl")]
        )
    assert texts[0] == texts[1]


def test_a_run_knows_which_limits_held_it_up(make_fleet, directory):
    make_fleet(nodes=8, profile="kubernetes").test(directory, Plan(count=200, type="job", processes=200))
    run = directory.run()
    assert run is not None
    worst = run.limits[0]
    # Each Job takes a few requests of the controller, which may send 20 a second.
    assert (worst["component"], worst["limit"]) == ("Job controller", "20 requests/s")
    assert 200 / 20 < worst["seconds"] < 3 * 60
    assert worst["waits"] > 200
    assert all(each["seconds"] > 0 for each in run.limits)


def test_components_without_limits_hold_nothing_up(make_fleet, directory):
    make_fleet(profile="instant").test(directory, Plan(count=8, type="job"))
    assert directory.run().limits == []


def test_pods_that_share_the_work_of_their_node_are_told(make_fleet, directory):
    make_fleet(nodes=1, gpus=8, profile="instant", stages=("kind",)).test(directory, Plan(count=4, type="job"))
    assert [each["component"] for each in directory.run().limits] == ["Nodes"]


def test_a_run_knows_all_that_made_it(make_fleet, directory, tmp_path):
    config = tmp_path / "scheduler.yaml"
    config.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
    fleet = make_fleet(scheduler_config=config, dispatcher="mcad-1.32", stages=("general",))
    fleet.test(directory, Plan(count=1, type="job", seed=3))
    run = directory.run()
    assert (run.seed, run.version) == (3, __version__)
    made = {name: run.cluster[name] for name in ("profile", "schedulers", "dispatcher", "stages")}
    assert made == {
        "profile": "instant",
        "schedulers": ["default-scheduler"],
        "dispatcher": "mcad-1.32",
        "stages": ["general"],
    }
    assert run.cluster["schedulerConfiguration"] == {"file": str(config), "text": config.read_text()}


def test_a_test_gives_up_when_nothing_changes_any_more(make_fleet, directory):
    fleet = make_fleet(nodes=1, gpus=2)
    tested = fleet.test(directory, Plan(count=3, type="job", gpus=4), patience=60 * SECOND)
    assert tested.gave_up
    assert tested.finished == 0
    assert tested.sampled.phases == {"Pending": 3}
    assert all("bound" not in each["marks"] for each in directory.samples())


def test_more_work_than_gpus_is_waited_for(make_fleet, directory):
    fleet = make_fleet(nodes=1, gpus=2)
    tested = fleet.test(directory, Plan(count=6, type="job", gpus=1, runtime="15m"))
    assert not tested.gave_up
    assert tested.modelled == 3 * 15 * 60 * SECOND


def test_patience_covers_long_runs():
    assert patience_of(Plan(1, runtime="2h")) > 2 * 3600 * SECOND
    assert patience_of(Plan(1, type="interactive")) == 600 * SECOND


def test_evictions_are_marked(make_fleet, directory, template):
    fleet = make_fleet(nodes=1, gpus=1)
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {labels: {release: '{{name}}'}}\nspec:\n  PRIORITYcontainers: [{name: m, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]\n"
    low = Plan(count=1, template=template(pod.replace("PRIORITY", "")))
    high = template(pod.replace("PRIORITY", "priorityClassName: system-cluster-critical\n  "), "high.yaml")
    from ghostfleet.lab.directory import RunDirectory
    from ghostfleet.lab.recorder import TimelineRecorder

    async def work():
        from ghostfleet.lab.submit import Submitter, prepare

        run = await prepare(fleet.cluster, directory, low)
        recorder = TimelineRecorder(fleet.cluster, run.run, low.workloads())
        await recorder.start()
        await Submitter(fleet.cluster, directory, run).submit()
        await fleet.cluster.sleep(SECOND)
        other = RunDirectory(directory.path / "other")
        more = Plan(count=1, template=high)
        await Submitter(fleet.cluster, other, await prepare(fleet.cluster, other, more)).submit()
        await fleet.cluster.sleep(60 * SECOND)
        recorder.stop()
        return recorder

    recorder = fleet.cluster.run(work())
    marks = dict(recorder.marks())
    assert len(marks) == 1, "the other run's pod is not ours"
    assert next(iter(marks.values()))["evicted"] >= EPOCH + SECOND


def test_a_sample_can_be_taken_again_and_again_while_a_test_runs(fleet, directory):
    plan = Plan(count=40, type="job", processes=10, delay=30.0)

    async def watching():
        seen = []
        for _ in range(4):
            await fleet.cluster.sleep(25 * SECOND)
            taken = await sample(fleet.cluster, directory, {"": workload_type("job")})
            seen.append((taken.submitted, taken.phases.get("Succeeded", 0)))
        return seen

    async def work():
        from ghostfleet.lab.submit import Submitter, prepare

        run = await prepare(fleet.cluster, directory, plan)
        submitter = Submitter(fleet.cluster, directory, run)
        return (await fleet.cluster.together([submitter.submit(), watching()]))[1]

    assert fleet.cluster.run(work()) == [(10, 0), (20, 0), (30, 10), (40, 20)]


def test_workloads_that_are_not_complete_are_left_out_and_counted(make_fleet, directory):
    fleet = make_fleet(without=frozenset({"scheduler"}))
    fleet.submit(directory, Plan(count=3, type="job"))
    fleet.clock.settle()
    directory.write_submissions([*directory.submissions(), Submission("j-gone", "project-0", "runai-project-0", EPOCH)])
    taken = fleet.cluster.run(sample(fleet.cluster, directory, {"": workload_type("job")}))
    assert (taken.complete, taken.missing) == (0, {"scheduling decision": 3, "workload": 1})


def test_what_is_gone_keeps_what_an_earlier_sample_saw(fleet, directory):
    fleet.test(directory, Plan(count=4, type="job"))
    before = directory.samples()
    (directory.path / "timeline.jsonl").unlink()
    for name in fleet.names("jobs.batch"):
        from ghostfleet.drive.interface import JOBS

        fleet.cluster.run(fleet.cluster.delete(JOBS, "runai-project-0", name))
    fleet.clock.advance(60 * SECOND)
    taken = fleet.cluster.run(sample(fleet.cluster, directory, {"": workload_type("job")}))
    assert taken.complete == 4
    assert [each["finishedTimestamp"] for each in directory.samples()] == [each["finishedTimestamp"] for each in before]


def test_pods_that_were_cleared_away_are_told_from_their_marks(fleet, directory):
    fleet.test(directory, Plan(count=4, type="job", gpus=2))
    before = directory.samples()
    (directory.path / "sampled.json").unlink()
    from ghostfleet.drive.interface import PODS

    for name in fleet.names("pods"):
        fleet.cluster.run(fleet.cluster.delete(PODS, "runai-project-0", name))
    fleet.clock.advance(60 * SECOND)
    assert fleet.names("pods") == []
    fleet.cluster.run(sample(fleet.cluster, directory, {"": workload_type("job")}))
    for one, other in zip(before, directory.samples(), strict=True):
        kept = {key: value for key, value in one.items() if key not in ("node", "firstPodRunningTimestamp", "gpuHolds")}
        assert {key: other.get(key) for key in kept} == kept


def test_failures_are_told(fleet, directory, template):
    own = """
apiVersion: batch/v1
kind: Job
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {ghostfleet.dev/duration: 5s, ghostfleet.dev/failure-probability: "1"}}
    spec: {restartPolicy: Never, containers: [{name: m, image: x}]}
"""
    tested = fleet.test(directory, Plan(count=2, template=template(own)))
    assert tested.sampled.phases == {"Failed": 2}
    assert all(each["failure"].startswith("BackoffLimitExceeded: ") for each in directory.samples())


def test_a_run_of_another_process_can_be_followed(fleet, directory):
    plan = Plan(count=10, type="job", processes=5, delay=20.0)

    async def work():
        from ghostfleet.lab.submit import Submitter, prepare

        run = await prepare(fleet.cluster, directory, plan)
        submitter = Submitter(fleet.cluster, directory, run)

        async def later():
            await fleet.cluster.sleep(10 * SECOND)
            return await follow(fleet.cluster, directory, run, Silent(), patience_of(plan))

        done = await fleet.cluster.together([submitter.submit(), later()])
        await sample(fleet.cluster, directory, plan.kinds())
        return done[1]

    assert fleet.cluster.run(work()) is True
    samples = directory.samples()
    # The first five were there before the recorder: only what it saw itself is marked.
    assert [sorted(each["marks"]) for each in samples[:5]] == [["ended", "finished", "submitted"]] * 5
    assert all({"workload", "bound", "running", "finished"} <= set(each["marks"]) for each in samples[5:])


def test_the_timeline_is_written_as_it_goes(fleet, directory):
    fleet.test(directory, Plan(count=3, type="job"))
    lines = [json.loads(line) for line in (directory.path / "timeline.jsonl").read_text().splitlines()]
    assert len(lines) == 3
    assert all(line["finished"] - line["running"] == 60 * SECOND for line in lines)


def test_a_project_that_nothing_was_submitted_to_is_told(fleet, directory):
    fleet.submit(directory, Plan(count=1, type="job"))
    with pytest.raises(LabError, match="nothing was submitted to project other"):
        fleet.cluster.run(sample(fleet.cluster, directory, {"": workload_type("job")}, project="other"))


def test_kinds_that_are_not_served_are_told(make_fleet, directory):
    fleet = make_fleet(without=frozenset({"runai"}))
    fleet.submit(directory, Plan(count=1, type="job"))
    with pytest.raises(LabError, match="does not serve TrainingWorkload"):
        fleet.cluster.run(sample(fleet.cluster, directory, {"": workload_type("training")}))
