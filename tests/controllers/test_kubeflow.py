"""PyTorchJobs: master and workers, and how a job stands, as the training operator has it."""

from __future__ import annotations

import pytest

from ghostfleet.controllers.kubeflow import PYTORCH_JOBS
from ghostfleet.controllers.kubeflow.controller import PyTorchJobController

CONTAINER = {"name": "pytorch", "image": "trainer", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
TEMPLATE = {"metadata": {"labels": {"team": "vision"}}, "spec": {"containers": [CONTAINER]}}
PREFIX = "training.kubeflow.org"


@pytest.fixture
def jobs(world):
    PyTorchJobController(world.store, world.routes, world.creator, world.profile)
    return world


def role(count=1, policy=None, template=TEMPLATE):
    return {"replicas": count, "template": template} | ({"restartPolicy": policy} if policy else {})


def start(world, workers=2, name="train", policy=None, specs=None, **run_policy):
    if specs is None:
        specs = {"Master": role(policy=policy), "Worker": role(workers, policy)}
    metadata = {"name": name, "namespace": "default", "generation": 1}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata}
    world.store.create(PYTORCH_JOBS, {**job, "spec": {"pytorchReplicaSpecs": specs, "runPolicy": run_policy}})
    world.clock.settle()


def change(world, name="train", **run_policy):
    job = world.get(PYTORCH_JOBS, name)
    world.store.update(PYTORCH_JOBS, {**job, "spec": {**job["spec"], "runPolicy": run_policy}})
    world.clock.settle()


def status(world, name="train"):
    return world.get(PYTORCH_JOBS, name)["status"]


def conditions(world, name="train"):
    return [(each["type"], each["status"], each["reason"]) for each in status(world, name)["conditions"]]


def pod(world, name):
    return world.store.get("pods", "default", name)


def test_a_job_becomes_a_master_and_its_workers(jobs):
    start(jobs, workers=2)
    assert jobs.names() == ["train-master-0", "train-worker-0", "train-worker-1"]
    labels = pod(jobs, "train-worker-1")["metadata"]["labels"]
    assert labels == {
        "team": "vision",
        f"{PREFIX}/job-name": "train",
        f"{PREFIX}/operator-name": "pytorchjob-controller",
        f"{PREFIX}/replica-index": "1",
        f"{PREFIX}/replica-type": "worker",
    }
    assert pod(jobs, "train-master-0")["metadata"]["labels"][f"{PREFIX}/job-role"] == "master"
    (owner,) = pod(jobs, "train-master-0")["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["controller"]) == ("PyTorchJob", True)
    assert conditions(jobs) == [("Created", "True", "PyTorchJobCreated")]
    assert status(jobs)["startTime"] == "2026-01-01T00:00:00Z"
    assert status(jobs)["replicaStatuses"]["Worker"] == {
        "selector": f"{PREFIX}/job-name=train,{PREFIX}/operator-name=pytorchjob-controller,{PREFIX}/replica-type=worker"
    }
    assert jobs.events("train")[:2] == [
        ("SuccessfulCreatePod", "Created pod: train-master-0"),
        ("SuccessfulCreateService", "Created service: train-master-0"),
    ]


def test_replicas_find_each_other_by_variables_and_headless_services(jobs):
    start(jobs, workers=2)
    (container,) = pod(jobs, "train-worker-1")["spec"]["containers"]
    assert {each["name"]: each["value"] for each in container["env"]} == {
        "PYTHONUNBUFFERED": "1",
        "MASTER_PORT": "23456",
        "PET_MASTER_PORT": "23456",
        "MASTER_ADDR": "train-master-0",
        "PET_MASTER_ADDR": "train-master-0",
        "WORLD_SIZE": "3",
        "RANK": "2",
        "PET_NODE_RANK": "2",
        "PET_NPROC_PER_NODE": "auto",
        "PET_NNODES": "3",
    }
    assert container["ports"] == [{"name": "pytorchjob-port", "containerPort": 23456, "protocol": "TCP"}]
    service = jobs.get("services", "train-worker-1")
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == service["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= pod(jobs, "train-worker-1")["metadata"]["labels"].items()
    assert service["spec"]["ports"] == [
        {"name": "pytorchjob-port", "port": 23456, "protocol": "TCP", "targetPort": 23456}
    ]


def test_pods_of_one_job_share_all_of_their_spec_but_the_variables(jobs):
    start(jobs, workers=2)
    first, second = (pod(jobs, f"train-worker-{index}")["spec"] for index in range(2))
    assert first["containers"][0]["resources"] is second["containers"][0]["resources"]
    assert first["tolerations"] is second["tolerations"]


def test_a_job_runs_with_its_master_and_succeeds_with_it(jobs):
    start(jobs, workers=2)
    jobs.run()
    assert conditions(jobs)[-1] == ("Running", "True", "PyTorchJobRunning")
    assert status(jobs)["replicaStatuses"]["Worker"]["active"] == 2
    jobs.advance(60)
    jobs.set_phase(pod(jobs, "train-master-0"), "Succeeded")
    assert conditions(jobs) == [
        ("Created", "True", "PyTorchJobCreated"),
        ("Running", "False", "PyTorchJobRunning"),
        ("Succeeded", "True", "PyTorchJobSucceeded"),
    ]
    assert status(jobs)["conditions"][-1]["message"] == "PyTorchJob train is successfully completed."
    assert status(jobs)["completionTime"] == "2026-01-01T00:01:00Z"
    assert status(jobs)["replicaStatuses"]["Worker"]["succeeded"] == 2, "workers that still ran have succeeded with it"
    assert len(jobs.names()) == 3, "by default nothing is cleaned up"


def test_a_job_without_a_master_succeeds_when_all_workers_have(jobs):
    start(jobs, specs={"Worker": role(2)})
    jobs.run()
    assert pod(jobs, "train-worker-0")["metadata"]["labels"][f"{PREFIX}/job-role"] == "master"
    assert status(jobs)["conditions"][-1]["message"] == "PyTorchJob default/train is running."
    jobs.set_phase(pod(jobs, "train-worker-0"), "Succeeded")
    assert conditions(jobs)[-1][0] == "Running"
    jobs.set_phase(pod(jobs, "train-worker-1"), "Succeeded")
    assert status(jobs)["conditions"][-1]["message"] == "PyTorchJob default/train successfully completed."


def test_a_replica_that_may_not_restart_fails_the_job(jobs):
    start(jobs, workers=2, policy="Never")
    jobs.run()
    jobs.set_phase(pod(jobs, "train-worker-1"), "Failed")
    assert conditions(jobs)[-1] == ("Failed", "True", "PyTorchJobFailed")
    message = "PyTorchJob train is failed because 1 Worker replica(s) failed."
    assert status(jobs)["conditions"][-1]["message"] == message
    jobs.set_phase(pod(jobs, "train-master-0"), "Succeeded")
    assert conditions(jobs)[-1][0] == "Failed", "a failed job stays failed"


@pytest.mark.parametrize(("policy", "code"), [("OnFailure", 1), ("Always", 1), ("ExitCode", 137)])
def test_a_failed_replica_is_made_anew_where_its_policy_says_so(jobs, policy, code):
    start(jobs, workers=1, policy=policy)
    jobs.run()
    before = pod(jobs, "train-worker-0")["metadata"]["uid"]
    jobs.set_phase(pod(jobs, "train-worker-0"), "Failed", exit_code=code)
    told = [each.new["status"] for each in jobs.log if each.resource == PYTORCH_JOBS and each.new.get("status")]
    (restarting,) = (each for each in told if each["conditions"][-1]["type"] == "Restarting")
    assert restarting["replicaStatuses"]["Worker"]["failed"] == 1
    jobs.run_until_steady()
    assert pod(jobs, "train-worker-0")["metadata"]["uid"] != before
    assert conditions(jobs)[-1] == ("Running", "True", "PyTorchJobRunning")
    assert all(kind != "Restarting" for kind, _, _ in conditions(jobs))


def test_an_exit_code_that_is_no_signal_fails_the_job(jobs):
    start(jobs, workers=1, policy="ExitCode")
    jobs.run()
    jobs.set_phase(pod(jobs, "train-worker-0"), "Failed", exit_code=1)
    assert conditions(jobs)[-1] == ("Failed", "True", "PyTorchJobFailed")
    assert status(jobs)["conditions"][-1]["message"] == 'job "train" is failing because "Worker" replica(s) failed.'


def test_too_many_restarts_of_containers_end_the_job_and_its_pods(jobs):
    start(jobs, workers=1, policy="OnFailure", backoffLimit=3)
    jobs.run()
    worker = pod(jobs, "train-worker-0")
    for restarts in (2, 3):
        counts = [{"name": "pytorch", "restartCount": restarts}]
        jobs.set_phase(worker, "Running", containerStatuses=counts)
        assert (conditions(jobs)[-1][0] == "Failed") is (restarts == 3)
    message = "Job train has failed because it has reached the specified backoff limit"
    assert status(jobs)["conditions"][-1]["message"] == message
    jobs.advance(60)
    assert jobs.names() == []


def test_a_job_that_is_active_for_too_long_fails(jobs):
    start(jobs, activeDeadlineSeconds=90)
    jobs.run()
    jobs.advance(89)
    assert conditions(jobs)[-1][0] == "Running"
    jobs.advance(1)
    assert "active longer than specified deadline" in status(jobs)["conditions"][-1]["message"]


@pytest.mark.parametrize(
    ("policy", "left"), [("All", []), ("Running", ["train-master-0"]), ("None", ["train-master-0", "train-worker-0"])]
)
def test_pods_and_their_services_are_cleaned_up_as_the_policy_says(jobs, policy, left):
    start(jobs, workers=1, cleanPodPolicy=policy)
    jobs.run()
    jobs.set_phase(pod(jobs, "train-master-0"), "Succeeded")
    jobs.advance(60)
    assert jobs.names() == left
    assert [each["metadata"]["name"] for each in jobs.store.list("services")] == left


def test_a_finished_job_goes_when_its_time_is_over(jobs):
    start(jobs, ttlSecondsAfterFinished=100)
    jobs.run()
    jobs.set_phase(pod(jobs, "train-master-0"), "Succeeded")
    jobs.advance(99)
    assert jobs.store.count(PYTORCH_JOBS) == 1
    jobs.advance(1)
    assert jobs.store.count(PYTORCH_JOBS) == 0


def test_a_suspended_job_has_no_pods_until_it_is_resumed(jobs):
    start(jobs)
    jobs.run()
    change(jobs, suspend=True)
    jobs.advance(60)
    assert jobs.names() == []
    assert conditions(jobs)[1:] == [
        ("Running", "False", "PyTorchJobSuspended"),
        ("Suspended", "True", "PyTorchJobSuspended"),
    ]
    change(jobs, suspend=False)
    assert len(jobs.names()) == 3
    assert ("Suspended", "False", "PyTorchJobResumed") in conditions(jobs)
    assert status(jobs)["startTime"] == "2026-01-01T00:01:00Z"


def test_workers_come_and_go_when_their_number_changes(jobs):
    start(jobs, workers=1)
    for count in (3, 1):
        job = jobs.get(PYTORCH_JOBS, "train")
        specs = {"Master": role(), "Worker": role(count)}
        jobs.store.update(PYTORCH_JOBS, {**job, "spec": {"pytorchReplicaSpecs": specs}})
        jobs.advance(60)
        assert jobs.names() == ["train-master-0", *(f"train-worker-{index}" for index in range(count))]


@pytest.mark.parametrize(
    ("specs", "problem"),
    [
        ({}, "pytorchReplicaSpecs has no replicas"),
        ({"Boss": role()}, "Boss is neither Master nor Worker"),
        ({"Master": role(2)}, "Master.replicas is 2, expected 1"),
        ({"Master": role(policy="Sometimes")}, "restartPolicy is 'Sometimes'"),
        ({"Master": role(template={})}, "spec.containers: Required value"),
        (
            {"Master": role(template={"spec": {"containers": [{"name": "a", "image": "b"}]}})},
            "no container named pytorch",
        ),
    ],
)
def test_a_job_that_makes_no_sense_has_failed_validation(jobs, specs, problem):
    start(jobs, specs=specs)
    assert conditions(jobs)[-1] == ("Failed", "True", "PyTorchJobFailedValidation")
    assert problem in status(jobs)["conditions"][-1]["message"]
    assert jobs.names() == []


def test_types_may_be_written_in_any_case(jobs):
    start(jobs, specs={"master": role(), "worker": role(1)})
    assert jobs.names() == ["train-master-0", "train-worker-0"]


def test_a_job_that_somebody_else_manages_is_left_alone(jobs):
    start(jobs, managedBy="kueue.x-k8s.io/multikueue")
    assert jobs.names() == []


def test_the_operators_client_makes_a_large_job_slow(new_world):
    world = new_world("kubernetes")
    PyTorchJobController(world.store, world.routes, world.creator, world.profile)
    start(world, workers=99)
    # One hundred pods and as many services at 20 requests a second, after a burst of 30; events share the client.
    world.advance(3)
    assert 30 < len(world.names()) < 100
    world.advance(30)
    assert len(world.names()) == 100
