"""The example, run as its readers would run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "05-mcad"


@pytest.mark.parametrize(
    ("dispatcher", "sixteen", "third"),
    [
        ("mcad-1.32", "Completed", "Completed"),
        ("mcad-1.40", "Completed", "Completed"),
        ("better", "Pending", "Pending"),
    ],
)
def test_the_walk_through(dispatcher, sixteen, third):
    command = [sys.executable, str(EXAMPLE / "walkthrough.py"), dispatcher]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    steps = dict(line.split(": ", 1) for line in told if not line.startswith(" "))
    assert steps["two pods of eight GPUs on two nodes"].startswith("Completed")
    assert steps["one pod of sixteen GPUs"].startswith(sixteen)
    assert steps["one pod of twenty-four GPUs"].startswith("Pending")
    assert steps["after a third node"].startswith(third)
