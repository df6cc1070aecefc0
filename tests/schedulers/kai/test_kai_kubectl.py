"""The example of two departments by real kubectl, on a cluster that `ghostfleet up` started."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH")

HERE = Path(__file__).parents[3] / "examples" / "06-kai"
Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    environment.pop("KUBECONFIG", None)

    def run(*command: str) -> str:
        if command[0] == "ghostfleet":
            command = (sys.executable, "-m", "ghostfleet", *command[1:])
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, env=environment, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    options = ("--scheduler", "kai", "--kai-policy", "prefer-consolidation", "--recreate-bare-pods")
    run("ghostfleet", "up", "--detach", *options)
    try:
        environment["KUBECONFIG"] = run("ghostfleet", "kubeconfig", "--path").strip()
        yield run
    finally:
        run("ghostfleet", "down")


def wait_for_running(run: Run, *pods: str) -> None:
    for pod in pods:
        namespace, _, name = pod.partition("/")
        run(
            "kubectl", "wait", "-n", namespace, "--for=jsonpath={.status.phase}=Running", f"pod/{name}", "--timeout=30s"
        )


def places(run: Run) -> dict[str, str]:
    pods = json.loads(run("kubectl", "get", "pods", "-A", "-o", "json"))["items"]
    ours = [each for each in pods if each["metadata"]["namespace"].startswith("project-")]
    return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in ours}


def test_the_documented_commands_end_in_the_documented_state(run: Run) -> None:
    for name in ("0-nodes.yaml", "1-queues.yaml", "2-initial-state.yaml"):
        run("kubectl", "apply", "-f", str(HERE / name))
    run("kubectl", "wait", "-n", "project-b", "--for=condition=Running", "pytorchjob/training-job-3", "--timeout=30s")
    wait_for_running(run, "project-a/training-job-1", "project-c/training-job-2", "project-d/interactive-job")
    assert places(run)["training-job-2"] == "node-1"
    run("kubectl", "apply", "-f", str(HERE / "3-new-workloads.yaml"))
    wait_for_running(run, "project-a/training-job-b", "project-c/training-job-a", "project-c/training-job-2")
    assert places(run) == {
        "training-job-1": "node-1",
        "training-job-a": "node-1",
        "training-job-2": "node-2",
        "training-job-3-master-0": "node-2",
        "training-job-3-worker-0": "node-2",
        "training-job-3-worker-1": "node-2",
        "interactive-job": "node-3",
        "training-job-b": "node-3",
    }
    allocated = "--for=jsonpath={.status.allocated.nvidia\\.com/gpu}=11"
    run("kubectl", "wait", allocated, "queue/department-2", "--timeout=30s")
    states = {each["name"]: each for each in json.loads(run("ghostfleet", "queues", "-o", "json"))}
    assert states["department-2"]["resources"]["gpu"]["allocated"] == 11
    assert states["project-c"]["resources"]["gpu"] == {
        "quota": 8.0,
        "limit": -1.0,
        "weight": 2.0,
        "fair_share": 6.0,
        "allocated": 6.0,
        "requested": 6.0,
    }
    assert "  project-c" in run("ghostfleet", "queues")
    assert run("ghostfleet", "queues", "check") == "Nothing is wrong with the queues.\n"
    told = [line.split("  ")[1] for line in run("ghostfleet", "decisions").splitlines()]
    story = [
        "Allocating 4 GPUs to training-job-1 on node node-1",
        "Allocating 3 GPUs to training-job-b on node node-3",
        "Initiating resource consolidation",
        "Moving training-job-2 (2 GPUs) from node-1 to node-2",
        "Allocating 4 GPUs to training-job-a on node node-1",
        "Allocating 2 GPUs to training-job-2 on node node-2",
    ]
    assert [line for line in told if line in story] == story
    assert "it has all the GPUs that it asks for" in run("ghostfleet", "explain", "queue/project-c")
    for name in ("3-new-workloads.yaml", "2-initial-state.yaml", "1-queues.yaml"):
        run("kubectl", "delete", "-f", str(HERE / name))
    kinds = "pods,podgroups.scheduling.run.ai,bindrequests,pytorchjobs"
    for project in ("project-a", "project-b", "project-c", "project-d"):
        assert run("kubectl", "get", kinds, "-n", project, "-o", "name") == ""
        assert f"queue.scheduling.run.ai/{project}" not in run("kubectl", "get", "queues", "-o", "name")
