"""Jobs: pods are made, counted once, and the Job ends as Kubernetes would end it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.controllers.jobs import JOBS, JobController, JobExpiry

FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"


@pytest.fixture
def jobs(world):
    JobController(world.store, world.routes, world.creator, world.profile)
    JobExpiry(world.store, world.profile)
    return world


def conditions(job):
    return [(each["type"], each["status"], each["reason"]) for each in job["status"].get("conditions", [])]


def start(world, pod_template, name="job", **spec):
    template = pod_template(restartPolicy=spec.pop("restartPolicy", "Never"))
    return world.create(JOBS, name, spec={"template": template, **spec})


def indexes(world):
    return sorted(int(pod["metadata"]["annotations"][INDEX]) for pod in world.pods())


def test_a_new_job_gets_its_pod_and_tells_so(jobs, pod_template):
    start(jobs, pod_template)
    (pod,) = jobs.pods()
    name = pod["metadata"]["name"]
    assert name.startswith("job-")
    assert pod["metadata"]["finalizers"] == [FINALIZER]
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "Job"
    assert pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "job"
    status = jobs.get(JOBS, "job")["status"]
    assert status == {
        "startTime": "2026-01-01T00:00:00Z",
        "active": 1,
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    }
    assert jobs.events("job") == [("SuccessfulCreate", f"Created pod: {name}")]


def test_a_job_whose_pod_succeeds_is_complete_with_all_that_real_jobs_carry(jobs, pod_template):
    start(jobs, pod_template)
    jobs.run()
    assert jobs.get(JOBS, "job")["status"]["ready"] == 1
    jobs.advance(10)
    jobs.finish()
    status = jobs.get(JOBS, "job")["status"]
    ends = {"lastProbeTime": "2026-01-01T00:00:10Z", "lastTransitionTime": "2026-01-01T00:00:10Z"}
    words = {"reason": "CompletionsReached", "message": "Reached expected number of succeeded pods", "status": "True"}
    assert status == {
        "startTime": "2026-01-01T00:00:00Z",
        "completionTime": "2026-01-01T00:00:10Z",
        "ready": 0,
        "terminating": 0,
        "succeeded": 1,
        "uncountedTerminatedPods": {},
        "conditions": [{"type": "SuccessCriteriaMet", **ends, **words}, {"type": "Complete", **ends, **words}],
    }
    assert "finalizers" not in jobs.pods()[0]["metadata"]
    assert jobs.events("job")[-1] == ("Completed", "Job completed")


def test_pods_of_equal_templates_share_one_spec(jobs, pod_template):
    for number in range(3):
        start(jobs, pod_template, f"job-{number}")
    specs = {id(pod["spec"]) for pod in jobs.pods()}
    assert len(specs) == 1


def test_parallelism_and_completions_bound_the_active_pods(jobs, pod_template):
    start(jobs, pod_template, parallelism=2, completions=5)
    for succeeded in (0, 2, 4):
        assert jobs.get(JOBS, "job")["status"].get("succeeded", 0) == succeeded
        assert len(jobs.pods("Pending")) == min(2, 5 - succeeded)
        jobs.run()
        jobs.finish()
    assert conditions(jobs.get(JOBS, "job"))[-1] == ("Complete", "True", "CompletionsReached")
    assert len(jobs.pods()) == 5


def test_a_job_without_completions_ends_when_one_succeeds_and_the_others_have_ended(jobs, pod_template):
    start(jobs, pod_template, parallelism=3)
    jobs.run()
    first, *others = jobs.pods()
    jobs.set_phase(first, "Succeeded")
    assert not conditions(jobs.get(JOBS, "job"))
    assert len(jobs.pods()) == 3
    for pod in others:
        jobs.set_phase(pod, "Succeeded")
    assert conditions(jobs.get(JOBS, "job"))[-1][0] == "Complete"


def test_failed_pods_are_replaced_after_a_back_off_that_doubles(jobs, pod_template):
    start(jobs, pod_template)
    for failures, wait in ((1, 10), (2, 20), (3, 40)):
        jobs.run()
        jobs.finish("Failed")
        jobs.advance(wait - 1)
        assert len(jobs.pods()) == failures
        jobs.advance(1)
        assert len(jobs.pods()) == failures + 1
    assert jobs.get(JOBS, "job")["status"]["failed"] == 3


def test_a_job_fails_when_its_back_off_limit_is_exceeded_and_its_other_pods_go(jobs, pod_template):
    start(jobs, pod_template, backoffLimit=0, parallelism=2)
    jobs.run()
    jobs.set_phase(jobs.pods()[0], "Failed")
    job = jobs.get(JOBS, "job")
    assert conditions(job) == [("FailureTarget", "True", "BackoffLimitExceeded")]
    assert job["status"]["terminating"] == 1
    jobs.advance(2)
    job = jobs.get(JOBS, "job")
    assert conditions(job)[-1] == ("Failed", "True", "BackoffLimitExceeded")
    assert job["status"]["failed"] == 2
    assert "active" not in job["status"]
    assert "completionTime" not in job["status"]
    assert jobs.events("job")[-1] == ("BackoffLimitExceeded", "Job has reached the specified backoff limit")


def test_restarts_in_place_count_against_the_back_off_limit(jobs, pod_template):
    start(jobs, pod_template, backoffLimit=2, restartPolicy="OnFailure")
    jobs.run()
    (pod,) = jobs.pods()
    restarted = [{"name": "main", "restartCount": 2, "state": {"running": {}}}]
    jobs.set_phase(pod, "Running", containerStatuses=restarted)
    jobs.advance(2)
    assert conditions(jobs.get(JOBS, "job"))[-1] == ("Failed", "True", "BackoffLimitExceeded")


def test_a_deleted_pod_counts_as_failed_and_is_replaced(jobs, pod_template):
    start(jobs, pod_template)
    jobs.run()
    (pod,) = jobs.pods()
    jobs.delete("pods", pod["metadata"]["name"], grace=30)
    jobs.advance(12)
    assert jobs.get(JOBS, "job")["status"]["failed"] == 1
    assert [each["metadata"]["name"] for each in jobs.pods()] != [pod["metadata"]["name"]]
    assert len(jobs.pods()) == 1


def test_pods_are_replaced_only_when_they_have_ended_if_the_job_says_so(jobs, pod_template):
    start(jobs, pod_template, podReplacementPolicy="Failed")
    jobs.run()
    (pod,) = jobs.pods()
    jobs.store.delete("pods", "default", pod["metadata"]["name"], grace=30)
    jobs.clock.settle()
    job = jobs.get(JOBS, "job")
    assert job["status"]["terminating"] == 1
    assert "failed" not in job["status"]
    assert len(jobs.pods()) == 1
    jobs.set_phase(pod, "Failed")
    jobs.advance(12)
    assert jobs.get(JOBS, "job")["status"]["failed"] == 1
    assert jobs.names("Pending") != []


def test_a_job_past_its_deadline_fails_and_its_pods_go(jobs, pod_template):
    start(jobs, pod_template, activeDeadlineSeconds=60)
    jobs.run()
    jobs.advance(59)
    assert jobs.names("Running") != []
    jobs.advance(5)
    assert conditions(jobs.get(JOBS, "job")) == [
        ("FailureTarget", "True", "DeadlineExceeded"),
        ("Failed", "True", "DeadlineExceeded"),
    ]
    assert jobs.pods() == []


def test_a_suspended_job_has_no_pods_and_starts_anew_when_it_is_resumed(jobs, pod_template):
    start(jobs, pod_template, suspend=True)
    job = jobs.get(JOBS, "job")
    assert jobs.pods() == []
    assert "startTime" not in job["status"]
    assert conditions(job) == [("Suspended", "True", "JobSuspended")]
    jobs.advance(100)
    jobs.update(JOBS, "job", suspend=False)
    assert jobs.get(JOBS, "job")["status"]["startTime"] == "2026-01-01T00:01:40Z"
    assert conditions(jobs.get(JOBS, "job")) == [("Suspended", "False", "JobResumed")]
    jobs.run()
    jobs.update(JOBS, "job", suspend=True)
    jobs.advance(2)
    assert jobs.pods() == []
    status = jobs.get(JOBS, "job")["status"]
    assert "failed" not in status
    assert (status.get("active"), status["terminating"]) == (None, 0)


def test_lowering_parallelism_removes_the_pods_that_are_missed_least(jobs, pod_template):
    start(jobs, pod_template, parallelism=3, completions=9)
    jobs.run()
    running = jobs.names()
    jobs.update(JOBS, "job", parallelism=4)
    assert len(jobs.pods()) == 4
    jobs.update(JOBS, "job", parallelism=3)
    jobs.advance(2)
    assert jobs.names() == running


def test_a_failure_policy_ends_the_job_at_an_exit_code(jobs, pod_template):
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    start(jobs, pod_template, podFailurePolicy={"rules": [rule]})
    jobs.run()
    (pod,) = jobs.pods()
    jobs.finish("Failed", exit_code=42)
    job = jobs.get(JOBS, "job")
    assert conditions(job)[-1] == ("Failed", "True", "PodFailurePolicy")
    message = job["status"]["conditions"][-1]["message"]
    name = f"default/{pod['metadata']['name']}"
    assert message == f"Container main for pod {name} failed with exit code 42 matching FailJob rule at index 0"


def test_a_failure_policy_ignores_disruptions(jobs, pod_template):
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    start(jobs, pod_template, backoffLimit=0, podFailurePolicy={"rules": [rule]})
    jobs.run()
    (pod,) = jobs.pods()
    disrupted = [{"type": "DisruptionTarget", "status": "True"}]
    jobs.set_phase(pod, "Failed", conditions=disrupted)
    jobs.advance(12)
    job = jobs.get(JOBS, "job")
    assert "failed" not in job["status"]
    assert len(jobs.names("Pending")) == 1


def test_an_indexed_job_runs_every_index_once(jobs, pod_template):
    start(jobs, pod_template, completionMode="Indexed", completions=5, parallelism=3)
    assert indexes(jobs) == [0, 1, 2]
    pod = jobs.pods()[1]
    assert pod["metadata"]["name"].startswith("job-1-")
    assert pod["metadata"]["labels"][INDEX] == "1"
    assert pod["spec"]["hostname"] == "job-1"
    assert pod["spec"]["containers"][0]["env"][0]["name"] == "JOB_COMPLETION_INDEX"
    jobs.run()
    jobs.set_phase(pod, "Succeeded")
    assert jobs.get(JOBS, "job")["status"]["completedIndexes"] == "1"
    assert indexes(jobs) == [0, 1, 2, 3]
    for _ in range(3):
        jobs.run()
        jobs.finish()
    job = jobs.get(JOBS, "job")
    assert job["status"]["completedIndexes"] == "0-4"
    assert job["status"]["succeeded"] == 5
    assert conditions(job)[-1][0] == "Complete"


def test_each_index_may_have_its_own_back_off_limit(jobs, pod_template):
    start(
        jobs,
        pod_template,
        completionMode="Indexed",
        completions=2,
        parallelism=2,
        backoffLimitPerIndex=1,
        maxFailedIndexes=1,
    )
    jobs.run()
    for wait in (10, 20):
        failing = next(pod for pod in jobs.pods("Running") if pod["metadata"]["annotations"][INDEX] == "0")
        jobs.set_phase(failing, "Failed")
        jobs.advance(wait)
        jobs.run()
    job = jobs.get(JOBS, "job")
    assert job["status"]["failedIndexes"] == "0"
    assert not conditions(job)
    jobs.finish()
    job = jobs.get(JOBS, "job")
    assert conditions(job)[-1] == ("Failed", "True", "FailedIndexes")
    assert (job["status"]["completedIndexes"], job["status"]["failed"]) == ("1", 2)


def test_a_success_policy_ends_an_indexed_job_early(jobs, pod_template):
    policy = {"rules": [{"succeededIndexes": "0", "succeededCount": 1}]}
    start(jobs, pod_template, completionMode="Indexed", completions=3, parallelism=3, successPolicy=policy)
    jobs.run()
    leader = next(pod for pod in jobs.pods() if pod["metadata"]["annotations"][INDEX] == "0")
    jobs.set_phase(leader, "Succeeded")
    jobs.advance(2)
    job = jobs.get(JOBS, "job")
    assert conditions(job)[-1] == ("Complete", "True", "SuccessPolicy")
    assert job["status"]["conditions"][-1]["message"] == "Matched rules at index 0"
    assert "failed" not in job["status"]
    assert jobs.names("Running") == []


def test_a_finished_job_expires_with_its_pods(jobs, pod_template):
    start(jobs, pod_template, ttlSecondsAfterFinished=30)
    jobs.run()
    jobs.finish()
    jobs.advance(29)
    assert jobs.store.find(JOBS, "default", "job") is not None
    jobs.advance(2)
    assert jobs.store.find(JOBS, "default", "job") is None
    assert jobs.pods() == []


def test_pods_of_a_deleted_job_lose_their_finalizer_and_go(jobs, pod_template):
    start(jobs, pod_template, parallelism=3)
    jobs.run()
    jobs.delete(JOBS, "job")
    jobs.advance(2)
    assert jobs.pods() == []


def test_pods_orphaned_by_their_job_stay_without_the_finalizer(jobs, pod_template):
    start(jobs, pod_template)
    jobs.run()
    jobs.delete(JOBS, "job", finalizer="orphan")
    (pod,) = jobs.pods()
    assert "finalizers" not in pod["metadata"]
    assert "ownerReferences" not in pod["metadata"]


def test_a_job_that_someone_else_manages_is_left_alone(jobs, pod_template):
    start(jobs, pod_template, managedBy="example.com/queue")
    assert jobs.pods() == []
    assert jobs.get(JOBS, "job")["status"] == {}


def test_unknown_priority_classes_are_told_and_tried_again(jobs, pod_template):
    template = pod_template(restartPolicy="Never", priorityClassName="high")
    jobs.create(JOBS, "job", spec={"template": template})
    reason, message = jobs.events("job")[0]
    assert reason == "FailedCreate"
    assert message.endswith("is forbidden: no PriorityClass with name high was found")
    jobs.create("priorityclasses.scheduling.k8s.io", "high", value=1000)
    jobs.advance(60)
    (pod,) = jobs.pods()
    assert pod["spec"]["priority"] == 1000


def test_thousands_of_pods_of_one_job_are_counted_in_portions(jobs, pod_template):
    start(jobs, pod_template, parallelism=1200, completions=1200)
    jobs.clock.settle()
    assert len(jobs.pods()) == 1200
    jobs.run()
    jobs.finish()
    assert jobs.get(JOBS, "job")["status"]["succeeded"] == 1200
    assert conditions(jobs.get(JOBS, "job"))[-1][0] == "Complete"


def test_on_the_kubernetes_profile_a_job_takes_the_writes_and_the_time_of_the_real_one(new_world, pod_template):
    world = new_world("kubernetes")
    JobController(world.store, world.routes, world.creator, world.profile)
    start(world, pod_template)
    world.advance(2)
    world.run()
    world.advance(0.9)
    assert world.get(JOBS, "job")["status"]["ready"] == 0  # pod changes are gathered for a second
    world.advance(0.2)
    assert world.get(JOBS, "job")["status"]["ready"] == 1
    world.finish()
    world.advance(2)
    written = [change.new["status"] for change in world.log if change.resource == JOBS and change.new is not None]
    uncounted = [status.get("uncountedTerminatedPods") for status in written]
    (pod,) = world.pods()
    assert uncounted == [None, {}, {}, {"succeeded": [pod["metadata"]["uid"]]}, {}]
    assert [len(status.get("conditions", [])) for status in written] == [0, 0, 0, 1, 2]


def test_on_the_kubernetes_profile_sixty_jobs_get_their_pods_at_twenty_requests_a_second(new_world, pod_template):
    world = new_world("kubernetes")
    JobController(world.store, world.routes, world.creator, world.profile)
    for number in range(60):
        start(world, pod_template, f"job-{number}")
    # A Job takes three requests of the one client: its pod, its status, its event; thirty of them come at once.
    world.advance(0.1)
    assert 10 <= len(world.pods()) <= 30
    world.advance(8)
    assert len(world.store.list("events")) == 60
    world.advance(0.3)
    assert len(world.pods()) == 60


def test_on_the_kubernetes_profile_a_job_keeps_its_place_in_the_line_for_what_its_pod_does_meanwhile(
    new_world, pod_template
):
    world = new_world("kubernetes")
    JobController(world.store, world.routes, world.creator, world.profile)
    start(world, pod_template, "first")
    for number in range(60):
        start(world, pod_template, f"early-{number}")
    # A second after its status was written, the first is in line again, before those that come then.
    world.advance(1.5)
    for number in range(60):
        start(world, pod_template, f"late-{number}")
    world.advance(0.5)
    (pod,) = (pod for pod in world.pods() if pod["metadata"]["labels"]["job-name"] == "first")
    world.set_phase(pod, "Succeeded")
    while "completionTime" not in world.get(JOBS, "first")["status"]:
        world.advance(0.5)
    late = [name for name in world.names() if name.startswith("late-")]
    assert len(late) < 10


@given(
    parallelism=st.integers(1, 6),
    completions=st.integers(1, 8),
    indexed=st.booleans(),
    steps=st.lists(
        st.tuples(st.sampled_from(["run", "succeed", "fail", "delete", "wait"]), st.integers(0, 5)), max_size=40
    ),
)
def test_never_too_many_pods_and_every_end_is_counted_once(
    new_world, pod_template, parallelism, completions, indexed, steps
):
    def play():
        world = new_world()
        JobController(world.store, world.routes, world.creator, world.profile)
        spec = {"parallelism": parallelism, "completions": completions, "backoffLimit": 1000}
        if indexed:
            spec |= {"completionMode": "Indexed"}
        start(world, pod_template, **spec)
        ended = {"Succeeded": set(), "Failed": set()}
        for action, number in steps:
            running = world.pods("Running")
            if action == "run":
                world.run()
            elif action == "wait":
                world.advance(700)
            elif running and action == "delete":
                victim = running[number % len(running)]
                ended["Failed"].add(victim["metadata"]["uid"])
                world.delete("pods", victim["metadata"]["name"], grace=1)
            elif running:
                phase = "Succeeded" if action == "succeed" else "Failed"
                pod = running[number % len(running)]
                if "deletionTimestamp" not in pod["metadata"]:
                    ended[phase].add(pod["metadata"]["uid"])
                    world.set_phase(pod, phase)
            active = [
                pod
                for pod in world.pods()
                if pod["status"]["phase"] in ("Pending", "Running") and "deletionTimestamp" not in pod["metadata"]
            ]
            assert len(active) <= min(parallelism, completions)
            if indexed:
                held = [pod["metadata"]["annotations"][INDEX] for pod in active]
                assert len(held) == len(set(held))
            status = world.get(JOBS, "job")["status"]
            assert status.get("succeeded", 0) == len(ended["Succeeded"])
            assert status.get("failed", 0) == len(ended["Failed"])
            assert status.get("active", 0) == len(active)
            complete = any(each["type"] == "Complete" for each in status.get("conditions", []))
            assert complete == (len(ended["Succeeded"]) >= completions and not status["terminating"])
        return [(change.revision, change.resource, change.name) for change in world.log]

    assert play() == play()


@given(steps=st.lists(st.sampled_from(["run", "succeed", "fail", "delete", "wait", "suspend", "resume"]), max_size=12))
def test_the_shortcut_for_plain_jobs_writes_what_the_long_way_writes(new_world, pod_template, steps):
    def play(profile):
        world = new_world()
        JobController(world.store, world.routes, world.creator, profile)
        start(world, pod_template)
        seen = []
        for action in steps:
            if action == "run":
                world.run()
            elif action == "wait":
                world.advance(700)
            elif action in ("suspend", "resume"):
                world.update(JOBS, "job", suspend=action == "suspend")
            elif action == "delete" and world.pods("Running"):
                world.delete("pods", world.pods("Running")[0]["metadata"]["name"], grace=1)
            elif action in ("succeed", "fail"):
                world.finish("Succeeded" if action == "succeed" else "Failed")
            seen.append((world.get(JOBS, "job")["status"], world.names(), world.events("job")))
        return seen

    instant = new_world().profile
    assert play(instant) == play(instant.replaced(job__interim_status=True))
