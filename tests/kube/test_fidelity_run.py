"""The embedded cluster beside a real control plane, on a small scale."""

from __future__ import annotations

import json
import signal

import pytest

pytestmark = [pytest.mark.real, pytest.mark.timeout(300), pytest.mark.xdist_group("real")]


def test_twenty_jobs_take_as_long_on_both_and_nothing_is_left(programs, shell, tmp_path):
    run = shell.start(
        "fidelity", "--real", "-n", "20", "--nodes", "10", "--output-dir", str(tmp_path / "out"), "-o", "json"
    )
    said, _ = run.communicate(timeout=280)
    assert run.returncode == 0, said
    rows = json.loads(said[said.index("[\n") : said.index("\n]") + 2])
    assert {(row["test"], row["jobs"]) for row in rows} == {("scale-test", 20), ("stress", 20)}
    assert all(row["verdict"] == "met" for row in rows)
    assert not shell.directory("fidelity").exists()


def test_a_run_that_is_broken_off_ends_its_control_plane(programs, shell, tmp_path):
    with shell.start("fidelity", "--real", "-n", "1", "--nodes", "2", "--output-dir", str(tmp_path / "out")) as run:
        for line in run.stdout:
            if line.startswith("real cluster: scale-test"):
                break
        run.send_signal(signal.SIGTERM)
        rest = run.stdout.read()
        assert run.wait(60) == 130
    assert "--reuse goes on from there" in rest
    assert "Traceback" not in rest
    assert not shell.directory("fidelity").exists()
