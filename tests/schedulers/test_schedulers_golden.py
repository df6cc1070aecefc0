"""What the real kube-scheduler v1.36.3 decided, word for word and score for score.

`golden/scenarios.json` holds small clusters as a real API server stored them, each with one new pod, and what a real
kube-scheduler did with it: the node, or the message; the scores of the nodes, where it had a choice; the nomination and
the victims, where it preempted. `golden/configuration.yaml` is the configuration it ran with.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ghostfleet.schedulers.kube import KubeScheduler, load_configuration

GOLDEN = Path(__file__).parent / "golden"
SCENARIOS = json.loads((GOLDEN / "scenarios.json").read_text())["cases"]
CONFIGURATION = load_configuration((GOLDEN / "configuration.yaml").read_text(), "configuration.yaml")


def prepared(lab: Any, scenario: Any) -> KubeScheduler:
    lab.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    lab.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other", "labels": {"team": "o"}}})
    for obj in scenario["objects"]:
        lab.put(obj)
    scheduler = lab.scheduler = KubeScheduler(lab.store, lab.clock, lab.rng, config=CONFIGURATION)
    lab.clock.settle()
    return scheduler


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[each["name"] for each in SCENARIOS])
def test_a_pod_fares_as_with_the_real_scheduler(lab: Any, scenario: Any) -> None:
    prepared(lab, scenario)
    lab.put(scenario["pod"])
    lab.clock.settle()
    name = scenario["pod"]["metadata"]["name"]
    best = max(scenario["scores"].values(), default=0)
    allowed = [node for node, score in scenario["scores"].items() if score == best] or [scenario["node"]]
    pod = lab.get(name)
    assert pod["spec"].get("nodeName") in allowed, lab.message(name)
    assert lab.message(name) == (scenario["message"] or "")
    assert pod["status"].get("nominatedNodeName") == scenario["nominated"]
    marked = [each["metadata"]["name"] for each in lab.store.list("pods") if "deletionTimestamp" in each["metadata"]]
    assert sorted(marked) == sorted(scenario["victims"])


@pytest.mark.parametrize(
    "scenario", [each for each in SCENARIOS if each["scores"]], ids=lambda scenario: scenario["name"]
)
def test_nodes_score_as_with_the_real_scheduler(lab: Any, scenario: Any) -> None:
    scheduler = prepared(lab, scenario)
    pod = scenario["pod"]
    ours = scheduler.algorithm.scores(pod)
    # Plugins that have nothing to say give every node the same, or nothing at all; only differences matter.
    assert _above_least(ours) == _above_least(scenario["scores"])


def _above_least(found: dict[str, int]) -> dict[str, int]:
    least = min(found.values(), default=0)
    return {node: score - least for node, score in sorted(found.items())}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[each["name"] for each in SCENARIOS])
def test_events_are_those_of_the_real_scheduler(lab: Any, scenario: Any) -> None:
    prepared(lab, scenario)
    lab.put(scenario["pod"])
    lab.clock.settle()
    found = [
        {field: event.get(field) for field in ("reason", "message", "type", "action")}
        for event in lab.events(scenario["pod"]["metadata"]["name"])
    ]
    expected = scenario["events"]
    if scenario["node"] is not None:
        # Among equals another node may have been drawn.
        chosen = lab.node_of(scenario["pod"]["metadata"]["name"])
        expected = [{**each, "message": each["message"].replace(scenario["node"], chosen)} for each in expected]
    assert found == expected[:1]
