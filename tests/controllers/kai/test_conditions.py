"""Why a pod group waits."""

from __future__ import annotations

from ghostfleet.controllers.kai.conditions import with_scheduling_condition

OVER = {"reason": "OverLimit", "message": "the queue is full"}


def said(status):
    return [(each["nodePool"], each["message"], each["transitionID"]) for each in status["schedulingConditions"]]


def test_there_is_a_condition_for_each_node_pool_and_the_newest_is_the_last():
    status = with_scheduling_condition({"resourcesStatus": {}}, "no room", [OVER], now="t1")
    assert status["resourcesStatus"] == {}
    assert status["schedulingConditions"] == [
        {
            "type": "UnschedulableOnNodePool",
            "nodePool": "default",
            "reason": "Unschedulable",
            "message": "no room",
            "status": "True",
            "transitionID": "1",
            "lastTransitionTime": "t1",
            "reasons": [OVER],
        }
    ]
    status = with_scheduling_condition(status, "no room", [], now="t2", pool="fast")
    status = with_scheduling_condition(status, "still none", [], now="t3")
    assert said(status) == [("fast", "no room", "2"), ("default", "still none", "3")]


def test_what_is_said_already_is_not_said_again():
    status = with_scheduling_condition({}, "no room", [OVER], now="t1")
    assert with_scheduling_condition(status, "no room", [OVER], now="t2") is None


def test_a_condition_without_a_readable_transition_counts_from_one():
    broken = {"schedulingConditions": [{"nodePool": "default", "transitionID": "many"}]}
    assert said(with_scheduling_condition(broken, "no room", [], now="t")) == [("default", "no room", "1")]
