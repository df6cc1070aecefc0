"""Verdicts on the comparisons: the API, the scheduler without and with devices, and kubectl, each with its count.

What is compared are the golden files and what our own cluster does now.
"""

from __future__ import annotations

from pathlib import Path

from parity_material.commands import load_commands, run_commands
from parity_material.comparison import Comparison, load_known
from parity_material.corpus import all_cases
from parity_material.device_scheduling import device_differences, replay_devices
from parity_material.golden import GOLDEN, read_golden
from parity_material.playing import play, prepare
from parity_material.scenarios import Scenario
from parity_material.scheduling import differences, replay
from parity_material.servers import Embedded

__all__ = ["compare_api", "compare_devices", "compare_kubectl", "compare_scheduler"]

_DIFFERENCES = Path(__file__).parents[1] / "differences.yaml"
_OUTDATED = "the recording is of another corpus; record again, see docs/parity.md"


def compare_api() -> Comparison:
    """Play the corpus on a cluster in this process."""
    comparison = Comparison("API cases", load_known(_DIFFERENCES, "api"))
    recorded = {line["name"]: line for line in read_golden(GOLDEN / "api.jsonl.gz")}
    cases = all_cases()
    asked = {case.name: case.fingerprint for case in cases}
    assert asked == {name: line["asked"] for name, line in recorded.items()}, _OUTDATED
    server = Embedded()
    try:
        prepare(server)
        for case in cases:
            comparison.add(case.name, recorded[case.name]["answers"], play(case, server))
    finally:
        server.close()
    return comparison


def compare_scheduler() -> Comparison:
    """Give the recorded scenarios to our scheduler, one pod at a time."""
    comparison = Comparison("scheduler scenarios", load_known(_DIFFERENCES, "scheduler"))
    for line in read_golden(GOLDEN / "scheduler.jsonl.gz"):
        recorded = line["verdicts"]
        ours = replay(Scenario(line["nodes"], line["residents"], line["arrivals"]), recorded)
        found = [differences(real, own) for real, own in zip(recorded, ours, strict=True)]
        comparison.add(line["name"], [[] for _ in recorded], found)
    return comparison


def compare_devices() -> Comparison:
    """Give the recorded scenarios with devices to our scheduler, one pod at a time."""
    comparison = Comparison("device scenarios", load_known(_DIFFERENCES, "devices"))
    for line in read_golden(GOLDEN / "devices.jsonl.gz"):
        recorded = line["verdicts"]
        ours = replay_devices(line, recorded)
        found = [device_differences(real, own) for real, own in zip(recorded, ours, strict=True)]
        comparison.add(line["name"], [[] for _ in recorded], found)
    return comparison


def compare_kubectl(kubectl: Path, kubeconfig: Path, home: Path) -> Comparison:
    """Run the commands on a served cluster."""
    comparison = Comparison("kubectl commands", load_known(_DIFFERENCES, "kubectl"))
    recorded = read_golden(GOLDEN / "kubectl.jsonl.gz")
    assert [line["run"] for line in recorded] == [command.run for command in load_commands()], _OUTDATED
    ours = run_commands(kubectl, kubeconfig, home)
    for number, (real, own) in enumerate(zip(recorded, ours, strict=True)):
        comparison.add(f"{number}: {real['run']}", real, own)
    return comparison
