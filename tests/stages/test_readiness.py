"""Readiness: which pods are ready again when their node is back."""

from __future__ import annotations

from typing import Any

import pytest

from ghostfleet.stages.readiness import restored

NOW = "2026-01-01T00:00:00Z"


def pod(**changes: Any) -> dict[str, Any]:
    """A pod that has been marked while its node was away."""
    conditions = {"Initialized": "True", "Ready": "False", "ContainersReady": "True", **changes.pop("conditions", {})}
    told = [{"type": kind, "status": status, **changes.pop(kind, {})} for kind, status in conditions.items()]
    return {
        "metadata": {"name": "p", **changes.pop("metadata", {})},
        "spec": {"containers": [{"name": "a"}], **changes.pop("spec", {})},
        "status": {
            "phase": "Running",
            "conditions": told,
            "containerStatuses": [{"name": "a", "ready": True}],
            **changes.pop("status", {}),
        },
    }


def test_a_pod_that_was_marked_is_ready_from_now_on_and_nothing_else_about_it_changes() -> None:
    before = pod()
    after = restored(before, NOW)
    assert after is not None
    assert {each["type"]: each["status"] for each in after["conditions"]} == {
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
    }
    assert after["conditions"][1]["lastTransitionTime"] == NOW
    assert {**after, "conditions": None} == {**before["status"], "conditions": None}


@pytest.mark.parametrize(
    "changes",
    [
        {"conditions": {"Ready": "True"}},
        {"conditions": {"Ready": "Unknown"}},
        {"conditions": {"ContainersReady": "False"}},
        {"Ready": {"reason": "ContainersNotReady"}},
        {"status": {"containerStatuses": [{"name": "a", "ready": False}]}},
        {"status": {"phase": "Succeeded"}},
        {"status": {"phase": "Pending"}},
        {"status": {"conditions": []}},
        {"metadata": {"deletionTimestamp": NOW}},
        {"spec": {"readinessGates": [{"conditionType": "example.com/gate"}]}},
    ],
)
def test_a_pod_that_is_not_ready_for_another_reason_stays_so(changes: dict[str, Any]) -> None:
    assert restored(pod(**changes), NOW) is None


def test_a_gate_that_is_open_is_no_reason() -> None:
    gated = pod(
        spec={"readinessGates": [{"conditionType": "example.com/gate"}]}, conditions={"example.com/gate": "True"}
    )
    assert restored(gated, NOW) is not None
