"""The two reports that started it: GPUs counted in aggregate, and how long many small Jobs take under MCAD."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import mcad_runs
from mcad_runs import Lab, custom, job, wrapper

NAME = "fake-defaultaw-schd-spec-with-timeout-1"
#: Seconds for so many Jobs, with MCAD and without, as measured in July 2023.
MCAD = {1: 23, 10: 31, 20: 44, 50: 82, 75: 118, 100: 135}
PLAIN = {1: 23, 10: 23, 20: 25, 50: 31, 75: 36, 100: 40}


def gpu_wrapper(pods: int, gpus: int, *, stated: bool = False):
    """As the script writes it: GPUs in custompodresources only, unless the container is to state them too."""
    return wrapper(
        NAME,
        job(NAME, parallelism=pods, gpus=gpus if stated else 0),
        custompods=[custom(1, gpus=gpus)],
        group="mcad.ibm.com",
        priority=9,
        schedulingSpec={"minAvailable": 1, "requeuing": {"timeInSeconds": 120, "growthType": "exponential"}},
    )


def test_two_pods_of_eight_gpus_run_on_two_nodes_and_complete():
    lab = Lab("mcad-1.32")
    lab.submit(gpu_wrapper(2, 8, stated=True))
    lab.advance(10)
    assert [pod["status"]["phase"] for pod in lab.pods()] == ["Succeeded", "Succeeded"]
    assert {pod["spec"]["nodeName"] for pod in lab.pods()} == {"kwok-node-1", "kwok-node-2"}
    assert lab.state(NAME) == "Completed"


def test_sixteen_gpus_are_dispatched_in_aggregate_and_run_if_the_container_asks_for_none():
    lab = Lab("mcad-1.32")
    lab.submit(gpu_wrapper(1, 16))
    lab.advance(10)
    assert [pod["status"]["phase"] for pod in lab.pods()] == ["Succeeded"]


def test_sixteen_gpus_are_dispatched_in_aggregate_and_stay_unschedulable_if_the_container_asks_for_them():
    lab = Lab("mcad-1.32")
    lab.submit(gpu_wrapper(1, 16, stated=True))
    lab.advance(10)
    assert lab.state(NAME) == "Running"
    (pod,) = lab.pods()
    scheduled = [each for each in pod["status"]["conditions"] if each["type"] == "PodScheduled"]
    assert (pod["status"]["phase"], scheduled[0]["reason"]) == ("Pending", "Unschedulable")


def test_twenty_four_gpus_wait_with_the_status_that_was_reported():
    lab = Lab("mcad-1.32")
    lab.submit(gpu_wrapper(1, 24))
    lab.advance(25)
    status = lab.status(NAME)
    assert [(each["type"], each.get("reason"), each.get("message")) for each in status["conditions"]] == [
        ("Init", None, None),
        ("Queueing", "AwaitingHeadOfLine", None),
        ("HeadOfLine", "FrontOfQueue.", None),
        ("Backoff", "AppWrapperNotRunnable.", "Insufficient resources to dispatch AppWrapper."),
    ]
    assert all(set(each) >= {"lastUpdateMicroTime", "lastTransitionMicroTime"} for each in status["conditions"])
    del status["conditions"], status["controllerfirsttimestamp"]
    assert status == {
        "filterignore": True,
        "queuejobstate": "HeadOfLine",
        "sender": "before ScheduleNext - setHOL",
        "state": "Pending",
        "systempriority": 9,
    }


def test_before_its_second_try_the_back_off_is_not_in_the_stored_status():
    lab = Lab("mcad-1.32")
    lab.submit(gpu_wrapper(1, 24))
    lab.advance(10)
    assert lab.conditions(NAME) == ["Init", "Queueing", "HeadOfLine"]


@pytest.mark.parametrize("dispatcher", ["mcad-1.32", "mcad-1.40"])
def test_a_third_node_is_noticed_at_the_next_try_within_the_back_off(dispatcher):
    lab = Lab(dispatcher)
    lab.submit(gpu_wrapper(1, 24))
    lab.advance(25)
    lab.add_nodes(1, 8, first=1, prefix="fake-node-")
    lab.advance(2)
    assert lab.state(NAME) == "Pending"
    lab.advance(30)
    assert [pod["status"]["phase"] for pod in lab.pods()] == ["Succeeded"]
    assert lab.state(NAME) == "Completed"


def test_the_last_version_stores_the_back_off():
    lab = Lab("mcad-1.40")
    lab.submit(gpu_wrapper(1, 24))
    lab.advance(10)
    assert lab.status(NAME)["queuejobstate"] == "Backoff"
    assert lab.status(NAME)["sender"] == "before [backoff] - Rejoining"


@pytest.mark.parametrize("gpus", [16, 24])
def test_a_better_dispatcher_never_dispatches_a_pod_that_no_node_can_hold(gpus):
    lab = Lab("better")
    lab.submit(gpu_wrapper(1, gpus))
    lab.advance(10)
    lab.add_nodes(1, 8, first=1, prefix="fake-node-")
    lab.advance(100)
    assert (lab.state(NAME), lab.pods()) == ("Pending", [])
    told = lab.cluster.dispatcher.explain("default", NAME)
    assert told.verdict == f"fits in aggregate, but no node has {gpus} nvidia.com/gpu free (largest free block 8)"
    assert lab.status(NAME)["conditions"][-1]["message"] == (
        f"Insufficient resources to dispatch AppWrapper: no node has {gpus} nvidia.com/gpu free (largest free block 8)."
    )


def test_a_better_dispatcher_lets_two_pods_of_eight_gpus_run():
    lab = Lab("better")
    lab.submit(gpu_wrapper(2, 8, stated=True))
    lab.advance(10)
    assert {pod["spec"]["nodeName"] for pod in lab.pods()} == {"kwok-node-1", "kwok-node-2"}
    assert lab.state(NAME) == "Completed"


def errors(dispatcher: str, measured: dict[int, int], **options) -> list[float]:
    return [
        abs(mcad_runs.stress(dispatcher, jobs, **options) - seconds) / seconds for jobs, seconds in measured.items()
    ]


def test_the_times_of_mcad_come_out_of_its_requests():
    found = errors("mcad-1.32", MCAD)
    assert sum(found) / len(found) <= 0.05
    assert max(found) <= 0.10


def test_they_do_not_depend_on_when_the_test_begins():
    leads = (10, 11.5, 13.5)
    for jobs in (10, 50):
        times = [mcad_runs.stress("mcad-1.32", jobs, lead=lead, seed=int(lead)) for lead in leads]
        assert abs(sum(times) / len(times) - MCAD[jobs]) <= 0.10 * MCAD[jobs]


@pytest.mark.parametrize("dispatcher", ["", "better"])
def test_a_better_dispatcher_takes_as_long_as_none(dispatcher):
    assert max(errors(dispatcher, PLAIN)) <= 0.10
