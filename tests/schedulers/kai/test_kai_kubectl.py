"""The example of two departments by real kubectl, on a cluster that `ghostfleet up` started."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH")

HERE = Path(__file__).parents[3] / "examples" / "06-kai"
MOVED = "Moving training-job-2 to kwok-node-1"
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

    options = ("--scheduler", "kai", "--kai-policy", "prefer-consolidation", "--nodes", "4", "--gpus", "8")
    run("ghostfleet", "up", "--detach", *options)
    try:
        environment["KUBECONFIG"] = run("ghostfleet", "kubeconfig", "--path").strip()
        yield run
    finally:
        run("ghostfleet", "down")


def wait_for_ready(run: Run, *names: str) -> None:
    for name in names:
        run("kubectl", "wait", "--for=jsonpath={.status.readyReplicas}=1", f"replicaset/{name}", "--timeout=30s")


def places(run: Run) -> dict[str, str]:
    pods = json.loads(run("kubectl", "get", "pods", "-o", "json"))["items"]
    return {each["metadata"]["name"].rpartition("-")[0]: each["spec"].get("nodeName", "") for each in pods}


def test_the_documented_commands_end_in_the_documented_state(run: Run) -> None:
    run("kubectl", "apply", "-f", str(HERE / "1-queues.yaml"))
    run("kubectl", "apply", "-f", str(HERE / "2-initial-state.yaml"))
    run("kubectl", "wait", "--for=condition=Running", "pytorchjob/training-job-3", "--timeout=30s")
    wait_for_ready(run, "training-job-1", "training-job-2", "interactive-job")
    assert places(run)["training-job-2"] == "kwok-node-0"
    run("kubectl", "apply", "-f", str(HERE / "3-new-workloads.yaml"))
    wait_for_ready(run, "training-job-a", "training-job-b", "training-job-2")
    assert places(run) == {
        "training-job-1": "kwok-node-0",
        "training-job-a": "kwok-node-0",
        "training-job-2": "kwok-node-1",
        "training-job-3-master": "kwok-node-1",
        "training-job-3-worker": "kwok-node-1",
        "interactive-job": "kwok-node-2",
        "training-job-b": "kwok-node-2",
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
    told = [re.sub(r"-[a-z0-9]{5}\b", "", line.split("  ")[1]) for line in run("ghostfleet", "decisions").splitlines()]
    assert told[0] == "Allocating 4 GPUs to training-job-1 on node kwok-node-0"
    b, moved = told.index("Allocating 3 GPUs to training-job-b on node kwok-node-2"), told.index(MOVED)
    assert b < moved < told.index("Allocating 4 GPUs to training-job-a on node kwok-node-0")
    for name in ("3-new-workloads.yaml", "2-initial-state.yaml", "1-queues.yaml"):
        run("kubectl", "delete", "-f", str(HERE / name))
    while run("kubectl", "get", "pods", "-o", "name"):
        pass
